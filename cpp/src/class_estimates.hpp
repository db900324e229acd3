// What boundaries between rows of up to eight classes are worth, where the classes' weights are the
// bytes of a word and weigh 255 in all: sums of squares fit 16 bits, and what an estimate multiplies
// and adds is exact in single precision. It is off by the rounding of one division.
#pragma once
#include "committee/class_sweep.hpp"

namespace committee {

// Whatever is estimated less than this share of another is worth less.
inline constexpr float kSurelyLess = 1.0f - 0x1p-20f;

using FloatQuad [[gnu::vector_size(16)]] = float;

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

// Four boundaries, by what lies left of each.
class WordQuad {
 public:
  WordQuad(u64 total, u32 weight) : total_(total), weight_(static_cast<float>(weight)) {}

  FloatQuad estimate(const u64* lefts) const {
    FloatQuad a, b, l;
    measure(lefts, a, b, l);
    const FloatQuad r = weight_ - l;
    return (a * r + b * l) / (l * r);
  }

 private:
  // Sums of squares on both sides, and the weight of the left one.
#if defined(__aarch64__)
  void measure(const u64* lefts, FloatQuad& a, FloatQuad& b, FloatQuad& l) const {
    const uint8x16_t total = vreinterpretq_u8_u64(vdupq_n_u64(total_));
    const uint8x16_t first = vreinterpretq_u8_u64(vld1q_u64(lefts));
    const uint8x16_t second = vreinterpretq_u8_u64(vld1q_u64(lefts + 2));
    const uint16x8_t squares =
        vpaddq_u16(add_squares(first, second),
                   add_squares(vsubq_u8(total, first), vsubq_u8(total, second)));
    a = (FloatQuad)vcvtq_f32_u32(vmovl_u16(vget_low_u16(squares)));
    b = (FloatQuad)vcvtq_f32_u32(vmovl_high_u16(squares));
    uint8x16_t weights = vpaddq_u8(first, second);
    weights = vpaddq_u8(weights, weights);
    weights = vpaddq_u8(weights, weights);
    l = (FloatQuad)vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vget_low_u8(weights)))));
  }
  // Two halves of the sum of each word.
  static uint16x8_t add_squares(uint8x16_t first, uint8x16_t second) {
    const auto square = [](uint8x16_t words) {
      return vpaddq_u16(vmull_u8(vget_low_u8(words), vget_low_u8(words)),
                        vmull_high_u8(words, words));
    };
    return vpaddq_u16(square(first), square(second));
  }
#else
  void measure(const u64* lefts, FloatQuad& a, FloatQuad& b, FloatQuad& l) const {
    for (int k = 0; k < 4; ++k) {
      const u64 left = lefts[k], right = total_ - left;
      a[k] = static_cast<float>(ByteSweep::add_squares(left));
      b[k] = static_cast<float>(ByteSweep::add_squares(right));
      l[k] = static_cast<float>(ByteSweep::add_bytes(left));
    }
  }
#endif

  const u64 total_;
  const float weight_;
};

}  // namespace committee
