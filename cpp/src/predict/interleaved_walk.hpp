// Many walks through one tree at a time, whatever its nodes are made of.
#pragma once
#include <algorithm>
#include <array>
#include <bit>

#include "predict/tree_walk.hpp"

namespace committee {

// Enough walks to hide the latency of the second-level cache; more do not fit into the registers.
inline constexpr int kInFlight = 8;
// Steps between two looks at whether walks have ended (an ended walk stays in its leaf).
inline constexpr int kStepsPerCheck = 4;

// Walks through a tree that are under way: the row of each, and where it stands.
struct Walks {
  std::array<u32, kMostEnds> row, at;
  std::size_t n;

  // At most kMostEnds rows from the first one on.
  Walks(std::size_t first, std::size_t n_rows, u32 root) : n(std::min(kMostEnds, n_rows - first)) {
    for (std::size_t i = 0; i < n; ++i) {
      row[i] = static_cast<u32>(first + i);
      at[i] = root;
    }
  }
};

// ends[r]: where the walk of row r stops. Takes some steps with all walks but the last few, notes
// where each stands, and lets those that still move close ranks: rows end at very different depths,
// and none is to wait for the deepest of its neighbours. A walk that a step does not move has
// ended.
//
// Stepper, made of a tree and rows: `row(r)` is what a step needs of row r, `step(at, row)` where
// it leads, `fetch(row)` asks for the rows of the next walks, `end(at, ending)` is what is written.
template <class Stepper>
void walk_rows(const typename Stepper::Tree& tree, const typename Stepper::Rows& rows,
               Ending ending, std::span<u32> ends) {
  const Stepper stepper{tree, rows};
  // Most rows end deeper than the leaves of a complete tree with as many nodes would lie.
  const int first_steps = static_cast<int>(std::bit_width(tree.n_nodes)) + 1;
  for (std::size_t begin = 0; begin < ends.size(); begin += kMostEnds) {
    Walks walks(begin, ends.size(), Stepper::kRoot);
    int n_steps = first_steps;
    for (bool first = true; walks.n >= kInFlight; first = false, n_steps = kStepsPerCheck) {
      std::size_t moving = 0, i = 0;
      for (; i + kInFlight <= walks.n; i += kInFlight) {
        u64 at[kInFlight], last[kInFlight];
        typename Stepper::Row row[kInFlight];
        for (int r = 0; r < kInFlight; ++r) {
          at[r] = walks.at[i + r];
          row[r] = stepper.row(walks.row[i + r]);
        }
        if (first) stepper.fetch(row[0]);
        for (int s = 1; s < n_steps; ++s) {
#pragma GCC unroll 8
          for (int r = 0; r < kInFlight; ++r) at[r] = stepper.step(at[r], row[r]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < kInFlight; ++r) {
          last[r] = at[r];
          at[r] = stepper.step(at[r], row[r]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < kInFlight; ++r) {
          const u32 who = walks.row[i + r];
          ends[who] = static_cast<u32>(at[r]);
          walks.row[moving] = who;
          walks.at[moving] = static_cast<u32>(at[r]);
          moving += at[r] != last[r];
        }
      }
      for (; i < walks.n; ++i, ++moving) {
        walks.row[moving] = walks.row[i];
        walks.at[moving] = walks.at[i];
      }
      walks.n = moving;
    }
    for (std::size_t i = 0; i < walks.n; ++i) {
      const typename Stepper::Row row = stepper.row(walks.row[i]);
      u64 at = walks.at[i], last = at + 1;
      while (at != last) {
        last = at;
        at = stepper.step(at, row);
      }
      ends[walks.row[i]] = static_cast<u32>(at);
    }
  }
  for (u32& end : ends) end = stepper.end(end, ending);
}

}  // namespace committee
