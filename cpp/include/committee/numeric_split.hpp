// The best split of one numeric column from its histogram: the search of boosting by itself, for
// tests.
#pragma once
#include "boosting_params.hpp"

namespace committee {

struct NumericColumn {
  std::span<const i64> histogram;  // words of the value bins and, if has_missing, of missing values
  bool has_missing = false;
  std::size_t n_rows = 0;
  double gradient_unit = 1.0, hessian_unit = 1.0;
  int hessian_bits = 32;     // of a word
  i64 largest_gradient = 0;  // of a row, where hessian_bits is not 32
};
struct NumericSplit {
  double gain = 0.0;
  u32 split_bin = 0;
  bool found = false, missing_left = false;
  i64 left = 0;
};
NumericSplit find_numeric_split(const NumericColumn& column, const BoostingParams& params);

}  // namespace committee
