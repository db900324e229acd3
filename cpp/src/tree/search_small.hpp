// The search in nodes of a few rows, which are sorted by their bins: most bins of a histogram would
// be empty. Included by
// tree/builder_search.hpp.
#pragma once
#include <algorithm>

#include "base/u8x16.hpp"
#include "tree/node_search.hpp"
#include "tree/row_sorting.hpp"

namespace committee {

template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::scan_few_rows(const Rows& rows,
                                                       std::span<const u32> features,
                                                       Candidate& best, u8* varies) {
  const RunBytes bytes = bytes_of(rows, features);
  const std::size_t n = rows.items.size(), stride = bytes.stride;
  const Item* items = rows.items.data();
  u8 bins[kMostFew];
  u16 keyed[kMostFew];
  std::fill_n(bins, 4 * kRowLanes, u8{0});  // what the blocks hold beyond the rows is not looked at
  std::size_t n_varying = 0;
  for (std::size_t k = 0; k < features.size(); ++k) {
    const u8* column = bytes.at[k];
    u32 differ = 0;
    for (std::size_t i = 0; i < n; ++i) {
      bins[i] = column[items[i].row * stride];
      differ |= bins[i] ^ bins[0];
    }
    varies[k] = differ != 0;
    if (!varies[k]) continue;
    ++n_varying;
    const FeatureView view = view_feature(rows.numbers, features[k]);
    // Two rows are partitioned by any feature alike: only its place in the order matters.
    if (n == 2 && best.found() && best.priority < view.priority) continue;
    sort_few(bins, n, keyed);
    finder_->scan_few({keyed, n}, items, view, best);
  }
  return n_varying;
}

}  // namespace committee
