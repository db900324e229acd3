#include "committee/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponentials.hpp"

namespace committee {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastNormal = std::numeric_limits<double>::min();

double find_log(double x) {
  if (x > 0.0 && x < kInfinity) return natural_log(x);
  if (x == 0.0) return -kInfinity;
  return x > 0.0 ? kInfinity : std::numeric_limits<double>::quiet_NaN();
}

// Beyond the range in which `exponential` is a normal number: e^x = 2^k e^r, the power by ldexp,
// which rounds once where the result is subnormal.
double find_exponential(double x) {
  if (x >= -708.0 && x <= 708.0) return exponential(x);
  if (std::isnan(x)) return x;
  const PowerParts<double> parts = split_power(std::clamp(x, -800.0, 800.0));
  return std::ldexp(exponential(parts.rest), static_cast<int>(parts.k));
}

bool all_within(const double* at, double least, double most) {
  bool within = true;
  for (std::size_t e = 0; e < EightDoubles::kSize; ++e) within &= at[e] >= least && at[e] <= most;
  return within;
}

}  // namespace

void find_logs(std::span<const double> values, double* logs) {
  std::size_t i = 0;
  for (; i + EightDoubles::kSize <= values.size(); i += EightDoubles::kSize) {
    const double* at = values.data() + i;
    if (all_within(at, kLeastNormal, std::numeric_limits<double>::max())) {
      const EightDoubles x(at);
      log_of_parts(find_mantissa(x), find_exponent(x)).store(logs + i);
    } else {
      std::transform(at, at + EightDoubles::kSize, logs + i, find_log);
    }
  }
  for (; i < values.size(); ++i) logs[i] = find_log(values[i]);
}

void find_exponentials(std::span<const double> exponents, double* powers) {
  std::size_t i = 0;
  for (; i + EightDoubles::kSize <= exponents.size(); i += EightDoubles::kSize) {
    const double* at = exponents.data() + i;
    if (all_within(at, -708.0, 708.0)) {
      exponential(EightDoubles(at)).store(powers + i);
    } else {
      std::transform(at, at + EightDoubles::kSize, powers + i, find_exponential);
    }
  }
  for (; i < exponents.size(); ++i) powers[i] = find_exponential(exponents[i]);
}

}  // namespace committee
