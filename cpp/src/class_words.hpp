// The weights of up to eight classes in one word, and what a boundary between such weights is worth
// by Gini: bytes, where a node weighs at most 255, and lanes of 16 bits, where it weighs at most
// 65535. Sums of squares then fit 16 and 32 bits.
#pragma once
#include "committee/class_sweep.hpp"

namespace committee {

using ByteWord = u64;
using WideWord [[gnu::vector_size(16)]] = u16;

template <class Word>
inline constexpr u32 kMostWordWeight = sizeof(Word) == sizeof(ByteWord) ? 255 : 65535;
inline constexpr u32 kWordClasses = 8;

#if defined(__aarch64__)
inline WideWord widen(ByteWord word) {
  return (WideWord)vmovl_u8(vcreate_u8(word));
}
// Of a word that weighs little enough.
inline ByteWord narrow(WideWord word) {
  return vget_lane_u64(vreinterpret_u64_u8(vmovn_u16((uint16x8_t)word)), 0);
}
#else
inline WideWord widen(ByteWord word) {
  WideWord wide;
  for (u32 c = 0; c < kWordClasses; ++c) wide[c] = static_cast<u16>(word >> (8 * c) & 0xFF);
  return wide;
}
inline ByteWord narrow(WideWord word) {
  ByteWord bytes = 0;
  for (u32 c = 0; c < kWordClasses; ++c) bytes |= u64{word[c]} << (8 * c);
  return bytes;
}
#endif
template <class Word>
Word word_of(ByteWord bytes) {
  if constexpr (sizeof(Word) == sizeof(ByteWord)) {
    return bytes;
  } else {
    return widen(bytes);
  }
}

inline u32 class_weight(ByteWord word, u32 c) {
  return static_cast<u32>(word >> (8 * c) & 0xFF);
}
inline u32 class_weight(WideWord word, u32 c) {
  return word[c];
}
inline bool is_nothing(ByteWord word) {
  return word == 0;
}

inline u32 weigh(ByteWord word) {
  return ByteSweep::add_bytes(word);
}
inline u32 add_squares(ByteWord word) {
  return ByteSweep::add_squares(word);
}
#if defined(__aarch64__)
inline u32 weigh(WideWord word) {
  return vaddlvq_u16((uint16x8_t)word);
}
inline u32 add_squares(WideWord word) {
  const uint16x8_t own = (uint16x8_t)word;
  return vaddvq_u32(vmlal_high_u16(vmull_u16(vget_low_u16(own), vget_low_u16(own)), own, own));
}
inline u32 heaviest_class(WideWord word) {
  return vmaxvq_u16((uint16x8_t)word);
}
#else
inline u32 weigh(WideWord word) {
  u32 sum = 0;
  for (u32 c = 0; c < kWordClasses; ++c) sum += word[c];
  return sum;
}
inline u32 add_squares(WideWord word) {
  u32 sum = 0;
  for (u32 c = 0; c < kWordClasses; ++c) sum += u32{word[c]} * u32{word[c]};
  return sum;
}
inline u32 heaviest_class(WideWord word) {
  u32 most = 0;
  for (u32 c = 0; c < kWordClasses; ++c) most = word[c] > most ? word[c] : most;
  return most;
}
#endif
inline bool is_nothing(WideWord word) {
  return heaviest_class(word) == 0;
}

// Whether there is one class, of a word that is not nothing.
inline bool is_pure(ByteWord word) {
  return word >> (static_cast<u32>(__builtin_ctzll(word)) & ~7u) <= 255;
}
inline bool is_pure(WideWord word) {
  return heaviest_class(word) == weigh(word);
}

// The worth of both sides of a boundary, as everywhere else.
template <class Word>
double score_sides(Word left, Word total) {
  const u32 weight = weigh(total), l = weigh(left);
  return static_cast<double>(add_squares(left)) / l +
         static_cast<double>(add_squares(total - left)) / (weight - l);
}

using FloatQuad [[gnu::vector_size(16)]] = float;

// Estimates in single precision are off by some roundings (bytes: by one, since all that comes
// before the division is exact): whatever is less than this share of another is worth less.
inline constexpr float kSurelyLess = 1.0f - 0x1p-19f;

#if defined(__aarch64__)
inline FloatQuad larger_of(FloatQuad a, FloatQuad b) {
  return (FloatQuad)vmaxq_f32((float32x4_t)a, (float32x4_t)b);
}
inline float largest_of(FloatQuad quad) {
  return vmaxvq_f32((float32x4_t)quad);
}
// A bit a lane that is not less.
inline u32 find_at_least(FloatQuad quad, float bar) {
  const uint32x4_t bits = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(vcgeq_f32((float32x4_t)quad, vdupq_n_f32(bar)), bits));
}
#else
inline FloatQuad larger_of(FloatQuad a, FloatQuad b) {
  return a > b ? a : b;
}
inline float largest_of(FloatQuad quad) {
  const float ab = quad[0] > quad[1] ? quad[0] : quad[1];
  const float cd = quad[2] > quad[3] ? quad[2] : quad[3];
  return ab > cd ? ab : cd;
}
inline u32 find_at_least(FloatQuad quad, float bar) {
  u32 found = 0;
  for (u32 k = 0; k < 4; ++k) found |= u32{quad[k] >= bar} << k;
  return found;
}
#endif

// Sums of squares on both sides of four boundaries, and the weights of their left sides.
struct QuadSums {
  FloatQuad left_squares, right_squares, left_weights;
};

#if defined(__aarch64__)
// Halves of the sums of squares of four words.
inline uint16x8_t halve_squares(uint8x16_t first, uint8x16_t second) {
  const auto square = [](uint8x16_t words) {
    return vpaddq_u16(vmull_u8(vget_low_u8(words), vget_low_u8(words)),
                      vmull_high_u8(words, words));
  };
  return vpaddq_u16(square(first), square(second));
}
inline QuadSums sum_four(const ByteWord* lefts, ByteWord total) {
  const uint8x16_t all = vreinterpretq_u8_u64(vdupq_n_u64(total));
  const uint8x16_t first = vreinterpretq_u8_u64(vld1q_u64(lefts));
  const uint8x16_t second = vreinterpretq_u8_u64(vld1q_u64(lefts + 2));
  const uint16x8_t squares = vpaddq_u16(halve_squares(first, second),
                                        halve_squares(vsubq_u8(all, first), vsubq_u8(all, second)));
  uint8x16_t weights = vpaddq_u8(first, second);
  weights = vpaddq_u8(weights, weights);
  weights = vpaddq_u8(weights, weights);
  const uint32x4_t left_weights = vmovl_u16(vget_low_u16(vmovl_u8(vget_low_u8(weights))));
  return {(FloatQuad)vcvtq_f32_u32(vmovl_u16(vget_low_u16(squares))),
          (FloatQuad)vcvtq_f32_u32(vmovl_high_u16(squares)),
          (FloatQuad)vcvtq_f32_u32(left_weights)};
}
inline QuadSums sum_four(const WideWord* lefts, WideWord total) {
  const uint16x8_t a = (uint16x8_t)lefts[0], b = (uint16x8_t)lefts[1], c = (uint16x8_t)lefts[2],
                   d = (uint16x8_t)lefts[3], all = (uint16x8_t)total;
  const auto square = [](uint16x8_t own) {
    return vmlal_high_u16(vmull_u16(vget_low_u16(own), vget_low_u16(own)), own, own);
  };
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
#else
template <class Word>
QuadSums sum_four(const Word* lefts, Word total) {
  QuadSums sums;
  for (int k = 0; k < 4; ++k) {
    sums.left_squares[k] = static_cast<float>(add_squares(lefts[k]));
    sums.right_squares[k] = static_cast<float>(add_squares(total - lefts[k]));
    sums.left_weights[k] = static_cast<float>(weigh(lefts[k]));
  }
  return sums;
}
#endif

// What four boundaries are worth, by what lies left of each.
template <class Word>
FloatQuad estimate_four(const Word* lefts, Word total, float weight) {
  const QuadSums sums = sum_four(lefts, total);
  const FloatQuad l = sums.left_weights, r = weight - l;
  return (sums.left_squares * r + sums.right_squares * l) / (l * r);
}

// What the rows add up to whose byte, one in `stride`, has no bit of the mask.
template <std::size_t kStride, class Word>
Word add_unset(const u8* bytes, u8 mask, const ByteWord* packs, u32 n) {
#if defined(__aarch64__)
  const uint8x8_t masks = vdup_n_u8(mask);
  const auto unset = [&](u32 i) {
    return vbic_u8(vcreate_u8(packs[i]), vtst_u8(vld1_dup_u8(bytes + i * kStride), masks));
  };
  u32 i = 0;
  if constexpr (sizeof(Word) == sizeof(ByteWord)) {
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
    return (WideWord)vaddq_u16(even, odd);
  }
#else
  Word sum{};
  for (u32 i = 0; i < n; ++i)
    sum += word_of<Word>(packs[i] & (u64{(bytes[i * kStride] & mask) != 0} - 1));
  return sum;
#endif
}

}  // namespace committee
