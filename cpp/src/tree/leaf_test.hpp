// When a node stays a leaf, whatever splits it might have: the same test for every route.
#pragma once
#include <algorithm>

#include "committee/tree_params.hpp"

namespace committee {

struct LeafTest {
  explicit LeafTest(const GrowParams& params)
      : max_depth(params.max_depth), min_samples_split(params.min_samples_split) {
    const u64 two_leaves = u64{2} * params.min_samples_leaf;
    if (min_samples_split < two_leaves)
      min_samples_split = static_cast<u32>(std::min<u64>(two_leaves, 0xFFFFFFFFu));
  }
  u32 max_depth, min_samples_split;  // the latter counts two children of min_samples_leaf

  bool is_leaf(std::size_t n_rows, u32 depth, bool is_pure) const {
    return is_pure || depth >= max_depth || n_rows < min_samples_split;
  }
};

}  // namespace committee
