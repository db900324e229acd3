// The logarithm of the gamma function and its first two derivatives, for x > 0: moved up to x >= 10
// by their recurrences, then Stirling's series. By the arithmetic of math.hpp, so that the bits are
// the same on all systems.
#pragma once
#include "committee/math.hpp"

namespace committee {

constexpr double kStirlingFrom = 10.0;

// ln Gamma(x), within about 1e-14 of max(1, its size).
inline double log_gamma(double x) {
  double product = 1.0;
  for (; x < kStirlingFrom; x += 1.0) product *= x;
  const double r = 1.0 / x, z = r * r;
  const double series =
      r *
      (1.0 / 12.0 +
       z * (-1.0 / 360.0 +
            z * (1.0 / 1260.0 + z * (-1.0 / 1680.0 + z * (1.0 / 1188.0 - z * 691.0 / 360360.0)))));
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return (x - 0.5) * natural_log(x) - x + kHalfLogTwoPi + series - natural_log(product);
}

// Its derivative.
inline double digamma(double x) {
  double below = 0.0;
  for (; x < kStirlingFrom; x += 1.0) below += 1.0 / x;
  const double r = 1.0 / x, z = r * r;
  const double series =
      z * (1.0 / 12.0 +
           z * (-1.0 / 120.0 +
                z * (1.0 / 252.0 + z * (-1.0 / 240.0 + z * (1.0 / 132.0 - z * 691.0 / 32760.0)))));
  return natural_log(x) - 0.5 * r - series - below;
}

// Its second derivative.
inline double trigamma(double x) {
  double below = 0.0;
  for (; x < kStirlingFrom; x += 1.0) below += 1.0 / (x * x);
  const double r = 1.0 / x, z = r * r;
  const double series =
      1.0 / 6.0 +
      z * (-1.0 / 30.0 +
           z * (1.0 / 42.0 + z * (-1.0 / 30.0 + z * (5.0 / 66.0 - z * 691.0 / 2730.0))));
  return r + 0.5 * z + r * z * series + below;
}

}  // namespace committee
