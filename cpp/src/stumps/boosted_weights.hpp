// The weights of the rows while stumps are boosted.
#pragma once
#include <algorithm>
#include <cmath>

#include "base/fixed_weights.hpp"
#include "committee/exact_sum.hpp"
#include "committee/stump.hpp"
#include "committee/stump_weights.hpp"

namespace committee {

// Which leaf of a stump a row is in: 0 or 1. Behind the last row are bytes for those who read four.
class LeafOfRow {
 public:
  explicit LeafOfRow(std::size_t n_rows) : leaves_(n_rows + kSpare, 0) {}
  std::size_t n_rows() const { return leaves_.size() - kSpare; }
  u8* data() { return leaves_.data(); }
  const u8* data() const { return leaves_.data(); }
  u8 operator[](std::size_t row) const { return leaves_[row]; }

 private:
  static constexpr std::size_t kSpare = 3;
  std::vector<u8> leaves_;
};

// Parts rows into those of the left and of the right leaf, each in their order; returns how many
// are in the right one. There is room for all rows on both sides.
std::size_t part_rows(std::span<const u32> rows, const LeafOfRow& leaves, u32* left, u32* right);

// weight of a row = units * level; as an integer, units * round(level * 2^54), at least units.
class BoostedWeights {
 public:
  static constexpr WeightBits kUnitBits{40, 40, 40};

  BoostedWeights(StumpWeights start, std::size_t n_rows)
      : levels_(std::move(start.levels)), units_(std::move(start.units)) {
    if (levels_.empty()) levels_.assign(n_rows, 1.0);
    // So that the integers have a total of 54 bits; a power of two, so that no level loses a bit.
    int exponent;
    std::frexp(start.total, &exponent);
    for (double& level : levels_)
      if (level > 0.0) level = std::max(std::ldexp(level, -exponent), kLeastStumpLevel);
  }

  // The integer of a row; 0: absent.
  u64 operator[](std::size_t row) const { return levels_[row] > 0.0 ? fix(row) : 0; }
  bool all_one() const { return units_.empty(); }
  u64 units(std::size_t row) const { return units_.empty() ? 1 : units_[row]; }
  double exact(std::size_t row) const {
    return levels_[row] * (units_.empty() ? 1.0 : static_cast<double>(units_[row]));
  }

  // Multiplies the weights of rows that are present; what their integers gain (modulo 2^64).
  void multiply(std::span<const u32> rows, double factor, u64* gained);

 private:
  u64 multiply(std::size_t row, double factor) {
    const u64 before = fix(row);
    levels_[row] = multiply_stump_level(levels_[row], factor);
    return fix(row) - before;
  }

  // Computed whenever it is asked for: a few instructions cost less than another eight bytes a row.
  u64 fix(std::size_t row) const { return fix_stump_level(levels_[row]) * units(row); }

  std::vector<double> levels_;
  std::vector<u64> units_;  // empty: all one
};

}  // namespace committee
