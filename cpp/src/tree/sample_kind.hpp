// How a target and its weights are added up.
#pragma once
#include <algorithm>

#include "base/fixed_weights.hpp"
#include "committee/criteria/all.hpp"
#include "committee/forest_node.hpp"
#include "committee/grower.hpp"

namespace committee {

inline constexpr WeightBits kClassWeightBits{52, 52, 52};   // sums stay exact in a double
inline constexpr WeightBits kMomentWeightBits{35, 32, 32};  // as MomentAccumulator has room for
inline constexpr double kWeightRounding =
    1.0 - 1e-9;  // limits of weight: below it by what sums are off

inline bool is_classification(const Target& target) {
  return !target.n_classes.empty();
}

// Whether limits need the number of rows of a node.
inline bool counts_rows(const Target& target, const GrowParams& params) {
  return !is_classification(target) || params.min_samples_leaf > 1;
}

// The narrowest that holds classes and weights.
inline SampleKind choose_kind(const Target& target, const FixedWeights& weights, bool counted) {
  if (!is_classification(target)) return SampleKind::moments;
  const auto& n_classes = target.n_classes;
  const u32 most_classes = *std::max_element(n_classes.begin(), n_classes.end());
  const bool small = weights.integral && weights.largest < (1u << 16) &&
                     weights.total < (u64{1} << 32) && most_classes < (1u << 16);
  if (!small) return SampleKind::wide_classes;
  const bool two = n_classes.size() == 1 && n_classes[0] == 2;
  return two && (!counted || weights.weights.empty()) ? SampleKind::binary : SampleKind::classes;
}

// How much one unit of a finder's decrease is, in the units of weight times impurity.
inline double measure_decrease_unit(const std::string& criterion, double weight_unit,
                                    double target_unit, u32 n_outputs) {
  const double per_output = weight_unit / n_outputs;
  if (criterion == SquaredError::kName || criterion == FriedmanMse::kName) {
    return per_output * target_unit * target_unit;
  }
  return per_output * target_unit;  // Poisson, absolute error
}

}  // namespace committee
