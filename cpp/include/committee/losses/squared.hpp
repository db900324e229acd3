// Half the squared error: the mean is fitted.
#pragma once
#include "shape.hpp"

namespace committee {

struct SquaredLoss {
  static constexpr const char* kName = "squared_error";
  static constexpr LossShape kShape{.constant_hessian = true, .residual = true};
  COMMITTEE_HD double value(double y, double f) const { return 0.5 * (y - f) * (y - f); }
  COMMITTEE_HD GradientPair gradients(double y, double f) const { return {f - y, 1.0}; }
  COMMITTEE_HD double mean(double f) const { return f; }
  COMMITTEE_HD double link(double mean) const { return mean; }
};

}  // namespace committee
