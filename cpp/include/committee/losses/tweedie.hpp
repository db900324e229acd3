// Tweedie deviance (half, less what does not depend on the score) with the logarithm as link, for a
// power of the variance between 1 (Poisson) and 2 (gamma): zeros beside positive numbers.
#pragma once
#include "shape.hpp"

namespace committee {

struct TweedieLoss {
  static constexpr const char* kName = "tweedie";
  static constexpr LossShape kShape{.link = Link::log,
                                    .target_range = TargetRange::non_negative,
                                    .mean_bounds = kPositiveMeans,
                                    .largest_step = 5.0};
  double parameter = 1.5;  // the power, in (1, 2)
  COMMITTEE_HD double value(double y, double f) const {
    const double p = parameter;
    return exponential((2.0 - p) * f) / (2.0 - p) - y * exponential((1.0 - p) * f) / (1.0 - p);
  }
  COMMITTEE_HD GradientPair gradients(double y, double f) const {
    const double p = parameter;
    const double a = y * exponential((1.0 - p) * f), b = exponential((2.0 - p) * f);
    return {b - a, (2.0 - p) * b - (1.0 - p) * a};
  }
  COMMITTEE_HD double mean(double f) const { return exponential(f); }
  COMMITTEE_HD double link(double mean) const { return natural_log(mean); }
};

}  // namespace committee
