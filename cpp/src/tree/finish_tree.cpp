#include "tree/finish_tree.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "committee/criteria/all.hpp"
#include "tree/sample_kind.hpp"

namespace committee {

namespace {

void clip_values(TreePart& part, bool classes) {
  GrownTree& tree = part.tree;
  for (u32 node = 0; node < tree.size() && !part.lower.empty(); ++node) {
    double* value = tree.values.data() + static_cast<std::size_t>(node) * tree.width;
    if (classes) {
      const double w = value[0] + value[1];
      const double p = std::clamp(value[1] / w, part.lower[node], part.upper[node]);
      if (p != value[1] / w) value[1] = p * w, value[0] = w - value[1];
    } else {
      value[0] = std::clamp(value[0], part.lower[node], part.upper[node]);
    }
  }
}

// Values and impurities of a regression tree from the moments of its leaves, children before
// parents.
void fill_values(TreePart& part, const GrowParams& params) {
  GrownTree& tree = part.tree;
  const u32 n_outputs = tree.width;
  const bool poisson = params.criterion == Poisson::kName;
  for (u32 node = static_cast<u32>(tree.size()); node-- > 0;) {
    double* own = part.moments.data() + static_cast<std::size_t>(node) * 2 * n_outputs;
    if (!tree.is_leaf(node)) {
      const u32 left = tree.left[node], right = tree.right[node];
      tree.weight[node] = tree.weight[left] + tree.weight[right];
      for (u32 k = 0; k < 2 * n_outputs; ++k) {
        own[k] = part.moments[static_cast<std::size_t>(left) * 2 * n_outputs + k] +
                 part.moments[static_cast<std::size_t>(right) * 2 * n_outputs + k];
      }
    }
    const double w = tree.weight[node];
    double impurity = 0.0;
    for (u32 o = 0; o < n_outputs; ++o) {
      double& value = tree.values[static_cast<std::size_t>(node) * n_outputs + o];
      const double sum = own[2 * o], second = own[2 * o + 1];
      if (!tree.is_leaf(node)) value = sum / w + part.offsets[o];
      impurity += poisson ? (sum > 0.0 ? (second - sum * natural_log(sum / w)) / w : 0.0)
                          : second / w - (sum / w) * (sum / w);
    }
    tree.impurity[node] = std::max(0.0, impurity / n_outputs);
  }
}

// Sums of weighted impurity decreases, over the nodes depth-first: an order that depends on the
// tree alone.
std::vector<double> measure_importances(const GrownTree& tree, std::size_t n_features) {
  std::vector<double> importances(n_features, 0.0);
  const auto add = [&](u32 node) {
    const u32 left = tree.left[node], right = tree.right[node];
    const double decrease = tree.weight[node] * tree.impurity[node] -
                            tree.weight[left] * tree.impurity[left] -
                            tree.weight[right] * tree.impurity[right];
    importances[tree.splits[node].feature] += std::max(0.0, decrease);
  };
  if (tree.depth_first) {
    for (u32 node = 0; node < tree.size(); ++node)
      if (!tree.is_leaf(node)) add(node);
    return importances;
  }
  for (std::vector<u32> open{0}; !open.empty();) {
    const u32 node = open.back();
    open.pop_back();
    if (tree.is_leaf(node)) continue;
    add(node);
    open.push_back(tree.right[node]);
    open.push_back(tree.left[node]);
  }
  return importances;
}

}  // namespace

std::vector<std::size_t> order_by_size(std::span<const NodePosition> tasks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) {
    const NodePosition &a = tasks[i], &b = tasks[k];
    return a.size() != b.size() ? a.size() > b.size() : a.begin < b.begin;
  });
  return order;
}

void append_part(TreePart& part, TreePart&& grown, u32 parent, bool is_right) {
  const u32 offset = static_cast<u32>(part.tree.size());
  (is_right ? part.tree.right : part.tree.left)[parent] = offset;
  auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (auto* children : {&grown.tree.left, &grown.tree.right}) {
    for (u32& child : *children) child += child == GrownTree::kNoChild ? 0 : offset;
  }
  append(part.tree.left, grown.tree.left);
  append(part.tree.right, grown.tree.right);
  std::move(grown.tree.splits.begin(), grown.tree.splits.end(),
            std::back_inserter(part.tree.splits));
  append(part.tree.n_samples, grown.tree.n_samples);
  append(part.tree.weight, grown.tree.weight);
  append(part.tree.impurity, grown.tree.impurity);
  append(part.tree.values, grown.tree.values);
  append(part.moments, grown.moments);
  append(part.lower, grown.lower);
  append(part.upper, grown.upper);
}

void finish_tree(TreePart& part, const GrowInput& input, const GrowParams& params,
                 GrowResult& result) {
  GrownTree& tree = part.tree;
  const bool classes = is_classification(input.target);
  if (classes) {
    measure_class_impurities(params.criterion, tree.values, input.target.n_classes, tree.impurity);
  } else if (!has_no_histograms(params.criterion)) {
    fill_values(part, params);
  }
  clip_values(part, classes);
  if (params.ccp_alpha > 0.0) prune_tree(tree, params.ccp_alpha);
  result.importances = measure_importances(tree, input.data->n_cols);
  result.tree = std::move(tree);
}

}  // namespace committee
