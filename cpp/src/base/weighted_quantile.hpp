// Quantiles of weighted values.
#pragma once
#include "committee/types.hpp"

namespace committee {

struct WeightedValue {
  double value, weight;
};

// A value without a weight has the weight one.
inline double value_of(double value) {
  return value;
}
inline double value_of(const WeightedValue& value) {
  return value.value;
}
inline double weight_of(double) {
  return 1.0;
}
inline double weight_of(const WeightedValue& value) {
  return value.weight;
}

// The least value with at least `level` of the weight at or below it; where the weight is
// split in just that proportion, the middle between it and the next. Weights are positive (or
// all one); in linear time.
double find_weighted_quantile(std::span<const double> values, double level);
double find_weighted_quantile(std::span<const WeightedValue> values, double level);

}  // namespace committee
