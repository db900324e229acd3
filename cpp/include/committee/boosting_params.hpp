// The parameters of boosting: one list declares the struct, binds it and names its fields.
#pragma once
#include "types.hpp"

namespace committee {

// FIELD(type, name, default, meaning). Estimators leave category_smooth, category_l2,
// min_samples_level, joint_columns, follow_residuals, compact_share and direct_share at their
// defaults; tests change them to compare the ways of growing a tree with one another.
#define COMMITTEE_BOOSTING_FIELDS(FIELD)                                                         \
  FIELD(double, learning_rate, 0.1, "every leaf value is multiplied by it")                      \
  FIELD(u32, max_leaf_nodes, 31, "leaves of a tree; 0: no limit")                                \
  FIELD(u32, max_depth, 0xFFFFFFFFu, "root has depth 0")                                         \
  FIELD(bool, level_wise, false, "split level by level instead of the best leaf first")          \
  FIELD(bool, symmetric, false, "one split for all nodes of a depth")                            \
  FIELD(bool, mixed, false, "every second round is symmetric; leaves by all rows, drawn or not") \
  FIELD(u32, mixed_depth, 6, "largest depth of these symmetric trees, whatever their leaves")    \
  FIELD(bool, random_thresholds, false, "one threshold is drawn for each feature and node")      \
  FIELD(bool, vector_leaves, false, "one tree a round for all scores, with a value for each")    \
  FIELD(u32, min_samples_split, 2, "rows of a node that is split")                               \
  FIELD(u32, min_samples_leaf, 20, "rows in a child")                                            \
  FIELD(double, min_weight_leaf, 0.0, "share of the weight of all rows in a child")              \
  FIELD(double, min_child_weight, 1e-3, "sum of hessians in a child")                            \
  FIELD(double, reg_lambda, 0.0, "added to the sum of hessians of a leaf")                       \
  FIELD(double, reg_alpha, 0.0, "soft threshold of the sum of gradients of a leaf")              \
  FIELD(double, gamma, 0.0, "a split must lower the objective by more than this")                \
  FIELD(double, ccp_alpha, 0.0, "a leaf's price when a grown tree is pruned; 0: it is not")      \
  FIELD(double, colsample_tree, 1.0, "share of the features drawn for a tree")                   \
  FIELD(double, colsample_level, 1.0, "share of these drawn for each depth")                     \
  FIELD(double, colsample_node, 1.0, "share of these drawn for each node")                       \
  FIELD(double, subsample, 1.0, "share of the rows drawn for a round, without replacement")      \
  FIELD(double, goss_top, 0.0, "share of the rows with the largest gradients that are kept")     \
  FIELD(double, goss_other, 0.0, "share drawn of the others, which count for more then; 0: off") \
  FIELD(double, category_smooth, 10.0, "rows of an average gradient added to a level's order")   \
  FIELD(double, category_l2, 10.0, "added to reg_lambda in splits by category")                  \
  FIELD(u32, min_samples_level, 10, "rows of a level that is ordered; others stay together")     \
  FIELD(bool, joint_columns, true, "columns of few values share a byte where they can")          \
  FIELD(bool, follow_residuals, true, "those of squared error are kept from round to round")     \
  FIELD(double, compact_share, 0.75, "records of a tree's own columns, up to this share")        \
  FIELD(double, direct_share, 0.25, "nodes of fewer columns have no kept histograms")            \
  FIELD(u64, seed, 0, "randomness is keyed by (seed, tree, node, purpose)")                      \
  FIELD(int, n_jobs, 0, "0: decide by the work")

struct BoostingParams {
#define COMMITTEE_DECLARE(type, name, value, meaning) type name = value;
  COMMITTEE_BOOSTING_FIELDS(COMMITTEE_DECLARE)
#undef COMMITTEE_DECLARE
  std::vector<i32> monotonic;                        // per feature -1, 0, +1; empty: none
  std::vector<std::vector<u32>> interaction_groups;  // features that may meet on a path; empty: all
};

}  // namespace committee
