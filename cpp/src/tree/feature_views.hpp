// What the search of a node knows of its features, whatever the accumulator. The search is compiled
// for each accumulator, this once.
#pragma once
#include "split/feature_sampler.hpp"
#include "split/split_candidate.hpp"
#include "tree/ends_table.hpp"
#include "tree/gather_bins.hpp"
#include "tree/growth_plan.hpp"

namespace committee {

// Single boundaries of some runs of features; lane 8 r + k is feature k of run r.
struct SingleBoundaries {
  static constexpr std::size_t kRuns = 8;
  SingleBoundary list[kRuns * kBatch];
  std::size_t n = 0, n_runs = 0;
  std::size_t run_sizes[kRuns];  // features
  u32 has_more = 0;           // a bit a feature of the last run that has other boundaries besides
  u8 limits[kRuns * kBatch];  // a lane: one above the last bin that goes left; 0: none
  void clear() { n = n_runs = has_more = 0; }
};

// Of one thread at a time.
class FeatureViews {
 public:
  explicit FeatureViews(const GrowthPlan& plan);

  // The order in which a feature was drawn, where features are drawn: equal splits go to the first.
  void set_priority(u32 feature, u32 priority) { priorities_[feature] = priority; }
  // Draws features of the pool until so many were drawn of it.
  void draw_features(FeatureSampler<u32, true>& sampler, std::span<const u32> pool, u32 n_wanted,
                     std::vector<u32>& drawn);
  // Draws columns of entries until max_features were drawn and one of these may vary; the others
  // are left out. Without a pool: of all columns.
  void draw_columns(WideSampler& sampler, const u32* pool, const u64* may_vary,
                    std::vector<u32>& drawn);

 protected:
  FeatureView view_feature(const NodeNumbers& numbers, u32 feature) const {
    FeatureView view;
    fill_view(numbers, feature, view);
    return view;
  }
  // In place: copying what was just written in smaller pieces would wait for the writes.
  COMMITTEE_INLINE void fill_view(const NodeNumbers& numbers, u32 feature,
                                  FeatureView& view) const {
    view.feature = feature;
    view.priority = params_.shuffle_ties && plan_.draws_features
                        ? priorities_[feature]
                        : tie_priority(numbers, feature, params_.shuffle_ties);
    view.monotonic = params_.monotonic.empty() ? 0 : params_.monotonic[feature];
    if (params_.random_splits) {
      const ColumnBins& bins = (*data_.bins)[feature];
      const bool exact = params_.exact && !bins.categorical;
      view.low = exact ? &plan_.input.presort->values[feature] : &bins.low;
      view.high = exact ? &plan_.input.presort->values[feature] : &bins.high;
      view.number = numbers.at(Purpose::threshold, feature);
    }
  }
  // Adds a run of features, and a boundary for each that varies in a node of n_rows. Two rows are
  // partitioned by any feature alike: of those only the first in the node's order is kept.
  void list_boundaries(const NodeNumbers& numbers, std::size_t n_rows,
                       std::span<const u32> features, const BinRange& range, SingleBoundaries& cuts,
                       u8* varies) const;
  // The cuts of all that were listed.
  void find_cuts(SingleBoundaries& cuts) const;
  void draw_cuts(SingleBoundaries& cuts) const;

  const GrowthPlan& plan_;
  const GrowParams& params_;
  const BinnedMatrix& data_;
  const EndsTable* const ends_;  // null: none
  const bool all_numeric_;       // false: not known
  std::vector<u32> priorities_;  // per feature that was drawn: when
};

}  // namespace committee
