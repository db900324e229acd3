// Which features a tree and its nodes may look at, and where their histograms are.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "boosting/tree_grower.hpp"

namespace committee {

namespace {

// Where the root's histogram would be updated, records of drawn columns cost its sum in addition.
constexpr double kIncrementalShare = 0.5;
// What a row's word costs, and its place in the list, in columns that it is added to.
constexpr std::size_t kWordsCost = 7;

}  // namespace

// The features of the tree at hand, and where their histograms are.
void BoostingGrower::draw_tree_features() {
  tree_features_.resize(bins_.size());
  std::iota(tree_features_.begin(), tree_features_.end(), 0u);
  draw_features(tree_features_, params_.colsample_tree, 0, 0);
  const std::size_t n = tree_features_.size();
  drawn_per_node_ = count_drawn(count_drawn(n, params_.colsample_level), params_.colsample_node);
  sums_columns_ = pays_to_sum_columns();
  const double share = params_.compact_share * (plan_->incremental ? kIncrementalShare : 1.0);
  ColumnChoice choice{tree_features_, share, plan_->incremental};
  if (sums_columns_) choice.columns = {};  // records hold the words
  layout_ = &rows_.choose_columns(choice);
  const bool all = n == bins_.size() && !sums_columns_;
  if (all && all_features_) return;  // as before
  all_features_ = all;
  n_entries_ = layout_->n_entries() * width_;
  list_bundles();
  // Trees of as many features need no more than this.
  const bool compact = layout_ != &table_layout_;
  const std::size_t most = compact ? n * layout_->bundle_step() : SIZE_MAX;
  const std::size_t size =
      std::max<std::size_t>(1, std::min(table_layout_.n_entries(), most) * width_);
  if (size <= histogram_size_) return;
  histograms_.clear();
  free_histograms_.clear();
  histogram_size_ = size;
}

// Every row of a node that is searched is read, rather than those of its smaller child with all
// columns.
bool BoostingGrower::pays_to_sum_columns() const {
  if (!rows_.sums_columns() || width_ > 1 || plan_->symmetric || params_.mixed) return false;
  // Bytes of the tree's features: one-hot columns share some.
  const double n_bytes = static_cast<double>(table_layout_.n_byte_bundles()) *
                         static_cast<double>(tree_features_.size()) /
                         static_cast<double>(bins_.size());
  return static_cast<double>(drawn_per_node_ + kWordsCost) <= params_.direct_share * n_bytes;
}

void BoostingGrower::list_bundles() {
  for (std::vector<u32>& features : bundle_features_) features.clear();
  bundle_features_.resize(layout_->n_bundles() + 1);
  for (const u32 f : tree_features_) {
    if (bins_[f].wide) {
      bundle_features_.back().push_back(f);
    } else if (table_layout_.encoding(f).bundle != ColumnEncoding::kNoBundle) {
      const std::size_t place = sums_columns_ ? layout_->n_bundles() : layout_->encoding(f).bundle;
      bundle_features_[place].push_back(f);
    }
  }
}

// How many a share of so many features is.
std::size_t BoostingGrower::count_drawn(std::size_t n, double share) {
  if (share >= 1.0) return n;
  const double wanted = std::nearbyint(share * static_cast<double>(n));
  return std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, std::max<std::size_t>(1, n));
}

// A share of the features, drawn for a node or a depth; ascending.
void BoostingGrower::draw_features(std::vector<u32>& features, double share, u64 node,
                                   u64 depth) const {
  const std::size_t n = features.size(), wanted = count_drawn(n, share);
  if (wanted >= n) return;
  Rng rng(combine_keys(params_.seed, depth), tree_number_, node, Purpose::column);
  for (std::size_t k = 0; k < wanted; ++k)
    std::swap(features[k], features[k + rng.below(static_cast<u32>(n - k))]);
  features.resize(wanted);
  std::sort(features.begin(), features.end());
}

// Whether a leaf may look at each feature; empty: at all of them. Where all nodes of a depth are
// split alike, they draw the same.
std::vector<u8> BoostingGrower::choose_features(const OpenLeaf& leaf) const {
  const bool draws = params_.colsample_level < 1.0 || params_.colsample_node < 1.0;
  if (!draws && !leaf.groups) return {};  // other columns are in no bundle
  std::vector<u32> features = tree_features_;
  draw_features(features, params_.colsample_level, 0, leaf.depth + 1);
  if (plan_->symmetric) {
    draw_features(features, params_.colsample_node, kRootKey, leaf.depth + 1);
  } else {
    draw_features(features, params_.colsample_node, leaf.key, 0);
  }
  std::vector<u8> chosen(bins_.size(), 0);
  for (const u32 f : features) chosen[f] = is_open_to(leaf, f);
  return chosen;
}

// Whether a group of interactions that is still open has the feature.
bool BoostingGrower::is_open_to(const OpenLeaf& leaf, u32 feature) const {
  if (!leaf.groups) return true;
  for (std::size_t k = 0; k < leaf.groups->size(); ++k)
    if (((*leaf.groups)[k] & feature_groups_[feature][k]) != 0) return true;
  return false;
}

}  // namespace committee
