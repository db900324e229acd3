// Second-order gain of boosting [ChenGuestrin2016, eq. 7].
#pragma once
#include "../types.hpp"

namespace committee {

// w is the hessian sum H, wy the negative gradient sum -G.
struct Newton {
  static constexpr const char* kName = "newton";
  double l2 = 0.0;  // lambda, in the units of w
  double worth(double wy, double w) const { return wy * wy / (w + l2); }
};

}  // namespace committee
