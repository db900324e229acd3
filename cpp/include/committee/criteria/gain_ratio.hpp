// Gain ratio [Quinlan1993]: the information gain over the entropy of the split itself.
#pragma once
#include "entropy.hpp"

namespace committee {

struct GainRatio : Entropy {
  static constexpr const char* kName = "gain_ratio";
  COMMITTEE_HD double score(double left, double right, double parent, double left_weight,
                            double right_weight) const {
    const double gain = left + right - parent;
    const double weight = left_weight + right_weight;
    const double split_entropy =
        -(weigh_log2(left_weight, weight) + weigh_log2(right_weight, weight));
    return gain > 0.0 ? gain / split_entropy : 0.0;
  }
};

}  // namespace committee
