#include "tree/feature_views.hpp"

#include <bit>

#include "split/threshold.hpp"
#include "tree/growth_scratch.hpp"

namespace committee {

FeatureViews::FeatureViews(const GrowthPlan& plan)
    : plan_(plan),
      params_(plan.params),
      data_(*plan.input.data),
      ends_(plan.input.scratch ? plan.input.scratch->caches->ends.get() : nullptr),
      all_numeric_(plan.input.scratch && plan.input.scratch->caches->all_numeric) {
  if (plan.draws_features) priorities_.resize(data_.n_cols);
}

void FeatureViews::draw_features(FeatureSampler<u32, true>& sampler, std::span<const u32> pool,
                                 u32 n_wanted, std::vector<u32>& drawn) {
  drawn.clear();
  while (sampler.n_drawn() < std::min(static_cast<u32>(pool.size()), n_wanted)) {
    drawn.push_back(pool[sampler.draw()]);
    set_priority(drawn.back(), sampler.n_drawn());
  }
}

void FeatureViews::draw_columns(WideSampler& sampler, const u32* pool, const u64* may_vary,
                                std::vector<u32>& drawn) {
  const ColumnEntries& entries = *data_.entries;
  drawn.clear();
  do {
    const u32 at = sampler.draw(), feature = pool ? pool[at] : at;
    if ((may_vary[feature / 64] >> (feature % 64) & 1) == 0) continue;
    prefetch(entries.starts.data() + feature);
    drawn.push_back(feature);
    set_priority(feature, sampler.n_drawn());
  } while (!sampler.is_over() && (sampler.n_drawn() < params_.max_features || drawn.empty()));
}

void FeatureViews::list_boundaries(const NodeNumbers& numbers, std::size_t n_rows,
                                   std::span<const u32> features, const BinRange& range,
                                   SingleBoundaries& cuts, u8* varies) const {
  const auto lane = [](BinLanes lanes, std::size_t k) {
    return static_cast<u32>(std::bit_cast<u64>(lanes) >> (8 * k) & 0xFF);
  };
  const auto first_lane = static_cast<u32>(cuts.n_runs * kBatch);
  cuts.run_sizes[cuts.n_runs++] = features.size();
  cuts.has_more = 0;
  std::fill_n(cuts.limits + first_lane, kBatch, u8{0});
  for (u32 k = 0; k < features.size(); ++k) {
    const u32 lo = lane(range.lo, k), hi = lane(range.hi_next, k) - 1;
    const bool has_missing = lane(range.lo_next, k) == 0;
    varies[k] = lo != kMissingBin && (lo != hi || has_missing);
    if (!varies[k]) continue;
    if (has_missing && !params_.random_splits) {
      cuts.has_more |= 1u << k;
      continue;
    }
    SingleBoundary& cut = cuts.list[cuts.n];
    fill_view(numbers, features[k], cut.view);
    cut.at = {lo, hi, false, has_missing};
    cut.lane = first_lane + k;
    if (n_rows == 2 && cuts.n == 1) {
      if (cut.view.priority < cuts.list[0].view.priority) cuts.list[0] = cut;
      continue;
    }
    ++cuts.n;
  }
}

// From the smallest bin, .at.bin, and the largest one, .at.next, to the last bin on the left. Where
// they are one it stays, else it is below the largest.
void FeatureViews::draw_cuts(SingleBoundaries& cuts) const {
  if (ends_) {
    EndsTable::Query queries[EndsTable::kMostQueries];
    for (std::size_t c = 0; c < cuts.n; ++c) {
      const SingleBoundary& cut = cuts.list[c];
      queries[c] = {cut.view.feature, cut.at.bin, cut.at.next, cut.view.number, 0};
    }
    ends_->answer({queries, cuts.n});
    for (std::size_t c = 0; c < cuts.n; ++c) cuts.list[c].at.bin = queries[c].cut;
    return;
  }
  for (std::size_t first = 0; first < cuts.n; first += kBatch) {
    const std::size_t n = std::min<std::size_t>(kBatch, cuts.n - first);
    SplitBinSearch search;
    for (std::size_t c = 0; c < n; ++c) {
      const SingleBoundary& cut = cuts.list[first + c];
      search.add({cut.view.low->data(), cut.view.high->data(), cut.view.number}, cut.at.bin,
                 cut.at.next);
    }
    search.finish();
    for (u32 c = 0; c < n; ++c) cuts.list[first + c].at.bin = search.bin(c);
  }
}

void FeatureViews::find_cuts(SingleBoundaries& cuts) const {
  if (params_.random_splits) draw_cuts(cuts);
  for (u32 c = 0; c < cuts.n; ++c) {
    SingleBoundary& cut = cuts.list[c];
    if (cut.at.bin == cut.at.next) {  // one value, and missing ones
      cut.at.next = kNone;
    } else {
      cut.at.next = cut.at.bin + 1;
      cut.at.missing_left = cut.at.has_missing && draw_missing_left(cut.view);
    }
    cuts.limits[cut.lane] = static_cast<u8>(cut.at.bin + 1);
  }
}

}  // namespace committee
