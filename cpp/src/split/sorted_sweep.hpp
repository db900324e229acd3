// The boundaries between sorted rows, a block of them at a time: the sums left of each are listed
// without a branch, and looked at one by one only where a vector loop finds that one may win.
#pragma once
#include <algorithm>

#include "split/split_candidate.hpp"

namespace committee {

// What lies left of some boundaries, element by element of the cells.
template <class Accumulator>
struct SweptBlock {
  static constexpr std::size_t kBounds = 64;
  alignas(64) typename Accumulator::Element sums[Accumulator::kFixedCell][kBounds];

  // Whether test(left cell) holds for any of the first n.
  template <class Test>
  bool any_of(std::size_t n, Test test) const {
    u64 n_found = 0;
    for (std::size_t k = 0; k < n; ++k) {
      typename Accumulator::Element left[Accumulator::kFixedCell];
      for (u32 s = 0; s < Accumulator::kFixedCell; ++s) left[s] = sums[s][k];
      n_found += test(left);
    }
    return n_found > 0;
  }
};

// For accumulators of fixed size and rows without missing values. may_win(block, n): whether any of
// its first n boundaries may win, where two equal codes count as a boundary as well; look(left
// cell, boundary). False: there are none.
template <class Accumulator, class MayWin, class Look>
bool sweep_sorted(const Accumulator& accumulator, std::span<const u64> keyed,
                  const typename Accumulator::Item* items, MayWin may_win, Look look) {
  constexpr std::size_t kCell = Accumulator::kFixedCell, kBounds = SweptBlock<Accumulator>::kBounds;
  const auto code = [](u64 key) { return static_cast<u32>(key >> 32); };
  if (keyed.empty() || code(keyed.front()) == code(keyed.back())) return false;
  SweptBlock<Accumulator> block;
  typename Accumulator::Element left[kCell] = {};
  const std::size_t n_bounds = keyed.size() - 1;
  for (std::size_t begin = 0; begin < n_bounds; begin += kBounds) {
    const u64* keys = keyed.data() + begin;
    const std::size_t n = std::min(kBounds, n_bounds - begin);
    for (std::size_t k = 0; k < n; ++k) {
      accumulator.add(left, items[static_cast<u32>(keys[k])]);
      for (std::size_t s = 0; s < kCell; ++s) block.sums[s][k] = left[s];
    }
    if (!may_win(block, n)) [[likely]]
      continue;
    for (std::size_t k = 0; k < n; ++k) {
      if (code(keys[k]) == code(keys[k + 1])) continue;
      typename Accumulator::Element cell[kCell];
      for (std::size_t s = 0; s < kCell; ++s) cell[s] = block.sums[s][k];
      look(cell, Boundary{code(keys[k]), code(keys[k + 1]), false, false});
    }
  }
  return true;
}

}  // namespace committee
