// Logarithms and exponentials whose last bit is ours: libm differs between systems, and a split may
// hang on it.
#pragma once
#include "scalar.hpp"
#if !defined(__CUDACC_RTC__)
#include <bit>
#include <cmath>

#include "types.hpp"
#endif

namespace committee {

// ln(m 2^exponent) of m in [sqrt(1/2), sqrt(2)) = 2 atanh(s) + exponent ln 2, s = (m - 1) / (m +
// 1), |s| < 0.172, by its power series.
COMMITTEE_INLINE COMMITTEE_HD inline double log_of_parts(double m, double exponent) {
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double series = z * (1.0 / 23.0) + 1.0 / 21.0;
  for (int odd = 19; odd >= 3; odd -= 2) series = series * z + 1.0 / odd;
  const double tail = 2.0 * s * z * series;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  return exponent * kLn2High + (2.0 * s + (tail + exponent * kLn2Low));
}

// ln(x 2^-drop) of a normal x > 0 = m 2^exponent. Without a branch, a call or a conversion of whole
// numbers: any of them would keep loops from being vectorised.
COMMITTEE_INLINE COMMITTEE_HD inline double log_of_normal(double x, double drop = 0.0) {
  constexpr u64 kHidden = u64{1} << 52;
  // sqrt(1/2), and the bits of 2^52: a whole number in its last bits is added to it.
  constexpr u64 kRootOfHalf = 0x3FE6A09E667F3BCD, kWholeNumbers = 1075 * kHidden;
  const u64 steps = bits_of(x) - kRootOfHalf + 1024 * kHidden;  // never below zero
  const double exponent = from_bits(steps >> 52 | kWholeNumbers) - (0x1p52 + 1024.0 + drop);
  return log_of_parts(from_bits(kRootOfHalf + (steps & (kHidden - 1))), exponent);
}

// Natural logarithm of a finite x > 0, within about one unit in the last place.
COMMITTEE_HD inline double natural_log(double x) {
  const bool subnormal = x < 0x1p-1022;
  return log_of_normal(subnormal ? x * 0x1p54 : x, subnormal ? 54.0 : 0.0);
}

COMMITTEE_HD inline double take_larger(double a, double b) {
  return a > b ? a : b;
}

COMMITTEE_HD inline double hold_within(double x, double least, double most) {
  x = x < least ? least : x;
  return x > most ? most : x;
}
// x times 2^k, k being the whole number in the last bits of `shifted`.
COMMITTEE_HD inline double scale_by_power(double x, double shifted) {
  return from_bits(bits_of(x) + (bits_of(shifted) << 52));
}

// x = k ln 2 + rest, |rest| <= ln(2) / 2, k the nearest whole number, which is also in the last
// bits of `shifted`.
struct PowerParts {
  double shifted, k, rest;
};
COMMITTEE_INLINE COMMITTEE_HD inline PowerParts split_power(double x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number, kept in the last bits
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  const double shifted = x * 1.4426950408889634074 + kShift;
  const double k = shifted - kShift;
  return {shifted, k, (x - k * kLn2High) - k * kLn2Low};
}

// e^x within about one unit in the last place, of x in [-708, 709], where the result is a normal
// number. x = k ln 2 + r; e^r by its power series.
COMMITTEE_INLINE COMMITTEE_HD inline double normal_exponential(double x) {
  const PowerParts parts = split_power(x);
  const double r = parts.rest;
  // In pairs, and pairs of pairs: a shorter chain of dependent steps than Horner's.
  const double r2 = r * r, r4 = r2 * r2;
  const double high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0);
  const double middle =
      (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const double upper = middle + r4 * high;
  const double low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  return scale_by_power(1.0 + (r + r2 * (low + r4 * upper)), parts.shifted);
}

// The same of any number, which is held in that range.
COMMITTEE_INLINE COMMITTEE_HD inline double exponential(double x) {
  return normal_exponential(hold_within(x, -708.0, 709.0));
}

// The same within 2^-34 of its size, for gradients, which are kept in steps of 2^-30: e^r by the
// polynomial of degree 7 that begins with 1 + r and has the least largest error. x is within
// [-708, 709].
COMMITTEE_INLINE COMMITTEE_HD inline double fast_exp(double x) {
  constexpr double kShift = 0x1.8p52;
  const double shifted = x * 1.4426950408889634074 + kShift;
  const double r = x - (shifted - kShift) * 0.69314718055994530942;
  const double r2 = r * r;
  const double high = (0x1.55548dc82c384p-5 + r * 0x1.111270ca29539p-7) +
                      r2 * (0x1.6d8d05177aa0ep-10 + r * 0x1.9f08924f4a6c7p-13);
  const double low = (1.0 + r) + r2 * (0x1.0000003a200a2p-1 + r * 0x1.55555443140c9p-3);
  return scale_by_power(low + (r2 * r2) * high, shifted);
}

// ln(1 + e^x) without overflow.
COMMITTEE_INLINE COMMITTEE_HD inline double log_one_plus_exp(double x) {
  const double small = exponential(x > 0.0 ? -x : x), y = 1.0 + small;
  // ln(1 + s) where 1 + s has lost the end of s: the loss, s - (y - 1), is put back.
  const double log = log_of_normal(y) + (small - (y - 1.0)) / y;
  return x > 0.0 ? x + log : log;
}

COMMITTEE_HD inline double binary_log(double x) {
  return natural_log(x) * 1.4426950408889634074;
}

// x log2(x / whole), continued to 0 at 0.
COMMITTEE_HD inline double weigh_log2(double x, double whole) {
  return x > 0.0 ? x * binary_log(x / whole) : 0.0;
}
// x ln x, continued to 0 at 0.
COMMITTEE_HD inline double x_ln_x(double x) {
  return x > 0.0 ? x * natural_log(x) : 0.0;
}

}  // namespace committee
