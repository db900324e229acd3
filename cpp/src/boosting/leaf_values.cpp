#include "boosting/leaf_values.hpp"

#include <algorithm>

#include "base/weighted_quantile.hpp"
#include "committee/exact_sum.hpp"

namespace committee {

namespace {

constexpr std::size_t kTaskRows = 8192;
// From so many rows on their gradients and scores do not stay in the cache from leaf to leaf, and
// the leaves are gone through block by block.
constexpr std::size_t kManyRows = 32'768, kRowsPerBlock = 8'192;

struct FixedSums {
  i64 gradient = 0, hessian = 0, weight = 0;
};

FixedSums sum_gradients(std::span<const RowItem> rows, const FixedGradientPair* gradients,
                        const RowWeights& weights) {
  FixedSums sums;
  if (weights.values.empty()) {
    for (const RowItem& item : rows) {
      const FixedGradientPair pair = gradients[item.row];
      sums.gradient += pair.gradient;
      sums.hessian += pair.hessian;
    }
    sums.weight = static_cast<i64>(rows.size());
    return sums;
  }
  for (const RowItem& item : rows) {
    const i64 w = weights.values[item.row];
    sums.gradient += w * gradients[item.row].gradient;
    sums.hessian += w * gradients[item.row].hessian;
    sums.weight += w;
  }
  return sums;
}

// The quantile of the residuals, or Huber's: the median, moved by the mean of the distances from
// it, held within delta.
template <class Residual>
double find_middle(const LeafUpdate& update, std::span<const Residual> residuals) {
  const double middle = find_weighted_quantile(residuals, update.loss.level(update.score));
  if (update.loss.shape().rule == LeafRule::quantile) return middle;
  const double delta = update.loss.delta(update.score);
  constexpr std::size_t kHeld = 256;
  double held[kHeld], weights[kHeld];
  constexpr bool kEqual = std::is_same_v<Residual, double>;
  ExactMean mean;
  for (std::size_t begin = 0; begin < residuals.size(); begin += kHeld) {
    const std::size_t n = std::min(kHeld, residuals.size() - begin);
    for (std::size_t i = 0; i < n; ++i) {
      held[i] = std::clamp(value_of(residuals[begin + i]) - middle, -delta, delta);
      if constexpr (!kEqual) weights[i] = weight_of(residuals[begin + i]);
    }
    mean.add({held, n}, kEqual ? std::span<const double>() : std::span<const double>(weights, n));
  }
  return middle + mean.find();
}

double renew_value(const LeafUpdate& update, std::span<const RowItem> rows) {
  const std::size_t offset = update.score * update.view.stride;
  const auto residual = [y = update.view.y + offset, scores = update.view.scores + offset](
                            u32 row) { return y[row] - scores[row]; };
  if (update.weights.values.empty()) {
    std::vector<double> residuals(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) residuals[i] = residual(rows[i].row);
    return find_middle<double>(update, residuals);
  }
  std::vector<WeightedValue> residuals(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const u32 row = rows[i].row;
    residuals[i] = {residual(row), static_cast<double>(update.weights.values[row])};
  }
  return find_middle<WeightedValue>(update, residuals);
}

}  // namespace

std::span<const RowItem> select_block(std::span<const RowItem> rows, std::size_t begin,
                                      std::size_t end) {
  const auto before = [](const RowItem& item, std::size_t row) { return item.row < row; };
  const auto first = std::lower_bound(rows.begin(), rows.end(), begin, before);
  return {first, std::lower_bound(first, rows.end(), end, before)};
}

void set_leaf_values(const LeafUpdate& update, const BoostingGrower& grower, u32 column,
                     GrownTree& tree, double* scores) {
  const std::vector<GrownLeaf>& leaves = grower.leaves();
  const FixedGradientPair* gradients = update.gradients.pairs(update.score);
  const std::size_t n_rows = update.view.stride;
  const bool shared = update.n_threads > 1 && n_rows >= kMinParallelRows;
  const std::size_t n_blocks = shared ? std::max<std::size_t>(update.n_threads, n_rows / kTaskRows)
                               : n_rows >= kManyRows ? n_rows / kRowsPerBlock
                                                     : 1;
  const auto split_bin = [&](std::span<const RowItem> rows, std::size_t block) {
    if (n_blocks == 1) return rows;
    return select_block(rows, n_rows * block / n_blocks, n_rows * (block + 1) / n_blocks);
  };
  std::vector<FixedSums> sums(n_blocks * leaves.size());
  parallel_for(n_blocks, update.n_threads, [&](std::size_t block) {
    for (std::size_t l = 0; l < leaves.size(); ++l)
      sums[block * leaves.size() + l] =
          sum_gradients(split_bin(grower.rows_of(leaves[l]), block), gradients, update.weights);
  });
  std::vector<FixedSums> totals(leaves.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    FixedSums& total = totals[i % leaves.size()];
    total.gradient += sums[i].gradient;
    total.hessian += sums[i].hessian;
    total.weight += sums[i].weight;
  }
  std::vector<double> values(leaves.size());
  const bool renewed = update.loss.shape().rule != LeafRule::newton;
  const double g_unit = update.gradients.gradient_unit(update.score) * update.weights.unit,
               h_unit = update.gradients.hessian_unit(update.score) * update.weights.unit;
  parallel_for(leaves.size(), renewed ? update.n_threads : 1, [&](std::size_t l) {
    const GrownLeaf& leaf = leaves[l];
    const double value =
        renewed ? std::clamp(renew_value(update, grower.rows_of(leaf)), leaf.lower, leaf.upper)
                : find_leaf_value(update.plan, static_cast<double>(totals[l].gradient) * g_unit,
                                  static_cast<double>(totals[l].hessian) * h_unit, leaf.lower,
                                  leaf.upper);
    values[l] = update.learning_rate * value;
    tree.values[leaf.node * tree.width + column] = values[l];
    tree.weight[leaf.node] = static_cast<double>(totals[l].weight) * update.weights.unit;
  });
  parallel_for(n_blocks, update.n_threads, [&](std::size_t block) {
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      const double value = values[l];
      for (const auto& rows : {grower.rows_of(leaves[l]), grower.held_out_of(leaves[l])})
        for (const RowItem& item : split_bin(rows, block)) scores[item.row] += value;
    }
  });
}

void add_stored_tree(const StoredTree& stored, const BinnedMatrix& data, double factor,
                     int n_threads, double* scores) {
  const GrownTree& tree = stored.tree;
  const auto goes_left = [&](u32 node, std::size_t row) {
    const GrownTree::Split& split = tree.splits[node];
    u32 code = data.column(split.feature)[row];
    bool missing = code == kMissingBin;
    if (!split.categorical) return missing ? split.missing_left : code <= stored.split_bins[node];
    if (!data.wide[split.feature].empty()) {
      code = data.wide[split.feature][row];
      missing = code == kMissingCode;
    }
    if (missing || code >= 32 * split.left_categories->size()) return split.missing_left;
    return (((*split.left_categories)[code / 32] >> (code % 32)) & 1u) != 0;
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
