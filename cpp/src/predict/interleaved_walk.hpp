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
};

// Takes n_steps with all walks but the last few, notes where each stands, and lets those that still
// move close ranks: rows end at very different depths, and none is to wait for the deepest of its
// neighbours. A walk that a step does not move has ended.
//
// Stepper: `row(r)` is what a step needs of row r, `step(at, row)` where it leads, `fetch(row)`
// asks for the rows of the next walks.
template <class Stepper>
void take_steps(const Stepper& stepper, int n_steps, bool first, Walks& walks,
                std::span<u32> ends) {
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

// ends[r]: where the walk of row r stops, of at most kMostEnds rows.
template <class Stepper>
void walk_to_ends(const Stepper& stepper, u32 root, std::size_t n_nodes, std::span<u32> ends) {
  Walks walks;
  walks.n = ends.size();
  for (std::size_t i = 0; i < walks.n; ++i) {
    walks.row[i] = static_cast<u32>(i);
    walks.at[i] = root;
  }
  // Most leaves of a tree with 2^d nodes lie deeper than d - 3.
  const int first_steps = std::max(static_cast<int>(std::bit_width(n_nodes)) - 3, 1);
  if (walks.n >= kInFlight) take_steps(stepper, first_steps, true, walks, ends);
  while (walks.n >= kInFlight) take_steps(stepper, kStepsPerCheck, false, walks, ends);
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

}  // namespace committee
