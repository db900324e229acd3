// The absolute error: the median is fitted.
#pragma once
#include "shape.hpp"

namespace committee {

struct AbsoluteLoss {
  static constexpr const char* kName = "absolute_error";
  static constexpr LossShape kShape{.constant_hessian = true,
                                    .gradient_power = 0,
                                    .hessian_power = 0,
                                    .rule = LeafRule::quantile};
  static constexpr double level() { return 0.5; }
  COMMITTEE_HD double value(double y, double f) const { return y > f ? y - f : f - y; }
  COMMITTEE_HD GradientPair gradients(double y, double f) const {
    return {f > y ? 1.0 : (f < y ? -1.0 : 0.0), 1.0};
  }
  COMMITTEE_HD double mean(double f) const { return f; }
  COMMITTEE_HD double link(double mean) const { return mean; }
};

}  // namespace committee
