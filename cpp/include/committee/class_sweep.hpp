// Gini over many classes: sums of squared class weights on both sides of a boundary that moves from
// bin to bin.
#pragma once
#include <type_traits>

#include "types.hpp"

namespace committee {

// One output. Weights of 32 bits have a total below 2^32, so their sums of squares are exact in 64
// bits.
template <class Slot>
class ClassSweep {
  using Square = std::conditional_t<sizeof(Slot) == 4, u64, double>;

 public:
  ClassSweep(const Slot* total, u32 n_classes, double weight, Slot* left)
      : total_(total), n_classes_(n_classes), weight_(weight), left_(left) {}

  // Everything right of the boundary but `from` (may be null).
  void start(const Slot* from) {
    left_weight_ = 0;
    left_squares_ = right_squares_ = 0;
    for (u32 k = 0; k < n_classes_; ++k) {
      left_[k] = 0;
      right_squares_ += static_cast<Square>(total_[k]) * static_cast<Square>(total_[k]);
    }
    if (from) advance(from);
  }
  // Takes a cell to the left.
  void advance(const Slot* cell) {
    Square left_squares = 0, right_squares = 0;
    Slot weight = 0;
    for (u32 k = 0; k < n_classes_; ++k) {
      const Slot l = left_[k] + cell[k], r = total_[k] - l;
      left_[k] = l;
      weight += l;
      left_squares += static_cast<Square>(l) * static_cast<Square>(l);
      right_squares += static_cast<Square>(r) * static_cast<Square>(r);
    }
    left_weight_ = weight;
    left_squares_ = left_squares;
    right_squares_ = right_squares;
  }
  // Takes one row to the left. Squares are exact integers, so this comes to the same as `advance`.
  void move_row(u32 label, Slot weight) {
    static_assert(sizeof(Slot) == 4, "squares of larger weights are rounded");
    const Square l = left_[label], r = total_[label] - left_[label], w = weight;
    left_squares_ += w * (2 * l + w);
    right_squares_ -= w * (2 * r - w);
    left_[label] += weight;
    left_weight_ += weight;
  }
  // Worth of the two sides (criteria/gini.hpp).
  double score() const {
    const double l = static_cast<double>(left_weight_);
    return static_cast<double>(left_squares_) / l +
           static_cast<double>(right_squares_) / (weight_ - l);
  }

 private:
  const Slot* total_;
  u32 n_classes_;
  double weight_;
  Slot* left_;
  Slot left_weight_ = 0;
  Square left_squares_ = 0, right_squares_ = 0;
};

}  // namespace committee
