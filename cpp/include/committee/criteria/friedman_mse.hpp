// Friedman's improvement score [Friedman2001, eq. 35].
#pragma once
#include "squared_error.hpp"

namespace committee {

// w_l w_r (mean_l - mean_r)^2 = w (impurity_term_l + impurity_term_r - impurity_term): within a
// node the same order as squared error for one output, so the same expression decides both.
struct FriedmanMse : SquaredError {
  static constexpr const char* kName = "friedman_mse";
};

}  // namespace committee
