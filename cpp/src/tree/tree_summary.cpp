#include "committee/tree_summary.hpp"

#include "committee/criteria/all.hpp"

namespace committee {

namespace {

template <class T>
void describe_nodes(const Trees& trees, std::size_t tree, TreeDescription& out) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  const std::size_t n_nodes = trees.n_nodes(tree);
  out.depth.assign(n_nodes, 0);
  for (std::size_t k = 0; k < n_nodes; ++k) {
    const Node<T>& node = nodes[k];
    out.missing_left.push_back(!node.is_leaf() && node.missing_left());
    if (node.is_leaf()) {
      out.left.push_back(-1);
      out.right.push_back(-1);
      out.feature.push_back(-2);
      out.threshold.push_back(-2.0);
      continue;
    }
    out.left.push_back(static_cast<i32>(node.left));
    out.right.push_back(static_cast<i32>(node.left + 1));
    out.feature.push_back(static_cast<i32>(node.feature()));
    out.depth[node.left] = out.depth[node.left + 1] = out.depth[k] + 1;
    if (!node.is_categorical()) {
      out.threshold.push_back(static_cast<double>(node.threshold));
      continue;
    }
    out.threshold.push_back(std::numeric_limits<double>::quiet_NaN());
    std::vector<u32> codes;
    const u32 first = trees.category_offsets[node.category_set()];
    const u32 last = trees.category_offsets[node.category_set() + 1];
    for (u32 code = 0; code < (last - first) * 32; ++code) {
      if (trees.category_words[first + code / 32] >> (code % 32) & 1) codes.push_back(code);
    }
    out.left_categories.emplace_back(static_cast<u32>(k), std::move(codes));
  }
}

// leaves[k]: number in the arena of the leaf at node k.
template <class T>
std::vector<std::size_t> number_leaves(const Trees& trees, std::size_t tree) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  std::vector<std::size_t> leaves(trees.n_nodes(tree), 0);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (nodes[k].is_leaf()) leaves[k] = trees.leaf_offsets[tree] + nodes[k].left;
  }
  return leaves;
}

// Children come after their parents, so one pass from the back fills every node.
void sum_up(const Trees& trees, std::span<const std::size_t> leaves, TreeDescription& out) {
  const std::size_t n_nodes = leaves.size();
  const u32 width = trees.width;
  const bool plain = trees.outputs.empty();
  const bool weighted = !plain || !trees.leaf_samples.empty();
  if (weighted) out.weight.assign(n_nodes, 0.0);
  if (!trees.leaf_samples.empty()) out.n_samples.assign(n_nodes, 0);
  out.values.assign(n_nodes * width, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = n_nodes; k-- > 0;) {
    double* const value = out.values.data() + k * width;
    if (out.left[k] < 0) {
      if (weighted) out.weight[k] = leaf_weight(trees, leaves[k]);
      if (!out.n_samples.empty()) out.n_samples[k] = trees.leaf_samples[leaves[k]];
      for (u32 c = 0; c < width; ++c) value[c] = trees.value(leaves[k], c);
      continue;
    }
    const auto l = static_cast<std::size_t>(out.left[k]),
               r = static_cast<std::size_t>(out.right[k]);
    if (weighted) out.weight[k] = out.weight[l] + out.weight[r];
    if (!out.n_samples.empty()) out.n_samples[k] = out.n_samples[l] + out.n_samples[r];
    for (u32 c = 0; c < width; ++c) {
      const double a = out.values[l * width + c], b = out.values[r * width + c];
      if (!plain) {
        value[c] = a + b;
      } else if (weighted) {
        value[c] = (out.weight[l] * a + out.weight[r] * b) / out.weight[k];
      }
    }
  }
}

// A node comes before its children: sizes of subtrees from the back, then numbers from the front.
template <class T>
void number_tree(const Trees& trees, std::size_t tree, std::span<u32> sizes, u32* numbers) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  const std::size_t n_nodes = trees.n_nodes(tree);
  for (std::size_t k = n_nodes; k-- > 0;) {
    const u32 left = nodes[k].left;
    sizes[k] = nodes[k].is_leaf() ? 1 : 1 + sizes[left] + sizes[left + 1];
  }
  numbers[0] = 0;
  for (std::size_t k = 0; k < n_nodes; ++k) {
    if (nodes[k].is_leaf()) continue;
    const u32 left = nodes[k].left;
    numbers[left] = numbers[k] + 1;
    numbers[left + 1] = numbers[left] + sizes[left];
  }
}

}  // namespace

std::vector<u32> number_depth_first(const Trees& trees) {
  std::vector<u32> numbers(trees.node_offsets[trees.n_trees]), sizes;
  const auto number = trees.double_thresholds ? number_tree<double> : number_tree<float>;
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    sizes.resize(std::max(sizes.size(), trees.n_nodes(t)));
    number(trees, t, sizes, numbers.data() + trees.node_offsets[t]);
  }
  return numbers;
}

TreeDescription describe_tree(const Trees& trees, std::size_t tree, const std::string& criterion) {
  if (tree >= trees.n_trees) {
    throw std::invalid_argument("There are " + std::to_string(trees.n_trees) +
                                " trees; got number " + std::to_string(tree) + ".");
  }
  TreeDescription out;
  const auto describe = trees.double_thresholds ? describe_nodes<double> : describe_nodes<float>;
  describe(trees, tree, out);
  const auto number = trees.double_thresholds ? number_leaves<double> : number_leaves<float>;
  sum_up(trees, number(trees, tree), out);
  if (trees.outputs.empty()) {
    if (trees.node_impurity.empty()) return out;
    const auto impurity =
        trees.node_impurity.subspan(trees.node_offsets[tree], trees.n_nodes(tree));
    out.impurity.assign(impurity.begin(), impurity.end());
    return out;
  }
  for (std::size_t k = 0; k < trees.n_nodes(tree); ++k) {
    const std::span<const double> value(out.values.data() + k * trees.width, trees.width);
    out.impurity.push_back(measure_class_impurity(criterion, value, trees.outputs));
  }
  return out;
}

}  // namespace committee
