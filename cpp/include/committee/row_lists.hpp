// The boundaries of a node from lists of its rows in the order of each feature's bins, for one
// output and squared error. A full tree of numbers has a leaf for nearly every row: most of its
// nodes have far fewer rows than a histogram has bins, and sorting the rows of each anew costs more
// than handing the sorted lists on.
#pragma once
#include <algorithm>
#include <array>
#include <bit>

#include "split.hpp"

namespace committee {

// An entry is bin << 16 | the row's number among the listed ones; no bin is missing.
struct RowLists {
  static constexpr std::size_t kMostRows = 2048;
  // From one feature's list to the next: were it a power of two, all of them would want the same
  // few lines of the first cache.
  static constexpr std::size_t kStride = kMostRows + 48;
  static u32 bin(u32 entry) { return entry >> 16; }
  static u32 row(u32 entry) { return entry & 0xFFFFu; }

  const u32* entries = nullptr;  // of feature f: entries[f * kStride], n of them
  std::size_t n = 0;
  const i64* cells = nullptr;     // of row r: cells[2 * r], a cell of MomentTally<false>
  u8* numbers_of_rows = nullptr;  // room for a byte a row
  NodeNumbers numbers;            // of the node
  bool shuffle_ties = false;

  const u32* list(u32 feature) const { return entries + feature * kStride; }
  // As Growth::fill_view says.
  u64 place(u32 feature) const {
    return feature | (shuffle_ties ? numbers.at(Purpose::tie, feature) >> 32 << 32 : 0);
  }
};

// 1 / w for the small integers that weights mostly are.
class Reciprocals {
 public:
  static constexpr std::size_t kSize = 16384;
  static const double* get() {
    static const Reciprocals table;
    return table.values_.data();
  }

 private:
  Reciprocals() {
    for (std::size_t w = 1; w < kSize; ++w) values_[w] = 1.0 / static_cast<double>(w);
  }
  std::array<double, kSize> values_{};
};

// What the search over lists keeps of the node and of the best boundary.
template <class Score>
class ListScan {
 public:
  using Tally = MomentTally<false>;
  // score(left cell): of the boundary with that cell on its left, as every other search gives it.
  // best_left: receives what lies left of the best.
  ListScan(const RowLists& lists, const i64* total, Score score, i64* best_left)
      : lists_(lists),
        score_(score),
        total_(total[1]),
        weight_(total[0] >> Tally::kCountBits),
        best_left_(best_left) {}

  // Features that turn out constant are taken out of `varying`.
  void scan(u64& varying, Candidate& best) {
    for (u64 rest = varying; rest; rest &= rest - 1) {
      const u32 feature = static_cast<u32>(__builtin_ctzll(rest));
      const u32* list = lists_.list(feature);
      const bool varies = RowLists::bin(list[0]) != RowLists::bin(list[lists_.n - 1]);
      features_[n_features_] = feature;
      n_features_ += varies;
      varying &= ~(u64{!varies} << feature);
    }
    if (n_features_ == 0) return;
    if (lists_.n == 2) return part_two(best);
    if (lists_.n <= kMostParted) return part_few(best);
    if (weight_ >= static_cast<i64>(Reciprocals::kSize)) {
      for (std::size_t k = 0; k < n_features_; ++k) scan_list<false>(features_[k], 0.0, best);
      return;
    }
    double most[64 + kTogether], top = 0.0;
    for (std::size_t first = 0; first < n_features_; first += kTogether)
      estimate(first, most + first);
    for (std::size_t k = 0; k < n_features_; ++k) top = std::max(top, most[k]);
    const double bound = worth_a_look(top);
    for (std::size_t k = 0; k < n_features_; ++k)
      if (most[k] >= bound) scan_list<true>(features_[k], bound, best);
  }

 private:
  // Two rows are parted by any feature alike: only its place in the order matters. A place has its
  // feature in the lower half.
  void part_two(Candidate& best) {
    u64 place = ~u64{0};
    for (std::size_t k = 0; k < n_features_; ++k)
      place = std::min(place, lists_.place(features_[k]));
    const u32 feature = static_cast<u32>(place);
    const u32* list = lists_.list(feature);
    const i64* left = lists_.cells + 2 * RowLists::row(list[0]);
    take(feature, place, score_(left), list[0], list[1], left, best);
  }

  // A handful of rows: every way to part them is scored once, then looked up by the set of rows on
  // one side. Which side is the left makes no difference to a score, nor to its last bit.
  static constexpr std::size_t kMostParted = 4;
  void part_few(Candidate& best) {
    const std::size_t n = lists_.n;
    const u32 all = (1u << n) - 1;
    i64 sums[1u << kMostParted][2] = {};
    i64 scores[1u << kMostParted];  // as bits: numbers >= 0 are ordered as their bits are
    const u32* any = lists_.list(features_[0]);
    for (std::size_t i = 0; i < n; ++i) {
      lists_.numbers_of_rows[RowLists::row(any[i])] = static_cast<u8>(1u << i);
      const i64* cell = lists_.cells + 2 * RowLists::row(any[i]);
      for (u32 set = 1u << i; set < 2u << i; ++set) {
        sums[set][0] = sums[set - (1u << i)][0] + cell[0];
        sums[set][1] = sums[set - (1u << i)][1] + cell[1];
      }
    }
    for (u32 set = 1; set < (all + 1) / 2; ++set)
      scores[set] = scores[all - set] = std::bit_cast<i64>(score_(sums[set]));
    // The best that each feature can do, the best of them, and of those that do it the first.
    i64 most[64], top = 0;
    for (std::size_t k = 0; k < n_features_; ++k) {
      const u32* list = lists_.list(features_[k]);
      i64 own = 0;
      for (u32 i = 1, set = 0; i < n; ++i) {
        set |= lists_.numbers_of_rows[RowLists::row(list[i - 1])];
        own = std::max(own, scores[set] & -i64{parts(list, i)});
      }
      most[k] = own;
      top = std::max(top, own);
    }
    u64 place = ~u64{0};
    for (std::size_t k = 0; k < n_features_; ++k)
      place = std::min(place, lists_.place(features_[k]) | (u64{0} - u64{most[k] != top}));
    const u32 feature = static_cast<u32>(place);
    const u32* list = lists_.list(feature);
    u32 i = 1, set = lists_.numbers_of_rows[RowLists::row(list[0])];
    for (; !parts(list, i) || scores[set] != top; ++i)
      set |= lists_.numbers_of_rows[RowLists::row(list[i])];
    take(feature, place, std::bit_cast<double>(top), list[i - 1], list[i], sums[set], best);
  }

  static bool parts(const u32* list, std::size_t i) {
    return RowLists::bin(list[i - 1]) != RowLists::bin(list[i]);
  }

  // Every boundary gets an estimate without a division; a feature that comes near the best is
  // scored as everywhere else, so that the lists change no tree. Several features side by side: a
  // node has few rows, and the end of a loop is guessed wrong once for all of them.
  static constexpr std::size_t kTogether = 4;
  void estimate(std::size_t first, double* most) const {
    const double* reciprocals = Reciprocals::get();
    const u32* list[kTogether];
    u32 entry[kTogether];
    i64 weight[kTogether] = {}, sum[kTogether] = {};
    // Numbers >= 0 are ordered as their bits are; the larger of two integers needs no branch.
    i64 largest[kTogether] = {};
    for (std::size_t f = 0; f < kTogether; ++f) {
      list[f] = lists_.list(features_[std::min(first + f, n_features_ - 1)]);
      entry[f] = list[f][0];
    }
    for (std::size_t k = 1; k < lists_.n; ++k) {
#pragma GCC unroll 4
      for (std::size_t f = 0; f < kTogether; ++f) {
        const i64* cell = lists_.cells + 2 * RowLists::row(entry[f]);
        weight[f] += cell[0];
        sum[f] += cell[1];
        const u32 next = list[f][k];
        const bool same = RowLists::bin(next) == RowLists::bin(entry[f]);
        entry[f] = next;
        const i64 about = std::bit_cast<i64>(estimate_score(weight[f], sum[f], reciprocals));
        largest[f] = std::max(largest[f], about & -i64{!same});
      }
    }
    for (std::size_t f = 0; f < kTogether; ++f) most[f] = std::bit_cast<double>(largest[f]);
  }

  [[gnu::always_inline]] double estimate_score(i64 weight, i64 sum,
                                               const double* reciprocals) const {
    const i64 wl = weight >> Tally::kCountBits;
    const double yl = static_cast<double>(sum), yr = static_cast<double>(total_ - sum);
    return yl * yl * reciprocals[wl] + yr * yr * reciprocals[weight_ - wl];
  }

  // bound: estimates below it are not worth a look, where there are estimates.
  template <bool kEstimates>
  void scan_list(u32 feature, double bound, Candidate& best) {
    const double* reciprocals = Reciprocals::get();
    const u32* list = lists_.list(feature);
    i64 left[2] = {0, 0};
    u32 entry = list[0];
    for (std::size_t k = 1; k < lists_.n; ++k) {
      const i64* cell = lists_.cells + 2 * RowLists::row(entry);
      left[0] += cell[0];
      left[1] += cell[1];
      const u32 before = entry;
      entry = list[k];
      if (kEstimates && estimate_score(left[0], left[1], reciprocals) < bound) [[likely]]
        continue;
      if (RowLists::bin(before) == RowLists::bin(entry)) continue;
      const double score = score_(left);
      if (score < best.score) continue;
      const u64 place = lists_.place(feature);
      if (best.loses_to(score, place, RowLists::bin(before)))
        take(feature, place, score, before, entry, left, best);
    }
  }

  // Estimates and scores are a few roundings of 2^-53 apart, both of them sums of what is >= 0.
  static double worth_a_look(double best) { return best * (1.0 - 0x1.0p-46); }

  void take(u32 feature, u64 place, double score, u32 before, u32 after, const i64* left,
            Candidate& best) {
    best.score = score;
    best.feature = feature;
    best.place = place;
    best.cut = RowLists::bin(before);
    best.next = RowLists::bin(after);
    best.categorical = best.missing_left = best.has_missing = false;
    best_left_[0] = left[0];
    best_left_[1] = left[1];
  }

  const RowLists& lists_;
  const Score score_;
  const i64 total_, weight_;
  i64* const best_left_;
  u32 features_[64];
  std::size_t n_features_ = 0;
};

}  // namespace committee
