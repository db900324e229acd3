// The target and weights of a fit as arrays of the caller, made into the core's input.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "arrays.hpp"
#include "committee/grower.hpp"

namespace committee {

// Of all outputs together: cells count them in 32 bits.
inline constexpr u64 kMostClasses = u64{1} << 30;

// The target as arrays of the caller; kept alive by the arguments of the bound function.
struct TargetArrays {
  std::optional<Matrix<u32>> labels;
  std::vector<u32> n_classes;
  std::optional<Matrix<double>> values;
};

inline GrowInput view_input(const BinnedMatrix& data, const Presort* presort,
                            const TargetArrays& target,
                            const std::optional<Vector<double>>& weights) {
  if (target.labels.has_value() == target.values.has_value()) {
    throw nb::value_error("give either labels or values");
  }
  GrowInput input;
  input.data = &data;
  input.presort = presort;
  if (weights) input.weights = view_vector(*weights);
  if (target.labels) {
    if (target.labels->shape(1) != target.n_classes.size() || target.n_classes.empty()) {
      throw nb::value_error("n_classes must have one entry for each column of labels");
    }
    if (std::accumulate(target.n_classes.begin(), target.n_classes.end(), u64{0}) > kMostClasses)
      throw nb::value_error("there are too many classes");
    input.target.labels = {target.labels->data(), target.labels->size()};
    input.target.n_classes = target.n_classes;
    input.target.n_outputs = static_cast<u32>(target.n_classes.size());
    const std::size_t n_outputs = target.n_classes.size();
    for (std::size_t i = 0; i < input.target.labels.size(); ++i) {
      if (input.target.labels[i] >= target.n_classes[i % n_outputs]) {
        throw nb::value_error("a label is not below its number of classes");
      }
    }
  } else {
    if (target.values->shape(1) == 0) throw nb::value_error("values must have a column");
    if (!target.n_classes.empty()) throw nb::value_error("values have no classes");
    input.target.values = {target.values->data(), target.values->size()};
    input.target.n_outputs = static_cast<u32>(target.values->shape(1));
  }
  return input;
}

}  // namespace committee
