// The rows of a round. By chance, or gradient-based one-side sampling [Ke2017]: the rows with the
// largest gradients, and a sample of the others, each of which then counts for those that it stands
// for.
#pragma once
#include <limits>

#include "boosting/gradients.hpp"
#include "committee/boosting_params.hpp"

namespace committee {

// Rows that take part in a round, and those of positive weight that do not; ascending.
struct RowSample {
  std::vector<u32> sample, held_out;
};
// A share of the rows, without replacement. `given` are the weights as the caller has them; `tree`
// is the number of the next, for the random keys.
RowSample sample_rows(std::span<const double> given, const RowWeights& weights, std::size_t n_rows,
                      const BoostingParams& params, u64 tree);

struct GradientSample {
  std::vector<double> factors;        // of the rows' weights; zero: left out
  std::vector<u32> sample, held_out;  // ascending
};

// The rows that are kept for the sizes of their gradients: the larger ones, and the first few of
// those that are equal.
struct GradientBorder {
  double size = std::numeric_limits<double>::infinity();
  std::size_t n_equal = 0;
};

// `sizes`: of the gradients of all rows; `tree`: number of the next, for the random keys.
GradientSample sample_by_gradient(std::span<const double> sizes, const RowWeights& weights,
                                  const BoostingParams& params, u64 tree);
// The rows of one block, the first of which is row `first` of the table.
GradientSample sample_at_border(std::span<const double> sizes, const RowWeights& weights,
                                const GradientBorder& border, const BoostingParams& params,
                                u64 tree, std::size_t first);

}  // namespace committee
