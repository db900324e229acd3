#include "groups/gamma_functions.hpp"

#include <algorithm>
#include <limits>

#include "committee/elementary.hpp"

namespace committee {

void find_log_gammas(std::span<const double> values, double* found) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::transform(values.begin(), values.end(), found, [](double x) {
    if (x > 0.0 && x < kInfinity) return log_gamma(x);
    return x >= 0.0 ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  });
}

}  // namespace committee
