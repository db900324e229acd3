// Poisson deviance (half, less what does not depend on the score) with the logarithm as link.
#pragma once
#include "shape.hpp"

namespace committee {

struct PoissonLoss {
  static constexpr const char* kName = "poisson";
  static constexpr LossShape kShape{.link = Link::log,
                                    .target_range = TargetRange::non_negative,
                                    .mean_bounds = kPositiveMeans,
                                    .largest_step = 5.0};
  COMMITTEE_HD double value(double y, double f) const { return exponential(f) - y * f; }
  COMMITTEE_HD GradientPair gradients(double y, double f) const {
    const double mu = exponential(f);
    return {mu - y, mu};
  }
  COMMITTEE_HD double mean(double f) const { return exponential(f); }
  COMMITTEE_HD double link(double mean) const { return natural_log(mean); }
};

}  // namespace committee
