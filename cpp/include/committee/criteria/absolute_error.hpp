// Absolute error around the weighted median; no histogram form, see split_median.cpp.
#pragma once
#include "../types.hpp"

namespace committee {

struct AbsoluteError {
  static constexpr const char* kName = "absolute_error";
};

}  // namespace committee
