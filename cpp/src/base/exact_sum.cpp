#include "committee/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "base/x86_vectors.hpp"

namespace committee {

namespace {

constexpr u64 kLimbMask = 0xFFFFFFFFu;
constexpr u64 kMostPending = u64{1} << 29;  // a term adds less than 2^33 to a limb

struct Decomposed {
  u64 mantissa;
  int exponent;  // of its last bit
  bool negative;
};

Decomposed decompose(double x) {
  const u64 bits = std::bit_cast<u64>(x);
  const int field = static_cast<int>(bits >> ExactSum::kMantissaBits & 0x7FF);
  const u64 fraction = bits & ((u64{1} << ExactSum::kMantissaBits) - 1);
  return {field == 0 ? fraction : fraction | u64{1} << ExactSum::kMantissaBits,
          (field == 0 ? 1 : field) - 1 + ExactSum::kLeastExponent, (bits >> 63) != 0};
}

// Many terms: each is cut into a part that is a multiple of some power of two, such that the parts
// of all terms of a batch add up without rounding in a double, and a rest. Two or three cuts leave
// no rest where the terms are of similar size [Rump2008].
constexpr std::size_t kBatchTerms = 256;  // 2^8
constexpr int kSumBits = 8;
constexpr int kCutBits = 45;                     // of the terms in one cut
constexpr int kMostCuts = 3;                     // in pairs; then one by one
constexpr int kLeastCut = -800, kMostCut = 900;  // powers of two, far from both ends of the range

using DoublePair COMMITTEE_VECTOR(16) = double;
using BitPair COMMITTEE_VECTOR(16) = i64;
constexpr BitPair kNoSignPair = {0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF};

#if defined(COMMITTEE_AVX512)
COMMITTEE_AVX512 double find_most_avx512(const double* terms) {
  const __m512i no_sign = _mm512_set1_epi64(kNoSignPair[0]);
  __m512i most = _mm512_setzero_si512();
  for (std::size_t i = 0; i < kBatchTerms; i += 8)
    most = _mm512_max_epi64(most, _mm512_and_si512(_mm512_loadu_si512(terms + i), no_sign));
  return std::bit_cast<double>(static_cast<i64>(_mm512_reduce_max_epi64(most)));
}
#endif

// The largest absolute value; NaN is larger than all numbers.
double find_most(const double* terms) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) return find_most_avx512(terms);
#endif
  BitPair most[2] = {{0, 0}, {0, 0}};
  for (std::size_t i = 0; i < kBatchTerms; i += 4) {
    for (std::size_t k = 0; k < 2; ++k) {
      BitPair size;
      std::memcpy(&size, terms + i + 2 * k, sizeof size);
      size &= kNoSignPair;
      most[k] = size > most[k] ? size : most[k];
    }
  }
  return std::bit_cast<double>(
      std::max(std::max(most[0][0], most[0][1]), std::max(most[1][0], most[1][1])));
}

struct CutResult {
  double upper, lower;  // the sums of both parts
  double most;          // the largest rest
};

#if defined(COMMITTEE_AVX512)
COMMITTEE_AVX512 CutResult cut_avx512(const double* terms, double border, double* rests) {
  const __m512d upper_cut = _mm512_set1_pd(border), lower_cut = _mm512_set1_pd(border * 0x1.0p-45);
  const __m512i no_sign = _mm512_set1_epi64(kNoSignPair[0]);
  __m512d uppers = _mm512_setzero_pd(), lowers = _mm512_setzero_pd();
  __m512i most = _mm512_setzero_si512();
  for (std::size_t i = 0; i < kBatchTerms; i += 8) {
    __m512d term = _mm512_loadu_pd(terms + i);
    const __m512d upper = _mm512_sub_pd(_mm512_add_pd(term, upper_cut), upper_cut);
    term = _mm512_sub_pd(term, upper);
    uppers = _mm512_add_pd(uppers, upper);
    const __m512d lower = _mm512_sub_pd(_mm512_add_pd(term, lower_cut), lower_cut);
    term = _mm512_sub_pd(term, lower);
    lowers = _mm512_add_pd(lowers, lower);
    most = _mm512_max_epi64(most, _mm512_and_si512(_mm512_castpd_si512(term), no_sign));
    _mm512_storeu_pd(rests + i, term);
  }
  return {_mm512_reduce_add_pd(uppers), _mm512_reduce_add_pd(lowers),
          std::bit_cast<double>(static_cast<i64>(_mm512_reduce_max_epi64(most)))};
}
#endif

// Cuts every term at `border` (1.5 times a power of two), and what is left kCutBits lower; rests
// may be written over the terms.
CutResult cut_terms(const double* terms, double border, double* rests) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) return cut_avx512(terms, border, rests);
#endif
  DoublePair uppers[2] = {{0.0, 0.0}, {0.0, 0.0}}, lowers[2] = {{0.0, 0.0}, {0.0, 0.0}};
  BitPair most[2] = {{0, 0}, {0, 0}};
  const double next = border * 0x1.0p-45;
  const DoublePair upper_cut = {border, border}, lower_cut = {next, next};
  for (std::size_t i = 0; i < kBatchTerms; i += 4) {
    for (std::size_t k = 0; k < 2; ++k) {
      DoublePair term;
      std::memcpy(&term, terms + i + 2 * k, sizeof term);
      const DoublePair upper = (term + upper_cut) - upper_cut;
      term -= upper;
      uppers[k] += upper;
      const DoublePair lower = (term + lower_cut) - lower_cut;
      term -= lower;
      lowers[k] += lower;
      const BitPair size = std::bit_cast<BitPair>(term) & kNoSignPair;
      most[k] = size > most[k] ? size : most[k];
      std::memcpy(rests + i + 2 * k, &term, sizeof term);
    }
  }
  return {(uppers[0][0] + uppers[0][1]) + (uppers[1][0] + uppers[1][1]),
          (lowers[0][0] + lowers[0][1]) + (lowers[1][0] + lowers[1][1]),
          std::bit_cast<double>(
              std::max(std::max(most[0][0], most[0][1]), std::max(most[1][0], most[1][1])))};
}

// The largest of n <= kBatchTerms absolute values.
double find_most(const double* terms, std::size_t n) {
  if (n == kBatchTerms) return find_most(terms);
  i64 most = 0;
  for (std::size_t i = 0; i < n; ++i)
    most = std::max(most, std::bit_cast<i64>(terms[i]) & kNoSignPair[0]);
  return std::bit_cast<double>(most);
}

struct SizeRange {
  double least, most;
};

// The least of some absolute values and the largest of others.
SizeRange find_range(const double* lows, const double* highs) {
  constexpr i64 kMost = std::numeric_limits<i64>::max();
  BitPair least[2] = {{kMost, kMost}, {kMost, kMost}}, most[2] = {{0, 0}, {0, 0}};
  for (std::size_t i = 0; i < kBatchTerms; i += 4) {
    for (std::size_t k = 0; k < 2; ++k) {
      BitPair low, high;
      std::memcpy(&low, lows + i + 2 * k, sizeof low);
      std::memcpy(&high, highs + i + 2 * k, sizeof high);
      low &= kNoSignPair;
      high &= kNoSignPair;
      least[k] = low < least[k] ? low : least[k];
      most[k] = high > most[k] ? high : most[k];
    }
  }
  return {std::bit_cast<double>(std::min({least[0][0], least[0][1], least[1][0], least[1][1]})),
          std::bit_cast<double>(std::max({most[0][0], most[0][1], most[1][0], most[1][1]}))};
}

#ifdef __FP_FAST_FMA
constexpr bool kFused = true;
#else
constexpr bool kFused = false;
#endif

// a * b == product + rest, exactly, where no part of it is too small for a double; where
// multiplication is not fused, neither factor may be near the end of the range.
double find_product_rest(double a, double b, double product) {
  if constexpr (kFused) return std::fma(a, b, -product);
  // [Dekker1971]: halves of 26 bits, whose products are exact.
  constexpr double kSplitter = 0x1.0p27 + 1.0;
  const double ca = kSplitter * a, cb = kSplitter * b;
  const double a_high = ca - (ca - a), b_high = cb - (cb - b);
  const double a_low = a - a_high, b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

}  // namespace

ExactSum::ExactSum(const i64* limbs) {
  constexpr i64 kMost = i64{1} << 62;
  if (!std::all_of(limbs, limbs + kSize, [](i64 limb) { return limb >= -kMost && limb <= kMost; }))
    throw std::invalid_argument("an exact sum has integers up to 2^62");
  std::copy_n(limbs, kSize, limbs_.begin());
  carry();
}

void ExactSum::carry() {
  for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
    limbs_[i + 1] += limbs_[i] >> kLimbBits;
    limbs_[i] &= static_cast<i64>(kLimbMask);
  }
  n_pending_ = 0;
}

void ExactSum::count_pending(u64 n_added) {
  n_pending_ += n_added;
  if (n_pending_ >= kMostPending) carry();
}

// Adds or takes (high << 64 | low) << at, bit numbers from the lowest of limb 0 on.
void ExactSum::add_shifted(u64 low, u64 high, int at, bool negative) {
  const auto first = static_cast<std::size_t>(at / kLimbBits);
  const int shift = at % kLimbBits;
  const u64 halves[4] = {low & kLimbMask, low >> kLimbBits, high & kLimbMask, high >> kLimbBits};
  const i64 sign = negative ? -1 : 1;
  const std::size_t n = high == 0 ? 2 : 4;
  for (std::size_t i = 0; i < n; ++i) {
    const u64 shifted = halves[i] << shift;
    limbs_[first + i] += sign * static_cast<i64>(shifted & kLimbMask);
    limbs_[first + i + 1] += sign * static_cast<i64>(shifted >> kLimbBits);
  }
  count_pending(1);
}

void ExactSum::add_special(double term) {
  ++limbs_[kLimbs + (std::isnan(term) ? 2 : term < 0.0 ? 1 : 0)];
}

void ExactSum::add(double term) {
  if (!std::isfinite(term)) {
    add_special(term);
    return;
  }
  const Decomposed x = decompose(term);
  add_shifted(x.mantissa, 0, x.exponent - kLowestBit, x.negative);
}

void ExactSum::add_product(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) {
    add_special(a * b);
    return;
  }
  const Decomposed x = decompose(a), y = decompose(b);
  // 53 by 53 bits, in parts of 32.
  const u64 x_low = x.mantissa & kLimbMask, x_high = x.mantissa >> 32;
  const u64 y_low = y.mantissa & kLimbMask, y_high = y.mantissa >> 32;
  const u64 lows = x_low * y_low, middle = x_high * y_low + (lows >> 32);
  const u64 cross = x_low * y_high + (middle & kLimbMask);
  add_shifted(cross << 32 | (lows & kLimbMask), x_high * y_high + (middle >> 32) + (cross >> 32),
              x.exponent + y.exponent - kLowestBit, x.negative != y.negative);
}

void ExactSum::add_whole(u64 whole) {
  add_shifted(whole, 0, -kLowestBit, false);
}

// `most`: none of the absolute values is larger.
void ExactSum::add_some(const double* terms, std::size_t n, double most) {
  double batch[kBatchTerms];
  if (n < kBatchTerms) {
    std::copy_n(terms, n, batch);
    std::fill(batch + n, batch + kBatchTerms, 0.0);
    terms = batch;
  }
  for (int cuts = 0; most != 0.0; ++cuts) {
    int exponent;  // of a power of two above all of them
    const bool finite = std::isfinite(most);
    if (finite) std::frexp(most, &exponent);
    if (!finite || cuts == kMostCuts || exponent > kMostCut || exponent < kLeastCut) {
      for (std::size_t i = 0; i < n; ++i)
        if (terms[i] != 0.0) add(terms[i]);
      return;
    }
    static_assert(kMantissaBits - (kSumBits - 1) == kCutBits);
    const CutResult found = cut_terms(terms, std::ldexp(1.5, exponent + kSumBits - 1), batch);
    terms = batch;
    add(found.upper);
    add(found.lower);
    most = found.most;
  }
}

void ExactSum::add(std::span<const double> terms) {
  for (std::size_t begin = 0; begin < terms.size(); begin += kBatchTerms) {
    const std::size_t n = std::min(kBatchTerms, terms.size() - begin);
    add_some(terms.data() + begin, n, find_most(terms.data() + begin, n));
  }
}

void ExactSum::add_products(std::span<const double> a, std::span<const double> b) {
  // Products between these have rests that are doubles; halves of larger factors overflow.
  constexpr double kLeast = 0x1.0p-900, kMost = 0x1.0p+900;
  double products[kBatchTerms], rests[kBatchTerms], sizes[kBatchTerms];
  for (std::size_t begin = 0; begin < a.size(); begin += kBatchTerms) {
    const std::size_t n = std::min(kBatchTerms, a.size() - begin);
    const double *x = a.data() + begin, *y = b.data() + begin;
    for (std::size_t i = 0; i < n; ++i) {
      const double product = x[i] * y[i];
      products[i] = product;
      rests[i] = find_product_rest(x[i], y[i], product);
      // A zero is fine, unless the product was too small for a double.
      const bool is_zero = (product == 0.0) & ((x[i] == 0.0) | (y[i] == 0.0));
      sizes[i] = is_zero ? 1.0 : product;
    }
    std::fill(products + n, products + kBatchTerms, 0.0);
    std::fill(sizes + n, sizes + kBatchTerms, 1.0);
    const SizeRange range = find_range(sizes, products);
    bool plain = range.least > kLeast && range.most < kMost;
    if constexpr (!kFused) plain = plain && find_most(x, n) < kMost && find_most(y, n) < kMost;
    if (plain) {
      add_some(products, n, range.most);
      add_some(rests, n, range.most * 0x1.0p-53);
    } else {
      for (std::size_t i = 0; i < n; ++i) add_product(x[i], y[i]);
    }
  }
}

void ExactSum::add(const ExactSum& other) {
  // Its limbs may hold as many terms as are pending there.
  if (n_pending_ + other.n_pending_ + 1 >= kMostPending) {
    ExactSum carried = other;
    carried.carry();
    carry();
    add(carried);
    return;
  }
  for (std::size_t i = 0; i < kSize; ++i) limbs_[i] += other.limbs_[i];
  count_pending(other.n_pending_ + 1);
}

const ExactSum::Array& ExactSum::limbs() {
  carry();
  return limbs_;
}

void ExactMean::add(std::span<const double> values, std::span<const double> weights) {
  add_terms(values, weights);
  if (weights.empty()) {
    total.add_whole(values.size());
  } else {
    total.add(weights);
  }
}

void ExactMean::add_terms(std::span<const double> values, std::span<const double> weights) {
  if (weights.empty()) {
    sum.add(values);
    return;
  }
  double kept_values[kBatchTerms], kept_weights[kBatchTerms];
  for (std::size_t begin = 0; begin < values.size(); begin += kBatchTerms) {
    const std::size_t size = std::min(values.size() - begin, kBatchTerms);
    const double *value = values.data() + begin, *weight = weights.data() + begin;
    std::size_t n = 0;
    for (std::size_t i = 0; i < size; ++i) n += weight[i] > 0.0;
    if (n < size) {
      n = 0;
      for (std::size_t i = 0; i < size; ++i) {
        kept_values[n] = value[i];
        kept_weights[n] = weight[i];
        n += weight[i] > 0.0;
      }
      value = kept_values;
      weight = kept_weights;
    }
    sum.add_products({value, n}, {weight, n});
  }
}

}  // namespace committee
