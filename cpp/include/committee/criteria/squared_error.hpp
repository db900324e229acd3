// Squared error [Breiman1984]: the variance of the targets in a node.
#pragma once
#include "../scalar.hpp"

namespace committee {

struct SquaredError {
  static constexpr const char* kName = "squared_error";
  // Moments of a node: weight w, weighted target sum wy. Impurity = sum of w y^2 / w -
  // impurity_term / w.
  COMMITTEE_HD double impurity_term(double wy, double w) const { return wy * wy / w; }
  // The impurity_term of both children, by one division.
  COMMITTEE_HD double score_sums(double left, double right, double wl, double wr) const {
    return dividend_sums(left, right, wl, wr) / (wl * wr);
  }
  COMMITTEE_HD double dividend_sums(double left, double right, double wl, double wr) const {
    return left * left * wr + right * right * wl;
  }
};

}  // namespace committee
