#include "boosting/leaf_values.hpp"

#include <algorithm>

namespace committee {

namespace {

constexpr std::size_t kStoredRows = 8192;

bool goes_left(const StoredTree& stored, const BinnedMatrix& data, u32 node, std::size_t row) {
  const GrownTree::Split& split = stored.tree.splits[node];
  u32 code = data.bin(row, split.feature);
  bool missing = code == kMissingBin;
  if (!split.categorical) return missing ? split.missing_left : code <= stored.split_bins[node];
  if (!data.wide[split.feature].empty()) {
    code = data.wide[split.feature][row];
    missing = code == kMissingCode;
  }
  if (missing || code >= 32 * split.left_categories->size()) return split.missing_left;
  return (((*split.left_categories)[code / 32] >> (code % 32)) & 1u) != 0;
}

}  // namespace

void set_leaf_values(const LeafUpdate& update, const BoostingGrower& grower, u32 column,
                     GrownTree& tree) {
  const std::vector<GrownLeaf>& leaves = grower.leaves();
  std::vector<u32> rows;
  for (const GrownLeaf& leaf : leaves) rows.push_back(leaf.rows);
  const std::vector<FixedSums> sums =
      grower.rows().sum_leaves(rows, update.score, update.plan.params->mixed);
  const bool renewed = update.loss.shape().rule != LeafRule::newton;
  std::vector<double> middles;
  if (renewed) middles = grower.rows().find_middles(rows, update.score);
  const double g_unit = update.gradients.gradient_unit(update.score) * update.weights.unit,
               h_unit = update.gradients.hessian_unit(update.score) * update.weights.unit;
  std::vector<double> values(leaves.size());
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    const GrownLeaf& leaf = leaves[l];
    const double value =
        renewed ? std::clamp(middles[l], leaf.lower, leaf.upper)
                : find_leaf_value(update.plan, static_cast<double>(sums[l].gradient) * g_unit,
                                  static_cast<double>(sums[l].hessian) * h_unit, leaf.lower,
                                  leaf.upper);
    values[l] = update.learning_rate * value;
    tree.values[leaf.node * tree.width + column] = values[l];
    tree.weight[leaf.node] = static_cast<double>(sums[l].weight) * update.weights.unit;
  }
  grower.rows().add_values(rows, update.score, values);
}

void add_stored_tree(const StoredTree& stored, const BinnedMatrix& data, double factor,
                     int n_threads, double* scores) {
  const GrownTree& tree = stored.tree;
  parallel_for((data.n_rows + kStoredRows - 1) / kStoredRows, n_threads, [&](std::size_t task) {
    const std::size_t last = std::min(data.n_rows, (task + 1) * kStoredRows);
    for (std::size_t row = task * kStoredRows; row < last; ++row) {
      const u32 node = find_stored_leaf(stored, data, row);
      const double* values = tree.values.data() + node * tree.width;
      for (u32 k = 0; k < tree.width; ++k) scores[k * data.n_rows + row] += factor * values[k];
    }
  });
}

u32 find_stored_leaf(const StoredTree& stored, const BinnedMatrix& data, std::size_t row) {
  u32 node = 0;
  while (!stored.tree.is_leaf(node))
    node = goes_left(stored, data, node, row) ? stored.tree.left[node] : stored.tree.right[node];
  return node;
}

}  // namespace committee
