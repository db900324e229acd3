// The order of a few rows by their bins.
#pragma once
#include <algorithm>

#include "base/u8x16.hpp"

namespace committee {

// Of up to 16 kBlocks rows: how many come before each in the order of their bins, counted for all
// rows at once and without a branch (where rows fall is a coin toss, and a wrong guess costs more
// than the comparisons). Both arrays have room for whole blocks.
template <std::size_t kBlocks>
void rank_rows(const u8* bins, std::size_t n, u8* places) {
  static constexpr u8 kLater[2 * kRowLanes] = {
      0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
      255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  // Compared as signed numbers, in the same order: x86-64 has no other comparison of bytes.
  using SignedLanes COMMITTEE_VECTOR(16) = signed char;
  constexpr u8 kFlip = 0x80;
  RowLanes block[kBlocks], place[kBlocks];
  std::memcpy(block, bins, sizeof block);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    block[b] ^= kFlip;
    place[b] = RowLanes{};
  }
  for (std::size_t home = 0; home < kBlocks; ++home) {
    const std::size_t last = std::min(n, (home + 1) * kRowLanes);
    for (std::size_t row = home * kRowLanes; row < last; ++row) {
      const RowLanes own = RowLanes{} + static_cast<u8>(bins[row] ^ kFlip);
      RowLanes later;  // of two equal bins the later row has the later place
      std::memcpy(&later, kLater + kRowLanes - 1 - row % kRowLanes, sizeof later);
#pragma GCC unroll 4
      for (std::size_t b = 0; b < kBlocks; ++b) {
        const auto above = reinterpret_cast<RowLanes>(reinterpret_cast<SignedLanes>(block[b]) >
                                                      reinterpret_cast<SignedLanes>(own));
        const auto level = reinterpret_cast<RowLanes>(block[b] == own);
        const RowLanes after = b < home   ? above
                               : b > home ? above | level
                                          : above | (level & later);
        place[b] -= after;
      }
    }
  }
  std::memcpy(places, place, sizeof place);
}

}  // namespace committee
