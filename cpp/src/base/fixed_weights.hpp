// Weights of rows as integers, so that their sums are exact and their order never matters.
#pragma once
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

// weights: none negative, not all zero. A row of positive weight stays above zero however light it
// is.
FixedWeights fix_weights(std::span<const double> weights, WeightBits bits);
FixedWeights take_counts(std::span<const u32> counts);

}  // namespace committee
