// Importance of features judged by rows that a tree did not see.
#pragma once
#include "forest.hpp"

namespace committee {

// The rows that the forest was grown on, once more, with what is to be asked about them.
struct OobQuestion {
  const Trees& trees;
  MatrixView x;
  Target target;
  std::span<const double> weights;  // per row; empty: all one. Zero: the row is absent.
  const ForestPlan& plan;           // samples of trees plan.first_tree ..
  u64 seed = 0;
  u32 n_repeats = 1;  // permutations of each feature in each tree
  int n_jobs = 0;
  // For each feature the column of the user's table that it comes from; empty: each is a column.
  // The features of a column are permuted together.
  std::span<const u32> columns = {};

  u32 column_of(u32 feature) const { return columns.empty() ? feature : columns[feature]; }
};

// Permutation importance [Breiman2001]: per tree and column, how much the loss over the tree's
// out-of-bag rows grows when the column's values are permuted among them; the mean over the trees
// that have such rows. Loss: share of outputs that are wrong, or squared error.
// Returns [column][repeat], with as many columns as features; those beyond the last are zero.
std::vector<double> permute_out_of_bag(const OobQuestion& question, InterruptWatch& watch);

// MDI-oob [Li2019]: an impurity decrease is the sum over rows of (child's mean - node's mean) * y
// along each row's path; here the means are the tree's own and the rows those it did not see, so
// that a split that only fits noise gains nothing on average. Returns [feature], the mean over the
// trees that have such rows; entries may be negative. Needs the weights of the leaves.
std::vector<double> debias_impurity(const OobQuestion& question, InterruptWatch& watch);

}  // namespace committee
