// Gain ratio [Quinlan1993]: the information gain over the entropy of the split itself.
#pragma once
#include "entropy.hpp"

namespace committee {

struct GainRatio : Entropy {
  static constexpr const char* kName = "gain_ratio";
  double score(double left, double right, double parent, double left_weight,
               double right_weight) const {
    const double gain = left + right - parent;
    const double split_entropy =
        x_log2_x(left_weight + right_weight) - (x_log2_x(left_weight) + x_log2_x(right_weight));
    return gain > 0.0 ? gain / split_entropy : 0.0;
  }
};

}  // namespace committee
