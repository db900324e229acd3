// What growths in blocks have in common: the features that their nodes draw from, and when a node
// is a leaf.
#pragma once
#include <algorithm>
#include <cstring>

#include "split/feature_sampler.hpp"
#include "split/split_candidate.hpp"
#include "tree/leaf_test.hpp"

namespace committee {

inline constexpr std::size_t kMostBlockFeatures = 64;

// What stays the same during a growth.
struct BlockRules {
  BlockRules(const KeyPrefix& key, const GrowParams& params, std::span<const u32> features)
      : tree_key(key), leaf_test(params) {
    for (const u32 f : features) pool[n_pool++] = static_cast<u8>(f);
    n_wanted = std::min(params.max_features, n_pool);
  }

  const KeyPrefix tree_key;
  const LeafTest leaf_test;
  u8 pool[kMostBlockFeatures] = {};  // features that are drawn from, or looked at
  u32 n_pool = 0, n_wanted = 0;      // features there, features that a node looks at
};

// Draws features of the pool.
class BlockSampler : public FeatureSampler<u8, false> {
 public:
  BlockSampler(const BlockRules& rules, const NodeNumbers& numbers)
      : FeatureSampler(order_, rules.n_pool, numbers) {
    std::memcpy(order_, rules.pool, sizeof order_);
  }

 private:
  u8 order_[kMostBlockFeatures];
};

}  // namespace committee
