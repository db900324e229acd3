// Exponentials of many numbers: eight at a time, because a single one is a chain of steps that wait
// for one another.
#pragma once
#include <type_traits>

#include "committee/math.hpp"

namespace committee {

class EightDoubles {
 public:
  static constexpr std::size_t kSize = 8;
  // Pair by pair: a copy of all of them would be made in memory first.
  explicit EightDoubles(const double* at) {
    for (int k = 0; k < 4; ++k) std::memcpy(&pairs_[k], at + 2 * k, sizeof pairs_[k]);
  }
  void store(double* at) const {
    for (int k = 0; k < 4; ++k) std::memcpy(at + 2 * k, &pairs_[k], sizeof pairs_[k]);
  }

  friend EightDoubles operator+(const EightDoubles& a, const EightDoubles& b) {
    return combine([](Pair x, Pair y) { return x + y; }, a, b);
  }
  friend EightDoubles operator-(const EightDoubles& a, const EightDoubles& b) {
    return combine([](Pair x, Pair y) { return x - y; }, a, b);
  }
  friend EightDoubles operator*(const EightDoubles& a, const EightDoubles& b) {
    return combine([](Pair x, Pair y) { return x * y; }, a, b);
  }
  friend EightDoubles operator+(const EightDoubles& a, double b) {
    return combine([b](Pair x) { return x + b; }, a);
  }
  friend EightDoubles operator+(double a, const EightDoubles& b) { return b + a; }
  friend EightDoubles operator-(const EightDoubles& a, double b) {
    return combine([b](Pair x) { return x - b; }, a);
  }
  friend EightDoubles operator-(double a, const EightDoubles& b) {
    return combine([a](Pair x) { return a - x; }, b);
  }
  friend EightDoubles operator*(const EightDoubles& a, double b) {
    return combine([b](Pair x) { return x * b; }, a);
  }
  friend EightDoubles operator*(double a, const EightDoubles& b) { return b * a; }
  friend EightDoubles operator/(double a, const EightDoubles& b) {
    return combine([a](Pair x) { return a / x; }, b);
  }
  friend EightDoubles operator/(const EightDoubles& a, const EightDoubles& b) {
    return combine([](Pair x, Pair y) { return x / y; }, a, b);
  }
  // -|a|.
  friend EightDoubles take_negative(const EightDoubles& a) {
    return combine([](Pair x) { return x > Pair{} ? -x : x; }, a);
  }
  // What `when` says where it is positive, elsewhere what `otherwise` says.
  friend EightDoubles choose_where_positive(const EightDoubles& a, const EightDoubles& when,
                                            const EightDoubles& otherwise) {
    return combine([](Pair x, Pair y, Pair z) { return x > Pair{} ? y : z; }, a, when, otherwise);
  }
  // As natural_log has them, of positive normal numbers.
  friend EightDoubles find_exponent(const EightDoubles& a) {
    return combine(
        [](Pair x) {
          // The field as the last bits of 2^52, which makes a number of it.
          const Bits field = std::bit_cast<Bits>(x) >> 52 | kWholeNumbers;
          const Pair exponent = std::bit_cast<Pair>(field) - (0x1p52 + 1022.0);
          return find_half(x) < kRootOfHalf ? exponent - 1.0 : exponent;
        },
        a);
  }
  friend EightDoubles find_mantissa(const EightDoubles& a) {
    return combine(
        [](Pair x) {
          const Pair m = find_half(x);
          return m < kRootOfHalf ? m * 2.0 : m;
        },
        a);
  }
  friend EightDoubles take_larger(const EightDoubles& a, const EightDoubles& b) {
    return combine([](Pair x, Pair y) { return x > y ? x : y; }, a, b);
  }
  friend EightDoubles take_larger(const EightDoubles& a, double b) {
    const Pair other = {b, b};
    return combine([=](Pair x) { return x > other ? x : other; }, a);
  }
  // One where a is b, zero elsewhere.
  friend EightDoubles mark_equal(const EightDoubles& a, double b) {
    const Pair other = {b, b}, one = {1.0, 1.0}, zero = {0.0, 0.0};
    return combine([=](Pair x) { return x == other ? one : zero; }, a);
  }
  friend EightDoubles hold_within(const EightDoubles& a, double least, double most) {
    const Pair low = {least, least}, high = {most, most};
    return combine(
        [=](Pair x) {
          x = x < low ? low : x;
          return x > high ? high : x;
        },
        a);
  }
  friend EightDoubles scale_by_power(const EightDoubles& a, const EightDoubles& shifted) {
    return combine(
        [](Pair x, Pair y) {
          return std::bit_cast<Pair>(std::bit_cast<Bits>(x) + (std::bit_cast<Bits>(y) << 52));
        },
        a, shifted);
  }

 private:
  using Pair COMMITTEE_VECTOR(16) = double;
  using Bits COMMITTEE_VECTOR(16) = u64;
  static constexpr u64 kWholeNumbers = u64{1075} << 52;
  static constexpr Pair kRootOfHalf = {0.70710678118654752440, 0.70710678118654752440};
  // The mantissa in [1/2, 1).
  static Pair find_half(Pair x) {
    constexpr u64 kHidden = u64{1} << 52, kHalf = u64{1022} << 52;
    return std::bit_cast<Pair>((std::bit_cast<Bits>(x) & (kHidden - 1)) | kHalf);
  }
  EightDoubles() = default;
  template <class Operation, class... Operands>
  COMMITTEE_INLINE static EightDoubles combine(Operation&& operation, const Operands&... operands) {
    EightDoubles result;
    for (int k = 0; k < 4; ++k) result.pairs_[k] = operation(operands.pairs_[k]...);
    return result;
  }
  Pair pairs_[4];
};

inline double mark_equal(double a, double b) {
  return a == b ? 1.0 : 0.0;
}

// One number, or eight, so that a loop over eights and one over the rest share their body.
template <class Number>
inline Number load_numbers(const double* at) {
  if constexpr (std::is_same_v<Number, double>) {
    return *at;
  } else {
    return Number(at);
  }
}
inline void store_numbers(double x, double* at) {
  *at = x;
}
inline void store_numbers(const EightDoubles& x, double* at) {
  x.store(at);
}

// ln(1 + e^x), each as alone.
inline EightDoubles log_one_plus_exp(const EightDoubles& x) {
  const EightDoubles small = exponential(take_negative(x)), y = 1.0 + small;
  const EightDoubles log =
      log_of_parts(find_mantissa(y), find_exponent(y)) + (small - (y - 1.0)) / y;
  return choose_where_positive(x, x + log, log);
}

// e^x of n numbers, in place, for gradients; each as alone.
inline void take_fast_exps(double* x, std::size_t n) {
  std::size_t i = 0;
  for (; i + EightDoubles::kSize <= n; i += EightDoubles::kSize)
    fast_exp(hold_within(EightDoubles(x + i), -708.0, 709.0)).store(x + i);
  for (; i < n; ++i) x[i] = fast_exp(hold_within(x[i], -708.0, 709.0));
}

}  // namespace committee
