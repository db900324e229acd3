// Gradients in fixed point, and the words of a histogram made of them: the formulas of both
// engines.
#pragma once
#include "math.hpp"

namespace committee {

// 30 bits below a power of two that bounds the gradients (or hessians) of all rows.
struct FixedGradientPair {
  i32 gradient, hessian;
};
inline constexpr int kFixedBits = 30;

// 2^power.
COMMITTEE_HD inline double power_of_two(int power) {
  return from_bits(static_cast<u64>(power + 1023) << 52);
}

// The least power of two that no |x| <= largest exceeds, largest being a normal number; 0 for 0.
COMMITTEE_HD inline int find_power(double largest) {
  if (!(largest > 0.0)) return 0;
  const u64 bits = bits_of(largest);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  return (bits & ((u64{1} << 52) - 1)) == 0 ? exponent : exponent + 1;
}

COMMITTEE_HD inline i32 round_fixed(double x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number, kept in the last bits
  return static_cast<i32>(static_cast<u32>(bits_of(x + kShift)));
}

// Numbers below 2^32 that nothing but the row and the key decide, in 32-bit steps.
template <class Rows>
COMMITTEE_HD inline Rows scramble(Rows row, u32 key) {
  Rows x = (row ^ key) * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  x ^= x >> 13;
  x *= 0xC2B2AE3Du;
  return x ^ (x >> 16);
}

// How many bits are cut off, and how the rest is rounded: by chance, in proportion to what is cut
// off, or to the nearest.
struct WordRounding {
  int gradient_shift = 0, hessian_shift = 0;
  bool stochastic = false;
  u64 key = 0;  // decides the chances
};
struct WordHalvesPair {
  i64 gradient, hessian;
};
COMMITTEE_HD inline WordHalvesPair round_word(const WordRounding& by, i64 g, i64 h, u32 position) {
  const int gs = by.gradient_shift, hs = by.hessian_shift;
  i64 a = gs > 0 ? i64{1} << (gs - 1) : 0, b = hs > 0 ? i64{1} << (hs - 1) : 0;
  if (by.stochastic) {
    a = static_cast<i64>(scramble(position, static_cast<u32>(by.key)) & ((u64{1} << gs) - 1));
    b = static_cast<i64>(scramble(position, static_cast<u32>(by.key >> 32)) & ((u64{1} << hs) - 1));
  }
  return {(g + a) >> gs, (h + b) >> hs};
}

// The word of a row of weight w: of w rows where weights mean repetition, each by a chance of its
// own.
COMMITTEE_HD inline WordHalvesPair round_weighted(const WordRounding& by,
                                                  const FixedGradientPair& pair, u32 w,
                                                  u32 position, bool repeated) {
  const i64 g = pair.gradient, h = pair.hessian;
  if (!repeated) return round_word(by, w * g, w * h, position);
  WordHalvesPair sum{0, 0};
  if (!by.stochastic) {
    const WordHalvesPair one = round_word(by, g, h, position);
    return {w * one.gradient, w * one.hessian};
  }
  for (u32 k = 0; k < w; ++k) {
    const WordHalvesPair one = round_word(by, g, h, position + k);
    sum.gradient += one.gradient;
    sum.hessian += one.hessian;
  }
  return sum;
}

}  // namespace committee
