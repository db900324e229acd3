// Pruning of a grown tree, before its leaves get values.
#include "boosting/tree_grower.hpp"

namespace committee {

// Minimal cost-complexity pruning [Breiman1984, ch. 3] with the objective as risk: a split takes
// 2 gain / (weight of all rows) off it, which is what it takes off the mean squared error where the
// loss is that.
void BoostingGrower::prune() {
  const double unit = 2.0 / (static_cast<double>(weights_.total) * weights_.unit);
  std::vector<double> risk(tree_.size(), 0.0);
  for (u32 node = 0; node < tree_.size(); ++node) {
    // Only the difference between a node and its children matters.
    if (!tree_.is_leaf(node)) risk[tree_.left[node]] = risk[node] - unit * node_gains_[node];
    tree_.weight[node] = 1.0;
    tree_.impurity[node] = risk[node];
  }
  const std::vector<u32> former = prune_tree(tree_, params_.ccp_alpha);
  std::vector<u32> split_bins;
  std::vector<double> gains;
  leaves_.clear();
  for (u32 node = 0; node < tree_.size(); ++node) {
    const u32 before = former.empty() ? node : former[node];
    split_bins.push_back(split_bins_[before]);
    gains.push_back(node_gains_[before]);
    if (tree_.is_leaf(node)) {
      leaves_.push_back(node_leaves_[before]);
      leaves_.back().node = node;
      unsplit_.push_back(leaves_.back().rows);
    }
    tree_.weight[node] = tree_.impurity[node] = 0.0;
  }
  rows_.unsplit(unsplit_);
  unsplit_.clear();
  split_bins_ = std::move(split_bins);
  node_gains_ = std::move(gains);
}

}  // namespace committee
