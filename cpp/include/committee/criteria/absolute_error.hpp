// Absolute error around the weighted median; no histogram form, see
// split/absolute_error_finder.hpp.
#pragma once
#include "../types.hpp"

namespace committee {

struct AbsoluteError {
  static constexpr const char* kName = "absolute_error";
};

}  // namespace committee
