// Sums of doubles, and of products of doubles, without any rounding: one at the end. So neither the
// order of the terms nor their grouping by threads, blocks and machines can change a result.
#pragma once
#include <array>

#include "types.hpp"

namespace committee {

// A fixed-point number wide enough for every product of two doubles [Kulisch2013], in limbs of 32
// bits that are stored in 64: limb i counts multiples of 2^(32 i + kLowestBit), so that carries
// wait. Adding the limbs of two sums, one by one, adds the sums. The last three elements count
// terms that are plus infinity, minus infinity and not a number.
class ExactSum {
 public:
  // Products reach from 2^-2148 to 2^2048; limbs beyond that are for the number of the terms.
  static constexpr int kLowestBit = -2176, kLimbBits = 32;
  static constexpr std::size_t kLimbs = 136, kSize = kLimbs + 3;
  using Array = std::array<i64, kSize>;
  // Of a double: bits behind the first of its mantissa, and the lowest bit that it may have.
  static constexpr int kMantissaBits = 52, kLeastExponent = -1074;

  ExactSum() { limbs_.fill(0); }
  explicit ExactSum(u64 whole) : ExactSum() { add_whole(whole); }
  // From what `limbs` gave, or the sum of up to 2^30 of these, element by element;
  // std::invalid_argument for what no such sum holds.
  explicit ExactSum(const i64* limbs);

  void add(double term);
  void add_product(double a, double b);
  void add_whole(u64 whole);
  // Many terms at once, at about a nanosecond each.
  void add(std::span<const double> terms);
  void add_products(std::span<const double> a, std::span<const double> b);  // of the same length
  void add(const ExactSum& other);

  double round() const;  // the nearest double, of two the even one
  bool is_zero() const;
  const Array& limbs();  // after all carries: below 2^32 each, but for the last

  // sum / total, rounded once; NaN where the total is zero or one of them is not finite. So a mean
  // of equal values is that value, and a row of weight k is k rows to the last bit.
  friend double divide(const ExactSum& sum, const ExactSum& total);

 private:
  class Magnitude;
  void carry();
  void count_pending(u64 n_added);
  void add_shifted(u64 low, u64 high, int at, bool negative);
  void add_special(double term);
  void add_some(const double* terms, std::size_t n, double most);

  Array limbs_;
  u64 n_pending_ = 0;  // terms since the last carry
};

double divide(const ExactSum& sum, const ExactSum& total);

// A weighted mean, rounded once. Weights are not negative; values of weight zero are
// left out, whatever they are.
struct ExactMean {
  ExactSum sum, total;
  // `weights`: one a value, or empty (all one).
  void add(std::span<const double> values, std::span<const double> weights);
  // The same without the weights' total, where that is known.
  void add_terms(std::span<const double> values, std::span<const double> weights);
  void add(const ExactMean& other) {
    sum.add(other.sum);
    total.add(other.total);
  }
  double find() const { return divide(sum, total); }
};

}  // namespace committee
