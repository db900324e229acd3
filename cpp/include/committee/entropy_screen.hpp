// Entropies of small weights from a table, and estimates in single precision of the larger ones, so
// that logarithms in double are taken only of the splits that may win.
#pragma once
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "math.hpp"
#include "types.hpp"

namespace committee {

// weigh_log2(x, w) of whole numbers x <= w <= kMost, to the last bit.
class SmallLogs {
 public:
  static constexpr u32 kMost = 64;
  static const double* get() {
    static const SmallLogs logs;
    return logs.terms_;
  }
  static u32 row_of(u32 w) { return w * (w + 1) / 2; }

 private:
  SmallLogs() {
    for (u32 w = 0; w <= kMost; ++w)
      for (u32 x = 0; x <= w; ++x) terms_[row_of(w) + x] = weigh_log2(x, w);
  }
  double terms_[(kMost + 1) * (kMost + 2) / 2];
};

// The score of a split is the sum of x log2(x / w) over the classes of both sides, that is, of
// x log2 x over the classes less w log2 w over the sides. An estimate is off by at most error():
// with u = 2^-24, W the weight of the node, L = log2 W and K classes,
//   - the polynomial is off by 2.2e-6, and its roundings by less than 4 u, in a logarithm that is
//     weighed by x, and the x of all terms add up to 2 W: (4.4e-6 + 8 u) W;
//   - x, the sum with the exponent and the product are rounded once each: (6 L + 3) u W;
//   - sums are rounded while they are at most L W in all lanes together, K / 2 + 6 times.
// That is less than W (2^-16 + (16 + K) (L + 1) u). The score in double is off by far less than
// what this leaves. The winner reaches the best score known, and the largest of some scores, so
// that its estimate reaches bound().
class EntropyScreen {
 public:
  using Four COMMITTEE_VECTOR(16) = float;
  using Whole COMMITTEE_VECTOR(16) = i32;
  static constexpr u32 kLanes = 4;
  // Below, whole numbers are signed ones.
  static constexpr double kMostWeight = 0x1p31;

  static float error(double weight, u32 n_classes) {
    return static_cast<float>(
        weight * (0x1p-16 + (16.0 + n_classes) * (binary_log(weight) + 1.0) * 0x1p-24));
  }
  static float bound(double best, float most, float error) {
    // The best score as a float may be larger than itself by a rounding.
    const float known = static_cast<float>(best) * (1.0f + 0x1p-22f) - error;
    return known > most - 2.0f * error ? known : most - 2.0f * error;
  }

  // Two classes: estimates of the boundaries with these sums on the left (weight | weight of class
  // 1 << 32; room for kLanes - 1 more), and the bound that the winner's reaches.
  static float estimate_binary(std::span<const u64> sums, u64 missing, u64 total, float error,
                               double best, float* estimates) {
    Four most = {};
    most -= std::numeric_limits<float>::max();
    const auto estimate_four = [&](const u64* left, float* to) {
      Pairs a, b;
      std::memcpy(&a, left, sizeof a);
      std::memcpy(&b, left + 2, sizeof b);
      const Four four = estimate_pairs(a + missing, b + missing, total);
      std::memcpy(to, &four, sizeof four);
      most = four > most ? four : most;
    };
    std::size_t k = 0;
    for (; k + kLanes <= sums.size(); k += kLanes) estimate_four(sums.data() + k, estimates + k);
    if (k < sums.size()) {
      // Lanes that are left over hold the node itself, whose score is no larger than that of a
      // split.
      u64 rest[kLanes] = {total - missing, total - missing, total - missing, total - missing};
      std::copy(sums.begin() + k, sums.end(), rest);
      estimate_four(rest, estimates + k);
    }
    return bound(best, std::max(std::max(most[0], most[1]), std::max(most[2], most[3])), error);
  }
  // Whether any of these boundaries, kMostBlock at most, may reach the best score.
  static constexpr std::size_t kMostBlock = 64;
  static bool may_reach(std::span<const u64> sums, u64 total, float error, double best) {
    float estimates[kMostBlock];
    const float limit = estimate_binary(sums, 0, total, error, best, estimates);
    return std::any_of(estimates, estimates + sums.size(), [&](float e) { return e >= limit; });
  }
  // Several: one boundary, by the weights of the classes in whole vectors.
  static float estimate(const u32* left, const u32* total, u32 n_quads) {
    Four sum = {};
    Whole lefts = {}, rights = {};
    for (u32 q = 0; q < n_quads; ++q) {
      Whole a, b;
      std::memcpy(&a, left + 4 * q, sizeof a);
      std::memcpy(&b, total + 4 * q, sizeof b);
      b -= a;
      lefts += a;
      rights += b;
      sum += weigh(a) + weigh(b);
    }
    const Whole sides = {add_up(lefts), add_up(rights), 0, 0};
    sum -= weigh(sides);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

 private:
  using Pairs COMMITTEE_VECTOR(16) = u64;
  static Four estimate_pairs(Pairs a, Pairs b, u64 total) {
    const Whole x = std::bit_cast<Whole>(a), y = std::bit_cast<Whole>(b);
    const Whole left = shuffle_lanes<0, 2, 4, 6>(x, y);
    const Whole positive = shuffle_lanes<1, 3, 5, 7>(x, y);
    const Whole right = static_cast<i32>(static_cast<u32>(total)) - left;
    const Whole right_positive = static_cast<i32>(total >> 32) - positive;
    return ((weigh(positive) + weigh(left - positive)) +
            (weigh(right_positive) + weigh(right - right_positive))) -
           (weigh(left) + weigh(right));
  }
  static i32 add_up(Whole x) { return (x[0] + x[1]) + (x[2] + x[3]); }

  // x log2 x; 0 of 0. x = m 2^e, m in [sqrt(1/2), sqrt(2)), log2 m by the polynomial in m - 1 with
  // the least largest error.
  static Four weigh(Whole whole) {
    const Four x = convert_lanes<Four>(whole);
    const Whole bits = std::bit_cast<Whole>(x);
    const Whole exponent = (bits - 0x3F3504F3) >> 23;
    const Four t = std::bit_cast<Four>(bits - (exponent << 23)) - 1.0f;
    const Four t2 = t * t;
    const Four low = 1.4427135f + t * -0.72113186f, middle = 0.479348f + t * -0.36749002f,
               high = 0.3221549f + t * -0.20659162f;
    const Four log = t * (low + t2 * (middle + t2 * high));
    return x * (convert_lanes<Four>(exponent) + log);
  }
};

}  // namespace committee
