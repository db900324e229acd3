// From the candidate that won to the question that the tree asks.
#pragma once
#include "binning.hpp"
#include "split.hpp"
#include "tree.hpp"

namespace committee {

// Where bins between the two sides are empty in the node, the boundary nearest to the middle of the
// gap is taken, as an exact split would take the middle itself. Binned splits only.
void settle_cut(Candidate& best, const ColumnBins& bins);

// draw_cut for some features together. Each is a chain of loads that wait for one another; side by
// side the chains wait at the same time.
class CutSearch {
 public:
  // Between the bins lo < hi of the view's column.
  void add(const FeatureView& view, u32 lo, u32 hi) {
    const double a = (*view.low)[lo], b = (*view.high)[hi];
    threshold_[n_] = a + (b - a) * scale_unit(view.number);
    first_[n_] = view.high->data();
    from_[n_] = first_[n_] + lo;
    left_[n_++] = hi - lo;
    most_ = hi - lo > most_ ? hi - lo : most_;
  }
  // Halves all ranges until one bin is left of each: where few are left already nothing happens.
  void finish() {
    for (; most_ > 1; most_ -= most_ / 2) {
      for (u32 k = 0; k < n_; ++k) {
        const u32 half = left_[k] / 2;
        const double* probe = from_[k] + half;
        from_[k] = *probe <= threshold_[k] ? probe : from_[k];
        left_[k] -= half;
      }
    }
  }
  u32 cut(u32 k) const { return static_cast<u32>(from_[k] - first_[k]); }

 private:
  static constexpr u32 kMost = 8;
  const double *first_[kMost], *from_[kMost];
  double threshold_[kMost];
  u32 left_[kMost];
  u32 n_ = 0, most_ = 0;
};

// presort: not null for exact splits.
GrownTree::Split describe_split(const Candidate& best, const ColumnBins& bins,
                                const Presort* presort);

}  // namespace committee
