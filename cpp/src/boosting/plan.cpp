#include <algorithm>
#include <queue>

#include "boosting/gradient_sampling.hpp"
#include "boosting/incremental_residuals.hpp"
#include "boosting/renewed_values.hpp"
#include "committee/boosting_plan.hpp"

namespace committee {

namespace {

// With more weight the words do not depend on the layout of the records, which then need not be
// made.
constexpr u64 kMostPlanned = u64{1} << 18;

GrownTree::Split import_split(const std::vector<ColumnBins>& bins, const BinnedTreeNode& node,
                              const u32* codes, std::size_t n_words) {
  GrownTree::Split split;
  const ColumnBins& column = bins[node.feature];
  const u32 bin = node.place & 255;
  split.feature = node.feature;
  split.categorical = (node.place & BinnedTreeNode::kCategorical) != 0;
  split.missing_left = (node.place & BinnedTreeNode::kMissingLeft) != 0;
  if (split.categorical) {
    const std::size_t own = (column.n_bins + 31) / 32;
    if (!column.categorical || !codes || own > n_words)
      throw std::invalid_argument("a split by category has no levels");
    split.left_categories = std::make_shared<const std::vector<u32>>(codes, codes + own);
  } else {
    split.threshold = bin < column.thresholds.size() ? column.thresholds[bin]
                                                     : std::numeric_limits<double>::infinity();
  }
  return split;
}

GrownTree import_tree(const std::vector<ColumnBins>& bins, const BinnedTrees& given,
                      double weight_unit) {
  const std::span<const BinnedTreeNode> nodes = given.nodes;
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
    tree.left[i] = left;
    tree.right[i] = left + 1;
    const u32* codes = given.codes.empty() ? nullptr : given.codes.data() + i * given.n_words;
    tree.splits[i] = import_split(bins, node, codes, given.n_words);
    if ((node.place & BinnedTreeNode::kHasMissing) == 0)
      tree.splits[i].missing_left = 2 * weights[left] > weights[i];
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
  plan.total_weight = fixed.total;
  for (const ColumnBins& bins : *data.bins) {
    plan.n_bins.push_back(bins.n_bins);
    plan.kinds.push_back(bins.wide ? 2 : bins.categorical ? 1 : 0);
  }
  return plan;
}

std::vector<u32> fix_row_weights(std::span<const double> weights) {
  return RowWeights(weights, weights.size()).values;
}

struct RowDraws::State {
  std::vector<double> given;
  std::size_t n_rows;
  RowWeights weights;
  std::vector<u32> groups;
};

RowDraws::RowDraws(std::span<const double> weights, std::size_t n_rows, std::vector<u32> groups)
    : state_(new State{{weights.begin(), weights.end()},
                       n_rows,
                       RowWeights(weights, n_rows),
                       std::move(groups)}) {}

RowDraws::~RowDraws() = default;

std::size_t RowDraws::n_rows() const {
  return state_->n_rows;
}

RoundRows RowDraws::draw(const BoostingParams& params, u64 tree) const {
  const RowPool pool{state_->given, state_->weights, state_->n_rows, state_->groups};
  RowSample drawn = sample_rows(pool, params, tree);
  RoundRows rows;
  rows.sample = std::move(drawn.sample);
  rows.held_out = std::move(drawn.held_out);
  return rows;
}

RoundRows RowDraws::draw_by_gradient(std::span<const double> sizes, const BoostingParams& params,
                                     u64 tree) const {
  GradientSample drawn = sample_by_gradient(sizes, state_->weights, params, tree);
  RowWeights weights = state_->weights.multiplied(drawn.factors);
  const WordPlan words = plan_words(weights, false);
  RoundRows rows;
  rows.sample = std::move(drawn.sample);
  rows.held_out = std::move(drawn.held_out);
  rows.weight_unit = weights.unit;
  rows.gradient_shift = words.gradient_shift;
  rows.hessian_shift = words.hessian_shift;
  rows.stochastic = words.stochastic;
  rows.repeated = weights.repeats();
  rows.weights = std::move(weights.values);
  return rows;
}

std::vector<double> renew_leaf_values(const Loss& loss, const LeafResiduals& of,
                                      std::size_t n_nodes, int n_jobs) {
  constexpr double kRowsPerThread = 20'000.0;
  const std::size_t n = of.rows.empty() ? of.leaves.size() : of.rows.size();
  const auto row_at = [&](std::size_t i) {
    return of.rows.empty() ? static_cast<u32>(i) : of.rows[i];
  };
  std::vector<std::size_t> ends(n_nodes + 1, 0);
  const auto leaf_of = [&](u32 row) { return of.leaves[row] < n_nodes ? of.leaves[row] : n_nodes; };
  for (std::size_t i = 0; i < n; ++i)
    if (leaf_of(row_at(i)) < n_nodes) ++ends[leaf_of(row_at(i)) + 1];
  for (std::size_t node = 0; node < n_nodes; ++node) ends[node + 1] += ends[node];
  std::vector<u32> sorted(ends.back());
  std::vector<std::size_t> at(ends.begin(), ends.end());
  for (std::size_t i = 0; i < n; ++i) {
    const u32 row = row_at(i);
    if (leaf_of(row) < n_nodes) sorted[at[leaf_of(row)]++] = row;
  }
  const ScoredRows rows{&loss, of.score, of.y.data(), of.scores.data(), of.weights};
  std::vector<double> values(n_nodes, 0.0);
  const int n_threads =
      choose_threads(n_jobs, static_cast<double>(n), kRowsPerThread, kRowsPerThread);
  AlignedBuffer<double> residuals(sorted.size());
  parallel_for(n_nodes, n_threads, [&](std::size_t node) {
    const u32* own = sorted.data() + ends[node];
    const std::size_t size = ends[node + 1] - ends[node];
    if (size > 0)
      values[node] = renew_value(rows, size, residuals.data() + ends[node],
                                 [&](std::size_t i) { return own[i]; });
  });
  return values;
}

u64 rounding_key(u64 tree) {
  // No part of the seed: a seed changes only what is drawn, and rounding draws nothing.
  return combine_keys(combine_keys(0, static_cast<u64>(Purpose::rounding)), tree);
}

Trees import_trees(const BinnedMatrix& data, const BinnedTrees& trees, std::span<const u64> offsets,
                   double weight_unit) {
  const auto [nodes, codes, n_words] = trees;
  if (!codes.empty() && codes.size() != nodes.size() * n_words)
    throw std::invalid_argument("every node needs a set of levels");
  std::vector<GrownTree> grown;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    if (offsets[t] >= offsets[t + 1] || offsets[t + 1] > nodes.size())
      throw std::invalid_argument("the offsets of trees must ascend");
    const std::size_t first = offsets[t], n = offsets[t + 1] - first;
    const BinnedTrees own{nodes.subspan(first, n),
                          codes.empty() ? codes : codes.subspan(first * n_words, n * n_words),
                          n_words};
    grown.push_back(import_tree(*data.bins, own, weight_unit));
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
