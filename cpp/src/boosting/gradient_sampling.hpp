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
// What is drawn from: rows, or groups of rows that are drawn or left out as a whole.
struct RowPool {
  std::span<const double> given;  // weights as the caller has them; empty: all one
  const RowWeights& weights;
  std::size_t n_rows;
  std::span<const u32> groups;  // number of each row's group; empty: every row is one
};
// A share of the rows or groups, without replacement; groups have the same chance each, and those
// without a row of positive weight are absent. `tree` is the number of the next, for the random
// keys.
RowSample sample_rows(const RowPool& pool, const BoostingParams& params, u64 tree);

// The same for round after round. A draw is a chain of steps that one thread makes; those of some
// rounds to come are made side by side, and kept as a bit a row.
class RowDrawsAhead {
 public:
  // `n_trees`: of a round, by which the number of its first tree grows.
  RowSample take(const RowPool& pool, const BoostingParams& params, u64 tree, u64 n_trees,
                 int n_threads);

 private:
  struct Draw {
    u64 tree;
    std::vector<u64> bits;
  };
  void draw(const RowPool& pool, const BoostingParams& params, int n_threads);
  std::vector<Draw> draws_;  // the next one first
  std::size_t n_ahead_ = 1;  // made the last time
  double subsample_ = 1.0;
  u64 seed_ = 0;
};

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
