// One tree at a time in the form that questions about features need: every node knows which share
// of the training weight went left, and every leaf what it adds to the sum of the trees.
#pragma once
#include "committee/shap.hpp"
#include "predict/aggregate.hpp"

namespace committee {

struct WeightedNode {
  static constexpr u32 kNoLeaf = 0xFFFFFFFFu;
  double threshold = 0.0;
  double share = 0.5;  // of the node's training weight in its left child
  double weight = 0.0;
  u32 left = 0;  // children are neighbours
  u32 feature = 0;
  u32 leaf = kNoLeaf;  // number within the tree
  u32 first_word = 0, n_words = 0;
  bool categorical = false, missing_left = false;
  bool is_leaf() const { return leaf != kNoLeaf; }
};

class WeightedTree {
 public:
  // Throws std::invalid_argument where the weights of the leaves are needed and not known.
  WeightedTree(const Trees& trees, std::size_t tree, bool need_weights = true);

  std::span<const WeightedNode> nodes() const { return nodes_; }
  const WeightedNode& operator[](std::size_t node) const { return nodes_[node]; }
  bool goes_left(const WeightedNode& node, double x) const {
    if (x != x) return node.missing_left;
    if (!node.categorical) return x <= node.threshold;
    return holds_code({words_ + node.first_word, node.n_words}, x);
  }

 private:
  std::vector<WeightedNode> nodes_;
  const u32* words_;
};

// Throws std::invalid_argument unless the table, the weights and the columns of the sum fit the
// trees.
void check_sum(const TreeSum& sum, std::size_t n_cols);

// What the leaves of one tree add to the sum, [leaf][width], with the weight of the tree; and with
// the divisor of a mean too.
std::vector<double> tabulate_leaves(const TreeSum& sum, std::size_t tree);
std::vector<double> weigh_leaves(const TreeSum& sum, std::size_t tree);
// What a mean is divided by in the end; 1 for the others.
double find_divisor(const TreeSum& sum);

// The column of the sum that the first of a tree's values goes to.
inline std::size_t first_column(const TreeSum& sum, std::size_t tree) {
  return sum.slots.empty() ? 0 : sum.slots[tree];
}

}  // namespace committee
