// The pinball loss: the quantile of a level is fitted [KoenkerBassett1978].
#pragma once
#include "shape.hpp"

namespace committee {

struct QuantileLoss {
  static constexpr const char* kName = "quantile";
  static constexpr LossShape kShape{.constant_hessian = true,
                                    .gradient_power = 0,
                                    .hessian_power = 0,
                                    .rule = LeafRule::quantile};
  double parameter = 0.5;  // the level, in (0, 1)
  COMMITTEE_HD double level() const { return parameter; }
  COMMITTEE_HD double value(double y, double f) const {
    return y > f ? parameter * (y - f) : (1.0 - parameter) * (f - y);
  }
  COMMITTEE_HD GradientPair gradients(double y, double f) const {
    return {f > y ? 1.0 - parameter : (f < y ? -parameter : 0.0), 1.0};
  }
  COMMITTEE_HD double mean(double f) const { return f; }
  COMMITTEE_HD double link(double mean) const { return mean; }
};

}  // namespace committee
