// Gradient-based one-side sampling [Ke2017]: the rows with the largest gradients, and a sample of
// the others, each of which then counts for those that it stands for.
#pragma once
#include "boosting/gradients.hpp"
#include "committee/boosting_params.hpp"

namespace committee {

struct GradientSample {
  std::vector<double> factors;        // of the rows' weights; zero: left out
  std::vector<u32> sample, held_out;  // ascending
};

// `sizes`: of the gradients of all rows; `tree`: number of the next, for the random keys.
GradientSample sample_by_gradient(std::span<const double> sizes, const RowWeights& weights,
                                  const BoostingParams& params, u64 tree);

}  // namespace committee
