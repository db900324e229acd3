// Exponential loss of two classes (y is 0 or 1), AdaBoost's: exp(-z f), z = 2 y - 1
// [FriedmanHastieTibshirani2000]; the score is half the log of the odds.
#pragma once
#include "shape.hpp"

namespace committee {

struct ExponentialLoss {
  static constexpr const char* kName = "exponential";
  static constexpr LossShape kShape{.link = Link::half_logit,
                                    .target_range = TargetRange::binary,
                                    .mean_bounds = kProbabilityMeans,
                                    .largest_step = 5.0};
  COMMITTEE_HD double value(double y, double f) const { return exponential((1.0 - 2.0 * y) * f); }
  COMMITTEE_HD GradientPair gradients(double y, double f) const {
    const double sign = 1.0 - 2.0 * y, value = exponential(sign * f);
    return {sign * value, value};
  }
  COMMITTEE_HD double mean(double f) const { return 1.0 / (1.0 + exponential(-2.0 * f)); }
  COMMITTEE_HD double link(double mean) const { return 0.5 * natural_log(mean / (1.0 - mean)); }
};

}  // namespace committee
