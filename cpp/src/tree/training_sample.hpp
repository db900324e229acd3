// A fit's own view of the rows: weights and targets in fixed point, one Item a row that is present.
#pragma once
#include "base/fixed_weights.hpp"
#include "committee/exact_sum.hpp"
#include "committee/grower.hpp"
#include "split/histogram.hpp"

namespace committee {

// Weights times counts.
FixedWeights fix_weights(const GrowInput& input, WeightBits bits);

// Targets as integers around `offset`, scaled by a power of two so that weighted sums fit 62 bits.
// The offset is the mean, rounded so that targets of few digits are met exactly and equal sums stay
// equal.
struct FixedTargets {
  std::vector<i64> values;      // [row][output]
  std::vector<double> offsets;  // per output
  double unit =
      1.0;  // target = integer * unit + offset; one unit for all outputs, whose errors are added
};
// What the integers are scaled by; offsets are means at first, and are rounded here. largest: the
// greatest distance of a target from its mean; total: of the weights.
struct TargetScale {
  int shift = 0;
  i64 fix(double value, double offset) const;
};
TargetScale choose_target_scale(std::span<double> offsets, double largest, u64 total);
// The sum of the targets of an output, times their weights: divided by the total it is the mean.
ExactSum sum_targets(std::span<const double> values, u32 n_outputs, u32 output,
                     std::span<const u64> weights);
FixedTargets fix_targets(std::span<const double> values, u32 n_outputs, const FixedWeights& weights,
                         bool centre);

template <class Accumulator>
struct Sample {
  Accumulator accumulator;
  AlignedBuffer<typename Accumulator::Item> items;  // rows of positive weight, ascending
  std::size_t n = 0;
  double weight_unit = 1.0;
  bool weighted = false;  // not all weights are equal
  bool counts = false;    // a unit of weight is a row
  u64 heaviest = 1;       // weight of a row
  FixedTargets targets;   // moments only
};

// Number of threads, rows and so on do not enter here: a sample depends on data and weights alone.
struct SampleSource {
  const Target& target;
  const FixedWeights& weights;
  std::size_t n_rows;
  bool counted;  // the criterion's limits need row counts
};
Sample<BinaryAccumulator> make_binary_sample(const SampleSource& source);
template <class S>
Sample<ClassAccumulator<S>> make_class_sample(const SampleSource& source);
template <bool kMulti>
Sample<MomentAccumulator<kMulti>> make_moment_sample(const SampleSource& source,
                                                     FixedTargets targets);
// The accumulator of the classes of each output.
template <class S>
ClassAccumulator<S> make_class_accumulator(const std::vector<u32>& n_classes, bool counted);

}  // namespace committee
