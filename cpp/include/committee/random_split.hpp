// The random cut of a column in a node of extra-trees.
#pragma once
#include "random_keys.hpp"

namespace committee {

// The last code on the left of a random split between two codes lo < hi, whose smallest and largest
// values are low and high: a threshold uniform between the extreme values, by the upper 53 bits of
// the number, then the last code whose values lie at or below it; at least lo, below hi.
COMMITTEE_HD inline u32 find_random_cut(const double* low, const double* high, u64 number, u32 lo,
                                        u32 hi) {
  const double a = low[lo], b = high[hi];
  const double t = a + (b - a) * scale_unit(number);
  // By halves without a branch: the answer is a coin toss at every step.
  const double* from = high + lo;
  for (u32 n = hi - lo; n > 1;) {
    const u32 half = n / 2;
    from += from[half] <= t ? half : 0;
    n -= half;
  }
  return static_cast<u32>(from - high);
}

}  // namespace committee
