// The boundaries of two classes in the histograms of a run of features, for the Gini index: each
// gets an estimate in single precision, a lane a bin, so that only what comes near the best of all
// features need be scored in double.
#pragma once
#include <algorithm>
#include <bit>

#include "split/histogram.hpp"
#include "split/split_candidate.hpp"

namespace committee {

class GiniBinarySimd {
 public:
  // The best so far, and what lies left of it.
  struct Winner {
    Candidate& best;
    u64* left;
  };
  // kHistogramBins cells a feature, and the groups of four that were touched.
  struct Histograms {
    u64* cells;
    const u64* touched;
    bool has_missing(std::size_t k) const {
      return touched[k] >> 63 != 0 && cells[k * kHistogramBins + kMissingBin] != 0;
    }
  };

  // Whether weights are small enough and no value is missing.
  static bool knows(const Histograms& hists, std::size_t n, double total_weight) {
    bool any_missing = false;
    for (std::size_t k = 0; k < n; ++k) any_missing |= hists.has_missing(k);
    return total_weight <= kMostWeight && !any_missing;
  }

  // As SplitFinder::scan_run, where no limit can forbid a boundary. score(left): as every other
  // search gives it.
  template <class Score>
  void scan(const Histograms& hists, std::span<const FeatureView> views, u64 total,
            const Score& score, Winner winner, u8* varies) {
    total_ = total;
    weight_ = static_cast<float>(static_cast<u32>(total));
    positive_ = static_cast<float>(static_cast<u32>(total >> 32));
    Candidate& best = winner.best;
    float most = std::max(0.0f, static_cast<float>(best.score));
    for (std::size_t k = 0; k < views.size(); ++k) {
      varies[k] = estimate(k, hists.cells + k * kHistogramBins, hists.touched[k]);
      most = std::max(most, features_[k].largest);
    }
    const float bound = most * (1.0f - 0x1.0p-20f);
    for (std::size_t k = 0; k < views.size(); ++k) {
      if (!varies[k] || features_[k].largest < bound) continue;
      revisit(k, bound, [&](u64 left, u32 cut, u32 next) {
        const double own = score(&left);
        if (!best.loses_to(own, views[k].priority, cut)) return;
        *winner.left = left;
        take_boundary(best, own, views[k], {cut, next, false, false});
      });
    }
  }

 private:
  // Products of two such weights are exact in a float, so an estimate is off by three roundings.
  static constexpr double kMostWeight = 1 << 12;
  static constexpr u32 kGroup = 4;
  using TwoSums COMMITTEE_VECTOR(16) = u64;  // as BinaryAccumulator's cells
  using Bits COMMITTEE_VECTOR(16) = i32;
  using Four COMMITTEE_VECTOR(16) = float;
  struct Feature {
    // Of every bin of the groups that were touched, and what lies left of its upper end.
    alignas(64) u64 sums[kHistogramBins];
    alignas(64) float scores[kHistogramBins];
    u8 groups[kHistogramBins / kGroup];
    u32 n_groups = 0;
    float largest = 0.0f;
  };

  // Feature k of the run, of which no value is missing; clears its histogram. False: it is
  // constant.
  bool estimate(std::size_t k, u64* hist, u64 touched) {
    Feature& feature = features_[k];
    u32 n_groups = 0;
    TwoSums before = {};
    Bits largest = {};
    for (u64 groups = touched; groups; groups &= groups - 1) {
      const u32 group = static_cast<u32>(std::countr_zero(groups));
      u64* const cells = hist + group * kGroup;
      TwoSums a, b;
      std::memcpy(&a, cells, sizeof a);
      std::memcpy(&b, cells + 2, sizeof b);
      std::memset(cells, 0, kGroup * sizeof *cells);
      const TwoSums none = {};
      a += shuffle_lanes<0, 2>(none, a);
      b += shuffle_lanes<0, 2>(none, b) + shuffle_lanes<1, 1>(a, a);
      const TwoSums own = shuffle_lanes<1, 1>(b, b);
      a += before;
      b += before;
      before += own;
      const u32 at = n_groups * kGroup;
      std::memcpy(feature.sums + at, &a, sizeof a);
      std::memcpy(feature.sums + at + 2, &b, sizeof b);
      const Four scores = estimate_scores(a, b);
      std::memcpy(feature.scores + at, &scores, sizeof scores);
      // Numbers >= 0 are ordered as their bits are; the larger of two integers needs no branch.
      const Bits bits = std::bit_cast<Bits>(scores);
      largest = bits > largest ? bits : largest;
      feature.groups[n_groups++] = static_cast<u8>(group);
    }
    feature.n_groups = n_groups;
    const Four most = std::bit_cast<Four>(largest);
    feature.largest = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
    return n_groups > 1 || std::any_of(feature.sums, feature.sums + kGroup * n_groups,
                                       [this](u64 sum) { return sum != 0 && sum != total_; });
  }

  // Calls take(sum on the left, last bin on the left, first on the right) for the boundaries of a
  // feature that varies whose estimates reach the bound.
  template <class Take>
  void revisit(std::size_t k, float bound, Take&& take) const {
    const Feature& feature = features_[k];
    const auto bin = [&](u32 at) { return feature.groups[at / kGroup] * kGroup + at % kGroup; };
    for (u32 at = 0; at < feature.n_groups * kGroup; ++at) {
      if (feature.scores[at] < bound) [[likely]]
        continue;
      // Behind a bin that is empty lies the boundary before it, or none.
      const u64 left = feature.sums[at];
      if (left == 0 || left == total_ || (at > 0 && feature.sums[at - 1] == left)) continue;
      u32 next = at + 1;
      while (feature.sums[next] == left) ++next;
      take(left, bin(at), bin(next));
    }
  }

  Four estimate_scores(TwoSums a, TwoSums b) const {
    const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
    const Four left = convert_lanes<Four>(shuffle_lanes<0, 2, 4, 6>(x, y));
    const Four p = convert_lanes<Four>(shuffle_lanes<1, 3, 5, 7>(x, y));
    const Four d = p * weight_ - positive_ * left;
    // Where a side is empty d is zero, and zero over the least number is zero.
    return d * d / (left * (weight_ - left) + std::numeric_limits<float>::min());
  }

  Feature features_[kBatch];
  u64 total_ = 0;
  float weight_ = 0.0f, positive_ = 0.0f;
};

}  // namespace committee
