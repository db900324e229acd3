// Weighted medians of the first members of an ensemble, for each number of them.
#pragma once
#include "parallel.hpp"
#include "types.hpp"

namespace committee {

// What members predict for rows.
struct MemberValues {
  const double* values;  // (n_rows, n_members), row by row
  std::size_t n_rows;
  std::span<const double> weights;  // of the members, not negative
};

// out[t * n_rows + row]: of the first t + 1 members the first value, in ascending order, with which
// the weights reach `share` of their sum; NaN is above all numbers. A row takes O(n log n) steps
// for all stages of n members together. `watch` may be null.
void find_staged_medians(const MemberValues& members, double share, int n_jobs,
                         InterruptWatch* watch, double* out);

}  // namespace committee
