// Log-loss of two classes (y is 0 or 1); the score is the log of the odds.
#pragma once
#include "shape.hpp"

namespace committee {

struct LogisticLoss {
  static constexpr const char* kName = "logistic";
  static constexpr LossShape kShape{.link = Link::logit,
                                    .target_range = TargetRange::binary,
                                    .mean_bounds = kProbabilityMeans,
                                    .gradient_power = 0,
                                    .hessian_power = -2,
                                    .largest_step = 10.0};
  COMMITTEE_HD double value(double y, double f) const { return log_one_plus_exp(f) - y * f; }
  // From ln(1 + e^f): loops take the logarithms of some rows side by side.
  COMMITTEE_HD double value_by_log(double y, double f, double log) const { return log - y * f; }
  // From e^-f: loops take the exponentials of a block first.
  COMMITTEE_HD GradientPair gradients_by_power(double y, double power) const {
    const double p = 1.0 / (1.0 + power);
    return {p - y, p * (1.0 - p)};
  }
  COMMITTEE_HD double mean(double f) const { return 1.0 / (1.0 + exponential(-f)); }
  COMMITTEE_HD double link(double mean) const { return natural_log(mean / (1.0 - mean)); }
};

}  // namespace committee
