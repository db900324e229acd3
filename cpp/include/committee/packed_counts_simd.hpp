// Sums over the lanes of words of class weights, in plain C++ and, where there are any, by
// instructions for them. The plain forms are compiled everywhere, and tests hold the others to
// them.
#pragma once
#include "gini_sums.hpp"

namespace committee {

using PackedCounts8 = u64;
using PackedCounts16 COMMITTEE_VECTOR(16) = u16;
using FloatQuad COMMITTEE_VECTOR(16) = float;

inline constexpr u32 kPackedClasses = 8;

// Sums of squares on both sides of four boundaries, and the weights of their left sides.
struct QuadSums {
  FloatQuad left_squares, right_squares, left_weights;
};

struct PackedCountsScalar {
  static PackedCounts16 widen(PackedCounts8 word) {
    PackedCounts16 wide;
    for (u32 c = 0; c < kPackedClasses; ++c) wide[c] = static_cast<u16>(word >> (8 * c) & 0xFF);
    return wide;
  }
  // Of a word that weighs little enough.
  static PackedCounts8 narrow(PackedCounts16 word) {
    PackedCounts8 bytes = 0;
    for (u32 c = 0; c < kPackedClasses; ++c) bytes |= u64{word[c]} << (8 * c);
    return bytes;
  }

  static u32 weigh(PackedCounts8 word) { return PackedGiniSums::add_bytes(word); }
  static u32 weigh(PackedCounts16 word) {
    u32 sum = 0;
    for (u32 c = 0; c < kPackedClasses; ++c) sum += word[c];
    return sum;
  }
  static u32 add_squares(PackedCounts8 word) { return PackedGiniSums::add_squares(word); }
  static u32 add_squares(PackedCounts16 word) {
    u32 sum = 0;
    for (u32 c = 0; c < kPackedClasses; ++c) sum += u32{word[c]} * u32{word[c]};
    return sum;
  }
  static u32 heaviest_class(PackedCounts16 word) {
    u32 most = 0;
    for (u32 c = 0; c < kPackedClasses; ++c) most = word[c] > most ? word[c] : most;
    return most;
  }
  static bool is_nothing(PackedCounts16 word) { return heaviest_class(word) == 0; }

  static FloatQuad larger_of(FloatQuad a, FloatQuad b) { return a > b ? a : b; }
  static float largest_of(FloatQuad quad) {
    const float ab = quad[0] > quad[1] ? quad[0] : quad[1];
    const float cd = quad[2] > quad[3] ? quad[2] : quad[3];
    return ab > cd ? ab : cd;
  }
  // A bit a lane that is not less.
  static u32 find_at_least(FloatQuad quad, float bar) {
    u32 found = 0;
    for (u32 k = 0; k < 4; ++k) found |= u32{quad[k] >= bar} << k;
    return found;
  }

  template <class Word>
  static QuadSums sum_four(const Word* lefts, Word total) {
    QuadSums sums;
    for (int k = 0; k < 4; ++k) {
      sums.left_squares[k] = static_cast<float>(add_squares(lefts[k]));
      sums.right_squares[k] = static_cast<float>(add_squares(total - lefts[k]));
      sums.left_weights[k] = static_cast<float>(weigh(lefts[k]));
    }
    return sums;
  }

  // What the rows add up to whose byte, one in `stride`, has no bit of the mask.
  template <std::size_t kStride, class Word>
  static Word add_unset(const u8* bytes, u8 mask, const PackedCounts8* packs, u32 n) {
    Word sum{};
    for (u32 i = 0; i < n; ++i) {
      const PackedCounts8 own = packs[i] & (u64{(bytes[i * kStride] & mask) != 0} - 1);
      if constexpr (sizeof(Word) == sizeof(PackedCounts8)) {
        sum += own;
      } else {
        sum += widen(own);
      }
    }
    return sum;
  }
};

#if defined(__aarch64__)
struct PackedCountsNeon {
  static PackedCounts16 widen(PackedCounts8 word) {
    return (PackedCounts16)vmovl_u8(vcreate_u8(word));
  }
  static PackedCounts8 narrow(PackedCounts16 word) {
    return vget_lane_u64(vreinterpret_u64_u8(vmovn_u16((uint16x8_t)word)), 0);
  }

  static u32 weigh(PackedCounts16 word) { return vaddlvq_u16((uint16x8_t)word); }
  static u32 add_squares(PackedCounts16 word) { return vaddvq_u32(square((uint16x8_t)word)); }
  static u32 heaviest_class(PackedCounts16 word) { return vmaxvq_u16((uint16x8_t)word); }
  static bool is_nothing(PackedCounts16 word) { return heaviest_class(word) == 0; }

  static FloatQuad larger_of(FloatQuad a, FloatQuad b) {
    return (FloatQuad)vmaxq_f32((float32x4_t)a, (float32x4_t)b);
  }
  static float largest_of(FloatQuad quad) { return vmaxvq_f32((float32x4_t)quad); }
  static u32 find_at_least(FloatQuad quad, float bar) {
    const uint32x4_t bits = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vcgeq_f32((float32x4_t)quad, vdupq_n_f32(bar)), bits));
  }

  static QuadSums sum_four(const PackedCounts8* lefts, PackedCounts8 total) {
    const uint8x16_t all = vreinterpretq_u8_u64(vdupq_n_u64(total));
    const uint8x16_t first = vreinterpretq_u8_u64(vld1q_u64(lefts));
    const uint8x16_t second = vreinterpretq_u8_u64(vld1q_u64(lefts + 2));
    const uint16x8_t squares = vpaddq_u16(
        halve_squares(first, second), halve_squares(vsubq_u8(all, first), vsubq_u8(all, second)));
    uint8x16_t weights = vpaddq_u8(first, second);
    weights = vpaddq_u8(weights, weights);
    weights = vpaddq_u8(weights, weights);
    const uint32x4_t left_weights = vmovl_u16(vget_low_u16(vmovl_u8(vget_low_u8(weights))));
    return {(FloatQuad)vcvtq_f32_u32(vmovl_u16(vget_low_u16(squares))),
            (FloatQuad)vcvtq_f32_u32(vmovl_high_u16(squares)),
            (FloatQuad)vcvtq_f32_u32(left_weights)};
  }
  static QuadSums sum_four(const PackedCounts16* lefts, PackedCounts16 total) {
    const uint16x8_t a = (uint16x8_t)lefts[0], b = (uint16x8_t)lefts[1], c = (uint16x8_t)lefts[2],
                     d = (uint16x8_t)lefts[3], all = (uint16x8_t)total;
    const uint32x4_t left_squares = vpaddq_u32(vpaddq_u32(square(a), square(b)),  //
                                               vpaddq_u32(square(c), square(d)));
    const uint32x4_t right_squares =
        vpaddq_u32(vpaddq_u32(square(vsubq_u16(all, a)), square(vsubq_u16(all, b))),
                   vpaddq_u32(square(vsubq_u16(all, c)), square(vsubq_u16(all, d))));
    uint16x8_t weights = vpaddq_u16(vpaddq_u16(a, b), vpaddq_u16(c, d));
    weights = vpaddq_u16(weights, weights);
    return {(FloatQuad)vcvtq_f32_u32(left_squares), (FloatQuad)vcvtq_f32_u32(right_squares),
            (FloatQuad)vcvtq_f32_u32(vmovl_u16(vget_low_u16(weights)))};
  }

  template <std::size_t kStride, class Word>
  static Word add_unset(const u8* bytes, u8 mask, const PackedCounts8* packs, u32 n) {
    const uint8x8_t masks = vdup_n_u8(mask);
    const auto unset = [&](u32 i) {
      return vbic_u8(vcreate_u8(packs[i]), vtst_u8(vld1_dup_u8(bytes + i * kStride), masks));
    };
    u32 i = 0;
    if constexpr (sizeof(Word) == sizeof(PackedCounts8)) {
      uint8x8_t sum = vdup_n_u8(0);
      for (; i < n; ++i) sum = vadd_u8(sum, unset(i));
      return vget_lane_u64(vreinterpret_u64_u8(sum), 0);
    } else {
      uint16x8_t even = vdupq_n_u16(0), odd = even;
      for (; i + 1 < n; i += 2) {
        even = vaddw_u8(even, unset(i));
        odd = vaddw_u8(odd, unset(i + 1));
      }
      if (i < n) even = vaddw_u8(even, unset(i));
      return (PackedCounts16)vaddq_u16(even, odd);
    }
  }

 private:
  // Squares of eight lanes, added up to four.
  static uint32x4_t square(uint16x8_t own) {
    return vmlal_high_u16(vmull_u16(vget_low_u16(own), vget_low_u16(own)), own, own);
  }
  // Halves of the sums of squares of four words.
  static uint16x8_t halve_squares(uint8x16_t first, uint8x16_t second) {
    const auto square_bytes = [](uint8x16_t words) {
      return vpaddq_u16(vmull_u8(vget_low_u8(words), vget_low_u8(words)),
                        vmull_high_u8(words, words));
    };
    return vpaddq_u16(square_bytes(first), square_bytes(second));
  }
};
using PackedCountsSimd = PackedCountsNeon;
#elif defined(__SSE2__)
// Every x86-64 processor has SSE2, so that this needs no choice at run time.
struct PackedCountsSse2 {
  static PackedCounts16 widen(PackedCounts8 word) {
    return (PackedCounts16)_mm_unpacklo_epi8(_mm_cvtsi64_si128(static_cast<i64>(word)), zero());
  }
  static PackedCounts8 narrow(PackedCounts16 word) {
    return static_cast<u64>(_mm_cvtsi128_si64(_mm_packus_epi16((__m128i)word, (__m128i)word)));
  }

  static u32 weigh(PackedCounts16 word) { return add_up(add_pairs((__m128i)word)); }
  static u32 add_squares(PackedCounts16 word) { return add_up(square((__m128i)word)); }
  static u32 heaviest_class(PackedCounts16 word) {
    __m128i most = (__m128i)word;
    most = larger(most, _mm_srli_si128(most, 8));
    most = larger(most, _mm_srli_si128(most, 4));
    most = larger(most, _mm_srli_si128(most, 2));
    return static_cast<u32>(_mm_cvtsi128_si32(most)) & 0xFFFF;
  }
  static bool is_nothing(PackedCounts16 word) {
    return _mm_movemask_epi8(_mm_cmpeq_epi8((__m128i)word, zero())) == 0xFFFF;
  }

  static FloatQuad larger_of(FloatQuad a, FloatQuad b) {
    return (FloatQuad)_mm_max_ps((__m128)a, (__m128)b);
  }
  static float largest_of(FloatQuad quad) {
    const __m128 own = (__m128)quad, pair = _mm_max_ps(own, _mm_movehl_ps(own, own));
    return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
  }
  static u32 find_at_least(FloatQuad quad, float bar) {
    return static_cast<u32>(_mm_movemask_ps(_mm_cmpge_ps((__m128)quad, _mm_set1_ps(bar))));
  }

  // Bytes are at most 255, so that the squares of a pair of them fit the sums of the
  // multiplication.
  static QuadSums sum_four(const PackedCounts8* lefts, PackedCounts8 total) {
    const __m128i all = (__m128i)widen(total);
    const __m128i first = load(lefts), second = load(lefts + 2);
    __m128i left[4] = {_mm_unpacklo_epi8(first, zero()), _mm_unpackhi_epi8(first, zero()),
                       _mm_unpacklo_epi8(second, zero()), _mm_unpackhi_epi8(second, zero())};
    __m128i right[4];
    for (int k = 0; k < 4; ++k) {
      right[k] = _mm_sub_epi16(all, left[k]);
      right[k] = _mm_madd_epi16(right[k], right[k]);
      left[k] = _mm_madd_epi16(left[k], left[k]);
    }
    const __m128 weights =
        _mm_shuffle_ps(_mm_castsi128_ps(_mm_sad_epu8(first, zero())),
                       _mm_castsi128_ps(_mm_sad_epu8(second, zero())), _MM_SHUFFLE(2, 0, 2, 0));
    return {(FloatQuad)_mm_cvtepi32_ps(add_up(left)), (FloatQuad)_mm_cvtepi32_ps(add_up(right)),
            (FloatQuad)_mm_cvtepi32_ps(_mm_castps_si128(weights))};
  }
  static QuadSums sum_four(const PackedCounts16* lefts, PackedCounts16 total) {
    __m128i left[4], right[4], weights[4];
    for (int k = 0; k < 4; ++k) {
      const __m128i own = (__m128i)lefts[k];
      left[k] = square(own);
      right[k] = square(_mm_sub_epi16((__m128i)total, own));
      weights[k] = add_pairs(own);
    }
    return {to_floats(add_up(left)), to_floats(add_up(right)),
            (FloatQuad)_mm_cvtepi32_ps(add_up(weights))};
  }

  template <std::size_t kStride, class Word>
  static Word add_unset(const u8* bytes, u8 mask, const PackedCounts8* packs, u32 n) {
    const auto unset = [&](u32 i) {
      return packs[i] & (u64{(bytes[i * kStride] & mask) != 0} - 1);
    };
    Word even{}, odd{};
    u32 i = 0;
    for (; i + 1 < n; i += 2) {
      even += word_of<Word>(unset(i));
      odd += word_of<Word>(unset(i + 1));
    }
    if (i < n) even += word_of<Word>(unset(i));
    return even + odd;
  }

 private:
  template <class Word>
  static Word word_of(PackedCounts8 bytes) {
    if constexpr (sizeof(Word) == sizeof(PackedCounts8)) {
      return bytes;
    } else {
      return widen(bytes);
    }
  }
  static __m128i zero() { return _mm_setzero_si128(); }
  static __m128i load(const PackedCounts8* words) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
  }
  // Of unsigned lanes: what a is more than b, and b.
  static __m128i larger(__m128i a, __m128i b) { return _mm_add_epi16(_mm_subs_epu16(a, b), b); }
  // Squares of eight lanes, added up to four.
  static __m128i square(__m128i own) {
    const __m128i low = _mm_mullo_epi16(own, own), high = _mm_mulhi_epu16(own, own);
    return _mm_add_epi32(_mm_unpacklo_epi16(low, high), _mm_unpackhi_epi16(low, high));
  }
  // Eight lanes, added up to four.
  static __m128i add_pairs(__m128i own) {
    return _mm_add_epi32(_mm_and_si128(own, _mm_set1_epi32(0xFFFF)), _mm_srli_epi32(own, 16));
  }
  static u32 add_up(__m128i sums) {
    sums = _mm_add_epi32(sums, _mm_unpackhi_epi64(sums, sums));
    return static_cast<u32>(_mm_cvtsi128_si32(sums)) +
           static_cast<u32>(_mm_cvtsi128_si32(_mm_shuffle_epi32(sums, 1)));
  }
  // The sums of four vectors, a lane each.
  static __m128i add_up(const __m128i (&own)[4]) {
    const __m128i first =
        _mm_add_epi32(_mm_unpacklo_epi32(own[0], own[1]), _mm_unpackhi_epi32(own[0], own[1]));
    const __m128i second =
        _mm_add_epi32(_mm_unpacklo_epi32(own[2], own[3]), _mm_unpackhi_epi32(own[2], own[3]));
    return _mm_add_epi32(_mm_unpacklo_epi64(first, second), _mm_unpackhi_epi64(first, second));
  }
  // Unsigned lanes: both halves are exact, so that their sum is rounded once.
  static FloatQuad to_floats(__m128i lanes) {
    const __m128 high = _mm_cvtepi32_ps(_mm_srli_epi32(lanes, 16));
    const __m128 low = _mm_cvtepi32_ps(_mm_and_si128(lanes, _mm_set1_epi32(0xFFFF)));
    return (FloatQuad)_mm_add_ps(_mm_mul_ps(high, _mm_set1_ps(65536.0f)), low);
  }
};
using PackedCountsSimd = PackedCountsSse2;
#else
using PackedCountsSimd = PackedCountsScalar;
#endif

}  // namespace committee
