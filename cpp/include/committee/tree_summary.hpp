// One tree laid open, node by node, for those who look inside.
#pragma once
#include "tree.hpp"

namespace committee {

// One entry a node, in the order of the arena (a node comes before its children).
struct TreeDescription {
  std::vector<i32> left, right;   // -1 in leaves
  std::vector<i32> feature;       // -2 in leaves
  std::vector<double> threshold;  // -2 in leaves, NaN in categorical nodes
  std::vector<u8> missing_left;
  std::vector<u32> depth;
  std::vector<u32> n_samples;    // empty if the trees were stripped of it
  std::vector<double> weight;    // empty if it is not known
  std::vector<double> impurity;  // empty if it is not known
  std::vector<double> values;  // [node][width]; NaN in inner nodes if plain values have no weights
  std::vector<std::pair<u32, std::vector<u32>>>
      left_categories;  // categorical nodes: codes that go left
};

// Class weights, samples and weights of an inner node are the sums over its children, plain values
// their weighted mean. `criterion` says how the impurity of class weights is measured.
TreeDescription describe_tree(const Trees& trees, std::size_t tree, const std::string& criterion);

// For each node of the arena the number that it would have within its tree if nodes were numbered
// depth-first, left before right, as in scikit-learn.
std::vector<u32> number_depth_first(const Trees& trees);

}  // namespace committee
