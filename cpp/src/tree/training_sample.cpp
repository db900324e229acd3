#include "tree/training_sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace committee {

namespace {

constexpr int kTargetBits = 42;  // of a single target; more would not change a double's decisions
constexpr int kMomentSumBits = 61;
constexpr int kOffsetBits = 20;  // of an offset, in the range of the targets

// With room for one more.
template <class Item>
AlignedBuffer<Item> allocate_items(const FixedWeights& weights, std::size_t n_rows,
                                   std::size_t& n) {
  n = n_rows;
  if (!weights.weights.empty()) {
    n = static_cast<std::size_t>(
        std::count_if(weights.weights.begin(), weights.weights.end(), [](u64 w) { return w > 0; }));
  }
  return AlignedBuffer<Item>(n + 1);
}

}  // namespace

FixedWeights fix_weights(const GrowInput& input, WeightBits bits) {
  if (input.weights.empty()) {
    if (!input.counts.empty()) return take_counts(input.counts);
    FixedWeights ones;
    ones.total = input.data->n_rows;
    return ones;
  }
  if (input.counts.empty()) return fix_weights(input.weights, bits);
  std::vector<double> weights(input.data->n_rows);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = input.weight(i);
  return fix_weights(weights, bits);
}

ExactSum sum_targets(std::span<const double> values, u32 n_outputs, u32 output,
                     std::span<const u64> weights) {
  constexpr std::size_t kRows = 256;
  double own[kRows], whole[kRows];
  ExactSum sum;
  const std::size_t n_rows = values.size() / n_outputs;
  for (std::size_t begin = 0; begin < n_rows; begin += kRows) {
    const std::size_t n = std::min(kRows, n_rows - begin);
    for (std::size_t i = 0; i < n; ++i) own[i] = values[(begin + i) * n_outputs + output];
    if (weights.empty()) {
      sum.add({own, n});
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) whole[i] = static_cast<double>(weights[begin + i]);
    sum.add_products({own, n}, {whole, n});
  }
  return sum;
}

TargetScale choose_target_scale(std::span<double> offsets, double largest, u64 total) {
  int exponent = 0;
  if (largest > 0.0) std::frexp(largest, &exponent);
  for (double& offset : offsets) {
    const double digits = std::ldexp(offset, kOffsetBits - exponent);
    if (std::abs(digits) < 0x1p53)
      offset = std::ldexp(std::nearbyint(digits), exponent - kOffsetBits);
  }
  const int bits = std::min(kTargetBits, kMomentSumBits - static_cast<int>(std::bit_width(total)));
  return {bits - exponent};
}

i64 TargetScale::fix(double value, double offset) const {
  return static_cast<i64>(std::nearbyint(std::ldexp(value - offset, shift)));
}

namespace {

// TargetScale::fix of all values. They are below 2^kTargetBits then, so that adding kShift rounds
// them, and the sum is their integer in its last bits.
void fix_all(std::span<const double> values, double offset, const TargetScale& scale,
             std::span<i64> fixed) {
  static_assert(kTargetBits < 51);
  constexpr double kShift = 0x1.8p52;
  const double factor = std::ldexp(1.0, scale.shift);
  if (!std::isnormal(factor)) {
    for (std::size_t i = 0; i < values.size(); ++i) fixed[i] = scale.fix(values[i], offset);
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    fixed[i] =
        std::bit_cast<i64>((values[i] - offset) * factor + kShift) - std::bit_cast<i64>(kShift);
}

}  // namespace

FixedTargets fix_targets(std::span<const double> values, u32 n_outputs, const FixedWeights& weights,
                         bool centre) {
  const std::size_t n_rows = values.size() / n_outputs;
  FixedTargets fixed;
  fixed.values.resize(values.size());
  double largest = 0.0;
  bool finite = true;
  for (u32 o = 0; o < n_outputs; ++o) {
    const double mean =
        centre ? divide(sum_targets(values, n_outputs, o, weights.weights), ExactSum(weights.total))
               : 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      if (weights[i] == 0) continue;
      const double distance = std::abs(values[i * n_outputs + o] - mean);
      finite &= distance <= std::numeric_limits<double>::max();
      largest = std::max(largest, distance);
    }
    fixed.offsets.push_back(mean);
  }
  if (!finite) throw std::invalid_argument("values and their differences must be finite");
  const TargetScale scale = choose_target_scale(fixed.offsets, largest, weights.total);
  if (n_outputs == 1 && weights.weights.empty()) {
    fix_all(values, fixed.offsets[0], scale, fixed.values);
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (weights[i / n_outputs] > 0)
        fixed.values[i] = scale.fix(values[i], fixed.offsets[i % n_outputs]);
    }
  }
  fixed.unit = std::ldexp(1.0, -scale.shift);
  return fixed;
}

namespace {

// Rows with a weight, as fill(item, row, weight) writes them.
template <class Accumulator, class Fill>
void take_rows(const SampleSource& source, Sample<Accumulator>& sample, Fill&& fill) {
  sample.weight_unit = source.weights.unit;
  sample.weighted = !source.weights.weights.empty();
  sample.counts = source.weights.counts;
  using Item = typename Accumulator::Item;
  sample.items = allocate_items<Item>(source.weights, source.n_rows, sample.n);
  // Which rows a bootstrap leaves out cannot be guessed: all are written, the next over those.
  std::size_t at = 0;
  for (std::size_t i = 0; i < source.n_rows; ++i) {
    const u64 w = source.weights[i];
    fill(sample.items[at], static_cast<u32>(i), w);
    at += w > 0 ? 1 : 0;
  }
}

}  // namespace

Sample<BinaryAccumulator> make_binary_sample(const SampleSource& source) {
  Sample<BinaryAccumulator> sample;
  sample.accumulator.counted = source.weights.weights.empty();
  sample.heaviest = source.weights.largest;
  take_rows(source, sample, [&](auto& item, u32 row, u64 weight) {
    const u32 w = static_cast<u32>(weight);
    item = {row, w | (w * source.target.labels[row]) << 16};
  });
  return sample;
}

template <class S>
ClassAccumulator<S> make_class_accumulator(const std::vector<u32>& n_classes, bool counted) {
  ClassAccumulator<S> accumulator;
  accumulator.outputs = n_classes;
  for (const u32 n : n_classes) {
    accumulator.offsets.push_back(accumulator.n_elements);
    accumulator.n_elements += n;
  }
  accumulator.counted = counted;
  if constexpr (sizeof(S) == 4) accumulator.fill_up();
  return accumulator;
}

template <class S>
Sample<ClassAccumulator<S>> make_class_sample(const SampleSource& source) {
  Sample<ClassAccumulator<S>> sample;
  auto& accumulator = sample.accumulator;
  accumulator = make_class_accumulator<S>(source.target.n_classes, source.counted);
  accumulator.labels = source.target.labels.data();
  sample.heaviest = source.weights.largest;
  take_rows(source, sample,
            [&, n_outputs = accumulator.outputs.size()](auto& item, u32 row, u64 weight) {
              item.row = row;
              item.label = static_cast<decltype(item.label)>(source.target.labels[row * n_outputs]);
              item.weight = static_cast<decltype(item.weight)>(weight);
            });
  return sample;
}

template <bool kMulti>
Sample<MomentAccumulator<kMulti>> make_moment_sample(const SampleSource& source,
                                                     FixedTargets targets) {
  Sample<MomentAccumulator<kMulti>> sample;
  const u32 n_outputs = source.target.n_outputs;
  sample.targets = std::move(targets);
  sample.accumulator.n_outputs = n_outputs;
  sample.accumulator.targets = sample.targets.values.data();  // stays valid when the sample moves
  sample.accumulator.values = source.target.values.data();
  take_rows(source, sample, [&](auto& item, u32 row, u64 weight) {
    item.row = row;
    item.weight = static_cast<u32>(weight);
    if constexpr (!kMulti) item.wy = static_cast<i64>(weight) * sample.targets.values[row];
  });
  return sample;
}

template ClassAccumulator<u32> make_class_accumulator(const std::vector<u32>&, bool);
template ClassAccumulator<u64> make_class_accumulator(const std::vector<u32>&, bool);
template Sample<ClassAccumulator<u32>> make_class_sample(const SampleSource&);
template Sample<ClassAccumulator<u64>> make_class_sample(const SampleSource&);
template Sample<MomentAccumulator<false>> make_moment_sample(const SampleSource&, FixedTargets);
template Sample<MomentAccumulator<true>> make_moment_sample(const SampleSource&, FixedTargets);

}  // namespace committee
