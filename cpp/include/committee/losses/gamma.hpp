// Gamma deviance (half, less what does not depend on the score) with the logarithm as link; y > 0.
#pragma once
#include "shape.hpp"

namespace committee {

struct GammaLoss {
  static constexpr const char* kName = "gamma";
  static constexpr LossShape kShape{.link = Link::log,
                                    .target_range = TargetRange::positive,
                                    .mean_bounds = kPositiveMeans,
                                    .largest_step = 5.0};
  COMMITTEE_HD double value(double y, double f) const { return f + y * exponential(-f); }
  COMMITTEE_HD GradientPair gradients(double y, double f) const {
    const double ratio = y * exponential(-f);
    return {1.0 - ratio, ratio};
  }
  COMMITTEE_HD double mean(double f) const { return exponential(f); }
  COMMITTEE_HD double link(double mean) const { return natural_log(mean); }
};

}  // namespace committee
