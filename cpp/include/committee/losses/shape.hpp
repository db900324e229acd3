// What a loss tells of itself, and what it gives for a row. The one file that every loss includes
// beside the logarithms and exponentials of math.hpp.
#pragma once
#include "../math.hpp"

namespace committee {

// First and second derivative of a row's loss by its score.
template <class Number>
struct GradientPairOf {
  Number gradient, hessian;
};
using GradientPair = GradientPairOf<double>;

// How far the baseline and the leaves of a loss are from the plain Newton step.
enum class LeafRule : u8 {
  newton,    // baseline link(mean of y); leaf -G / (H + lambda)
  quantile,  // both a weighted quantile of the residuals in the leaf
  huber,     // their median, moved by the mean of the clipped distances from it
};

struct LossShape {
  static constexpr int kUnbounded = 1000;
  bool constant_hessian = false;  // the hessian of every row is one
  bool residual = false;          // and its gradient is score - target
  // |gradient| <= 2^gradient_power and hessian <= 2^hessian_power for any score; kUnbounded: a pass
  // over the rows finds the largest.
  int gradient_power = kUnbounded, hessian_power = kUnbounded;
  LeafRule rule = LeafRule::newton;
  // Largest step of a leaf before shrinkage. A Newton step is right only near the score that it
  // starts from: where a hessian vanishes (classes of a handful of rows, separable data) it would
  // jump beyond every probability that the rows could justify.
  double largest_step = std::numeric_limits<double>::infinity();
};

}  // namespace committee
