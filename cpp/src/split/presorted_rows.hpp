// The boundaries of a node from lists of its rows in the order of each feature's bins, for one
// output and squared error. A full tree of numbers has a leaf for nearly every row: most of its
// nodes have far fewer rows than a histogram has bins, and sorting the rows of each anew costs more
// than handing the sorted lists on.
#pragma once
#include <algorithm>
#include <bit>

#include "split/split_candidate.hpp"

namespace committee {

// Memory of the estimates, of one thread at a time.
struct ListEstimates {
  static constexpr std::size_t kSums = 2048;  // a part of the first cache
  ListEstimates() = default;
  ListEstimates(std::size_t n_features, std::size_t n_rows, std::size_t n_numbers)
      : rows(n_numbers), sums(kSums), scores((n_features + 3) / 4 * 4 * n_rows) {}
  AlignedBuffer<u64> rows;  // of each row: two floats, its distance from the mean and its weight
  AlignedBuffer<u64> sums;  // of some rows and all features
  AlignedBuffer<float> scores;  // of every boundary
};

// An entry is bin << 16 | the row's number among the listed ones; no bin is missing.
struct RowLists {
  static constexpr std::size_t kMostRows = 512;  // above, histograms are quicker
  static constexpr std::size_t kMostNumbers = 2048;
  static constexpr std::size_t kFewRows = 4;  // that need no lists (tiny_nodes.hpp)
  // From one feature's list to the next: were it a power of two, all of them would want the same
  // few lines of the first cache.
  static constexpr std::size_t kStride = kMostRows + 48;
  static u32 bin(u32 entry) { return entry >> 16; }
  static u32 row(u32 entry) { return entry & 0xFFFFu; }

  const u32* entries = nullptr;  // of feature f: entries[f * kStride], n of them
  std::size_t n = 0;
  const MomentAccumulator<false>::Item* items = nullptr;  // the same rows, in any order
  const i64* cells = nullptr;  // of row r: cells[2 * r], as the accumulator's
  // The bins of row r: records[r * stride], n_words times eight of them; pool: 255 for each that
  // may be split by.
  const u8* records = nullptr;
  std::size_t stride = 0, n_words = 0;
  const u64* pool = nullptr;
  ListEstimates* estimates = nullptr;
  NodeNumbers numbers;  // of the node
  bool shuffle_ties = false;

  const u32* list(u32 feature) const { return entries + feature * kStride; }
  u64 place(u32 feature) const { return tie_priority(numbers, feature, shuffle_ties); }
};

// Every boundary gets an estimate in single precision, of the sums' distance from the mean; what
// comes near the best is scored as everywhere else, so that the lists change no tree.
template <class Score>
class ListScan {
 public:
  using Accumulator = MomentAccumulator<false>;
  // score(left cell): of the boundary with that cell on its left, as every other search gives it.
  // best_left: receives what lies left of the best.
  ListScan(const RowLists& lists, const i64* total, Score score, i64* best_left)
      : lists_(lists),
        score_(score),
        weight_(static_cast<double>(total[0] >> Accumulator::kCountBits)),
        mean_(static_cast<double>(total[1]) / weight_),
        best_left_(best_left) {}

  // Features that turn out constant are taken out of `varying`.
  void scan(u64& varying, Candidate& best) {
    for (u64 rest = varying; rest; rest &= rest - 1) {
      const u32 feature = static_cast<u32>(std::countr_zero(rest));
      const u32* list = lists_.list(feature);
      const bool varies = RowLists::bin(list[0]) != RowLists::bin(list[lists_.n - 1]);
      features_[n_features_] = feature;
      n_features_ += varies;
      varying &= ~(u64{!varies} << feature);
    }
    if (n_features_ == 0) return;
    if (weight_ >= kMostWeight) {
      for (std::size_t k = 0; k < n_features_; ++k) scan_list(features_[k], nullptr, 0.0f, best);
      return;
    }
    const double spread = centre_rows();
    const std::size_t n_groups = (n_features_ + kTogether - 1) / kTogether;
    Four largest[64 / kTogether];
    std::fill_n(largest, n_groups, Four{});
    estimate(n_groups, largest);
    float most[64], top = 0.0f;
    std::memcpy(most, largest, n_groups * sizeof(Four));
    for (std::size_t k = 0; k < n_features_; ++k) top = std::max(top, most[k]);
    const float bound = worth_a_look(top, spread);
    for (std::size_t k = 0; k < n_features_; ++k)
      if (most[k] >= bound) scan_list(features_[k], scores_of(k), bound, best);
  }

 private:
  // Features side by side: a lane each, and the end of a loop is guessed wrong once for all of
  // them.
  static constexpr std::size_t kTogether = 4;
  using Two COMMITTEE_VECTOR(8) = float;
  using Four COMMITTEE_VECTOR(16) = float;
  using FourBits COMMITTEE_VECTOR(16) = i32;
  static constexpr double kMostWeight = 0x1.0p24;  // that floats count exactly

  const float* scores_of(std::size_t k) const {
    return lists_.estimates->scores.data() + k / kTogether * kTogether * lists_.n + k % kTogether;
  }

  // Returns the sum of the distances from the mean.
  double centre_rows() const {
    u64* rows = lists_.estimates->rows.data();
    double spread = 0.0;
    for (std::size_t i = 0; i < lists_.n; ++i) {
      const Accumulator::Item& item = lists_.items[i];
      const double weight = static_cast<double>(item.weight);
      const double distance = static_cast<double>(item.wy) - weight * mean_;
      spread += std::abs(distance);
      rows[item.row] =
          std::bit_cast<u64>(Two{static_cast<float>(distance), static_cast<float>(weight)});
    }
    return spread;
  }

  // largest: of each feature's estimates, n_groups times kTogether of them.
  void estimate(std::size_t n_groups, Four* largest) const {
    const std::size_t n_bounds = lists_.n - 1,
                      n_block = ListEstimates::kSums / kTogether / n_groups;
    u64* const sums = lists_.estimates->sums.data();
    Two left[64];
    std::fill_n(left, n_groups * kTogether, Two{});
    for (std::size_t begin = 0; begin < n_bounds; begin += n_block) {
      const std::size_t n = std::min(n_block, n_bounds - begin);
      for (std::size_t g = 0; g < n_groups; ++g)
        add_rows(g * kTogether, begin, n, left + g * kTogether, sums + g * n * kTogether);
      for (std::size_t g = 0; g < n_groups; ++g) {
        float* scores = lists_.estimates->scores.data() + (g * lists_.n + begin) * kTogether;
        largest[g] = estimate_scores(sums + g * n * kTogether, n, largest[g], scores);
      }
    }
  }

  // What lies left of the boundaries behind rows begin .. begin + n - 1, zero where the next row
  // has the same bin. left: of the row before them; of the last one, afterwards.
  void add_rows(std::size_t first, std::size_t begin, std::size_t n, Two* left, u64* sums) const {
    const u64* rows = lists_.estimates->rows.data();
    const u32* list[kTogether];
    u32 entry[kTogether];
    Two sum[kTogether];
    for (std::size_t f = 0; f < kTogether; ++f) {
      list[f] = lists_.list(features_[std::min(first + f, n_features_ - 1)]) + begin;
      entry[f] = list[f][0];
      sum[f] = left[f];
    }
    for (std::size_t k = 0; k < n; ++k) {
#pragma GCC unroll 4
      for (std::size_t f = 0; f < kTogether; ++f) {
        sum[f] += std::bit_cast<Two>(rows[RowLists::row(entry[f])]);
        const u32 next = list[f][k + 1];
        // Negative where the bins differ: all bits of a sum, or none.
        const i64 differs = i64{0xFFFF} - static_cast<i64>(u64{next ^ entry[f]});
        sums[k * kTogether + f] = std::bit_cast<u64>(sum[f]) & static_cast<u64>(differs >> 63);
        entry[f] = next;
      }
    }
    std::copy_n(sum, kTogether, left);
  }

  // Of two sides that lie d and -d from the mean: their impurity term beyond that of the whole, by
  // its weight.
  Four estimate_scores(const u64* sums, std::size_t n, Four so_far, float* scores) const {
    // Numbers >= 0 are ordered as their bits are; the larger of two integers needs no branch.
    FourBits largest = std::bit_cast<FourBits>(so_far);
    const float weight = static_cast<float>(weight_);
    for (std::size_t k = 0; k < n; ++k) {
      Four a, b;
      std::memcpy(&a, sums + k * kTogether, sizeof a);
      std::memcpy(&b, sums + k * kTogether + 2, sizeof b);
      const Four distance = shuffle_lanes<0, 2, 4, 6>(a, b);
      const Four left = shuffle_lanes<1, 3, 5, 7>(a, b);
      // Nothing lies left where there is no boundary, and zero over the least number is zero.
      const Four score =
          distance * distance / (left * (weight - left) + std::numeric_limits<float>::min());
      std::memcpy(scores + k * kTogether, &score, sizeof score);
      const FourBits bits = std::bit_cast<FourBits>(score);
      largest = bits > largest ? bits : largest;
    }
    return std::bit_cast<Four>(largest);
  }

  // Estimates below it cannot belong to the best boundary. Roots of estimates are off by what the
  // distances are off (roundings of n sums, to 2^-24, and of the mean) over the root of the
  // weights' product, which is at least weight - 1; the scores that decide contain the mean's, and
  // are rounded to 2^-53. All of it is taken several times.
  float worth_a_look(float best, double spread) const {
    const double top = best, n = static_cast<double>(lists_.n);
    const double off = spread * (n + 8.0) * 0x1.0p-23 + std::abs(mean_) * weight_ * 0x1.0p-48;
    const double slack = 8.0 * off / std::sqrt(weight_ - 1.0);
    return static_cast<float>(top * (1.0 - 0x1.0p-17) - slack * (std::sqrt(top) + slack) -
                              0x1.0p-44 * (mean_ * mean_ + top));
  }

  // estimates: kTogether apart, those below the bound are passed over; null: none.
  void scan_list(u32 feature, const float* estimates, float bound, Candidate& best) {
    const u32* list = lists_.list(feature);
    i64 left[2] = {0, 0};
    for (std::size_t k = 1; k < lists_.n; ++k) {
      const u32 before = list[k - 1], after = list[k];
      const i64* cell = lists_.cells + 2 * RowLists::row(before);
      left[0] += cell[0];
      left[1] += cell[1];
      if (estimates && estimates[(k - 1) * kTogether] < bound) [[likely]]
        continue;
      if (RowLists::bin(before) == RowLists::bin(after)) continue;
      const double score = score_(left);
      if (score < best.score) continue;
      const u64 place = lists_.place(feature);
      if (!best.loses_to(score, place, RowLists::bin(before))) continue;
      best.score = score;
      best.feature = feature;
      best.priority = place;
      best.bin = RowLists::bin(before);
      best.next = RowLists::bin(after);
      best.categorical = best.missing_left = best.has_missing = false;
      best_left_[0] = left[0];
      best_left_[1] = left[1];
    }
  }

  const RowLists& lists_;
  const Score score_;
  const double weight_, mean_;
  i64* const best_left_;
  u32 features_[64];
  std::size_t n_features_ = 0;
};

}  // namespace committee
