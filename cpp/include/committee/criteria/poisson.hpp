// Half Poisson deviance, for counts and rates: y >= 0, every node's sum positive.
#pragma once
#include "../math.hpp"

namespace committee {

struct Poisson {
  static constexpr const char* kName = "poisson";
  static constexpr u64 kMinusInfinity = u64{0xFFF} << 52;  // as bits
  // Sum of w y log(y / mean) = sum of w y log y - impurity_term. A child whose mean is zero would
  // predict an impossible rate, so its impurity_term is minus infinity.
  COMMITTEE_HD double impurity_term(double wy, double w) const {
    return wy > 0.0 ? wy * natural_log(wy / w) : from_bits(kMinusInfinity);
  }
};

}  // namespace committee
