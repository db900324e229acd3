// Checks of what a boosted fit is given.
#pragma once
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "committee/boosting.hpp"

namespace committee {

// A value for each row and score, or the class of each row.
inline void check_target(const Loss& loss, std::span<const double> target, std::size_t n_rows) {
  const u32 n_scores = loss.n_scores();
  if (target.size() != n_rows * (loss.has_classes() ? 1 : n_scores))
    throw nb::value_error("the target must have a value for each row (and output)");
  if (loss.has_classes() && !std::all_of(target.begin(), target.end(),
                                         [&](double y) { return y >= 0.0 && y < n_scores; })) {
    throw nb::value_error("classes must be numbers from 0 on, below that of the scores");
  }
}

inline std::unique_ptr<Loss> make_checked_loss(const std::string& name, double parameter,
                                               u32 n_scores, const std::vector<double>& levels) {
  if (n_scores == 0) throw nb::value_error("there must be one score at least");
  return make_loss(name, parameter, n_scores, levels);
}

// The number of each row's group, from 0 on; none: rows are drawn by themselves.
inline std::vector<u32> read_groups(const std::optional<Vector<u32>>& groups, std::size_t n_rows) {
  if (!groups) return {};
  if (groups->shape(0) != n_rows) throw nb::value_error("a group for each row is needed");
  const std::span<const u32> numbers = view_vector(*groups);
  if (std::any_of(numbers.begin(), numbers.end(), [&](u32 group) { return group >= n_rows; }))
    throw nb::value_error("groups must be numbers from 0 on, below that of the rows");
  return {numbers.begin(), numbers.end()};
}

inline void check_params(const BoostingParams& params, std::size_t n_rows, std::size_t n_cols) {
  if (n_rows == 0 || n_rows >= kMissingCode)
    throw nb::value_error("the number of rows must be at least 1 and below 2^32 - 1");
  if (!params.monotonic.empty() && params.monotonic.size() != n_cols)
    throw nb::value_error("monotonic must have one entry a feature");
  for (const std::vector<u32>& group : params.interaction_groups) {
    if (std::any_of(group.begin(), group.end(), [&](u32 f) { return f >= n_cols; }))
      throw nb::value_error("interaction group names an unknown feature");
  }
}

}  // namespace committee
