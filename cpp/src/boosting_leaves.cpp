#include "boosting_leaves.hpp"

#include <algorithm>

namespace committee {

namespace {

constexpr std::size_t kTaskRows = 4096;
// Fewer rows are gone through sooner than a thread is woken.
constexpr std::size_t kSharedRows = 8192;

struct FixedSums {
  i64 gradient = 0, hessian = 0, weight = 0;
};

// A stretch of a leaf's rows, short enough to be one of many tasks.
struct Stretch {
  u32 leaf;
  const RowItem* rows;
  std::size_t n;
};

void cut_stretches(u32 leaf, const RowItem* rows, std::size_t n, std::vector<Stretch>& out) {
  for (std::size_t begin = 0; begin < n; begin += kTaskRows)
    out.push_back({leaf, rows + begin, std::min(kTaskRows, n - begin)});
}

FixedSums sum_slopes(const Stretch& stretch, const FixedSlope* slopes, const RowWeights& weights) {
  FixedSums sums;
  if (weights.values.empty()) {
    for (std::size_t i = 0; i < stretch.n; ++i) {
      const FixedSlope slope = slopes[stretch.rows[i].row];
      sums.gradient += slope.gradient;
      sums.hessian += slope.hessian;
    }
    sums.weight = static_cast<i64>(stretch.n);
    return sums;
  }
  for (std::size_t i = 0; i < stretch.n; ++i) {
    const u32 row = stretch.rows[i].row;
    const i64 w = weights.values[row];
    sums.gradient += w * slopes[row].gradient;
    sums.hessian += w * slopes[row].hessian;
    sums.weight += w;
  }
  return sums;
}

// The quantile of the residuals, or Huber's: the median, moved by the mean of the distances from
// it, held within delta.
double renew_value(const LeafUpdate& update, const GrownLeaf& leaf, const RowItem* rows) {
  std::vector<WeightedValue> residuals;
  residuals.reserve(leaf.end - leaf.begin);
  const std::size_t offset = update.score * update.view.stride;
  for (std::size_t i = leaf.begin; i < leaf.end; ++i) {
    const u32 row = rows[i].row;
    residuals.push_back({update.view.y[offset + row] - update.view.scores[offset + row],
                         static_cast<double>(update.weights[row])});
  }
  const double middle = find_weighted_quantile(residuals, update.loss.level(update.score));
  if (update.loss.shape().rule == LeafRule::quantile) return middle;
  const double delta = update.loss.delta(update.score);
  double sum = 0.0, total = 0.0;
  for (const WeightedValue& r : residuals) {
    sum += r.weight * std::clamp(r.value - middle, -delta, delta);
    total += r.weight;
  }
  return middle + sum / total;
}

}  // namespace

void settle_leaves(const LeafUpdate& update, const BoostingGrower& grower, u32 place,
                   GrownTree& tree, double* scores) {
  const std::vector<GrownLeaf>& leaves = grower.leaves();
  std::vector<Stretch> stretches;
  for (u32 l = 0; l < leaves.size(); ++l)
    cut_stretches(l, grower.rows() + leaves[l].begin, leaves[l].end - leaves[l].begin, stretches);
  std::vector<FixedSums> sums(stretches.size());
  const FixedSlope* slopes = update.gradients.slopes(update.score);
  const std::size_t n_rows = grower.n_rows() + grower.n_held_out();
  const int n_threads = n_rows >= kSharedRows ? update.n_threads : 1;
  parallel_for(stretches.size(), n_threads,
               [&](std::size_t t) { sums[t] = sum_slopes(stretches[t], slopes, update.weights); });
  std::vector<FixedSums> totals(leaves.size());
  for (std::size_t t = 0; t < stretches.size(); ++t) {
    FixedSums& total = totals[stretches[t].leaf];
    total.gradient += sums[t].gradient;
    total.hessian += sums[t].hessian;
    total.weight += sums[t].weight;
  }
  std::vector<double> values(leaves.size());
  const bool renewed = update.loss.shape().rule != LeafRule::newton;
  const double g_unit = update.gradients.gradient_unit(update.score) * update.weights.unit,
               h_unit = update.gradients.hessian_unit(update.score) * update.weights.unit;
  parallel_for(leaves.size(), renewed ? update.n_threads : 1, [&](std::size_t l) {
    const GrownLeaf& leaf = leaves[l];
    const double value =
        renewed ? std::clamp(renew_value(update, leaf, grower.rows()), leaf.lower, leaf.upper)
                : find_leaf_value(update.plan, static_cast<double>(totals[l].gradient) * g_unit,
                                  static_cast<double>(totals[l].hessian) * h_unit, leaf.lower,
                                  leaf.upper);
    values[l] = update.learning_rate * value;
    tree.values[leaf.node * tree.width + place] = values[l];
    tree.weight[leaf.node] = static_cast<double>(totals[l].weight) * update.weights.unit;
  });
  for (u32 l = 0; l < leaves.size(); ++l)
    cut_stretches(l, grower.held_out() + leaves[l].out_begin,
                  leaves[l].out_end - leaves[l].out_begin, stretches);
  parallel_for(stretches.size(), n_threads, [&](std::size_t t) {
    const Stretch& stretch = stretches[t];
    const double value = values[stretch.leaf];
    for (std::size_t i = 0; i < stretch.n; ++i) scores[stretch.rows[i].row] += value;
  });
}

void add_stored_tree(const StoredTree& stored, const BinnedMatrix& data, double factor,
                     int n_threads, double* scores) {
  const GrownTree& tree = stored.tree;
  const auto goes_left = [&](u32 node, std::size_t row) {
    const GrownTree::Split& split = tree.splits[node];
    u32 code = data.column(split.feature)[row];
    bool missing = code == kMissingBin;
    if (!split.categorical) return missing ? split.missing_left : code <= stored.cuts[node];
    if (!data.wide[split.feature].empty()) {
      code = data.wide[split.feature][row];
      missing = code == kMissingCode;
    }
    if (missing || code >= 32 * split.left_categories.size()) return split.missing_left;
    return ((split.left_categories[code / 32] >> (code % 32)) & 1u) != 0;
  };
  parallel_for((data.n_rows + kTaskRows - 1) / kTaskRows, n_threads, [&](std::size_t task) {
    const std::size_t last = std::min(data.n_rows, (task + 1) * kTaskRows);
    for (std::size_t row = task * kTaskRows; row < last; ++row) {
      u32 node = 0;
      while (!tree.is_leaf(node)) node = goes_left(node, row) ? tree.left[node] : tree.right[node];
      const double* values = tree.values.data() + node * tree.width;
      for (u32 k = 0; k < tree.width; ++k) scores[k * data.n_rows + row] += factor * values[k];
    }
  });
}

}  // namespace committee
