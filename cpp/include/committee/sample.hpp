// A fit's own view of the rows: weights and targets in fixed point, one Item a row that is present.
#pragma once
#include "grower.hpp"
#include "histogram.hpp"

namespace committee {

// Weights as integers. Where all weights are integer multiples of the smallest one they are taken
// so, exactly: a weight of k is the row k times, and a common factor drops out. Otherwise fixed
// point, with a power of two as unit, chosen so that the total stays below 2^bits.
struct FixedWeights {
  std::vector<u64> weights;  // per row; empty: all one
  double unit = 1.0;         // original weight = integer * unit
  u64 total = 0, largest = 1;
  bool integral = true;
  u64 operator[](std::size_t row) const { return weights.empty() ? 1 : weights[row]; }
};
FixedWeights fix_weights(std::span<const double> weights, int bits);
FixedWeights fix_weights(const GrowInput& input, int bits);

// Targets as integers around `offset`, scaled by a power of two so that weighted sums fit 62 bits.
struct FixedTargets {
  std::vector<i64> values;      // [row][output]
  std::vector<double> offsets;  // per output
  double unit =
      1.0;  // target = integer * unit + offset; one unit for all outputs, whose errors are added
};
FixedTargets fix_targets(std::span<const double> values, u32 n_outputs, const FixedWeights& weights,
                         bool centre);

template <class Tally>
struct Sample {
  Tally tally;
  AlignedBuffer<typename Tally::Item> items;  // rows of positive weight, ascending
  std::size_t n = 0;
  double weight_unit = 1.0;
  FixedTargets targets;  // moments only
};

// Number of threads, rows and so on do not enter here: a sample depends on data and weights alone.
struct SampleSource {
  const Target& target;
  const FixedWeights& weights;
  std::size_t n_rows;
  bool counted;  // the criterion's limits need row counts
};
Sample<BinaryTally> make_binary_sample(const SampleSource& source);
template <class S>
Sample<ClassTally<S>> make_class_sample(const SampleSource& source);
template <bool kMulti>
Sample<MomentTally<kMulti>> make_moment_sample(const SampleSource& source, bool centre);
// Boosting: values hold (gradient, hessian) pairs; an item's weight is the hessian, its wy minus
// the gradient.
Sample<MomentTally<false>> make_newton_sample(const GrowInput& input);

}  // namespace committee
