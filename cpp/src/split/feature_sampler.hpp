// The features that a node draws, without replacement, one after the other.
#pragma once
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace committee {

// Shuffles a list of features in place, as far as it is drawn from. kRestores: the list is put back
// in order at the end, which costs less than a copy where features are many.
template <class Index, bool kRestores>
class FeatureSampler {
 public:
  FeatureSampler(Index* order, u32 n, const NodeNumbers& numbers)
      : numbers_(numbers), order_(order), n_(n) {}
  FeatureSampler(const FeatureSampler&) = delete;
  FeatureSampler& operator=(const FeatureSampler&) = delete;
  ~FeatureSampler() {
    if constexpr (kRestores) {
      while (n_drawn_-- > 0)
        std::swap(order_[n_drawn_],
                  order_[n_drawn_ < kFew ? few_[n_drawn_] : more_[n_drawn_ - kFew]]);
    }
  }
  COMMITTEE_INLINE Index draw() {
    const u32 k = n_drawn_;
    const u32 with = k + scale_below(numbers_.at(Purpose::features, k), n_ - k);
    if constexpr (kRestores) {
      if (k < kFew) {
        few_[k] = with;
      } else {
        more_.push_back(with);  // first: without memory, the end restores what was drawn before
      }
    }
    n_drawn_ = k + 1;
    std::swap(order_[k], order_[with]);
    return order_[k];
  }
  u32 n_drawn() const { return n_drawn_; }
  bool is_over() const { return n_drawn_ == n_; }
  // The last n features that were drawn.
  std::span<const Index> newest(std::size_t n) const { return {order_ + n_drawn_ - n, n}; }

 private:
  static constexpr u32 kFew = 64;
  const NodeNumbers numbers_;
  Index* const order_;
  const u32 n_;
  u32 n_drawn_ = 0;
  u32 few_[kRestores ? kFew : 1];  // what each position was swapped with
  std::vector<u32> more_;
};

// What the draws of one node have swapped: a table of the places that were touched, by open
// addressing. The list itself is 0, 1, .. and never written down. The table stays in the first
// cache as long as draws are few.
class SwappedPlaces {
 public:
  u32 read(u32 place) const {
    const u64 slot = slots_[find(place)];
    return slot == kFree ? place : static_cast<u32>(slot);
  }
  // Puts a value in a place and returns what was there.
  u32 exchange(u32 place, u32 value) {
    const std::size_t at = find(place);
    const u64 before = std::exchange(slots_[at], u64{place} << 32 | value);
    if (before != kFree) return static_cast<u32>(before);
    used_.push_back(static_cast<u32>(at));
    if (2 * used_.size() > std::size_t{1} << bits_) grow();
    return place;
  }
  void clear() {
    for (const u32 at : used_) slots_[at] = kFree;
    used_.clear();
    bits_ = kFirstBits;
  }

 private:
  static constexpr u64 kFree = ~u64{0};
  static constexpr u32 kFirstBits = 12;
  std::size_t find(u32 place) const {
    const std::size_t mask = (std::size_t{1} << bits_) - 1;
    std::size_t at = (place * 0x9E3779B1u) >> (32 - bits_);
    while (slots_[at] != kFree && static_cast<u32>(slots_[at] >> 32) != place) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<u64> kept;
    for (const u32 at : used_) kept.push_back(std::exchange(slots_[at], kFree));
    used_.clear();
    bits_ += 2;
    if (slots_.size() < std::size_t{1} << bits_) slots_.resize(std::size_t{1} << bits_, kFree);
    for (const u64 slot : kept) {
      const std::size_t at = find(static_cast<u32>(slot >> 32));
      slots_[at] = slot;
      used_.push_back(static_cast<u32>(at));
    }
  }

  u32 bits_ = kFirstBits;  // of a slot's number
  std::vector<u64> slots_ = std::vector<u64>(std::size_t{1} << kFirstBits, kFree);
  std::vector<u32> used_;
};

// The same draws from the numbers below n, where n is large and most places are never touched.
class WideSampler {
 public:
  WideSampler(SwappedPlaces& swapped, u32 n, const NodeNumbers& numbers)
      : numbers_(numbers), swapped_(swapped), n_(n) {}
  WideSampler(const WideSampler&) = delete;
  WideSampler& operator=(const WideSampler&) = delete;
  ~WideSampler() { swapped_.clear(); }
  u32 draw() {
    const u32 k = n_drawn_++;
    const u32 with = k + scale_below(numbers_.at(Purpose::features, k), n_ - k);
    return swapped_.exchange(with, swapped_.read(k));
  }
  u32 n_drawn() const { return n_drawn_; }
  bool is_over() const { return n_drawn_ == n_; }

 private:
  const NodeNumbers numbers_;
  SwappedPlaces& swapped_;
  const u32 n_;
  u32 n_drawn_ = 0;
};

}  // namespace committee
