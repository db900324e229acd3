#include "committee/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/recompiled.hpp"
#include "committee/math.hpp"

namespace committee {

namespace {

// Numbers that are taken at a time, and those of the widest vector: the rest is taken one by one.
constexpr std::size_t kHeldNumbers = 64, kVector = 8;

// A function that has a form without a branch for the numbers in [kLeast, kMost].
struct Log {
  static constexpr double kLeast = std::numeric_limits<double>::min();
  static constexpr double kMost = std::numeric_limits<double>::max();
  COMMITTEE_INLINE static double find_within(double x) { return log_of_normal(x); }
  COMMITTEE_NOINLINE static double find(double x) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (x > 0.0 && x < kInfinity) return natural_log(x);
    if (x == 0.0) return -kInfinity;
    return x > 0.0 ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  }
};

struct Exponential {
  static constexpr double kLeast = -708.0, kMost = 708.0;
  COMMITTEE_INLINE static double find_within(double x) { return normal_exponential(x); }
  // Beyond the range in which `exponential` is a normal number: e^x = 2^k e^r, the power by ldexp,
  // which rounds once where the result is subnormal.
  COMMITTEE_NOINLINE static double find(double x) {
    if (x >= kLeast && x <= kMost) return exponential(x);
    if (std::isnan(x)) return x;
    const PowerParts parts = split_power(std::clamp(x, -800.0, 800.0));
    return std::ldexp(exponential(parts.rest), static_cast<int>(parts.k));
  }
};

// The bits that holding it within the range of the function would change; all of NaN's are others.
template <class Function>
COMMITTEE_INLINE inline u64 find_excess(double x) {
  const double above = x > Function::kLeast ? x : Function::kLeast;
  return bits_of(x) ^ bits_of(above < Function::kMost ? above : Function::kMost);
}

// `results` may be the numbers themselves, of which a copy is held until theirs are found.
template <class Function>
COMMITTEE_INLINE inline void map_vectors(const double* numbers, std::size_t n, double* results) {
  double held[kHeldNumbers];
  for (std::size_t begin = 0; begin < n; begin += kHeldNumbers) {
    const std::size_t size = std::min(kHeldNumbers, n - begin);
    std::copy_n(numbers + begin, size, held);
    double* const found = results + begin;
    for (std::size_t i = 0; i < size; ++i) found[i] = Function::find_within(held[i]);
    u64 outside = 0;
    for (std::size_t i = 0; i < size; ++i) outside |= find_excess<Function>(held[i]);
    if (outside == 0) continue;
    for (std::size_t i = 0; i < size; ++i)
      if (find_excess<Function>(held[i]) != 0) found[i] = Function::find(held[i]);
  }
}

template <class Function>
void map_numbers(std::span<const double> numbers, double* results) {
  const std::size_t n = numbers.size() / kVector * kVector;
  if (n > 0)
    call_widened(
        [&]() COMMITTEE_INLINE_LAMBDA { map_vectors<Function>(numbers.data(), n, results); });
  for (std::size_t i = n; i < numbers.size(); ++i) results[i] = Function::find(numbers[i]);
}

}  // namespace

void find_logs(std::span<const double> values, double* logs) {
  map_numbers<Log>(values, logs);
}

void find_exponentials(std::span<const double> exponents, double* powers) {
  map_numbers<Exponential>(exponents, powers);
}

}  // namespace committee
