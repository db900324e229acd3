#include "boosting/sum_screen.hpp"

#include <cmath>
#include <cstring>

#include "base/x86_vectors.hpp"

namespace committee {

namespace {

using Floats COMMITTEE_VECTOR(16) = float;
using Ints COMMITTEE_VECTOR(16) = int;

bool any_lane(Ints lanes) {
  using Pair COMMITTEE_VECTOR(16) = i64;
  const Pair pair = (Pair)lanes;
  return (pair[0] | pair[1]) != 0;
}

// Four words' halves as float.
struct FourWords {
  Floats gradient, hessian;
};

struct EvenHalves {
  static constexpr bool kCuts = false;
  explicit EvenHalves(const SumHalves&) {}
  FourWords read(const i64* at) const {
    Ints low, high;
    std::memcpy(&low, at, sizeof low);
    std::memcpy(&high, at + 2, sizeof high);
    return {convert_lanes<Floats>(shuffle_lanes<1, 3, 5, 7>(low, high)),
            convert_lanes<Floats>(shuffle_lanes<0, 2, 4, 6>(low, high))};
  }
};

struct UnevenHalves {
  static constexpr bool kCuts = true;
  explicit UnevenHalves(const SumHalves& halves) : where(halves) {}
  FourWords read(const i64* at) const {
    using Words COMMITTEE_VECTOR(16) = u64;
    Words low, high;
    std::memcpy(&low, at, sizeof low);
    std::memcpy(&high, at + 2, sizeof high);
    const Ints hessian = shuffle_lanes<0, 2, 4, 6>((Ints)low, (Ints)high) & where.hessian_mask;
    low >>= static_cast<u64>(where.shift);
    high >>= static_cast<u64>(where.shift);
    return {convert_lanes<Floats>(shuffle_lanes<0, 2, 4, 6>((Ints)low, (Ints)high)),
            convert_lanes<Floats>(hessian)};
  }
  const SumHalves where;
};

// The largest num / den so far, in each lane by itself. Compared by products: no division.
struct BestFraction {
  Floats num = {}, den = {1.0f, 1.0f, 1.0f, 1.0f};
  Ints at = {-1, -1, -1, -1};
  void offer(Floats other_num, Floats other_den, Ints index) {
    const Ints more = other_num * den > num * other_den;
    num = more ? other_num : num;
    den = more ? other_den : den;
    at = more ? index : at;
  }
};

i64 find_largest(const float* num, const float* den, const int* at) {
  float most = -1.0f;
  i64 found = -1;
  for (int lane = 0; lane < 8; ++lane) {
    const float fraction = num[lane] / den[lane];
    if (at[lane] < 0 || !(fraction > most)) continue;
    most = fraction;
    found = at[lane];
  }
  return found;
}

}  // namespace

// The forms of the three functions: plain ones, and those with eight sums in a register.
class SumForms {
 public:
  template <class Halves>
  static Ints passes(const SumScreen& by, const Halves& halves, const i64* sums) {
    const FourWords words = halves.read(sums);
    const Floats a = words.hessian + by.l2_, d = words.gradient - by.ratio_ * a;
    Floats size = (Floats)((Ints)d & 0x7FFFFFFF) + a * by.error_;  // |d|
    if constexpr (Halves::kCuts) size += 1.0f;
    return size * size >= by.least_ * a * (by.least_whole_ - a);
  }

  template <class Halves>
  static u32 find_passing(const SumScreen& by, const i64* sums, u32 first, u32 last) {
    const Halves halves(by.halves_);
    for (u32 b = first; b < last; b += 8)
      if (any_lane(passes(by, halves, sums + b) | passes(by, halves, sums + b + 4))) return b;
    return last;
  }

  template <class Halves>
  static i64 find_good(const SumScreen& by, const i64* sums, u32 first, u32 last) {
    const Halves halves(by.halves_);
    BestFraction best[2];
    Ints index = {0, 1, 2, 3};
    index += static_cast<int>(first);
    for (u32 b = first; b < last; b += 8, index += 8) {
      const FourWords one = halves.read(sums + b), two = halves.read(sums + b + 4);
      const Floats a1 = one.hessian + by.l2_, a2 = two.hessian + by.l2_;
      const Floats d1 = one.gradient - by.ratio_ * a1, d2 = two.gradient - by.ratio_ * a2;
      best[0].offer(d1 * d1, a1 * (by.whole_ - a1), index);
      best[1].offer(d2 * d2, a2 * (by.whole_ - a2), index + 4);
    }
    float num[8], den[8];
    int at[8];
    for (int half = 0; half < 2; ++half) {
      std::memcpy(num + 4 * half, &best[half].num, sizeof best[half].num);
      std::memcpy(den + 4 * half, &best[half].den, sizeof best[half].den);
      std::memcpy(at + 4 * half, &best[half].at, sizeof best[half].at);
    }
    return find_largest(num, den, at);
  }

  template <class Halves>
  static u32 list_passing(const SumScreen& by, const i64* sums, u32 first, u32 last, u32* found) {
    const Halves halves(by.halves_);
    u32 n = 0;
    for (u32 b = first; b < last; b += 4) {
      const Ints passing = passes(by, halves, sums + b);
      if (!any_lane(passing)) continue;
      for (u32 k = 0; k < 4 && b + k < last; ++k)
        if (passing[static_cast<int>(k)] != 0) found[n++] = b + k;
    }
    return n;
  }

#if defined(COMMITTEE_AVX2)
  // The screen in all lanes, whose sums are in the order of kLanes: so both halves of a register
  // are made of the same halves of two others.
  struct Wide {
    __m256 l2, whole, ratio, error, least_whole, least, cut;
    __m256i hessian_mask;
    __m128i shift;
  };
  static constexpr int kLanes[] = {0, 1, 4, 5, 2, 3, 6, 7};
  struct Fraction {
    __m256 a, d;
  };

  COMMITTEE_AVX2 static void spread(const SumScreen& by, Wide& wide) {
    wide.l2 = _mm256_set1_ps(by.l2_);
    wide.whole = _mm256_set1_ps(by.whole_);
    wide.ratio = _mm256_set1_ps(by.ratio_);
    wide.error = _mm256_set1_ps(by.error_);
    wide.least_whole = _mm256_set1_ps(by.least_whole_);
    wide.least = _mm256_set1_ps(by.least_);
    wide.cut = _mm256_set1_ps(by.halves_.cuts ? 1.0f : 0.0f);
    wide.hessian_mask = _mm256_set1_epi32(by.halves_.hessian_mask);
    wide.shift = _mm_cvtsi32_si128(by.halves_.shift);
  }

  COMMITTEE_AVX2 static Fraction read_eight(const Wide& by, const i64* sums) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + 4));
    const __m256 h = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
    const __m256 g = _mm256_shuffle_ps(_mm256_castsi256_ps(_mm256_srl_epi64(low, by.shift)),
                                       _mm256_castsi256_ps(_mm256_srl_epi64(high, by.shift)), 0x88);
    Fraction read;
    read.a = _mm256_add_ps(
        _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_castps_si256(h), by.hessian_mask)), by.l2);
    read.d =
        _mm256_sub_ps(_mm256_cvtepi32_ps(_mm256_castps_si256(g)), _mm256_mul_ps(by.ratio, read.a));
    return read;
  }

  // A bit for each lane.
  COMMITTEE_AVX2 static u32 test_eight(const Wide& by, const i64* sums) {
    const Fraction read = read_eight(by, sums);
    const __m256 d = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), read.d);
    const __m256 size = _mm256_add_ps(_mm256_add_ps(d, _mm256_mul_ps(read.a, by.error)), by.cut);
    const __m256 wanted =
        _mm256_mul_ps(_mm256_mul_ps(by.least, read.a), _mm256_sub_ps(by.least_whole, read.a));
    return static_cast<u32>(
        _mm256_movemask_ps(_mm256_cmp_ps(_mm256_mul_ps(size, size), wanted, _CMP_GE_OQ)));
  }

  COMMITTEE_AVX2 static u32 find_passing_avx2(const SumScreen& screen, const i64* sums, u32 first,
                                              u32 last) {
    Wide by;
    spread(screen, by);
    for (u32 b = first; b < last; b += 8)
      if (test_eight(by, sums + b) != 0) return b;
    return last;
  }

  COMMITTEE_AVX2 static i64 find_good_avx2(const SumScreen& screen, const i64* sums, u32 first,
                                           u32 last) {
    Wide by;
    spread(screen, by);
    __m256 num = _mm256_setzero_ps(), den = _mm256_set1_ps(1.0f);
    __m256i at = _mm256_set1_epi32(-1);
    __m256i index = _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLanes)),
                                     _mm256_set1_epi32(static_cast<int>(first)));
    for (u32 b = first; b < last; b += 8) {
      const Fraction read = read_eight(by, sums + b);
      const __m256 other_num = _mm256_mul_ps(read.d, read.d);
      const __m256 other_den = _mm256_mul_ps(read.a, _mm256_sub_ps(by.whole, read.a));
      const __m256 more =
          _mm256_cmp_ps(_mm256_mul_ps(other_num, den), _mm256_mul_ps(num, other_den), _CMP_GT_OQ);
      num = _mm256_blendv_ps(num, other_num, more);
      den = _mm256_blendv_ps(den, other_den, more);
      at = _mm256_blendv_epi8(at, index, _mm256_castps_si256(more));
      index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
    }
    float nums[8], dens[8];
    int places[8];
    _mm256_storeu_ps(nums, num);
    _mm256_storeu_ps(dens, den);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places), at);
    return find_largest(nums, dens, places);
  }

  COMMITTEE_AVX2 static u32 list_passing_avx2(const SumScreen& screen, const i64* sums, u32 first,
                                              u32 last, u32* found) {
    Wide by;
    spread(screen, by);
    u32 n = 0;
    for (u32 b = first; b < last; b += 8) {
      const u32 passing = test_eight(by, sums + b);
      if (passing == 0) continue;
      // Lane kLanes[k] has the sum k, as lane k has the sum kLanes[k].
      for (u32 k = 0; k < 8 && b + k < last; ++k)
        if ((passing >> kLanes[k] & 1u) != 0) found[n++] = b + k;
    }
    return n;
  }
#endif
};

SumScreen::SumScreen(const SplitBalance& balance, double scale, const SumHalves& halves)
    : halves_(halves),
      l2_(static_cast<float>(balance.l2)),
      whole_(static_cast<float>(balance.whole)),
      ratio_(static_cast<float>(balance.ratio * scale)) {
  constexpr float kUnit = 0x1p-24f;
  error_ = 8.0f * kUnit * std::abs(ratio_);
  least_whole_ = whole_ - 8.0f * kUnit * whole_;
}

void SumScreen::raise(double x) {
  constexpr double kSmallest = 1e-30, kLargest = 1e30;
  least_ = x > kSmallest ? static_cast<float>(std::min(x, kLargest) * (1.0 - 0x1p-16)) : 0.0f;
}

u32 SumScreen::find_passing(const i64* sums, u32 first, u32 last) const {
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) return SumForms::find_passing_avx2(*this, sums, first, last);
#endif
  return halves_.cuts ? SumForms::find_passing<UnevenHalves>(*this, sums, first, last)
                      : SumForms::find_passing<EvenHalves>(*this, sums, first, last);
}

i64 SumScreen::find_good(const i64* sums, u32 first, u32 last) const {
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) return SumForms::find_good_avx2(*this, sums, first, last);
#endif
  return halves_.cuts ? SumForms::find_good<UnevenHalves>(*this, sums, first, last)
                      : SumForms::find_good<EvenHalves>(*this, sums, first, last);
}

u32 SumScreen::list_passing(const i64* sums, u32 first, u32 last, u32* found) const {
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2))
    return SumForms::list_passing_avx2(*this, sums, first, last, found);
#endif
  return halves_.cuts ? SumForms::list_passing<UnevenHalves>(*this, sums, first, last, found)
                      : SumForms::list_passing<EvenHalves>(*this, sums, first, last, found);
}

}  // namespace committee
