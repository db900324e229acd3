// What growths in blocks have in common: the features that their nodes draw from, and when a node
// is a leaf.
#pragma once
#include <algorithm>
#include <cstring>

#include "committee/tree_params.hpp"
#include "split/split_candidate.hpp"

namespace committee {

inline constexpr std::size_t kMostBlockFeatures = 64;

// What stays the same during a growth.
struct BlockRules {
  BlockRules(const KeyPrefix& key, const GrowParams& params, std::span<const u32> all_features)
      : tree_key(key), max_depth(params.max_depth), min_samples_split(params.min_samples_split) {
    for (const u32 f :
         params.member_features.empty() ? all_features : std::span(params.member_features))
      pool[n_pool++] = static_cast<u8>(f);
    n_wanted = std::min(params.max_features, n_pool);
  }

  const KeyPrefix tree_key;
  const u32 max_depth, min_samples_split;
  u8 pool[kMostBlockFeatures] = {};  // features that are drawn from, or looked at
  u32 n_pool = 0, n_wanted = 0;      // features there, features that a node looks at
};

// Draws features of the pool without replacement, one after the other.
class FeatureDraw {
 public:
  FeatureDraw(const BlockRules& rules, const NodeNumbers& numbers)
      : numbers_(numbers), n_pool_(rules.n_pool) {
    std::memcpy(order_, rules.pool, sizeof order_);
  }
  [[gnu::always_inline]] u8 draw() {
    const u64 number = numbers_.at(Purpose::features, n_drawn_);
    std::swap(order_[n_drawn_], order_[n_drawn_ + scale_below(number, n_pool_ - n_drawn_)]);
    return order_[n_drawn_++];
  }
  u32 n_drawn() const { return n_drawn_; }
  bool is_over() const { return n_drawn_ == n_pool_; }
  // The last n features that were drawn.
  std::span<const u8> newest(std::size_t n) const { return {order_ + n_drawn_ - n, n}; }

 private:
  const NodeNumbers numbers_;
  const u32 n_pool_;
  u32 n_drawn_ = 0;
  u8 order_[kMostBlockFeatures];
};

}  // namespace committee
