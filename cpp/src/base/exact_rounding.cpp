// What exact sums and their quotients are rounded to.
#include <algorithm>
#include <bit>
#include <cmath>

#include "committee/exact_sum.hpp"

namespace committee {

// The absolute value of a sum, in limbs after all carries.
class ExactSum::Magnitude {
 public:
  explicit Magnitude(const ExactSum& sum) {
    ExactSum copy = sum;
    copy.carry();
    negative_ = copy.limbs_[kLimbs - 1] < 0;
    if (negative_) {
      for (std::size_t i = 0; i < kLimbs; ++i) copy.limbs_[i] = -copy.limbs_[i];
      copy.carry();
    }
    for (std::size_t i = 0; i < kLimbs; ++i) {
      limbs_[i] = static_cast<u64>(copy.limbs_[i]);
      if (limbs_[i] == 0) continue;
      if (n_limbs_ == 0) lowest_ = i;
      n_limbs_ = i + 1;
    }
  }
  bool negative() const { return negative_; }
  std::size_t n_limbs() const { return n_limbs_; }
  std::size_t width() const { return n_limbs_ - lowest_; }  // limbs from the first to the last set
  u64 limb(std::size_t i) const { return i < n_limbs_ ? limbs_[i] : 0; }
  // Number of the highest bit, from the lowest of limb 0 on; -1 for zero.
  int top() const {
    if (n_limbs_ == 0) return -1;
    return static_cast<int>(n_limbs_ - 1) * kLimbBits +
           static_cast<int>(std::bit_width(limbs_[n_limbs_ - 1])) - 1;
  }
  // Bits first .. first + 63; those before 0 are zero.
  u64 read_bits(int first) const {
    u64 bits = 0;
    const int begin = first >= 0 ? first / kLimbBits : -((-first + kLimbBits - 1) / kLimbBits);
    for (int i = begin; i <= begin + 2; ++i) {
      const u64 part = i < 0 ? 0 : limb(static_cast<std::size_t>(i));
      const int shift = i * kLimbBits - first;
      if (shift >= 64 || shift <= -64) continue;
      bits |= shift >= 0 ? part << shift : part >> -shift;
    }
    return bits;
  }
  bool any_below(int bit) const {
    if (bit <= 0) return false;
    const auto whole = static_cast<std::size_t>(bit / kLimbBits);
    for (std::size_t i = 0; i < std::min(whole, n_limbs_); ++i)
      if (limbs_[i] != 0) return true;
    return (limb(whole) & ((u64{1} << (bit % kLimbBits)) - 1)) != 0;
  }

 private:
  std::array<u64, kLimbs> limbs_;
  std::size_t n_limbs_ = 0, lowest_ = 0;
  bool negative_ = false;
};

namespace {

// The nearest double to bits * 2^exponent, more than that if `sticky`. The highest of the 64 bits
// is set.
double round_bits(u64 bits, int exponent, bool sticky, bool negative) {
  const int last = std::max(exponent + 63 - ExactSum::kMantissaBits, ExactSum::kLeastExponent);
  const int n_cut = last - exponent;  // 11 or more
  if (n_cut > 64) return negative ? -0.0 : 0.0;
  u64 kept = n_cut == 64 ? 0 : bits >> n_cut;
  const u64 half = u64{1} << (n_cut - 1), cut = n_cut == 64 ? bits : bits & ((half << 1) - 1);
  if (cut > half || (cut == half && (sticky || (kept & 1) != 0))) ++kept;
  const double value = std::ldexp(static_cast<double>(kept), last);
  return negative ? -value : value;
}

}  // namespace

bool ExactSum::is_zero() const {
  return Magnitude(*this).n_limbs() == 0 &&
         limbs_[kLimbs] + limbs_[kLimbs + 1] + limbs_[kLimbs + 2] == 0;
}

double ExactSum::round() const {
  const i64 ups = limbs_[kLimbs], downs = limbs_[kLimbs + 1], nans = limbs_[kLimbs + 2];
  if (nans > 0 || (ups > 0 && downs > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (ups > 0) return std::numeric_limits<double>::infinity();
  if (downs > 0) return -std::numeric_limits<double>::infinity();
  const Magnitude size(*this);
  const int top = size.top();
  if (top < 0) return 0.0;
  return round_bits(size.read_bits(top - 63), top - 63 + kLowestBit, size.any_below(top - 63),
                    size.negative());
}

double divide(const ExactSum& sum, const ExactSum& total) {
  constexpr std::size_t kLimbs = ExactSum::kLimbs;
  constexpr int kLimbBits = ExactSum::kLimbBits;
  i64 n_special = 0;
  for (std::size_t i = kLimbs; i < ExactSum::kSize; ++i)
    n_special += sum.limbs_[i] + total.limbs_[i];
  const ExactSum::Magnitude above(sum), below(total);
  if (n_special > 0 || below.n_limbs() == 0) return std::numeric_limits<double>::quiet_NaN();
  if (above.n_limbs() == 0) return 0.0;
  // Both are shifted until their highest bits meet, at the top of `size` limbs. Then 65 bits of the
  // quotient, one by one.
  const int above_top = above.top(), below_top = below.top();
  const std::size_t size = std::max(above.width(), below.width()) + 1;
  const int top = static_cast<int>(size) * kLimbBits - 2;
  std::array<u32, kLimbs + 1> rest{}, divisor{};
  for (std::size_t i = 0; i < size; ++i) {
    const int first = static_cast<int>(i) * kLimbBits - top;
    rest[i] = static_cast<u32>(above.read_bits(first + above_top));
    divisor[i] = static_cast<u32>(below.read_bits(first + below_top));
  }
  u64 quotient = 0;
  int n_bits = 0, exponent = above_top - below_top;
  bool started = false;
  while (n_bits < 64) {
    std::array<u32, kLimbs + 1> less;
    u64 borrow = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const u64 difference = u64{rest[i]} - divisor[i] - borrow;
      less[i] = static_cast<u32>(difference);
      borrow = difference >> 63;
    }
    const bool fits = borrow == 0;
    if (fits) std::copy_n(less.begin(), size, rest.begin());
    started = started || fits;
    if (started) {
      quotient = quotient << 1 | (fits ? 1 : 0);
      ++n_bits;
    } else {
      --exponent;
    }
    u32 out = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const u32 next = rest[i] >> 31;
      rest[i] = rest[i] << 1 | out;
      out = next;
    }
  }
  const bool sticky = std::any_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size),
                                  [](u32 limb) { return limb != 0; });
  return round_bits(quotient, exponent - 63, sticky, above.negative() != below.negative());
}

}  // namespace committee
