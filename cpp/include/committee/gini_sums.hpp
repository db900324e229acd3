// Gini over many classes: sums of squared class weights on both sides of a boundary that moves from
// bin to bin.
#pragma once
#include <bit>
#include <cmath>
#include <type_traits>

#include "types.hpp"
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace committee {

// A score costs a division or two, and most boundaries lose clearly, which a product shows as well.
// What lies below this bar certainly has a score below `best`: scores and products are off by a few
// units in the last place only.
inline double set_bar(double best) {
  return best - std::abs(best) * 1e-14;
}

// One output. Weights of 32 bits have a total below 2^32, so their sums of squares are exact in 64
// bits.
template <class Element>
class GiniSums {
  using Square = std::conditional_t<sizeof(Element) == 4, u64, double>;

 public:
  GiniSums(const Element* total, u32 n_classes, double weight, Element* left)
      : total_(total), n_classes_(n_classes), weight_(weight), left_(left) {}

  // Everything right of the boundary but `from` (may be null).
  void start(const Element* from) {
    left_weight_ = 0;
    left_squares_ = right_squares_ = 0;
    for (u32 k = 0; k < n_classes_; ++k) {
      left_[k] = 0;
      right_squares_ += static_cast<Square>(total_[k]) * static_cast<Square>(total_[k]);
    }
    if (from) advance(from);
  }
  // Takes a cell to the left.
  void advance(const Element* cell) {
    Square left_squares = 0, right_squares = 0;
    Element weight = 0;
    for (u32 k = 0; k < n_classes_; ++k) {
      const Element l = left_[k] + cell[k], r = total_[k] - l;
      left_[k] = l;
      weight += l;
      left_squares += static_cast<Square>(l) * static_cast<Square>(l);
      right_squares += static_cast<Square>(r) * static_cast<Square>(r);
    }
    left_weight_ = weight;
    left_squares_ = left_squares;
    right_squares_ = right_squares;
  }
  // Takes one row to the left. Squares are exact integers, so this comes to the same as `advance`.
  void move_row(u32 label, Element weight) {
    static_assert(sizeof(Element) == 4, "squares of larger weights are rounded");
    const Square l = left_[label], r = total_[label] - left_[label], w = weight;
    left_squares_ += w * (2 * l + w);
    right_squares_ -= w * (2 * r - w);
    left_[label] += weight;
    left_weight_ += weight;
  }
  bool is_below(double bar) const {
    const double l = static_cast<double>(left_weight_), r = weight_ - l;
    return static_cast<double>(left_squares_) * r + static_cast<double>(right_squares_) * l <
           bar * (l * r);
  }
  // Impurity terms of the two sides (criteria/gini.hpp).
  double score() const {
    const double l = static_cast<double>(left_weight_);
    return static_cast<double>(left_squares_) / l +
           static_cast<double>(right_squares_) / (weight_ - l);
  }

 private:
  const Element* total_;
  u32 n_classes_;
  double weight_;
  Element* left_;
  Element left_weight_ = 0;
  Square left_squares_ = 0, right_squares_ = 0;
};

// Up to eight classes in the bytes of a word, in nodes that weigh little: a row is one addition.
class PackedGiniSums {
 public:
  static constexpr u32 kMostClasses = 8;
  static constexpr double kMostWeight = 255.0;
  static u64 pack(u32 label, u32 weight) { return u64{weight} << (8 * label); }

  PackedGiniSums(u64 total, double weight) : total_(total), weight_(weight) {}
  void start() { left_ = 0; }
  void move_row(u64 packed) { left_ += packed; }
  void set_left(u64 packed) { left_ = packed; }
  // What lies left, and its weight and the sums of squares.
  u64 left() const { return left_; }
  struct Sides {
    double left_weight, right_weight, left_squares, right_squares;
    bool is_below(double bar) const {
      return left_squares * right_weight + right_squares * left_weight <
             bar * (left_weight * right_weight);
    }
    double score() const { return left_squares / left_weight + right_squares / right_weight; }
  };
  Sides measure() const {
    const double l = add_bytes(left_);
    return {l, weight_ - l, static_cast<double>(add_squares(left_)),
            static_cast<double>(add_squares(total_ - left_))};
  }

#if defined(__aarch64__)
  static u32 add_bytes(u64 word) { return vaddlv_u8(vcreate_u8(word)); }
  static u32 add_squares(u64 word) {
    return vaddlvq_u16(vmull_u8(vcreate_u8(word), vcreate_u8(word)));
  }
#else
  static u32 add_bytes(u64 word) {
    return static_cast<u32>(word * 0x0101010101010101ull >> 56);  // all of them weigh up to 255
  }
#if defined(__SSE2__)
  static u32 add_squares(u64 word) {
    const __m128i own =
        _mm_unpacklo_epi8(_mm_cvtsi64_si128(static_cast<i64>(word)), _mm_setzero_si128());
    __m128i sums = _mm_madd_epi16(own, own);
    sums = _mm_add_epi32(sums, _mm_unpackhi_epi64(sums, sums));
    return static_cast<u32>(_mm_cvtsi128_si32(sums) +
                            _mm_cvtsi128_si32(_mm_shuffle_epi32(sums, 1)));
  }
#else
  static u32 add_squares(u64 word) {
    u32 sum = 0;
    for (int k = 0; k < 64; k += 8) {
      const u32 byte = static_cast<u32>(word >> k & 0xFF);
      sum += byte * byte;
    }
    return sum;
  }
#endif
#endif

 private:
  u64 total_;
  double weight_;
  u64 left_ = 0;
};

// Four classes.
using ClassQuad COMMITTEE_VECTOR(16) = u32;

inline u32 add_up(ClassQuad quad) {
#if defined(__aarch64__)
  return vaddvq_u32((uint32x4_t)quad);
#else
  return quad[0] + quad[1] + quad[2] + quad[3];
#endif
}

inline ClassQuad load_quad(const u32* elements) {
  ClassQuad quad;
  std::memcpy(&quad, elements, sizeof quad);
  return quad;
}

// What lies left of every bin that occurs, the first included, and their impurity terms.
struct BoundaryList {
  // Weights that a node may have: sums of squares fit 32 bits.
  static constexpr double kMostWeight = 65535.0;
  u32 left_weight[kHistogramBins + 1], left_squares[kHistogramBins + 1],
      right_squares[kHistogramBins + 1];
  u8 bins[kHistogramBins + 1];
  u32 n = 0;

  // Cells of 4 kQuads elements; `from` (may be null) lies left of all boundaries.
  template <int kQuads>
  void list(const u32* hist, u64 touched, const u32* total, const u32* from) {
    ClassQuad all[kQuads], left[kQuads];
    for (int q = 0; q < kQuads; ++q) {
      all[q] = load_quad(total + 4 * q);
      left[q] = from ? load_quad(from + 4 * q) : ClassQuad{};
    }
    u32 weight = sum_left<kQuads>(left);
    n = 0;
    for (u64 groups = touched; groups; groups &= groups - 1) {
      const u32 first = static_cast<u32>(std::countr_zero(groups)) * 4;
#pragma GCC unroll 4
      for (u32 bin = first; bin < first + 4; ++bin) {
        ClassQuad left_square{}, right_square{};
        const u32* cell = hist + static_cast<std::size_t>(bin) * (4 * kQuads);
        bins[n] = static_cast<u8>(bin);
        left_weight[n] = weight;
        for (int q = 0; q < kQuads; ++q) {
          const ClassQuad right = all[q] - left[q];
          left_square += left[q] * left[q];
          right_square += right * right;
          left[q] += load_quad(cell + 4 * q);
        }
        left_squares[n] = add_up(left_square);
        right_squares[n] = add_up(right_square);
        const u32 next = sum_left<kQuads>(left);
        n += next != weight;
        weight = next;
      }
    }
  }

 private:
  template <int kQuads>
  static u32 sum_left(const ClassQuad* left) {
    ClassQuad sum = left[0];
    for (int q = 1; q < kQuads; ++q) sum += left[q];
    return add_up(sum);
  }
};

}  // namespace committee
