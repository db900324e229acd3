// The weights of up to eight classes in one word, and the score of a boundary between such weights
// by Gini: bytes, where a node weighs at most 255, and lanes of 16 bits, where it weighs at most
// 65535. Sums of squares then fit 16 and 32 bits.
#pragma once
#include <bit>

#include "committee/packed_counts_simd.hpp"

namespace committee {

template <class Word>
inline constexpr u32 kMostWordWeight = sizeof(Word) == sizeof(PackedCounts8) ? 255 : 65535;

template <class Word>
Word word_of(PackedCounts8 bytes) {
  if constexpr (sizeof(Word) == sizeof(PackedCounts8)) {
    return bytes;
  } else {
    return PackedCountsSimd::widen(bytes);
  }
}

inline u32 class_weight(PackedCounts8 word, u32 c) {
  return static_cast<u32>(word >> (8 * c) & 0xFF);
}
inline u32 class_weight(PackedCounts16 word, u32 c) {
  return word[c];
}

inline u32 weigh(PackedCounts8 word) {
  return PackedGiniSums::add_bytes(word);
}
inline u32 weigh(PackedCounts16 word) {
  return PackedCountsSimd::weigh(word);
}
inline u32 add_squares(PackedCounts8 word) {
  return PackedGiniSums::add_squares(word);
}
inline u32 add_squares(PackedCounts16 word) {
  return PackedCountsSimd::add_squares(word);
}

inline bool is_nothing(PackedCounts8 word) {
  return word == 0;
}
inline bool is_nothing(PackedCounts16 word) {
  return PackedCountsSimd::is_nothing(word);
}

// Whether there is one class, of a word that is not nothing.
inline bool is_pure(PackedCounts8 word) {
  return word >> (static_cast<u32>(std::countr_zero(word)) & ~7u) <= 255;
}
inline bool is_pure(PackedCounts16 word) {
  return PackedCountsSimd::heaviest_class(word) == weigh(word);
}

// The impurity terms of both sides of a boundary, as everywhere else.
template <class Word>
double score_sides(Word left, Word total) {
  const u32 weight = weigh(total), l = weigh(left);
  return static_cast<double>(add_squares(left)) / l +
         static_cast<double>(add_squares(total - left)) / (weight - l);
}

// Estimates in single precision are off by some roundings (bytes: by one, since all that comes
// before the division is exact): what is less than this share of another scores less.
inline constexpr float kSurelyLess = 1.0f - 0x1p-19f;

// The scores of four boundaries, by what lies left of each.
template <class Word>
FloatQuad estimate_four(const Word* lefts, Word total, float weight) {
  const QuadSums sums = PackedCountsSimd::sum_four(lefts, total);
  const FloatQuad l = sums.left_weights, r = weight - l;
  return (sums.left_squares * r + sums.right_squares * l) / (l * r);
}

}  // namespace committee
