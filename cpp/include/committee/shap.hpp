// How much each feature contributes to the prediction of a row: Shapley values of trees, exactly.
//
// A tree is a game among features: the worth of a set S is the prediction when only the features in
// S are known. What an unknown feature does is decided by the training weights of the children
// (path-dependent [Lundberg2020]) or by the rows of a background table (interventional).
#pragma once
#include "parallel.hpp"
#include "predict.hpp"

namespace committee {

// What is explained: the sum that Predictor::predict makes of the trees, without a link.
struct TreeSum {
  const Trees& trees;
  Combine combine = Combine::mean;
  std::span<const double> tree_weights;  // empty: all one
  std::span<const u32> slots;            // as in PredictOptions
  std::size_t out_width = 1;             // columns of the sum
};

// Path-dependent. values: [row][feature][column], base: [column], both written. For every row and
// column, base + the sum over the features is the prediction, up to rounding. Rows go in blocks to
// the threads, each row adds up in tree order. Throws std::invalid_argument where the trees lack
// the weights of their leaves.
void explain_rows(const TreeSum& sum, const MatrixView& x, int n_jobs, InterruptWatch& watch,
                  double* values, double* base);

// Shapley interaction values [Lundberg2020], path-dependent. values:
// [row][feature][feature][column]; off the diagonal half of the joint effect of the two, on it what
// remains of the feature's Shapley value.
void explain_pairs(const TreeSum& sum, const MatrixView& x, int n_jobs, InterruptWatch& watch,
                   double* values, double* base);

// What explain_rows knows of the trees before it sees a row, for an engine on another device.
struct ExplainedSplit {
  static constexpr u32 kLeaf = u32{1} << 31;                         // of `child`
  static constexpr u32 kMissingLeft = 1, kCategory = 2, kAgain = 4;  // of `flags`
  double threshold = 0.0;
  double share = 0.5;        // of the training weight that goes left
  double share_above = 1.0;  // product of the shares of the feature's splits above
  u32 child[2] = {0, 0};     // number of a split, or kLeaf | number of a leaf; left, right
  u32 slot = 0;              // of the feature among those that are used
  u32 above = 0;             // level of the last split on the same feature, where there is one
  u32 first_word = 0;        // of the set of levels that go left
  u32 flags = 0;             // the upper 24 bits: words of that set
};
struct ExplanationPlan {
  std::vector<u32> features;  // that are used
  std::vector<u32> columns;   // of leaves, that are looked at
  std::vector<ExplainedSplit> splits;
  std::vector<u32> roots;          // of each tree, as `child`
  std::vector<u32> first_columns;  // of the sum, for each tree
  std::vector<double> values;      // [leaf][looked-at column]
  std::vector<double> points, point_weights, base;
  std::size_t n_levels = 0;
};
ExplanationPlan plan_explanation(const TreeSum& sum, int n_jobs, InterruptWatch& watch);

// Interventional: an unknown feature takes the value of a background row; mean over these rows with
// the given weights (empty: equal).
struct Background {
  MatrixView rows;
  std::span<const double> weights;
};
void explain_against(const TreeSum& sum, const MatrixView& x, const Background& background,
                     int n_jobs, InterruptWatch& watch, double* values, double* base);

}  // namespace committee
