// The weight of a row while stumps are boosted: a level, and the integer that sums are made of; and
// where the sums of a column are. For both engines.
#pragma once
#include "scalar.hpp"

namespace committee {

// 256 bins and a spare cache line: bins of the same number 2 KiB apart would be at the same place
// of every other page, where what a row adds to waits for what was just stored, if bins are few.
inline constexpr int kStumpColumnSlots = 264;

inline constexpr int kStumpWeightBits = 54;                       // of a level of one
inline constexpr double kStumpWeightScale = 18014398509481984.0;  // 2 to this power
inline constexpr double kLeastStumpLevel = 1e-300;  // a row never goes, however light it gets

COMMITTEE_HD inline double multiply_stump_level(double level, double factor) {
  const double product = level * factor;
  return product < kLeastStumpLevel ? kLeastStumpLevel : product;
}

// Integers below 2^63, where the conversion is one instruction.
COMMITTEE_HD inline u64 fix_stump_level(double level) {
  const u64 fixed = static_cast<u64>(static_cast<i64>(level * kStumpWeightScale + 0.5));
  return fixed > 1 ? fixed : 1;
}

}  // namespace committee
