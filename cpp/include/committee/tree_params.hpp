// The parameters of a tree: one list declares the struct, binds it and names its fields.
#pragma once
#include "types.hpp"

namespace committee {

// FIELD(type, name, default, meaning)
#define COMMITTEE_GROW_FIELDS(FIELD)                                                            \
  FIELD(std::string, criterion, "gini", "name in criteria/all.hpp")                             \
  FIELD(bool, random_splits, false, "one random threshold a feature (extra-trees)")             \
  FIELD(bool, shuffle_ties, false,                                                              \
        "equal splits go to a feature drawn for the node, else to the lowest")                  \
  FIELD(bool, exact, false, "scan presorted values instead of bins")                            \
  FIELD(u32, max_depth, 0xFFFFFFFFu, "root has depth 0")                                        \
  FIELD(u32, min_samples_split, 2, "rows in a node that may be split")                          \
  FIELD(u32, min_samples_leaf, 1, "rows in a child")                                            \
  FIELD(double, min_weight_leaf, 0.0, "weight in a child, up to the rounding of sums")          \
  FIELD(double, row_weight, 0.0,                                                                \
        "that counts as a row of a category; 0: the unit of the weights, or their mean")        \
  FIELD(u32, max_features, 0xFFFFFFFFu, "features drawn at each node")                          \
  FIELD(u32, max_leaf_nodes, 0, "0: depth-first without limit; else best-first")                \
  FIELD(double, min_impurity_decrease, 0.0, "weighted by the node's share of the total weight") \
  FIELD(double, ccp_alpha, 0.0, "cost-complexity pruning after growth")                         \
  FIELD(u64, seed, 0, "randomness is keyed by (seed, tree, node, purpose)")                     \
  FIELD(u64, tree, 0, "number of the tree in its ensemble")                                     \
  FIELD(int, n_jobs, 0, "0: decide by the work")                                                \
  FIELD(u32, routes, 0xFFFFFFFFu, "bit set of the fast paths that may be taken (list_routes)")

struct GrowParams {
#define COMMITTEE_DECLARE(type, name, value, meaning) type name = value;
  COMMITTEE_GROW_FIELDS(COMMITTEE_DECLARE)
#undef COMMITTEE_DECLARE
  std::vector<u32> member_features;  // the only features this tree may look at; empty: all
  std::vector<i32> monotonic;        // per feature -1, 0, +1; empty: none
  std::vector<std::vector<u32>> interaction_groups;  // features that may meet on a path; empty: all
};

}  // namespace committee
