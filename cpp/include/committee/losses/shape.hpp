// The properties of a loss, and its derivatives for a row. The one file that every loss includes
// beside the logarithms and exponentials of math.hpp.
#pragma once
#include "../math.hpp"

namespace committee {

// First and second derivative of a row's loss by its score.
struct GradientPair {
  double gradient, hessian;
};

// Both derivatives of a loss, from a row's target and score. A loss that takes e^-f has it in the
// precision of gradients.
template <class Function>
COMMITTEE_HD inline GradientPair find_gradient_pair(const Function& function, double y, double f) {
  if constexpr (requires { function.gradients_by_power(y, f); }) {
    return function.gradients_by_power(y, fast_exp(hold_within(-f, -708.0, 709.0)));
  } else {
    return function.gradients(y, f);
  }
}

// How far the baseline and the leaves of a loss are from the plain Newton step.
enum class LeafRule : u8 {
  newton,    // baseline link(mean of y); leaf -G / (H + lambda)
  quantile,  // both a weighted quantile of the residuals in the leaf
  huber,     // their median, moved by the mean of the clipped distances from it
};

// What a prediction is of a score.
enum class Link : u8 {
  identity,
  log,         // the score is the logarithm of the prediction
  logit,       // log of the odds of two classes
  half_logit,  // half of that
  softmax,     // one score a class, probabilities in proportion to their exponentials
};

// Where a target must lie.
enum class TargetRange : u8 { real, non_negative, positive, binary, classes };

// Nothing is beyond it. CUDA's run-time compiler knows no constant infinity; kernels are given what
// they need of a shape as arguments.
#if defined(__CUDACC_RTC__)
inline constexpr double kNoBound = 1.7976931348623157e308;
#else
inline constexpr double kNoBound = std::numeric_limits<double>::infinity();
#endif

// Means within these have a finite link, also where all rows are on one side.
struct MeanBounds {
  static constexpr double kInfinity = kNoBound, kLeast = 1e-9;
  double lower = -kInfinity, upper = kInfinity;
};
inline constexpr MeanBounds kPositiveMeans{MeanBounds::kLeast, MeanBounds::kInfinity};
inline constexpr MeanBounds kProbabilityMeans{MeanBounds::kLeast, 1.0 - MeanBounds::kLeast};

struct LossShape {
  static constexpr int kUnbounded = 1000;
  Link link = Link::identity;
  TargetRange target_range = TargetRange::real;
  MeanBounds mean_bounds = {};
  bool constant_hessian = false;  // the hessian of every row is one
  bool residual = false;          // and its gradient is score - target
  // |gradient| <= 2^gradient_power and hessian <= 2^hessian_power for any score; kUnbounded: a pass
  // over the rows finds the largest.
  int gradient_power = kUnbounded, hessian_power = kUnbounded;
  LeafRule rule = LeafRule::newton;
  // Largest step of a leaf before shrinkage. A Newton step is right only near the score that it
  // starts from: where a hessian vanishes (classes of a handful of rows, separable data) it would
  // jump beyond every probability that the rows could justify.
  double largest_step = kNoBound;
};

}  // namespace committee
