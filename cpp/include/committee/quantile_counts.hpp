// Quantiles by counting: values that lie in several blocks are never brought together. Each block
// counts, digit by digit of the values' bits, the weight of what may still be the quantile; the
// counts of all blocks are added, and the search takes the next digit from them. The result is that
// of find_weighted_quantile to the bit.
#pragma once
#include <bit>

#include "types.hpp"

namespace committee {

// Numbers in the order of the doubles; both zeros have one.
inline u64 to_ordered_key(double value) {
  const u64 bits = std::bit_cast<u64>(value + 0.0);
  return bits >> 63 != 0 ? ~bits : bits | u64{1} << 63;
}
inline double from_ordered_key(u64 key) {
  return std::bit_cast<double>(key >> 63 != 0 ? key & ~(u64{1} << 63) : ~key);
}

// The middle of neighbouring values, where a quantile lies just between them.
inline double find_middle_of(double low, double high) {
  return low == high ? low : low / 2 + high / 2;
}

// What is to be counted: in slot s, the values of group groups[s] whose digits so far are
// prefixes[s].
struct DigitStep {
  int bits = 16;   // of a digit
  int shift = 48;  // of the digit that is counted
  std::vector<u32> groups;
  std::vector<u64> prefixes;
  std::size_t n_counts() const { return groups.size() << bits; }
  // std::invalid_argument for what no search asks: a step may come from another process.
  void check() const;
};

// counts[slot][digit] += weight, for the values of one group. Weights are whole numbers (empty: all
// one).
void count_digits(const DigitStep& step, u32 group, std::span<const double> values,
                  std::span<const u32> weights, i64* counts);

// One quantile of each group of values.
class QuantileSearch {
 public:
  // `bits` of a digit: 4, 8 or 16. Fewer are more steps with less to add.
  QuantileSearch(std::span<const double> levels, int bits);  // std::invalid_argument
  // In place of quantiles, the value of each group that has so many at or below it, itself counted:
  // 1 is the least. What is left out of the largest, for one.
  static QuantileSearch at_ranks(std::span<const u64> ranks, int bits);
  bool finished() const { return step_.groups.empty(); }
  const DigitStep& step() const { return step_; }
  // The counts of all blocks, in the order of the step's slots.
  void take(std::span<const i64> counts);
  // NaN for a group without values.
  std::vector<double> values() const;

 private:
  // The key that the first `wanted` of the weight ends in, or the first beyond.
  struct Bound {
    u64 prefix = 0;
    i64 below = 0;  // weight of keys less than the prefix
    bool found = true;
    std::size_t slot = 0;
  };
  struct Group {
    double level = 0.5, wanted = 0.0;
    bool ranked = false;  // `wanted` is given
    Bound low, high;
  };
  void descend(Bound& bound, bool beyond, double wanted, const i64* counts) const;
  void list_slots();

  std::vector<Group> groups_;
  DigitStep step_;
};

}  // namespace committee
