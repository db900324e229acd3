#include "base/fixed_weights.hpp"

#include <algorithm>
#include <cmath>

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

void WeightRange::add(std::span<const double> weights) {
  bool valid = true;
  for (const double w : weights) {
    valid &= w >= 0.0 && w <= std::numeric_limits<double>::max();
    if (w > 0.0) lightest = std::min(lightest, w);
    heaviest = std::max(heaviest, w);
  }
  if (!valid) throw std::invalid_argument("sample weights must be finite and not negative");
  sum.add(weights);
}

double find_parts(std::span<const double> weights, double lightest, double parts) {
  for (const double w : weights) {
    const double multiple = w / lightest * parts;
    if (!(multiple <= kLargestMultiple)) return 0.0;
    if (is_whole(multiple)) continue;
    const double q = find_denominator(multiple);
    parts *= q;
    if (q == 0.0 || parts > kMostParts || multiple * q > kLargestMultiple) return 0.0;
  }
  return parts;
}

WeightScale choose_scale(const WeightRange& range, double parts, WeightBits bits) {
  if (!(range.heaviest > 0.0)) throw std::invalid_argument("all sample weights are zero");
  ExactSum unit;
  unit.add(range.heaviest);
  const double total = divide(range.sum, unit);
  WeightScale scale;
  scale.heaviest = range.heaviest;
  scale.unit = parts > 0.0 ? range.lightest / parts : 0.0;
  scale.integral =
      scale.unit > 0.0 && total * (range.heaviest / scale.unit) < std::ldexp(0.5, bits.whole);
  scale.counts =
      scale.integral && (scale.unit == range.lightest || scale.unit == std::floor(scale.unit));
  if (!scale.integral) {
    int exponent;
    std::frexp(total, &exponent);
    scale.shift = std::min(bits.fixed - 1 - exponent, bits.single - 1);
    scale.unit = std::ldexp(range.heaviest, -scale.shift);
  }
  return scale;
}

u64 WeightScale::fix(double weight) const {
  if (!(weight > 0.0)) return 0;
  const double share = integral ? weight / unit : std::ldexp(weight / heaviest, shift);
  return std::max<u64>(1, static_cast<u64>(std::nearbyint(share)));
}

FixedWeights fix_weights(std::span<const double> weights, WeightBits bits) {
  WeightRange range;
  range.add(weights);
  // All zero: the scale says so.
  const double parts = range.heaviest > 0.0 ? find_parts(weights, range.lightest, 1.0) : 0.0;
  const WeightScale scale = choose_scale(range, parts, bits);
  FixedWeights fixed;
  fixed.unit = scale.unit;
  fixed.integral = scale.integral;
  fixed.counts = scale.counts;
  fixed.weights.resize(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) fixed.weights[i] = scale.fix(weights[i]);
  total_up(fixed);
  return fixed;
}

}  // namespace committee
