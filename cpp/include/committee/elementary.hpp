// Logarithms, exponentials and logarithms of the gamma function of many numbers, of all that a
// double can be.
#pragma once
#include <span>

namespace committee {

// As std::log: -inf at zero, NaN below it. `logs` may be the values themselves.
void find_logs(std::span<const double> values, double* logs);
// As std::exp: zero or infinite where a double ends.
void find_exponentials(std::span<const double> exponents, double* powers);
// ln Gamma(x) of numbers above zero, infinite at zero; NaN below it.
void find_log_gammas(std::span<const double> values, double* found);

}  // namespace committee
