// Weights of rows as integers, so that their sums are exact and their order never matters.
#pragma once
#include <limits>

#include "committee/exact_sum.hpp"
#include "committee/types.hpp"

namespace committee {

// Where all weights are integer multiples of one unit they are taken so, exactly: a weight of k is
// the row k times, and a common factor drops out. Otherwise fixed point in proportion to the
// heaviest row, which a common factor changes in the last bit of a few rows at most.
struct FixedWeights {
  std::vector<u64> weights;  // per row; empty: all one
  double unit = 1.0;         // original weight = integer * unit
  u64 total = 0, largest = 1;
  bool integral = true;
  // Whether a unit is a row: weights are whole numbers, or multiples of the lightest one.
  bool counts = true;
  u64 operator[](std::size_t row) const { return weights.empty() ? 1 : weights[row]; }
};

// What the integers must fit into: their sum below 2^whole where they are multiples of a unit and
// below 2^fixed otherwise, each one below 2^single.
struct WeightBits {
  int whole, fixed, single;
};

// The parts of fix_weights, for rows that lie in several blocks. What the scale is chosen by:
struct WeightRange {
  double lightest = std::numeric_limits<double>::infinity();  // above zero
  double heaviest = 0.0;
  ExactSum sum;
  void add(std::span<const double> weights);  // std::invalid_argument: not finite, or negative
};
// Into how many parts the lightest weight is divided so that all weights are multiples of one; 0:
// too many. `parts`: those of the rows before, 1 at first.
double find_parts(std::span<const double> weights, double lightest, double parts);

struct WeightScale {
  double unit = 1.0, heaviest = 1.0;
  int shift = 0;
  bool integral = true, counts = true;  // as in FixedWeights
  u64 fix(double weight) const;
};
WeightScale choose_scale(const WeightRange& range, double parts, WeightBits bits);

// weights: none negative, not all zero. A row of positive weight stays above zero however light it
// is.
FixedWeights fix_weights(std::span<const double> weights, WeightBits bits);
FixedWeights take_counts(std::span<const u32> counts);

}  // namespace committee
