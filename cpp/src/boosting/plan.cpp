#include <algorithm>
#include <queue>

#include "boosting/incremental_residuals.hpp"
#include "committee/boosting_plan.hpp"

namespace committee {

namespace {

// With more weight the words do not depend on the layout of the records, which then need not be
// made.
constexpr u64 kMostPlanned = u64{1} << 18;

GrownTree import_tree(const std::vector<ColumnBins>& bins, std::span<const BinnedTreeNode> nodes,
                      double weight_unit) {
  GrownTree tree;
  std::vector<i64> weights(nodes.size());
  std::vector<u32> counts(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const BinnedTreeNode& node = nodes[i];
    const auto left = static_cast<std::size_t>(node.left);
    if (node.left >= 0 && (left <= i || left + 1 >= nodes.size()))
      throw std::invalid_argument("a child is out of place");
    weights[i] = node.left < 0 ? node.weight : weights[left] + weights[left + 1];
    counts[i] = node.left < 0 ? node.count : counts[left] + counts[left + 1];
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const BinnedTreeNode& node = nodes[i];
    const double value[] = {node.left < 0 ? node.value : 0.0};
    tree.add_node(counts[i], 0.0, 0.0, value);
    if (node.left < 0) {
      tree.weight[i] = static_cast<double>(node.weight) * weight_unit;
      continue;
    }
    if (node.feature >= bins.size()) throw std::invalid_argument("a split has no such feature");
    const auto left = static_cast<u32>(node.left);
    const std::vector<double>& thresholds = bins[node.feature].thresholds;
    const u32 bin = node.place & 255;
    tree.left[i] = left;
    tree.right[i] = left + 1;
    tree.splits[i].feature = node.feature;
    tree.splits[i].threshold =
        bin < thresholds.size() ? thresholds[bin] : std::numeric_limits<double>::infinity();
    tree.splits[i].missing_left = (node.place & BinnedTreeNode::kHasMissing) != 0
                                      ? (node.place & BinnedTreeNode::kMissingLeft) != 0
                                      : 2 * weights[left] > weights[i];
  }
  return tree;
}

}  // namespace

BoostingPlan plan_boosting(const BinnedMatrix& data, std::span<const double> weights,
                           const Loss& loss, const BoostingParams& params) {
  const RowWeights fixed(weights, data.n_rows);
  WordPlan words = plan_words(fixed, false);
  BoostingPlan plan;
  if (fixed.total <= kMostPlanned) {
    const Records records(data, fixed, {params.joint_columns, params.goss_other > 0.0}, 1);
    words = records.words();
    plan.incremental = Residuals::suit(loss, fixed, params, records.layout());
  }
  plan.gradient_shift = words.gradient_shift;
  plan.hessian_shift = words.hessian_shift;
  plan.stochastic = words.stochastic;
  plan.repeated = fixed.repeats();
  plan.weight_unit = fixed.unit;
  plan.weights = fixed.values;
  plan.positions = fixed.positions();
  for (const ColumnBins& bins : *data.bins) {
    plan.n_bins.push_back(bins.n_bins);
    plan.categorical = plan.categorical || bins.categorical;
  }
  return plan;
}

u64 rounding_key(u64 tree) {
  // No part of the seed: a seed changes only what is drawn, and rounding draws nothing.
  return combine_keys(combine_keys(0, static_cast<u64>(Purpose::rounding)), tree);
}

Trees import_trees(const BinnedMatrix& data, std::span<const BinnedTreeNode> nodes,
                   std::span<const u64> offsets, double weight_unit) {
  std::vector<GrownTree> grown;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    if (offsets[t] >= offsets[t + 1] || offsets[t + 1] > nodes.size())
      throw std::invalid_argument("the offsets of trees must ascend");
    grown.push_back(import_tree(*data.bins, nodes.subspan(offsets[t], offsets[t + 1] - offsets[t]),
                                weight_unit));
  }
  ArenaOptions options;
  options.n_features = data.n_cols;
  return compact_trees(grown, options);
}

void add_gains(std::span<const BinnedTreeNode> tree, bool level_wise, std::span<double> gains,
               std::span<u64> n_splits) {
  struct Open {
    double gain;
    u32 order, node;
  };
  const auto comes_later = [&](const Open& a, const Open& b) {
    if (!level_wise && a.gain != b.gain) return a.gain < b.gain;
    return a.order > b.order;
  };
  std::priority_queue<Open, std::vector<Open>, decltype(comes_later)> queue(comes_later);
  std::vector<u32> numbered(tree.size());  // nodes in the order of their creation
  u32 n_created = 0;
  const auto create = [&](u32 node) {
    numbered[n_created] = node;
    if (tree[node].left >= 0) queue.push({tree[node].gain, n_created, node});
    ++n_created;
  };
  create(0);
  while (!queue.empty()) {
    const auto left = static_cast<u32>(tree[queue.top().node].left);
    queue.pop();
    create(left);
    create(left + 1);
  }
  for (const u32 node : std::span(numbered).first(n_created)) {
    if (tree[node].left < 0) continue;
    gains[tree[node].feature] += tree[node].gain;
    ++n_splits[tree[node].feature];
  }
}

}  // namespace committee
