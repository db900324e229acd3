#include "base/fixed_weights.hpp"

#include <algorithm>
#include <cmath>

#include "committee/exact_sum.hpp"

namespace committee {

namespace {

constexpr double kLargestMultiple = 65535.0;  // of the unit
constexpr double kMostParts = 4096.0;         // of the lightest weight that a unit may be
constexpr double kRounding = 1e-12;           // relative: weights may be products of decimals

bool is_whole(double x) {
  const double nearest = std::nearbyint(x);
  return std::abs(x - nearest) <= kRounding * nearest;
}

// The smallest q such that q x is whole, by the continued fraction of x; 0 if it exceeds
// kMostParts.
double find_denominator(double x) {
  double before = 0.0, q = 1.0, rest = x;
  while (q <= kMostParts) {
    if (is_whole(q * x)) return q;
    const double fraction = rest - std::floor(rest);
    if (!(fraction > 0.0)) break;
    rest = 1.0 / fraction;
    const double next = std::floor(rest) * q + before;
    before = q;
    q = next;
  }
  return 0.0;
}

// The largest unit that all weights are multiples of, if it is not too small; else 0.
double find_unit(std::span<const double> weights, double lightest) {
  double parts = 1.0;  // unit = lightest / parts
  for (const double w : weights) {
    const double multiple = w / lightest * parts;
    if (!(multiple <= kLargestMultiple)) return 0.0;
    if (is_whole(multiple)) continue;
    const double q = find_denominator(multiple);
    parts *= q;
    if (q == 0.0 || parts > kMostParts || multiple * q > kLargestMultiple) return 0.0;
  }
  return lightest / parts;
}

// Total and largest weight; weights that are all one are not kept.
void total_up(FixedWeights& fixed) {
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

}  // namespace

FixedWeights take_counts(std::span<const u32> counts) {
  FixedWeights fixed;
  fixed.weights.assign(counts.begin(), counts.end());
  total_up(fixed);
  return fixed;
}

FixedWeights fix_weights(std::span<const double> weights, WeightBits bits) {
  FixedWeights fixed;
  double lightest = std::numeric_limits<double>::infinity(), heaviest = 0.0;
  for (const double w : weights) {
    if (w > 0.0) lightest = std::min(lightest, w);
    heaviest = std::max(heaviest, w);
  }
  if (!(heaviest > 0.0)) throw std::invalid_argument("all sample weights are zero");
  ExactSum sum, unit;
  sum.add(weights);
  unit.add(heaviest);
  const double total = divide(sum, unit);
  fixed.weights.resize(weights.size());
  fixed.unit = find_unit(weights, lightest);
  fixed.integral =
      fixed.unit > 0.0 && total * (heaviest / fixed.unit) < std::ldexp(0.5, bits.whole);
  fixed.counts = fixed.integral && (fixed.unit == lightest || fixed.unit == std::floor(fixed.unit));
  int shift = 0;
  if (!fixed.integral) {
    int exponent;
    std::frexp(total, &exponent);
    shift = std::min(bits.fixed - 1 - exponent, bits.single - 1);
    fixed.unit = std::ldexp(heaviest, -shift);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double share =
        fixed.integral ? weights[i] / fixed.unit : std::ldexp(weights[i] / heaviest, shift);
    fixed.weights[i] =
        weights[i] > 0.0 ? std::max<u64>(1, static_cast<u64>(std::nearbyint(share))) : 0;
  }
  total_up(fixed);
  return fixed;
}

}  // namespace committee
