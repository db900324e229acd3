// The boundaries of one feature in its histogram: the sums left of every bin that occurs are listed
// without branches, scored in vector loops, and only then looked at for the best.
#pragma once
#include <algorithm>
#include <bit>

#include "committee/entropy_screen.hpp"
#include "committee/gini_sums.hpp"
#include "split/histogram.hpp"
#include "split/split_candidate.hpp"

namespace committee {

inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// For accumulators of fixed size.
template <class Accumulator>
class ListedBoundaries {
 public:
  using Element = typename Accumulator::Element;

  // The number of bins that occur, the missing one among them. Left of the first one lies nothing.
  u32 fill(const Element* hist, u64 touched) {
    Element sum[kCell] = {};
    u32 n = 0;
    for (u64 groups = touched; groups; groups &= groups - 1) {
      const u32 first = static_cast<u32>(std::countr_zero(groups)) * 4;
      for (u32 bin = first; bin < first + 4; ++bin) {
        const Element* cell = hist + bin * kCell;
        bins_[n] = static_cast<u8>(bin);
        for (u32 s = 0; s < kCell; ++s) {
          sums_[s][n] = sum[s];
          sum[s] += cell[s];
        }
        n += !Accumulator::is_empty(cell);
      }
    }
    return n;
  }

  // Which boundaries [from, to) the searches below look at; missing: a cell that is added to their
  // left, or null.
  void choose(u32 from, u32 to, const Element* missing) {
    from_ = from;
    to_ = to;
    for (u32 s = 0; s < kCell; ++s) missing_[s] = missing ? missing[s] : Element{0};
  }
  u32 bin(u32 k) const { return bins_[k]; }
  void copy_left(u32 k, Element* left) const {
    for (u32 s = 0; s < kCell; ++s) left[s] = sums_[s][k] + missing_[s];
  }

  // The first of the largest scores, and where it is.
  template <class Score>
  double find_best(const Score& score, u32& at) {
    double most = kForbidden;
    for (u32 k = from_; k < to_; ++k) {
      Element left[kCell];
      copy_left(k, left);
      scores_[k] = score(left);
    }
    for (u32 k = from_; k < to_; ++k) most = scores_[k] > most ? scores_[k] : most;
    if (!(most > kForbidden)) return most;
    at = from_;
    while (scores_[at] != most) ++at;
    return most;
  }

  // The same, if any reaches `best`, for the entropy of two classes.
  template <class Score>
  double find_best_screened(const Score& score, u64 total, float error, double best, u32& at) {
    const float bound = EntropyScreen::estimate_binary({sums_[0] + from_, to_ - from_}, missing_[0],
                                                       total, error, best, estimates_ + from_);
    double most = kForbidden;
    for (u32 k = from_; k < to_; ++k) {
      if (estimates_[k] < bound) [[likely]]
        continue;
      const u64 left = sums_[0][k] + missing_[0];
      const double own = score(&left);
      if (!(own > most)) continue;
      most = own;
      at = k;
    }
    return most;
  }

  // The same for two classes and a criterion that is one quotient: dividends and divisors in one
  // vector loop, quotients only where a product does not show that they lose.
  template <class Criterion>
  double find_best_ratio(const Criterion& criterion, u64 total, double best, u32& at) {
    const double w = Accumulator::weight(&total), total_p = Accumulator::positive(&total);
    const u64* sums = sums_[0];
    const u64 missing = missing_[0];
    for (u32 k = from_; k < to_; ++k) {
      const u64 left = sums[k] + missing;
      const auto ratio = criterion.ratio_binary(Accumulator::weight(&left),
                                                Accumulator::positive(&left), w, total_p);
      scores_[k] = ratio.dividend;
      divisors_[k] = ratio.divisor;
    }
    const u32 middle = from_ + (to_ - from_) / 2;
    double bar = set_bar(std::max(best, scores_[middle] / divisors_[middle])), most = kForbidden;
    for (u32 k = from_; k < to_; ++k) {
      if (scores_[k] < bar * divisors_[k]) continue;
      const double score = scores_[k] / divisors_[k];
      if (!(score > most)) continue;
      most = score;
      at = k;
      bar = std::max(bar, set_bar(score));
    }
    return most;
  }

 private:
  static constexpr u32 kCell = Accumulator::kFixedCell;
  static constexpr bool kIsBinary = Accumulator::kKind == AccumulatorKind::binary;
  static constexpr u32 kRoom = kHistogramBins + EntropyScreen::kLanes;

  u32 from_ = 0, to_ = 0;
  Element missing_[kCell] = {};
  alignas(64) Element sums_[kCell][kHistogramBins + 1];
  alignas(64) double scores_[kHistogramBins + 1];
  alignas(64) double divisors_[kIsBinary ? kHistogramBins + 1 : 1];
  alignas(64) float estimates_[kIsBinary ? kRoom : 1];
  u8 bins_[kHistogramBins + 1];
};

}  // namespace committee
