// The best split of a handful of rows straight from their records, for one output and squared
// error: every way to partition them is scored once, and eight features at a time tell which of the
// ways they know. Half of the nodes of a full tree of numbers have no more rows than that.
#pragma once
#include <bit>

#include "split/presorted_rows.hpp"

namespace committee {

template <class Score>
class FewRowsScan {
 public:
  // As ListScan's.
  FewRowsScan(const RowLists& rows, const i64* total, Score score, i64* best_left)
      : rows_(rows), total_(total), score_(score), best_left_(best_left) {}

  void scan(Candidate& best) const {
    switch (rows_.n) {
      case 2:
        return search<2>(best);
      case 3:
        return search<3>(best);
      default:
        return search<4>(best);
    }
  }

 private:
  static_assert(RowLists::kFewRows == 4);
  // A byte a feature.
  using Lanes COMMITTEE_VECTOR(8) = u8;
  static constexpr std::size_t kMostWords = 8;

  // A way is the set of rows on one side, never the one with the last row: which side is the left
  // makes no difference to a score, nor to its last bit.
  template <u32 kRows>
  void search(Candidate& best) const {
    constexpr u32 kAll = (1u << kRows) - 1, kWays = kAll / 2 + 1;
    i64 sums[kWays][2] = {};
    i64 scores[kWays];  // as bits: numbers >= 0 are ordered as their bits are
    for (u32 way = 1; way < kWays; ++way) {
      const auto& item = rows_.items[std::countr_zero(way)];
      const i64* others = sums[way & (way - 1)];
      sums[way][0] =
          others[0] + (static_cast<i64>(item.weight) << MomentAccumulator<false>::kCountBits) + 1;
      sums[way][1] = others[1] + item.wy;
      scores[way] = std::bit_cast<i64>(score_(sums[way]));
    }
    u64 known[kWays][kMostWords];
    i64 top = -1;
    for (std::size_t word = 0; word < rows_.n_words; ++word) {
      find_ways<kRows>(word, known);
      for (u32 way = 1; way < kWays; ++way)
        top = std::max(top, scores[way] | -i64{known[way][word] == 0});
    }
    if (top < 0) return;
    u64 place = ~u64{0};
    for (std::size_t word = 0; word < rows_.n_words; ++word) {
      u64 features = 0;
      for (u32 way = 1; way < kWays; ++way)
        features |= known[way][word] & (u64{0} - u64{scores[way] == top});
      // A bit of each byte.
      for (features &= 0x0101010101010101u; features; features &= features - 1)
        place = std::min(place, rows_.place(static_cast<u32>(word * 8) +
                                            static_cast<u32>(std::countr_zero(features)) / 8));
    }
    const u32 feature = static_cast<u32>(place);  // the lower half of a place
    best.score = std::bit_cast<double>(top);
    best.feature = feature;
    best.priority = place;
    best.bin = kMissingBin;
    best.categorical = best.missing_left = best.has_missing = false;
    for (u32 way = 1; way < kWays; ++way) {
      if (scores[way] == top && known[way][feature / 8] >> feature % 8 * 8 & 1)
        take_lowest<kRows>(way, sums[way], best);
    }
  }

  // known[way][word]: 255 in each byte whose feature partitions the rows that way.
  template <u32 kRows>
  void find_ways(std::size_t word, u64 (*known)[kMostWords]) const {
    constexpr u32 kAll = (1u << kRows) - 1;
    Lanes lowest[kAll + 1], highest[kAll + 1];
    for (u32 i = 0; i < kRows; ++i) {
      Lanes bins;
      std::memcpy(&bins, rows_.records + rows_.items[i].row * rows_.stride + word * 8, sizeof bins);
      lowest[1u << i] = highest[1u << i] = bins;
      for (u32 set = (1u << i) + 1; set < 2u << i; ++set) {
        const u32 rest = set - (1u << i);
        lowest[set] = bins < lowest[rest] ? bins : lowest[rest];
        highest[set] = bins > highest[rest] ? bins : highest[rest];
      }
    }
    for (u32 way = 1; way <= kAll / 2; ++way) {
      const auto parts = (highest[way] < lowest[kAll - way]) | (highest[kAll - way] < lowest[way]);
      known[way][word] = std::bit_cast<u64>(parts) & rows_.pool[word];
    }
  }

  // Of the ways in which the feature partitions the rows equally well, the one with the lowest cut.
  template <u32 kRows>
  void take_lowest(u32 way, const i64* sum, Candidate& best) const {
    u32 low[2] = {kMissingBin, kMissingBin}, high[2] = {0, 0};
    for (u32 i = 0; i < kRows; ++i) {
      const u32 bin = rows_.records[rows_.items[i].row * rows_.stride + best.feature];
      const u32 side = way >> i & 1;
      low[side] = std::min(low[side], bin);
      high[side] = std::max(high[side], bin);
    }
    const bool is_left = high[1] < high[0];  // the way's own side
    if (high[is_left] >= best.bin) return;
    best.bin = high[is_left];
    best.next = low[!is_left];
    for (u32 s = 0; s < 2; ++s) best_left_[s] = is_left ? sum[s] : total_[s] - sum[s];
  }

  const RowLists& rows_;
  const i64* const total_;
  const Score score_;
  i64* const best_left_;
};

}  // namespace committee
