#include "explain/weighted_tree.hpp"

#include <cmath>

namespace committee {

namespace {

template <class T>
WeightedNode read_node(const Trees& trees, const Node<T>& from) {
  WeightedNode node;
  if (from.is_leaf()) {
    node.leaf = from.left;
    return node;
  }
  node.left = from.left;
  node.feature = from.feature();
  node.missing_left = from.missing_left();
  node.categorical = from.is_categorical();
  if (!node.categorical) {
    node.threshold = static_cast<double>(from.threshold);
    return node;
  }
  node.first_word = trees.category_offsets[from.category_set()];
  node.n_words = trees.category_offsets[from.category_set() + 1] - node.first_word;
  return node;
}

}  // namespace

WeightedTree::WeightedTree(const Trees& trees, std::size_t tree, bool need_weights)
    : nodes_(trees.n_nodes(tree)), words_(trees.category_words.data()) {
  const std::size_t first = trees.node_offsets[tree];
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    nodes_[k] = trees.double_thresholds
                    ? read_node(trees, static_cast<const Node<double>*>(trees.nodes)[first + k])
                    : read_node(trees, static_cast<const Node<float>*>(trees.nodes)[first + k]);
  }
  // Children come after their parents: one pass from the back.
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    WeightedNode& node = nodes_[k];
    if (node.is_leaf()) {
      node.weight = leaf_weight(trees, trees.leaf_offsets[tree] + node.leaf);
      if (need_weights && !(node.weight >= 0.0))
        throw std::invalid_argument("The trees were stripped of the weights of their leaves.");
      continue;
    }
    const double left = nodes_[node.left].weight, right = nodes_[node.left + 1].weight;
    node.weight = left + right;
    node.share = node.weight > 0.0 ? left / node.weight : 0.5;
  }
}

double find_divisor(const TreeSum& sum) {
  if (sum.combine != Combine::mean) return 1.0;
  if (sum.tree_weights.empty()) return static_cast<double>(sum.trees.n_trees);
  double total = 0.0;
  for (const double weight : sum.tree_weights) total += weight;
  return total;
}

void check_sum(const TreeSum& sum, std::size_t n_cols) {
  const auto refuse = [](const std::string& sentence) { throw std::invalid_argument(sentence); };
  const Trees& trees = sum.trees;
  if (n_cols != trees.n_features) {
    refuse("X must have " + std::to_string(trees.n_features) + " columns; got " +
           std::to_string(n_cols) + ".");
  }
  if (!sum.tree_weights.empty() && sum.tree_weights.size() != trees.n_trees)
    refuse("tree_weights must have one entry a tree.");
  if (sum.combine == Combine::vote && trees.outputs.empty())
    refuse("Only trees with class weights can vote.");
  if (sum.combine == Combine::mean && !(find_divisor(sum) > 0.0))
    refuse("The weights of the trees must have a positive sum.");
  if (sum.slots.empty()) {
    if (sum.out_width != trees.width)
      refuse("The output must have one column for each value of a leaf.");
    return;
  }
  if (sum.slots.size() != trees.n_trees) refuse("slots must have one entry a tree.");
  if (trees.width != 1 || sum.combine != Combine::sum)
    refuse("slots are for sums of trees with one value a leaf.");
  for (const u32 slot : sum.slots) {
    if (slot >= sum.out_width) refuse("A slot lies outside the output.");
  }
}

std::vector<double> tabulate_leaves(const TreeSum& sum, std::size_t tree) {
  const Trees& trees = sum.trees;
  const Terms terms{&trees, sum.combine, sum.tree_weights, {}};
  std::vector<double> values(trees.n_leaves(tree) * trees.width, 0.0);
  for (u32 leaf = 0; leaf < trees.n_leaves(tree); ++leaf)
    add_leaf(terms, tree, leaf, &values[std::size_t{leaf} * trees.width]);
  return values;
}

std::vector<double> weigh_leaves(const TreeSum& sum, std::size_t tree) {
  std::vector<double> values = tabulate_leaves(sum, tree);
  const double divisor = find_divisor(sum);
  for (double& value : values) value /= divisor;
  return values;
}

}  // namespace committee
