// The weight of a row while stumps are boosted: a level, and the integer that sums are made of. For
// both engines.
#pragma once
#include "scalar.hpp"

namespace committee {

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
