// The logarithm of the gamma function and its first two derivatives, for x > 0: moved up to x >= 10
// by their recurrences, then Stirling's series. By the arithmetic of math.hpp, so that the bits are
// the same on all systems.
#pragma once
#include "committee/math.hpp"

namespace committee {

constexpr double kStirlingFrom = 10.0;

// add(x) while x is below it, and x one more each time. As many steps for every x > 0, those beyond
// with no effect, so that loops over numbers become vectors: `add` is given whether it is to add.
template <class Add>
COMMITTEE_INLINE inline double move_up(double x, Add&& add) {
  for (int step = 0; step < static_cast<int>(kStirlingFrom); ++step) {
    const bool below = x < kStirlingFrom;
    add(x, below);
    x += below ? 1.0 : 0.0;
  }
  return x;
}

// ln Gamma(x), within about 1e-14 of max(1, its size).
COMMITTEE_INLINE inline double log_gamma(double x) {
  double product = 1.0;
  x = move_up(x,
              [&](double at, bool below) COMMITTEE_INLINE_LAMBDA { product *= below ? at : 1.0; });
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
COMMITTEE_INLINE inline double digamma(double x) {
  double below = 0.0;
  x = move_up(
      x, [&](double at, bool adds) COMMITTEE_INLINE_LAMBDA { below += adds ? 1.0 / at : 0.0; });
  const double r = 1.0 / x, z = r * r;
  const double series =
      z * (1.0 / 12.0 +
           z * (-1.0 / 120.0 +
                z * (1.0 / 252.0 + z * (-1.0 / 240.0 + z * (1.0 / 132.0 - z * 691.0 / 32760.0)))));
  return natural_log(x) - 0.5 * r - series - below;
}

// Its second derivative.
COMMITTEE_INLINE inline double trigamma(double x) {
  double below = 0.0;
  x = move_up(x, [&](double at, bool adds)
                     COMMITTEE_INLINE_LAMBDA { below += adds ? 1.0 / (at * at) : 0.0; });
  const double r = 1.0 / x, z = r * r;
  const double series =
      1.0 / 6.0 +
      z * (-1.0 / 30.0 +
           z * (1.0 / 42.0 + z * (-1.0 / 30.0 + z * (5.0 / 66.0 - z * 691.0 / 2730.0))));
  return r + 0.5 * z + r * z * series + below;
}

}  // namespace committee
