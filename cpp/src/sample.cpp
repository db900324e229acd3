#include "committee/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace committee {

namespace {

constexpr u64 kLargestSmallWeight = 65535;
constexpr int kTargetBits = 42;  // of a single target; more would not change a double's decisions
constexpr int kMomentSumBits = 61;

// True if every weight is a small integer multiple of the smallest positive one.
bool take_multiples(std::span<const double> weights, double smallest, FixedWeights& fixed) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double ratio = weights[i] / smallest;
    const double nearest = std::nearbyint(ratio);
    if (nearest > static_cast<double>(kLargestSmallWeight) ||
        std::abs(ratio - nearest) > 1e-12 * nearest) {
      return false;
    }
    fixed.weights[i] = static_cast<u64>(nearest);
  }
  fixed.unit = smallest;
  return true;
}

// Total and largest weight; weights that are all one are not kept.
void total_weights(FixedWeights& fixed) {
  fixed.total = 0;
  fixed.largest = 0;
  bool all_one = true;
  for (const u64 w : fixed.weights) {
    fixed.total += w;
    fixed.largest = std::max(fixed.largest, w);
    all_one = all_one && w == 1;
  }
  if (all_one) fixed.weights.clear();
}

template <class Item>
AlignedBuffer<Item> allocate_items(const FixedWeights& weights, std::size_t n_rows,
                                   std::size_t& n) {
  n = n_rows;
  if (!weights.weights.empty()) {
    n = static_cast<std::size_t>(
        std::count_if(weights.weights.begin(), weights.weights.end(), [](u64 w) { return w > 0; }));
  }
  return AlignedBuffer<Item>(n);
}

}  // namespace

FixedWeights fix_weights(const GrowInput& input, int bits) {
  FixedWeights fixed;
  const std::size_t n_rows = input.data->n_rows;
  fixed.total = n_rows;
  if (input.weights.empty() && input.counts.empty()) return fixed;
  if (input.weights.empty()) {
    fixed.weights.assign(input.counts.begin(), input.counts.end());
    total_weights(fixed);
    return fixed;
  }
  std::vector<double> weights(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) weights[i] = input.weight(i);
  return fix_weights(weights, bits);
}

FixedWeights fix_weights(std::span<const double> weights, int bits) {
  FixedWeights fixed;
  const std::size_t n_rows = weights.size();
  double smallest = std::numeric_limits<double>::infinity(), total = 0.0;
  for (const double w : weights) {
    if (w > 0.0 && w < smallest) smallest = w;
    total += w;
  }
  if (!(total > 0.0)) throw std::invalid_argument("all sample weights are zero");
  fixed.weights.resize(n_rows);
  fixed.integral = take_multiples(weights, smallest, fixed);
  if (!fixed.integral) {
    int exponent;
    std::frexp(total, &exponent);
    const int shift = bits - 1 - exponent;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double scaled = std::nearbyint(std::ldexp(weights[i], shift));
      // A row of positive weight stays present however light it is.
      fixed.weights[i] = weights[i] > 0.0 ? std::max<u64>(1, static_cast<u64>(scaled)) : 0;
    }
    fixed.unit = std::ldexp(1.0, -shift);
  }
  total_weights(fixed);
  return fixed;
}

FixedTargets fix_targets(std::span<const double> values, u32 n_outputs, const FixedWeights& weights,
                         bool centre) {
  const std::size_t n_rows = values.size() / n_outputs;
  FixedTargets fixed;
  fixed.values.resize(values.size());
  double largest = 0.0;
  for (u32 o = 0; o < n_outputs; ++o) {
    double offset = 0.0;
    for (std::size_t i = 0; centre && i < n_rows; ++i) {
      offset += static_cast<double>(weights[i]) / static_cast<double>(weights.total) *
                values[i * n_outputs + o];
    }
    for (std::size_t i = 0; i < n_rows; ++i) {
      if (weights[i] > 0) largest = std::max(largest, std::abs(values[i * n_outputs + o] - offset));
    }
    fixed.offsets.push_back(offset);
  }
  int exponent = 0;
  if (largest > 0.0) std::frexp(largest, &exponent);
  const int bits =
      std::min(kTargetBits, kMomentSumBits - static_cast<int>(std::bit_width(weights.total)));
  const int shift = bits - exponent;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (weights[i / n_outputs] == 0) continue;
    const double centred = values[i] - fixed.offsets[i % n_outputs];
    fixed.values[i] = static_cast<i64>(std::nearbyint(std::ldexp(centred, shift)));
  }
  fixed.unit = std::ldexp(1.0, -shift);
  return fixed;
}

Sample<BinaryTally> make_binary_sample(const SampleSource& source) {
  Sample<BinaryTally> sample;
  sample.tally.counted = source.weights.weights.empty();
  sample.weight_unit = source.weights.unit;
  sample.items = allocate_items<BinaryTally::Item>(source.weights, source.n_rows, sample.n);
  std::size_t at = 0;
  for (std::size_t i = 0; i < source.n_rows; ++i) {
    const u32 w = static_cast<u32>(source.weights[i]);
    if (w > 0) sample.items[at++] = {static_cast<u32>(i), w | (w * source.target.labels[i]) << 16};
  }
  return sample;
}

template <class S>
Sample<ClassTally<S>> make_class_sample(const SampleSource& source) {
  Sample<ClassTally<S>> sample;
  auto& tally = sample.tally;
  tally.outputs = source.target.n_classes;
  for (const u32 n_classes : tally.outputs) {
    tally.offsets.push_back(tally.n_slots);
    tally.n_slots += n_classes;
  }
  tally.counted = source.counted;
  tally.labels = source.target.labels.data();
  sample.weight_unit = source.weights.unit;
  using Item = typename ClassTally<S>::Item;
  sample.items = allocate_items<Item>(source.weights, source.n_rows, sample.n);
  std::size_t at = 0;
  for (std::size_t i = 0; i < source.n_rows; ++i) {
    const u64 w = source.weights[i];
    if (w == 0) continue;
    Item& item = sample.items[at++];
    item.row = static_cast<u32>(i);
    item.label = static_cast<decltype(item.label)>(source.target.labels[i * tally.outputs.size()]);
    item.weight = static_cast<decltype(item.weight)>(w);
  }
  return sample;
}

template <bool kMulti>
Sample<MomentTally<kMulti>> make_moment_sample(const SampleSource& source, bool centre) {
  Sample<MomentTally<kMulti>> sample;
  const u32 n_outputs = source.target.n_outputs;
  sample.targets = fix_targets(source.target.values, n_outputs, source.weights, centre);
  sample.tally.n_outputs = n_outputs;
  sample.tally.targets = sample.targets.values.data();  // stays valid when the sample moves
  sample.weight_unit = source.weights.unit;
  using Item = typename MomentTally<kMulti>::Item;
  sample.items = allocate_items<Item>(source.weights, source.n_rows, sample.n);
  std::size_t at = 0;
  for (std::size_t i = 0; i < source.n_rows; ++i) {
    const u64 w = source.weights[i];
    if (w == 0) continue;
    Item& item = sample.items[at++];
    item.row = static_cast<u32>(i);
    item.weight = static_cast<u32>(w);
    if constexpr (!kMulti) item.wy = static_cast<i64>(w) * sample.targets.values[i];
  }
  return sample;
}

Sample<MomentTally<false>> make_newton_sample(const GrowInput& input) {
  constexpr int kHessianBits = 32;
  const std::size_t n_rows = input.data->n_rows;
  Sample<MomentTally<false>> sample;
  std::vector<double> gradients(n_rows), hessians(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) {
    gradients[i] = -input.weight(i) * input.target.values[2 * i];
    hessians[i] = input.weight(i) * input.target.values[2 * i + 1];
  }
  const FixedWeights fixed = fix_weights(hessians, kHessianBits);
  FixedWeights rows;  // the gradients carry their weights already: scale for n_rows terms
  rows.total = n_rows;
  sample.targets = fix_targets(gradients, 1, rows, false);
  sample.weight_unit = fixed.unit;
  sample.items = allocate_items<MomentTally<false>::Item>(fixed, n_rows, sample.n);
  std::size_t at = 0;
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (fixed[i] == 0) continue;
    sample.items[at++] = {static_cast<u32>(i), static_cast<u32>(fixed[i]),
                          sample.targets.values[i]};
  }
  return sample;
}

template Sample<ClassTally<u32>> make_class_sample(const SampleSource&);
template Sample<ClassTally<u64>> make_class_sample(const SampleSource&);
template Sample<MomentTally<false>> make_moment_sample(const SampleSource&, bool);
template Sample<MomentTally<true>> make_moment_sample(const SampleSource&, bool);

}  // namespace committee
