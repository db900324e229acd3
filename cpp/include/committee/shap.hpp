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

// Interventional: an unknown feature takes the value of a background row; mean over these rows with
// the given weights (empty: equal).
struct Background {
  MatrixView rows;
  std::span<const double> weights;
};
void explain_against(const TreeSum& sum, const MatrixView& x, const Background& background,
                     int n_jobs, InterruptWatch& watch, double* values, double* base);

}  // namespace committee
