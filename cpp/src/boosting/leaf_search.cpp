// The search side of the grower: which features a node may look at, and the best split of them.
#include <algorithm>

#include "boosting/tree_grower.hpp"

namespace committee {

namespace {

// Visits of histogram entries (a scan of two nodes counts eight of each) that pay for waking the
// threads.
constexpr std::size_t kMinParallelVisits = 15'000;

}  // namespace

// The scan estimates the rows of a side by its share of the hessians. Where that was wrong, the
// rows of the best column are counted, until the best column is one whose rows were counted. The
// leaf's gain does not rise by it: otherwise the order of splits would depend on which leaves were
// counted. So the outcome is a function of the leaf's rows alone, and a leaf that is counted before
// its turn, by whomever, is split in the place and in the way in which it would have been anyway.
void BoostingGrower::recount(OpenLeaf& leaf) {
  const double estimated = leaf.best.gain;
  leaf.counted = true;
  leaf.best = BoostSplit{};
  NodeSearch search(*plan_, describe_node(leaf));
  const std::vector<u8> chosen = choose_features(leaf);
  std::vector<BoostSplit> found(bins_.size());
  std::vector<u8> counted(bins_.size(), 0);
  for (const std::vector<u32>& features : bundle_features_)
    for (const u32 feature : features)
      if (chosen.empty() || chosen[feature] != 0)
        search_feature(leaf, feature, search, found[feature]);
  for (;;) {
    u32 best = 0;
    for (u32 feature = 1; feature < bins_.size(); ++feature)
      if (found[feature].beats(found[best])) best = feature;
    if (!found[best].found()) break;
    if (counted[best] != 0) {
      leaf.best = std::move(found[best]);
      break;
    }
    counted[best] = 1;
    found[best] = BoostSplit{};
    search_counted(leaf, best, search, found[best]);
  }
  leaf.best.gain = leaf.best.found() ? std::min(leaf.best.gain, estimated) : 0.0;
}

void BoostingGrower::search_counted(const OpenLeaf& leaf, u32 feature, NodeSearch& search,
                                    BoostSplit& best) const {
  std::vector<u32> counts;
  std::vector<u64> weights;
  rows_.count_bins(leaf.rows, feature, counts, weights);
  ColumnView view = describe_column(feature);
  std::vector<i64> wide_histogram;
  i64 room[kHistogramBins];
  if (bins_[feature].wide) {
    rows_.sum_levels(leaf.rows, feature, wide_histogram);
    view.histogram = wide_histogram.data();
  } else {
    view.histogram = layout_.column_histogram(feature, leaf.histogram, leaf.total, room);
  }
  view.counts = counts.data();
  view.weights = weights.empty() ? nullptr : weights.data();
  view.least_weight = find_least_weight(params_.min_weight_leaf, weights_.total);
  view.total_weight = leaf.weight;
  search.scan(view, best);
}

ColumnView BoostingGrower::describe_column(u32 feature) const {
  const ColumnEncoding& encoding = layout_.encoding(feature);
  const ColumnBins& bins = bins_[feature];
  ColumnView view;
  view.feature = feature;
  view.n_bins = encoding.n_bins;
  view.has_missing = encoding.has_missing || bins.wide;
  view.categorical = bins.categorical;
  view.monotonic = params_.monotonic.empty() ? 0 : params_.monotonic[feature];
  return view;
}

// Searches two siblings, or the root alone. The histogram of a bundle is completed and scanned
// while it is in the cache; in parallel, threads share the bundles.
void BoostingGrower::search_siblings(Siblings pair, bool merge) {
  for (int k = 0; k < 2; ++k) {
    OpenLeaf* leaf = pair.leaves[k];
    pair.searched[k] = pair.wanted && leaf && may_split(*leaf);
    if (pair.searched[k]) pair.chosen[k] = choose_features(*leaf);
  }
  if (width_ > 1) find_totals(pair, merge);
  const std::size_t n_bundles = bundle_features_.size();
  const std::size_t visits = n_entries_ * (8 + static_cast<std::size_t>(n_threads_));
  const std::size_t n_parts =
      merge && visits > kMinParallelVisits ? static_cast<std::size_t>(n_threads_) : 1;
  std::vector<BoostSplit> found(2 * n_parts);
  parallel_for(n_parts, n_threads_, [&](std::size_t part) {
    const std::size_t begin = n_bundles * part / n_parts, end = n_bundles * (part + 1) / n_parts;
    if (width_ > 1) {
      search_bundles<VectorSearch>(pair, begin, end, merge, found.data() + 2 * part);
    } else {
      search_bundles<NodeSearch>(pair, begin, end, merge, found.data() + 2 * part);
    }
  });
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].found() && found[i].beats(pair.leaves[i % 2]->best))
      pair.leaves[i % 2]->best = std::move(found[i]);
  for (OpenLeaf* leaf : pair.leaves)
    if (leaf && !leaf->best.found()) drop_histogram(leaf->histogram);
}

// Bundles begin .. end - 1. `merge`: the threads' histograms of the first leaf are added up; the
// second leaf's is that of the parent less the first's. A search is a NodeSearch, or a VectorSearch
// where leaves are vectors.
template <class Search>
void BoostingGrower::search_bundles(const Siblings& pair, std::size_t begin, std::size_t end,
                                    bool merge, BoostSplit* found) const {
  std::optional<Search> searches[2];
  for (int k = 0; k < 2; ++k)
    if (pair.searched[k]) start_search(*pair.leaves[k], searches[k]);
  for (std::size_t bundle = begin; bundle < end; ++bundle) {
    complete_bundle(pair, bundle, merge);
    for (const u32 feature : bundle_features_[bundle])
      for (int k = 0; k < 2; ++k)
        if (pair.searched[k] && (pair.chosen[k].empty() || pair.chosen[k][feature] != 0))
          search_feature(*pair.leaves[k], feature, *searches[k], found[k]);
  }
}

void BoostingGrower::complete_bundle(const Siblings& pair, std::size_t bundle, bool merge) const {
  if (bundle >= layout_.n_bundles()) return;
  const std::size_t step = layout_.entries_per_bundle() * width_;
  i64* const histogram = pair.leaves[0]->histogram + bundle * step;
  if (merge)
    for (const i64* part : rows_.partial_histograms())
      for (std::size_t i = 0; i < step; ++i) histogram[i] += part[bundle * step + i];
  if (!pair.leaves[1]) return;
  i64* const rest = pair.leaves[1]->histogram + bundle * step;
  for (std::size_t i = 0; i < step; ++i) rest[i] -= histogram[i];
}

void BoostingGrower::search_feature(const OpenLeaf& leaf, u32 feature, NodeSearch& search,
                                    BoostSplit& best) const {
  ColumnView view = describe_column(feature);
  if (bins_[feature].wide) {
    std::vector<i64> histogram;
    rows_.sum_levels(leaf.rows, feature, histogram);
    view.histogram = histogram.data();
    search.scan(view, best);
  } else {
    alignas(64) i64 room[kHistogramBins];
    view.histogram = layout_.column_histogram(feature, leaf.histogram, leaf.total, room);
    search.scan(view, best);
  }
}

// Sums of all words: of the first leaf over the histogram of any bundle, of its sibling what is
// left of the parent's, which it has taken over.
void BoostingGrower::find_totals(const Siblings& pair, bool merge) const {
  std::vector<i64>& first = pair.leaves[0]->totals;
  first.assign(width_, 0);
  const auto add = [&](const i64* words) {
    for (u32 k = 0; k < width_; ++k) first[k] += words[k];
  };
  if (layout_.n_bundles() > 0) {
    for (std::size_t bin = 0; bin < layout_.entries_per_bundle(); ++bin) {
      add(pair.leaves[0]->histogram + bin * width_);
      if (merge)
        for (const i64* part : rows_.partial_histograms()) add(part + bin * width_);
    }
  } else {
    rows_.sum_vectors(pair.leaves[0]->rows, first);
  }
  if (!pair.leaves[1]) return;
  for (u32 k = 0; k < width_; ++k) pair.leaves[1]->totals[k] -= first[k];
}

void BoostingGrower::search_feature(const OpenLeaf& leaf, u32 feature, VectorSearch& search,
                                    BoostSplit& best) const {
  const ColumnEncoding& encoding = layout_.encoding(feature);
  const ColumnBins& bins = bins_[feature];
  std::vector<i64> room;
  VectorColumn column{feature, encoding.n_bins, encoding.has_missing, bins.categorical, nullptr};
  if (bins.wide) {
    column.has_missing = true;
    rows_.sum_levels(leaf.rows, feature, room);
    column.histogram = room.data();
  } else {
    column.histogram = layout_.column_histogram(feature, leaf.histogram, leaf.totals, room);
  }
  search.scan(column, best);
}

// A share of the features, drawn for a node or a depth; ascending.
void BoostingGrower::draw_features(std::vector<u32>& features, double share, u64 node,
                                   u64 depth) const {
  const std::size_t n = features.size();
  const std::size_t wanted = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::nearbyint(share * static_cast<double>(n))));
  if (share >= 1.0 || wanted >= n) return;
  Rng rng(combine_keys(params_.seed, depth), tree_number_, node, Purpose::column);
  for (std::size_t k = 0; k < wanted; ++k)
    std::swap(features[k], features[k + rng.below(static_cast<u32>(n - k))]);
  features.resize(wanted);
  std::sort(features.begin(), features.end());
}

// Whether a leaf may look at each feature; empty: at all of them.
std::vector<u8> BoostingGrower::choose_features(const OpenLeaf& leaf) const {
  const bool draws = params_.colsample_level < 1.0 || params_.colsample_node < 1.0;
  if (!draws && !leaf.groups && tree_features_.size() == bins_.size()) return {};
  std::vector<u32> features = tree_features_;
  draw_features(features, params_.colsample_level, 0, leaf.depth + 1);
  draw_features(features, params_.colsample_node, leaf.key, 0);
  std::vector<u8> chosen(bins_.size(), 0);
  for (const u32 f : features) {
    chosen[f] = leaf.groups ? 0 : 1;
    for (std::size_t k = 0; leaf.groups && k < leaf.groups->size(); ++k)
      if (((*leaf.groups)[k] & feature_groups_[f][k]) != 0) chosen[f] = 1;
  }
  return chosen;
}

}  // namespace committee
