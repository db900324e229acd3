// What a node draws: the features it looks at, the order among them, its thresholds.
#pragma once
#include "tree/tree_builder.hpp"

namespace committee {

// Draws from 0 .. n - 1 without replacement, one number after the other. The memory holds the
// identity between uses: what was swapped is swapped back at the end.
class Shuffle {
 public:
  Shuffle(std::vector<u32>& identity, u32 n, const NodeNumbers& numbers)
      : numbers_(numbers), n_(n) {
    for (u32 k = static_cast<u32>(identity.size()); k < n; ++k) identity.push_back(k);
    places_ = identity.data();
  }
  Shuffle(const Shuffle&) = delete;
  Shuffle& operator=(const Shuffle&) = delete;
  ~Shuffle() {
    while (n_drawn_-- > 0)
      std::swap(places_[n_drawn_],
                places_[n_drawn_ < kFew ? few_[n_drawn_] : more_[n_drawn_ - kFew]]);
  }
  u32 draw() {
    const u32 k = n_drawn_++;
    const u32 with = k + scale_below(numbers_.at(Purpose::features, k), n_ - k);
    std::swap(places_[k], places_[with]);
    if (k < kFew) {
      few_[k] = with;
    } else {
      more_.push_back(with);
    }
    return places_[k];
  }
  u32 n_drawn() const { return n_drawn_; }

 private:
  static constexpr u32 kFew = 64;
  const NodeNumbers numbers_;
  const u32 n_;
  u32* places_;
  u32 n_drawn_ = 0;
  u32 few_[kFew];  // what each place was swapped with
  std::vector<u32> more_;
};

// In place: copying what was just written in smaller pieces would wait for the writes.
template <class Accumulator>
[[gnu::always_inline]] inline void TreeBuilder<Accumulator>::fill_view(const NodeNumbers& numbers,
                                                                       u32 feature,
                                                                       const Worker& worker,
                                                                       FeatureView& view) const {
  view.feature = feature;
  view.place = feature;
  if (params_.shuffle_ties && plan_.draws_features) {
    view.place = worker.places[feature];
  } else if (params_.shuffle_ties) {
    // An order of the features drawn for the node; the low half keeps it free of ties.
    view.place |= numbers.at(Purpose::tie, feature) >> 32 << 32;
  }
  view.monotonic = params_.monotonic.empty() ? 0 : params_.monotonic[feature];
  if (params_.random_splits) {
    const ColumnBins& bins = (*data_.bins)[feature];
    const bool exact = params_.exact && !bins.categorical;
    view.low = exact ? &plan_.input.presort->values[feature] : &bins.low;
    view.high = exact ? &plan_.input.presort->values[feature] : &bins.high;
    view.number = numbers.at(Purpose::threshold, feature);
  }
}

template <class Accumulator>
FeatureView TreeBuilder<Accumulator>::view_feature(const NodeNumbers& numbers, u32 feature,
                                                   const Worker& worker) const {
  FeatureView view;
  fill_view(numbers, feature, worker, view);
  return view;
}

}  // namespace committee
