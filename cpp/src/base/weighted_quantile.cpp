// Quantiles by selection: a sample of the values tells between which two the quantile must lie, one
// pass keeps what lies there, and so on until few are left [FloydRivest1975]. Where the sample was
// wrong all of them are looked at: the answer is exact in every case.
#include "base/weighted_quantile.hpp"

#include <algorithm>
#include <cmath>

#include "committee/quantile_counts.hpp"

namespace committee {

namespace {

constexpr std::size_t kFewValues = 128;  // a sample would cost more
constexpr std::size_t kBlockValues = 256;
constexpr double kSampleFactor = 4.0;  // times the root of the number of values
// The quantile of a sample lies nearer than this to that of all, but for one case in a hundred.
constexpr double kDeviations = 2.5;

template <class T>
double sum_weights(std::span<const T> values) {
  if constexpr (std::is_same_v<T, double>) return static_cast<double>(values.size());
  double sum = 0.0;
  for (const T& value : values) sum += weight_of(value);
  return sum;
}

// The answer among these values, which may be put into another order. `below`: weight of what is
// less than all of them.
double pick(std::vector<WeightedValue>& values, double below, double wanted) {
  std::sort(values.begin(), values.end(), [](const WeightedValue& a, const WeightedValue& b) {
    return a.value != b.value ? a.value < b.value : a.weight < b.weight;
  });
  std::size_t at = 0;
  while (at + 1 < values.size() && below + values[at].weight < wanted) below += values[at++].weight;
  const bool is_split = below + values[at].weight == wanted && at + 1 < values.size();
  return is_split ? find_middle_of(values[at].value, values[at + 1].value) : values[at].value;
}

double pick(std::vector<double>& values, double below, double wanted) {
  const double last = static_cast<double>(values.size()) - 1.0;
  const double rank = std::clamp(std::ceil(wanted - below) - 1.0, 0.0, last);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  const bool is_split = below + rank + 1.0 == wanted && rank < last;
  return is_split ? find_middle_of(*at, *std::min_element(at + 1, values.end())) : *at;
}

struct Bracket {
  double low, high;
};

template <class T>
Bracket bracket_by_sample(std::span<const T> values, double share) {
  const std::size_t n = values.size(),
                    n_drawn = static_cast<std::size_t>(kSampleFactor * std::sqrt(n));
  std::vector<T> sample(n_drawn);
  double squares = 0.0;
  for (std::size_t i = 0; i < n_drawn; ++i) {
    sample[i] = values[n * i / n_drawn];
    squares += weight_of(sample[i]) * weight_of(sample[i]);
  }
  const double total = sum_weights<T>(sample);
  const double margin = kDeviations * std::sqrt(share * (1.0 - share) * squares) / total +
                        1.0 / static_cast<double>(n_drawn);
  return {pick(sample, 0.0, (share - margin) * total), pick(sample, 0.0, (share + margin) * total)};
}

template <class T>
struct Middle {
  std::vector<T> values;
  double below = 0.0;  // weight of what is less
};

// Without a branch that the values decide: they come in no order.
template <class T>
Middle<T> keep_between(std::span<const T> values, const Bracket& bracket) {
  Middle<T> middle;
  const auto [low, high] = bracket;
  T block[kBlockValues];
  for (std::size_t begin = 0; begin < values.size(); begin += kBlockValues) {
    const std::size_t end = std::min(values.size(), begin + kBlockValues);
    std::size_t n_kept = 0, n_less = 0;
    double less = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      const T value = values[i];
      const bool is_less = value_of(value) < low;
      block[n_kept] = value;
      n_kept += !is_less & (value_of(value) <= high);
      if constexpr (std::is_same_v<T, double>) {
        n_less += is_less;
      } else {
        less += is_less ? weight_of(value) : 0.0;
      }
    }
    middle.values.insert(middle.values.end(), block, block + n_kept);
    middle.below += less + static_cast<double>(n_less);
  }
  return middle;
}

template <class T>
double select(std::span<const T> values, double below, double total, double wanted) {
  if (values.size() > kFewValues) {
    const double share = std::clamp((wanted - below) / total, 0.0, 1.0);
    const Bracket bracket = bracket_by_sample(values, share);
    const Middle<T> middle = keep_between(values, bracket);
    const double less = below + middle.below, inside = sum_weights<T>(middle.values);
    // More than what is wanted: where the weight is split just there, the next value is here,
    // too.
    if (less < wanted && less + inside > wanted) {
      if (bracket.low == bracket.high) return bracket.low;
      if (2 * middle.values.size() < values.size())
        return select<T>(middle.values, less, inside, wanted);
    }
  }
  std::vector<T> all(values.begin(), values.end());
  return pick(all, below, wanted);
}

template <class T>
double find_quantile(std::span<const T> values, double level) {
  const double total = sum_weights(values);
  // Zero has two signs, between which no order decides.
  return select(values, 0.0, total, level * total) + 0.0;
}

}  // namespace

double find_weighted_quantile(std::span<const double> values, double level) {
  return find_quantile(values, level);
}

double find_weighted_quantile(std::span<const WeightedValue> values, double level) {
  return find_quantile(values, level);
}

}  // namespace committee
