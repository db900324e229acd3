// Appends a subtree that was grown in a form of its own to a tree.
#pragma once
#include "committee/tree.hpp"

namespace committee {

// A node of it; nodes come depth-first, left before right.
struct AppendedNode {
  u32 n_rows;
  double weight;
  u32 right;  // number of the right child in the subtree; 0: a leaf
  u32 feature;
  double threshold;
  bool missing_left;
};

// As a child of `parent`, or as the whole tree where that is kNoChild. describe(k, values)
// describes node k and writes its values, `width` of them.
template <class Describe>
void append_subtree(GrownTree& tree, u32 n_nodes, u32 width, u32 parent, bool is_right,
                    Describe&& describe) {
  const u32 first = static_cast<u32>(tree.size());
  const std::size_t n = std::size_t{first} + n_nodes;
  tree.width = width;
  if (parent != GrownTree::kNoChild) (is_right ? tree.right : tree.left)[parent] = first;
  for (auto* column : {&tree.left, &tree.right}) column->resize(n, GrownTree::kNoChild);
  tree.splits.resize(n);
  tree.n_samples.resize(n);
  for (auto* column : {&tree.weight, &tree.impurity}) column->resize(n);
  tree.values.resize(n * width);
  for (u32 k = 0; k < n_nodes; ++k) {
    const u32 id = first + k;
    const AppendedNode node = describe(k, tree.values.data() + std::size_t{id} * width);
    tree.n_samples[id] = node.n_rows;
    tree.weight[id] = node.weight;
    if (node.right == 0) continue;
    tree.left[id] = id + 1;
    tree.right[id] = first + node.right;
    GrownTree::Split& split = tree.splits[id];
    split.feature = node.feature;
    split.threshold = node.threshold;
    split.missing_left = node.missing_left;
  }
}

}  // namespace committee
