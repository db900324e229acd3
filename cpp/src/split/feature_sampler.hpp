// The features that a node draws, without replacement, one after the other.
#pragma once
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
  [[gnu::always_inline]] Index draw() {
    const u32 k = n_drawn_++;
    const u32 with = k + scale_below(numbers_.at(Purpose::features, k), n_ - k);
    std::swap(order_[k], order_[with]);
    if constexpr (kRestores) {
      if (k < kFew) {
        few_[k] = with;
      } else {
        more_.push_back(with);
      }
    }
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

// What the draws of one node have swapped; the list itself is 0, 1, .. and never written down.
struct SwappedPlaces {
  std::vector<u64> is_swapped;  // a bit a place
  AlignedBuffer<u32> at;        // of a place that was swapped
  std::vector<u32> places;
};

// The same draws from the numbers below n, where n is large: most places are never touched, and the
// bits of those that are stay in the cache.
class WideSampler {
 public:
  WideSampler(SwappedPlaces& swapped, u32 n, const NodeNumbers& numbers)
      : numbers_(numbers), swapped_(swapped), n_(n) {
    if (swapped.at.size() < n) {
      swapped.at = AlignedBuffer<u32>(n);
      swapped.is_swapped.assign((std::size_t{n} + 63) / 64, 0);
    }
  }
  WideSampler(const WideSampler&) = delete;
  WideSampler& operator=(const WideSampler&) = delete;
  ~WideSampler() {
    for (const u32 place : swapped_.places) swapped_.is_swapped[place / 64] = 0;
    swapped_.places.clear();
  }
  u32 draw() {
    const u32 k = n_drawn_++;
    const u32 with = k + scale_below(numbers_.at(Purpose::features, k), n_ - k);
    const u32 drawn = read(with), own = read(k);
    swapped_.is_swapped[with / 64] |= u64{1} << (with % 64);
    swapped_.at[with] = own;
    swapped_.places.push_back(with);
    return drawn;
  }
  u32 n_drawn() const { return n_drawn_; }
  bool is_over() const { return n_drawn_ == n_; }

 private:
  u32 read(u32 place) const {
    const bool is_swapped = (swapped_.is_swapped[place / 64] >> (place % 64) & 1) != 0;
    return is_swapped ? swapped_.at[place] : place;
  }
  const NodeNumbers numbers_;
  SwappedPlaces& swapped_;
  const u32 n_;
  u32 n_drawn_ = 0;
};

}  // namespace committee
