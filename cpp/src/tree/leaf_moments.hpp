// What a leaf of numbers holds: sums over its rows, in the rows' own order.
#pragma once
#include "committee/math.hpp"

namespace committee {

// One output. Values are distances from the first row's, so that a leaf of equal targets predicts
// just that.
class LeafMoments {
 public:
  LeafMoments(double first, double offset, bool is_poisson)
      : first_(first), offset_(offset), is_poisson_(is_poisson) {}
  void add(double value, double row_weight) {
    const double centred = value - offset_;
    weight += row_weight;
    sum += row_weight * centred;
    second += row_weight * (is_poisson_ ? x_ln_x(centred) : centred * centred);
    above_first_ += row_weight * (value - first_);
  }
  // A division less where there is one row, as in most leaves.
  double value(std::size_t n_rows) const {
    return first_ + (n_rows == 1 ? 0.0 : above_first_ / weight);
  }
  double weight = 0.0, sum = 0.0, second = 0.0;

 private:
  double first_, offset_, above_first_ = 0.0;
  bool is_poisson_;
};

}  // namespace committee
