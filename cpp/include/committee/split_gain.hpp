// What a split of a boosted tree gains, and the value of a leaf: the formulas of both engines.
#pragma once
#include "math.hpp"

namespace committee {

// What the gains of all splits of a node have in common. Sums are in units of the words.
struct SplitBalance {
  double l2 = 0.0, whole = 0.0, ratio = 0.0, shift = 0.0;

  // Of a node of these sums; `l2` may have more than reg_lambda in it, `own_l2` has not.
  COMMITTEE_HD static SplitBalance make(double gradient, double hessian, double l2, double own_l2) {
    SplitBalance balance;
    balance.l2 = l2;
    balance.whole = hessian + 2.0 * l2;
    balance.ratio = gradient / balance.whole;
    // G_L^2 / a + G_R^2 / c = d^2 (a + c) / (a c) + G^2 / (a + c), d = G_L - G a / (a + c): one
    // division a split, and nothing large is subtracted from anything large.
    const double own = hessian + own_l2;
    balance.shift = gradient * gradient / balance.whole - gradient * gradient / own;
    return balance;
  }
  // With these sums on the left.
  COMMITTEE_HD double gain(double gradient, double hessian) const {
    const double a = hessian + l2, c = whole - a, d = gradient - ratio * a;
    return d * d * whole / (a * c) + shift;
  }
};

// What a unit of a balance's gain is worth.
COMMITTEE_HD inline double find_gain_unit(double gradient_unit, double hessian_unit) {
  return 0.5 * gradient_unit * gradient_unit / hessian_unit;
}

COMMITTEE_HD inline double soften(double gradient, double alpha) {
  return gradient > alpha ? gradient - alpha : gradient < -alpha ? gradient + alpha : 0.0;
}

// How leaf values are regularised.
struct StepLimits {
  double reg_lambda = 0.0, reg_alpha = 0.0, largest_step = 0.0;
};

// Value of a leaf before shrinkage: -S(G, alpha) / (H + lambda), S the soft threshold, held within
// the largest step.
COMMITTEE_HD inline double find_newton_step(const StepLimits& limits, double gradient,
                                            double hessian) {
  const double whole = hessian + limits.reg_lambda;
  if (!(whole > 0.0)) return 0.0;
  return hold_within(-soften(gradient, limits.reg_alpha) / whole, -limits.largest_step,
                     limits.largest_step);
}

// The same within bounds, as constraints set them.
COMMITTEE_HD inline double find_bounded_step(const StepLimits& limits, double gradient,
                                             double hessian, double lower, double upper) {
  return hold_within(find_newton_step(limits, gradient, hessian), lower, upper);
}

// What a leaf of this value adds to the objective.
COMMITTEE_HD inline double measure_objective(const StepLimits& limits, double gradient,
                                             double hessian, double value) {
  const double size = value < 0.0 ? -value : value;
  return gradient * value + 0.5 * (hessian + limits.reg_lambda) * value * value +
         limits.reg_alpha * size;
}

// Whether the values of two leaves are in the order that a constraint asks for.
COMMITTEE_HD inline bool keep_direction(int direction, double left, double right) {
  return direction == 0 || !((right - left) * direction < 0.0);
}

// The order of categories: by gradient over hessian, towards zero for those of few rows. `row`: the
// hessian of an average row.
COMMITTEE_HD inline double find_category_key(double gradient, double hessian, double smooth,
                                             double row) {
  return gradient / (hessian + smooth * row);
}

// The fewest hessians, in units, that a child needs for min_child_weight; and, by its share of the
// node's hessians, for min_samples_leaf. Half a row less: where all hessians are equal this is
// exactly min_samples_leaf rows.
COMMITTEE_HD inline i64 round_up(double x) {
  const i64 down = static_cast<i64>(x);
  return static_cast<double>(down) < x ? down + 1 : down;
}
COMMITTEE_HD inline i64 find_least_hessian(double min_child_weight, double hessian_unit) {
  const i64 least = round_up(min_child_weight / hessian_unit);
  return least > 1 ? least : 1;
}
COMMITTEE_HD inline i64 find_least_for_rows(u32 min_samples_leaf, double hessian, double n_rows) {
  return round_up((min_samples_leaf - 0.5) * hessian / n_rows);
}

}  // namespace committee
