// Symmetric trees: all nodes of a depth are split by the same feature at the same place, the one
// that gains most in all of them together [Prokhorenkova2018, section 4]. A node in which that
// split gains nothing, or leaves too few rows on a side, stays as it is until the next depth: a
// tree of fewer leaves, with the same answers for all rows that it was grown on.
#include <algorithm>
#include <numeric>

#include "boosting/tree_grower.hpp"

namespace committee {

namespace {

// Gains of splits that pay for waking the threads.
constexpr std::size_t kMinParallelGains = 20'000;

}  // namespace

// The first `length` of the bins go left.
struct BoostingGrower::LevelSplit {
  double gain = 0.0;  // of all nodes
  u32 feature = kNone, length = 0;
  bool missing_left = false, has_missing = false;
  std::vector<u32> bins;
};

void BoostingGrower::grow_levels(std::unique_ptr<OpenLeaf> root, std::size_t most_leaves,
                                 InterruptWatch& watch) {
  LeafQueue level;
  level.push_back(std::move(root));
  for (u32 depth = 0; depth < find_max_depth(); ++depth) {
    watch.poll();
    std::vector<OpenLeaf*> open, batch;
    for (const auto& leaf : level)
      if (leaf->histogram && may_split(*leaf)) open.push_back(leaf.get());
    if (open.empty()) break;
    split_level(open);
    for (OpenLeaf* leaf : open)
      if (leaf->best.found()) batch.push_back(leaf);
    if (batch.empty() || level.size() + batch.size() > most_leaves) break;
    expand(batch, depth + 1 == find_max_depth());
    LeafQueue next;
    for (auto& leaf : level) {
      if (leaf->expanded) {
        add_children(*leaf);
        next.push_back(std::move(leaf->left));
        next.push_back(std::move(leaf->right));
      } else {
        leaf->depth = depth + 1;
        next.push_back(std::move(leaf));
      }
    }
    const bool is_over = next.size() == level.size();
    level = std::move(next);
    if (is_over) break;
  }
  for (const auto& leaf : level) close(*leaf);
}

// What some leaf may look at: they draw the same, but nodes that were not split have more groups of
// interactions open than others.
std::vector<u32> BoostingGrower::list_level_features(std::span<OpenLeaf* const> level) const {
  std::vector<u8> chosen = choose_features(*level.front());
  for (const OpenLeaf* leaf : level) {
    if (!leaf->groups || leaf == level.front()) continue;
    const std::vector<u8> own = choose_features(*leaf);
    for (std::size_t f = 0; f < own.size(); ++f) chosen[f] |= own[f];
  }
  std::vector<u32> features;
  for (const std::vector<u32>& bundle : bundle_features_)
    for (const u32 feature : bundle)
      if (chosen.empty() || chosen[feature] != 0) features.push_back(feature);
  return features;
}

// Finds the split of a depth; those of its leaves that it is worthwhile for have it then.
void BoostingGrower::split_level(std::span<OpenLeaf* const> level) const {
  std::vector<NodeSearch> searches;
  searches.reserve(level.size());
  for (const OpenLeaf* leaf : level) searches.emplace_back(*plan_, describe_node(*leaf));
  const std::vector<u32> features = list_level_features(level);
  std::vector<LevelSplit> found(features.size());
  const std::size_t n_gains = level.size() * features.size() * kHistogramBins;
  parallel_for(features.size(), n_gains > kMinParallelGains ? n_threads_ : 1,
               [&](std::size_t f) { found[f] = search_level(level, searches, features[f]); });
  const LevelSplit* best = nullptr;
  for (const LevelSplit& split : found) {
    if (split.feature == kNone) continue;
    if (!best || split.gain > best->gain ||
        (split.gain == best->gain && split.feature < best->feature))
      best = &split;
  }
  if (!best) return;
  const std::span<const u32> left = std::span(best->bins).first(best->length);
  ColumnRoom room;
  for (std::size_t l = 0; l < level.size(); ++l) {
    OpenLeaf& leaf = *level[l];
    if (!is_open_to(leaf, best->feature)) continue;
    const ColumnView view = view_column(leaf, best->feature, room);
    const NodeSearch::SharedGain own = searches[l].measure_shared(view, left, least_gain_);
    if (!(own.gain > 0.0)) continue;
    if (view.categorical) {
      leaf.best.take_categories(own.gain, best->feature, own.left, left, view.n_bins);
      continue;
    }
    leaf.best.gain = own.gain;
    leaf.best.feature = best->feature;
    leaf.best.split_bin = left.back();
    leaf.best.missing_left = best->missing_left;
    leaf.best.has_missing = best->has_missing;
    leaf.best.left = own.left;
  }
}

// The best split of a feature for all leaves together. Numeric bins in their order, missing values
// last and then first; categories in the order of their gradients over hessians in all leaves, and
// in the opposite one.
BoostingGrower::LevelSplit BoostingGrower::search_level(std::span<OpenLeaf* const> level,
                                                        std::span<const NodeSearch> searches,
                                                        u32 feature) const {
  ColumnView column = describe_column(feature);
  const u32 n_entries = column.n_bins + (column.has_missing ? 1 : 0);
  std::vector<ColumnRoom> rooms(level.size());
  std::vector<ColumnView> views;
  std::vector<i64> sums(n_entries, 0);
  i64 total = 0;
  double n_copies = 0.0;
  for (std::size_t l = 0; l < level.size(); ++l) {
    views.push_back(view_column(*level[l], feature, rooms[l]));
    for (u32 bin = 0; bin < n_entries; ++bin) sums[bin] += views[l].histogram[bin];
    total += level[l]->total;
    n_copies += static_cast<double>(level[l]->weight) * plan_->weight_unit;
  }
  LevelSplit best;
  std::vector<double> totals;
  const auto look_at = [&](std::span<const u32> bins, std::size_t fewest, std::size_t most,
                           bool missing_left, bool has_missing) {
    totals.assign(bins.size(), 0.0);
    for (std::size_t l = 0; l < level.size(); ++l)
      if (is_open_to(*level[l], feature))
        searches[l].add_gains(views[l], bins, least_gain_, totals.data());
    for (std::size_t k = fewest; k <= most; ++k)
      if (totals[k - 1] > best.gain)
        best = {totals[k - 1], feature,     static_cast<u32>(k),
                missing_left,  has_missing, {bins.begin(), bins.end()}};
  };
  column.histogram = sums.data();
  if (column.categorical) {
    std::vector<std::pair<double, u32>> keyed = key_categories(*plan_, column, total, n_copies);
    scan_both_ways(
        keyed, [&](std::span<const u32> order) { look_at(order, 1, order.size(), false, true); });
    return best;
  }
  const bool occurs = column.has_missing && sums[column.n_bins] != 0;
  std::vector<u32> bins(column.n_bins + 1);
  std::iota(bins.begin() + 1, bins.end(), 0u);
  bins[0] = column.n_bins;  // missing values
  const std::span<const u32> values = std::span(bins).subspan(1);
  look_at(values, 1, occurs ? column.n_bins : column.n_bins - 1, false, occurs);
  if (occurs) look_at(bins, 2, column.n_bins, true, true);
  return best;
}

}  // namespace committee
