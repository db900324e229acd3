// Log-loss of K classes with one score a class: p = exp(f) / sum exp(f). The second derivative is
// the diagonal's, times K / (K - 1): with one score too many, K single steps together would
// otherwise go too far by that factor [Friedman2001, algorithm 6].
#pragma once
#include "shape.hpp"

namespace committee {

struct SoftmaxLoss {
  static constexpr const char* kName = "softmax";
  static constexpr LossShape kShape{.link = Link::softmax,
                                    .target_range = TargetRange::classes,
                                    .mean_bounds = kProbabilityMeans,
                                    .gradient_power = 0,
                                    .hessian_power = -1,
                                    .largest_step = 10.0};
  u32 n_classes = 3;
  // e^x, x the distance of a score from the largest one, in the precision of gradients.
  COMMITTEE_INLINE COMMITTEE_HD static double power(double x) {
    return fast_exp(take_larger(x, -708.0));
  }
  // p: probability of class k; is_class: one if the row is of it, or else zero.
  COMMITTEE_HD GradientPair gradients(double is_class, double p) const {
    const double factor = static_cast<double>(n_classes) / (n_classes - 1.0);
    return {p - is_class, factor * p * (1.0 - p)};
  }
};

}  // namespace committee
