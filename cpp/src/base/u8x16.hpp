// Sixteen rows at once, a byte each.
#pragma once
#include "committee/types.hpp"
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace committee {

// A lane a row.
using RowLanes COMMITTEE_VECTOR(16) = u8;
inline constexpr std::size_t kRowLanes = sizeof(RowLanes);

inline RowLanes load_lanes(const u8* bytes) {
  RowLanes lanes;
  std::memcpy(&lanes, bytes, sizeof lanes);
  return lanes;
}

#if defined(__aarch64__)
inline RowLanes make_lanes(u64 low, u64 high) {
  return (RowLanes)vcombine_u64(vcreate_u64(low), vcreate_u64(high));
}
// A bit a lane, of lanes that are 0 or 255.
inline u32 list_bits(RowLanes lanes) {
  const RowLanes bits = lanes & RowLanes{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t pairs = vpaddq_u8((uint8x16_t)bits, (uint8x16_t)bits);
  const uint8x16_t fours = vpaddq_u8(pairs, pairs);
  return vgetq_lane_u16(vreinterpretq_u16_u8(vpaddq_u8(fours, fours)), 0);
}
inline u32 least_lane(RowLanes lanes) {
  return vminvq_u8((uint8x16_t)lanes);
}
inline u32 largest_lane(RowLanes lanes) {
  return vmaxvq_u8((uint8x16_t)lanes);
}
inline u32 add_lanes(RowLanes lanes) {
  return vaddlvq_u8((uint8x16_t)lanes);
}
#elif defined(__SSE2__)
inline RowLanes make_lanes(u64 low, u64 high) {
  return (RowLanes)_mm_set_epi64x(static_cast<i64>(high), static_cast<i64>(low));
}
inline u32 list_bits(RowLanes lanes) {
  return static_cast<u32>(_mm_movemask_epi8((__m128i)lanes));
}
// Folds the upper half upon the lower one until a lane is left.
template <class Fold>
inline u32 fold_lanes(RowLanes lanes, Fold&& fold) {
  __m128i folded = (__m128i)lanes;
  folded = fold(folded, _mm_srli_si128(folded, 8));
  folded = fold(folded, _mm_srli_si128(folded, 4));
  folded = fold(folded, _mm_srli_si128(folded, 2));
  folded = fold(folded, _mm_srli_si128(folded, 1));
  return static_cast<u32>(_mm_cvtsi128_si32(folded)) & 0xFF;
}
inline u32 least_lane(RowLanes lanes) {
  return fold_lanes(lanes, [](__m128i a, __m128i b) { return _mm_min_epu8(a, b); });
}
inline u32 largest_lane(RowLanes lanes) {
  return fold_lanes(lanes, [](__m128i a, __m128i b) { return _mm_max_epu8(a, b); });
}
inline u32 add_lanes(RowLanes lanes) {
  const __m128i sums = _mm_sad_epu8((__m128i)lanes, _mm_setzero_si128());  // of both halves
  return static_cast<u32>(_mm_cvtsi128_si32(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))));
}
#else
inline RowLanes make_lanes(u64 low, u64 high) {
  const u64 words[2] = {low, high};
  RowLanes lanes;
  std::memcpy(&lanes, words, sizeof lanes);
  return lanes;
}
inline u32 list_bits(RowLanes lanes) {
  u32 bits = 0;
  for (std::size_t i = 0; i < kRowLanes; ++i) bits |= u32{lanes[i] & 1u} << i;
  return bits;
}
// Folds the upper half upon the lower one until a lane is left.
template <class Fold>
u32 fold_lanes(RowLanes lanes, Fold fold) {
  lanes = fold(lanes,
               shuffle_lanes<8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7>(lanes, lanes));
  lanes = fold(lanes, shuffle_lanes<4, 5, 6, 7, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7>(lanes, lanes));
  lanes = fold(lanes, shuffle_lanes<2, 3, 0, 1, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7>(lanes, lanes));
  lanes = fold(lanes, shuffle_lanes<1, 0, 0, 1, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7>(lanes, lanes));
  return lanes[0];
}
inline u32 least_lane(RowLanes lanes) {
  return fold_lanes(lanes, [](RowLanes a, RowLanes b) { return a < b ? a : b; });
}
inline u32 largest_lane(RowLanes lanes) {
  return fold_lanes(lanes, [](RowLanes a, RowLanes b) { return a > b ? a : b; });
}
inline u32 add_lanes(RowLanes lanes) {
  constexpr u64 kEven = 0x00FF00FF00FF00FFull;
  u64 words[2];
  std::memcpy(words, &lanes, sizeof words);
  u64 pairs = 0;  // four sums of 16 bits
  for (const u64 word : words) pairs += (word & kEven) + (word >> 8 & kEven);
  return static_cast<u32>(pairs * 0x0001000100010001ull >> 48);
}
#endif

// Sixteen rows of sixteen bytes become sixteen columns: four rounds, each of which merges the first
// half of the lanes with the second.
inline void transpose_lanes(RowLanes (&lanes)[kRowLanes]) {
  RowLanes merged[kRowLanes];
  auto merge = [](const RowLanes* from, RowLanes* to) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      to[2 * k] = shuffle_lanes<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(
          from[k], from[k + 8]);
      to[2 * k + 1] = shuffle_lanes<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(
          from[k], from[k + 8]);
    }
  };
  merge(lanes, merged);
  merge(merged, lanes);
  merge(lanes, merged);
  merge(merged, lanes);
}

}  // namespace committee
