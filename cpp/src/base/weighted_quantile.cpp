// Quantiles by selection: a sample of the values tells between which two the quantile must lie, one
// pass keeps what lies there, and so on until few are left [FloydRivest1975]. Where the sample was
// wrong all of them are looked at: the answer is exact in every case.
#include "base/weighted_quantile.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/x86_vectors.hpp"
#include "committee/quantile_counts.hpp"

namespace committee {

namespace {

constexpr std::size_t kFewValues = 512;  // a sample would cost more
constexpr std::size_t kBlockValues = 256;
constexpr double kSampleFactor = 3.0;  // times the root of the number of values
// The quantile of a sample lies nearer than this to that of all, but for one case in a hundred.
constexpr double kDeviations = 2.5;

template <class T>
double sum_weights(std::span<const T> values) {
  if constexpr (std::is_same_v<T, double>) return static_cast<double>(values.size());
  double sum = 0.0;
  for (const T& value : values) sum += weight_of(value);
  return sum;
}

// The answer among these values, which may be put into another order. `below`: weight of what is
// less than all of them.
double pick(std::vector<WeightedValue>& values, double below, double wanted) {
  std::sort(values.begin(), values.end(), [](const WeightedValue& a, const WeightedValue& b) {
    return a.value != b.value ? a.value < b.value : a.weight < b.weight;
  });
  std::size_t at = 0;
  while (at + 1 < values.size() && below + values[at].weight < wanted) below += values[at++].weight;
  const bool is_split = below + values[at].weight == wanted && at + 1 < values.size();
  return (is_split ? find_middle_of(values[at].value, values[at + 1].value) : values[at].value) +
         0.0;
}

#if defined(COMMITTEE_AVX512)
constexpr std::size_t kLanes = 8, kMostInLanes = 1024;

double find_median(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// A value near the middle: the median of three medians of three.
double choose_pivot(const double* values, std::size_t n) {
  const std::size_t step = n / 9;
  const auto find_third = [&](std::size_t i) {
    return find_median(values[i * step], values[(i + 3) * step], values[(i + 6) * step]);
  };
  return find_median(find_third(0), find_third(1), find_third(2));
}

// The value of this rank among n <= kMostInLanes, as std::nth_element finds it, without a branch
// for each value: they come in no order.
COMMITTEE_AVX512 double select_avx512(const double* values, std::size_t n, std::size_t rank) {
  double first[kMostInLanes + kLanes], second[kMostInLanes + kLanes];
  double *lower = first, *upper = second;
  for (;;) {
    const double pivot = choose_pivot(values, n);
    const __m512d border = _mm512_set1_pd(pivot);
    std::size_t n_lower = 0, n_upper = 0;
    for (std::size_t i = 0; i < n; i += kLanes) {
      const auto present = static_cast<__mmask8>((1u << std::min(kLanes, n - i)) - 1);
      const __m512d eight = _mm512_maskz_loadu_pd(present, values + i);
      const __mmask8 less = _mm512_mask_cmp_pd_mask(present, eight, border, _CMP_LT_OQ);
      const __mmask8 more = _mm512_mask_cmp_pd_mask(present, eight, border, _CMP_GT_OQ);
      // Those below may lie where these were read: never further on.
      _mm512_storeu_pd(lower + n_lower, _mm512_maskz_compress_pd(less, eight));
      _mm512_storeu_pd(upper + n_upper, _mm512_maskz_compress_pd(more, eight));
      n_lower += static_cast<std::size_t>(std::popcount(lanes_of(less)));
      n_upper += static_cast<std::size_t>(std::popcount(lanes_of(more)));
    }
    if (rank >= n_lower && rank < n - n_upper) return pivot;
    if (rank < n_lower) {
      n = n_lower;
    } else {
      rank -= n - n_upper;
      n = n_upper;
      std::swap(lower, upper);
    }
    values = lower;
  }
}
#endif

// The value of this rank, from 0 on; the values may be put into another order.
double select_rank(std::vector<double>& values, std::size_t rank) {
#if defined(COMMITTEE_AVX512)
  if (values.size() <= kMostInLanes && may_use(Instructions::avx512))
    return select_avx512(values.data(), values.size(), rank);
#endif
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The value of the rank after this one, which `value` has.
double find_next(const std::vector<double>& values, double value, std::size_t rank) {
  std::size_t n_more = 0;
  double next = std::numeric_limits<double>::infinity();
  for (const double other : values) {
    const bool more = other > value;
    n_more += more;
    next = std::min(next, more ? other : std::numeric_limits<double>::infinity());
  }
  return values.size() - n_more > rank + 1 ? value : next;
}

double pick(std::vector<double>& values, double below, double wanted) {
  const double last = static_cast<double>(values.size()) - 1.0;
  const double rank = std::clamp(std::ceil(wanted - below) - 1.0, 0.0, last);
  const auto place = static_cast<std::size_t>(rank);
  const double value = select_rank(values, place);
  const bool is_split = below + rank + 1.0 == wanted && rank < last;
  // Of zeros of both signs any may come first; the sum is the positive one.
  return (is_split ? find_middle_of(value, find_next(values, value, place)) : value) + 0.0;
}

struct Bracket {
  double low, high;
};

Bracket find_ends(std::vector<WeightedValue>& sample, double low, double high) {
  return {pick(sample, 0.0, low), pick(sample, 0.0, high)};
}

Bracket find_ends(std::vector<double>& sample, double low, double high) {
  const double last = static_cast<double>(sample.size()) - 1.0;
  const auto find_rank = [&](double wanted) {
    return static_cast<std::size_t>(std::clamp(std::ceil(wanted) - 1.0, 0.0, last));
  };
  return {select_rank(sample, find_rank(low)), select_rank(sample, find_rank(high))};
}

template <class T>
Bracket bracket_by_sample(std::span<const T> values, double share) {
  const std::size_t n = values.size(),
                    n_drawn = static_cast<std::size_t>(kSampleFactor * std::sqrt(n));
  std::vector<T> sample(n_drawn);
  const double step = static_cast<double>(n) / static_cast<double>(n_drawn);
  double squares = 0.0;
  for (std::size_t i = 0; i < n_drawn; ++i) {
    sample[i] = values[static_cast<std::size_t>(static_cast<double>(i) * step)];
    squares += weight_of(sample[i]) * weight_of(sample[i]);
  }
  const double total = sum_weights<T>(sample);
  const double margin = kDeviations * std::sqrt(share * (1.0 - share) * squares) / total +
                        1.0 / static_cast<double>(n_drawn);
  return find_ends(sample, (share - margin) * total, (share + margin) * total);
}

template <class T>
struct Middle {
  std::vector<T> values;
  double below = 0.0;  // weight of what is less
};

#if defined(COMMITTEE_AVX512)
// As below, eight values at a time.
COMMITTEE_AVX512 Middle<double> keep_avx512(std::span<const double> values,
                                            const Bracket& bracket) {
  Middle<double> middle;
  const __m512d low = _mm512_set1_pd(bracket.low), high = _mm512_set1_pd(bracket.high);
  double block[kBlockValues + kLanes];
  std::size_t n_less = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlockValues) {
    const std::size_t end = std::min(values.size(), begin + kBlockValues);
    std::size_t n_kept = 0;
    for (std::size_t i = begin; i < end; i += kLanes) {
      const auto present = static_cast<__mmask8>((1u << std::min(kLanes, end - i)) - 1);
      const __m512d eight = _mm512_maskz_loadu_pd(present, values.data() + i);
      const __mmask8 less = _mm512_mask_cmp_pd_mask(present, eight, low, _CMP_LT_OQ);
      const __mmask8 kept =
          _mm512_mask_cmp_pd_mask(static_cast<__mmask8>(present & ~less), eight, high, _CMP_LE_OQ);
      _mm512_storeu_pd(block + n_kept, _mm512_maskz_compress_pd(kept, eight));
      n_kept += static_cast<std::size_t>(std::popcount(lanes_of(kept)));
      n_less += static_cast<std::size_t>(std::popcount(lanes_of(less)));
    }
    middle.values.insert(middle.values.end(), block, block + n_kept);
  }
  middle.below = static_cast<double>(n_less);
  return middle;
}
#endif

// Without a branch that the values decide: they come in no order.
template <class T>
Middle<T> keep_between(std::span<const T> values, const Bracket& bracket) {
#if defined(COMMITTEE_AVX512)
  if constexpr (std::is_same_v<T, double>)
    if (may_use(Instructions::avx512)) return keep_avx512(values, bracket);
#endif
  Middle<T> middle;
  const auto [low, high] = bracket;
  T block[kBlockValues];
  for (std::size_t begin = 0; begin < values.size(); begin += kBlockValues) {
    const std::size_t end = std::min(values.size(), begin + kBlockValues);
    std::size_t n_kept = 0, n_less = 0;
    double less = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      const T value = values[i];
      const bool is_less = value_of(value) < low;
      block[n_kept] = value;
      n_kept += !is_less & (value_of(value) <= high);
      if constexpr (std::is_same_v<T, double>) {
        n_less += is_less;
      } else {
        less += is_less ? weight_of(value) : 0.0;
      }
    }
    middle.values.insert(middle.values.end(), block, block + n_kept);
    middle.below += less + static_cast<double>(n_less);
  }
  return middle;
}

template <class T>
double select(std::span<const T> values, double below, double total, double wanted) {
  if (values.size() > kFewValues) {
    const double share = std::clamp((wanted - below) / total, 0.0, 1.0);
    const Bracket bracket = bracket_by_sample(values, share);
    const Middle<T> middle = keep_between(values, bracket);
    const double less = below + middle.below, inside = sum_weights<T>(middle.values);
    // More than what is wanted: where the weight is split just there, the next value is here,
    // too.
    if (less < wanted && less + inside > wanted) {
      if (bracket.low == bracket.high) return bracket.low;
      if (2 * middle.values.size() < values.size())
        return select<T>(middle.values, less, inside, wanted);
    }
  }
  std::vector<T> all(values.begin(), values.end());
  return pick(all, below, wanted);
}

template <class T>
double find_quantile(std::span<const T> values, double level) {
  const double total = sum_weights(values);
  // Zero has two signs, between which no order decides.
  return select(values, 0.0, total, level * total) + 0.0;
}

}  // namespace

double find_weighted_quantile(std::span<const double> values, double level) {
  return find_quantile(values, level);
}

double find_weighted_quantile(std::span<const WeightedValue> values, double level) {
  return find_quantile(values, level);
}

}  // namespace committee
