// Logarithms whose last bit is ours: libm differs between systems, and a split may hang on it.
#pragma once
#include <bit>
#include <cmath>

#include "types.hpp"

namespace committee {

// Natural logarithm of a finite x > 0, within about one unit in the last place. x = m * 2^e with m
// in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172, by its power
// series.
inline double natural_log(double x) {
  int exponent;
  double m = std::frexp(x, &exponent);  // exact on every system
  if (m < 0.70710678118654752440) {
    m *= 2.0;
    --exponent;
  }
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double series = 1.0 / 23.0;
  for (int odd = 21; odd >= 3; odd -= 2) series = series * z + 1.0 / odd;
  const double tail = 2.0 * s * z * series;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  return exponent * kLn2High + (2.0 * s + (tail + exponent * kLn2Low));
}

inline double binary_log(double x) {
  return natural_log(x) * 1.4426950408889634074;
}

// x log2(x / whole), continued to 0 at 0.
inline double weigh_log2(double x, double whole) {
  return x > 0.0 ? x * binary_log(x / whole) : 0.0;
}
// x ln x, continued to 0 at 0.
inline double x_ln_x(double x) {
  return x > 0.0 ? x * natural_log(x) : 0.0;
}

}  // namespace committee
