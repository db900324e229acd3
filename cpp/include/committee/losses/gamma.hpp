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
  double value(double y, double f) const { return f + y * exponential(-f); }
  GradientPair gradients(double y, double f) const {
    const double ratio = y * exponential(-f);
    return {1.0 - ratio, ratio};
  }
  double mean(double f) const { return exponential(f); }
  double link(double mean) const { return natural_log(mean); }
};

}  // namespace committee
