// Prediction: three ways through the same trees, chosen by shape, giving the same bytes.
#pragma once
#include "tree.hpp"

namespace committee {

enum class Combine : u8 {
  sum = 0,   // out[row][slot] += weight_t * leaf value (boosting, regression; slot: see PredictOptions)
  mean = 1,  // class weights are divided by their sum within each output first: a probability; then averaged by weight
  vote = 2,  // out[row][first class with the largest leaf weight in each output] += weight_t
};

struct PredictOptions {
  Combine combine = Combine::mean;
  std::span<const double> tree_weights;  // empty: all one. `mean` divides by the sum of the weights.
  std::span<const u32> slots;            // per tree: column of `out` that width-1 values go to; empty: 0
  std::size_t first_tree = 0, last_tree = static_cast<std::size_t>(-1);
  int n_jobs = 0;
};

// out: [n_rows][out_width], row-major, written (not added to). out_width = trees.width, or the number of slots.
// Sums run over the trees in tree order, for every row, whatever the path or the threads.
void predict_trees(const Trees& trees, const MatrixView& x, const PredictOptions& options, double* out,
                   std::size_t out_width);

// leaves[row * n_trees + t] = index of the node that row ends in, within tree t.
void apply_trees(const Trees& trees, const MatrixView& x, int n_jobs, u32* leaves);

// False if any value is infinite (NaN is fine).
bool all_finite_or_missing(const MatrixView& x);

}  // namespace committee
