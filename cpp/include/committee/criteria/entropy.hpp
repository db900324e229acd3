// Entropy in bits, and the information gain of a split [Quinlan1986].
#pragma once
#include "../math.hpp"

namespace committee {

struct Entropy {
  static constexpr const char* kName = "entropy";
  static constexpr double kBase = 0.0;
  // From shares rather than weights: nothing cancels, the term of a pure node is exactly zero, and
  // the unit of the weights stays out of the logarithms.
  template <class Counts>
  COMMITTEE_HD double impurity_term(const Counts& c, u32 n_classes, double w) const {
    double sum = 0.0;
    for (u32 k = 0; k < n_classes; ++k) sum += weigh_log2(static_cast<double>(c[k]), w);
    return sum;
  }
  COMMITTEE_HD double score(double left, double right, double, double, double) const {
    return left + right;
  }
};

}  // namespace committee
