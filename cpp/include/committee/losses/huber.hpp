// Huber's loss: squared for residuals up to delta, linear beyond [Huber1964]. Boosting moves delta
// to a quantile of the absolute residuals before each round [Friedman2001, algorithm 4].
#pragma once
#include "shape.hpp"

namespace committee {

struct HuberLoss {
  static constexpr const char* kName = "huber";
  static constexpr LossShape kShape{.constant_hessian = true, .rule = LeafRule::huber};
  double parameter = 0.9;  // quantile of the absolute residuals that delta is moved to, in (0, 1)
  double delta = 1.0;
  static constexpr double level() { return 0.5; }
  COMMITTEE_HD double value(double y, double f) const {
    const double distance = y > f ? y - f : f - y;
    return distance <= delta ? 0.5 * distance * distance : delta * (distance - 0.5 * delta);
  }
  COMMITTEE_HD GradientPair gradients(double y, double f) const {
    const double residual = f - y;
    const double held = residual > delta ? delta : residual;
    return {held < -delta ? -delta : held, 1.0};
  }
  COMMITTEE_HD double mean(double f) const { return f; }
  COMMITTEE_HD double link(double mean) const { return mean; }
};

}  // namespace committee
