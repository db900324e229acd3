#include "committee/quantile_counts.hpp"

#include <algorithm>
#include <limits>

namespace committee {

namespace {

constexpr int kKeyBits = 64;
// Counts of all blocks together; sums of two of these do not overflow.
constexpr i64 kMostCounted = i64{1} << 61;

bool is_digit(int bits) {
  return bits == 4 || bits == 8 || bits == 16;
}

bool has_prefix(u64 key, const DigitStep& step, u64 prefix) {
  const int n_left = step.shift + step.bits;
  return n_left == kKeyBits || key >> n_left == prefix;
}

}  // namespace

void DigitStep::check() const {
  if (!is_digit(bits) || shift < 0 || shift > kKeyBits - bits)
    throw std::invalid_argument("a digit has 4, 8 or 16 bits of 64");
  if (groups.size() != prefixes.size() || !std::is_sorted(groups.begin(), groups.end()))
    throw std::invalid_argument("each slot needs a prefix, and the slots of a group lie together");
}

void count_digits(const DigitStep& step, u32 group, std::span<const double> values,
                  std::span<const u32> weights, i64* counts) {
  const auto [first, last] = std::equal_range(step.groups.begin(), step.groups.end(), group);
  const u64 mask = (u64{1} << step.bits) - 1;
  for (auto at = first; at != last; ++at) {
    const auto slot = static_cast<std::size_t>(at - step.groups.begin());
    i64* const own = counts + (slot << step.bits);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const u64 key = to_ordered_key(values[i]);
      if (has_prefix(key, step, step.prefixes[slot]))
        own[key >> step.shift & mask] += weights.empty() ? 1 : i64{weights[i]};
    }
  }
}

QuantileSearch::QuantileSearch(std::span<const double> levels, int bits) {
  if (!is_digit(bits)) throw std::invalid_argument("a digit has 4, 8 or 16 bits");
  step_.bits = bits;
  step_.shift = kKeyBits - bits;
  for (const double level : levels) groups_.push_back({level, 0.0, false, {}, {}});
  list_slots();
}

QuantileSearch QuantileSearch::at_ranks(std::span<const u64> ranks, int bits) {
  const std::vector<double> levels(ranks.size(), 0.0);
  QuantileSearch search(levels, bits);
  for (std::size_t g = 0; g < ranks.size(); ++g) {
    search.groups_[g].ranked = true;
    search.groups_[g].wanted = static_cast<double>(ranks[g]);
    search.groups_[g].high.found = false;
  }
  return search;
}

void QuantileSearch::list_slots() {
  step_.groups.clear();
  step_.prefixes.clear();
  for (u32 g = 0; step_.shift >= 0 && g < groups_.size(); ++g) {
    Bound &low = groups_[g].low, &high = groups_[g].high;
    if (!low.found) continue;
    low.slot = high.slot = step_.groups.size();
    step_.groups.push_back(g);
    step_.prefixes.push_back(low.prefix);
    if (!high.found || high.prefix == low.prefix) continue;
    high.slot = step_.groups.size();
    step_.groups.push_back(g);
    step_.prefixes.push_back(high.prefix);
  }
}

// Sums are whole numbers below 2^53: comparisons are exact.
void QuantileSearch::descend(Bound& bound, bool beyond, double wanted, const i64* counts) const {
  const i64* const own = counts + (bound.slot << step_.bits);
  const u64 n_digits = u64{1} << step_.bits;
  u64 last = n_digits;
  i64 below = bound.below, last_below = 0;
  for (u64 digit = 0; digit < n_digits; ++digit) {
    if (own[digit] == 0) continue;
    last = digit;
    last_below = below;
    below += own[digit];
    const auto reached = static_cast<double>(below);
    if (beyond ? reached > wanted : reached >= wanted) break;
  }
  // Where nothing lies beyond there is no such key; where rounding put `wanted` above the total,
  // the last key is meant.
  bound.found = last < n_digits && (!beyond || static_cast<double>(below) > wanted);
  bound.prefix = bound.prefix << step_.bits | last;
  bound.below = last_below;
}

void QuantileSearch::take(std::span<const i64> counts) {
  if (finished() || counts.size() != step_.n_counts())
    throw std::invalid_argument("counts must have an entry for each slot and digit of the step");
  i64 left = kMostCounted;
  for (const i64 count : counts) {
    if (count < 0 || count > left) throw std::invalid_argument("counts must be sums of weights");
    left -= count;
  }
  const bool is_first = step_.shift + step_.bits == kKeyBits;
  for (Group& group : groups_) {
    if (!group.low.found) continue;
    if (is_first && !group.ranked) {
      i64 total = 0;
      const i64* const own = counts.data() + (group.low.slot << step_.bits);
      for (std::size_t digit = 0; digit < std::size_t{1} << step_.bits; ++digit)
        total += own[digit];
      group.wanted = group.level * static_cast<double>(total);
    }
    descend(group.low, false, group.wanted, counts.data());
    if (group.high.found) descend(group.high, true, group.wanted, counts.data());
  }
  step_.shift -= step_.bits;
  list_slots();
}

std::vector<double> QuantileSearch::values() const {
  if (!finished()) throw std::invalid_argument("the search is not finished");
  std::vector<double> values;
  for (const Group& group : groups_) {
    const double low = group.low.found ? from_ordered_key(group.low.prefix)
                                       : std::numeric_limits<double>::quiet_NaN();
    values.push_back(group.high.found && group.low.found
                         ? find_middle_of(low, from_ordered_key(group.high.prefix)) + 0.0
                         : low);
  }
  return values;
}

}  // namespace committee
