// The weights of the rows while stumps are boosted. Included by stump_rows.hpp.
#pragma once
#include <algorithm>
#include <cmath>

#include "base/fixed_weights.hpp"
#include "committee/exact_sum.hpp"
#include "committee/stump.hpp"
#include "committee/stump_weights.hpp"

namespace committee {

// weight of a row = units * level; as an integer, units * round(level * 2^54), at least units.
// Levels are brought back by a power of two when the total leaves its range.
class BoostedWeights {
 public:
  static constexpr WeightBits kUnitBits{40, 40, 40};
  static constexpr int kLeastBits = 50, kMostBits = 61;  // of the total

  BoostedWeights(StumpWeights start, std::size_t n_rows)
      : levels_(std::move(start.levels)), units_(std::move(start.units)), fixed_(n_rows, 0) {
    if (levels_.empty()) levels_.assign(n_rows, 1.0);
    rescale(start.total);
  }

  u64 operator[](std::size_t row) const { return fixed_[row]; }
  bool all_one() const { return units_.empty(); }
  u64 units(std::size_t row) const { return units_.empty() ? 1 : units_[row]; }
  const u64* data() const { return fixed_.data(); }
  double exact(std::size_t row) const {
    return levels_[row] * (units_.empty() ? 1.0 : static_cast<double>(units_[row]));
  }

  // Multiplies a row's weight; what its integer gains (modulo 2^64).
  u64 multiply(std::size_t row, double factor) {
    const u64 before = fixed_[row];
    levels_[row] = multiply_stump_level(levels_[row], factor);
    fix(row);
    return fixed_[row] - before;
  }

  static bool fits(double total) {
    return total >= std::ldexp(1.0, kLeastBits) && total < std::ldexp(1.0, kMostBits);
  }

  // A new scale for a total of this much (in levels times units); all integers change. Powers of
  // two only, so that no level loses a bit.
  void rescale(double total) {
    int exponent;
    std::frexp(total, &exponent);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (!(levels_[i] > 0.0)) continue;
      levels_[i] = std::max(std::ldexp(levels_[i], -exponent), kLeastStumpLevel);
      fix(i);
    }
  }
  // The total in levels times units, from the total of the integers.
  static double to_levels(double fixed_total) { return fixed_total / kStumpWeightScale; }

 private:
  void fix(std::size_t row) {
    fixed_[row] = fix_stump_level(levels_[row]) * (units_.empty() ? 1 : units_[row]);
  }

  std::vector<double> levels_;
  std::vector<u64> units_;  // empty: all one
  std::vector<u64> fixed_;
};

}  // namespace committee
