// What a leaf of numbers holds: sums over its rows, in the rows' own order.
#pragma once
#include <algorithm>

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

  // The sums so far as numbers that travel, and from there: a leaf whose rows lie in several blocks
  // goes from block to block.
  static constexpr std::size_t kNumbers = 5;
  void write(double* numbers) const {
    const double own[kNumbers] = {first_, weight, sum, second, above_first_};
    std::copy_n(own, kNumbers, numbers);
  }
  void read(const double* numbers) {
    first_ = numbers[0];
    weight = numbers[1];
    sum = numbers[2];
    second = numbers[3];
    above_first_ = numbers[4];
  }

 private:
  double first_, offset_, above_first_ = 0.0;
  bool is_poisson_;
};

}  // namespace committee
