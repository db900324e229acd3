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

// ln(m 2^exponent) of m in [sqrt(1/2), sqrt(2)); of a double, or of several side by side, by the
// same steps and to the same bits.
template <class Number>
COMMITTEE_INLINE COMMITTEE_HD inline Number log_of_parts(Number m, Number exponent) {
  const Number s = (m - 1.0) / (m + 1.0), z = s * s;
  Number series = z * (1.0 / 23.0) + 1.0 / 21.0;
  for (int odd = 19; odd >= 3; odd -= 2) series = series * z + 1.0 / odd;
  const Number tail = 2.0 * s * z * series;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  return exponent * kLn2High + (2.0 * s + (tail + exponent * kLn2Low));
}

// Natural logarithm of a finite x > 0, within about one unit in the last place. x = m * 2^e with m
// in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172, by its power
// series.
COMMITTEE_HD inline double natural_log(double x) {
  // As std::frexp, by the bits: a call would keep loops over losses from being vectorised.
  constexpr u64 kHidden = u64{1} << 52, kHalf = u64{1022} << 52;
  u64 bits = bits_of(x);
  int exponent = -1022;
  if (bits < kHidden) {  // subnormal
    bits = bits_of(x * 0x1p54);
    exponent -= 54;
  }
  exponent += static_cast<int>(bits >> 52);
  double m = from_bits((bits & (kHidden - 1)) | kHalf);
  if (m < 0.70710678118654752440) {
    m *= 2.0;
    --exponent;
  }
  return log_of_parts(m, static_cast<double>(exponent));
}

COMMITTEE_HD inline double take_larger(double a, double b) {
  return a > b ? a : b;
}

// The parts of an exponential that are not arithmetic; base/exponentials.hpp has them for many
// numbers.
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
template <class Number>
struct PowerParts {
  Number shifted, k, rest;
};
template <class Number>
COMMITTEE_INLINE COMMITTEE_HD inline PowerParts<Number> split_power(Number x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number, kept in the last bits
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  const Number shifted = x * 1.4426950408889634074 + kShift;
  const Number k = shifted - kShift;
  return {shifted, k, (x - k * kLn2High) - k * kLn2Low};
}

// e^x within about one unit in the last place; x is held in [-708, 709], where the result is a
// normal number. x = k ln 2 + r; e^r by its power series. Of a double, or of several side by side,
// by the same steps and to the same bits.
template <class Number>
COMMITTEE_INLINE COMMITTEE_HD inline Number exponential(Number x) {
  const PowerParts<Number> parts = split_power(hold_within(x, -708.0, 709.0));
  const Number r = parts.rest;
  // In pairs, and pairs of pairs: a shorter chain of dependent steps than Horner's.
  const Number r2 = r * r, r4 = r2 * r2;
  const Number high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0);
  const Number middle =
      (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const Number upper = middle + r4 * high;
  const Number low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  return scale_by_power(1.0 + (r + r2 * (low + r4 * upper)), parts.shifted);
}

// The same within 2^-34 of its size, for gradients, which are kept in steps of 2^-30: e^r by the
// polynomial of degree 7 that begins with 1 + r and has the least largest error. x is within
// [-708, 709].
template <class Number>
COMMITTEE_INLINE COMMITTEE_HD inline Number fast_exp(Number x) {
  constexpr double kShift = 0x1.8p52;
  const Number shifted = x * 1.4426950408889634074 + kShift;
  const Number r = x - (shifted - kShift) * 0.69314718055994530942;
  const Number r2 = r * r;
  const Number high = (0x1.55548dc82c384p-5 + r * 0x1.111270ca29539p-7) +
                      r2 * (0x1.6d8d05177aa0ep-10 + r * 0x1.9f08924f4a6c7p-13);
  const Number low = (1.0 + r) + r2 * (0x1.0000003a200a2p-1 + r * 0x1.55555443140c9p-3);
  return scale_by_power(low + (r2 * r2) * high, shifted);
}

// ln(1 + e^x) without overflow.
COMMITTEE_HD inline double log_one_plus_exp(double x) {
  const double small = exponential(x > 0.0 ? -x : x), y = 1.0 + small;
  // ln(1 + s) where 1 + s has lost the end of s: the loss, s - (y - 1), is put back.
  const double log = natural_log(y) + (small - (y - 1.0)) / y;
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
