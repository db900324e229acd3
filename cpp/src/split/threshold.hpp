// From the candidate that won to the split of the tree.
#pragma once
#include "committee/binning.hpp"
#include "committee/tree.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// Where bins between the two sides are empty in the node, the boundary nearest to the middle of the
// gap is taken, as an exact split would take the middle itself. Binned splits only.
void settle_split_bin(Candidate& best, const ColumnBins& bins);
// The same for a number: between bin `cut` and the next one that occurs.
u32 settle_split_bin(u32 cut, u32 next, const ColumnBins& bins);

// draw_split_bin for some features together. Each is a chain of loads that wait for one another;
// side by side the chains wait at the same time.
class SplitBinSearch {
 public:
  // The smallest and the largest value of each bin, and the node's number for the feature.
  struct Column {
    const double *low, *high;
    u64 number;
  };
  // Between the bins lo <= hi of a column; where they are one that is the cut.
  void add(const Column& column, u32 lo, u32 hi) {
    const double a = column.low[lo], b = column.high[hi];
    Range& range = ranges_[n_++];
    range.threshold = a + (b - a) * scale_unit(column.number);
    range.first = column.high;
    range.from = range.first + lo;
    range.n = hi - lo;
    most_ = range.n > most_ ? range.n : most_;
  }
  // Halves all ranges until one bin is left of each: where few are left already nothing happens.
  void finish() {
    for (; most_ > 1; most_ -= most_ / 2) {
      for (u32 k = 0; k < n_; ++k) {
        Range& range = ranges_[k];
        const u64 half = range.n / 2;
        const double* probe = range.from + half;
        // A mask, since a compiler would guess a choice, wrongly every other time.
        range.from += half & (u64{0} - u64{*probe <= range.threshold});
        range.n -= half;
      }
    }
  }
  u32 bin(u32 k) const { return static_cast<u32>(ranges_[k].from - ranges_[k].first); }

 private:
  struct Range {
    const double *first, *from;  // of the column, of what is left
    double threshold;
    u64 n;
  };
  Range ranges_[8];
  u32 n_ = 0;
  u64 most_ = 0;
};

// The threshold of a binned split: after a bin, or above all values where only missing ones go
// right.
inline double threshold_of(const ColumnBins& bins, u32 bin, u32 next) {
  return next == kNone ? std::numeric_limits<double>::infinity() : bins.thresholds[bin];
}
inline double threshold_of(const Candidate& best, const ColumnBins& bins) {
  return threshold_of(bins, best.bin, best.next);
}

// presort: not null for exact splits.
GrownTree::Split describe_split(const Candidate& best, const ColumnBins& bins,
                                const Presort* presort);

}  // namespace committee
