// The random cuts of features that a node drew, of two classes: all features at once, and no branch
// on what the rows hold. Most nodes of extra-trees have a few rows, where a wrong guess costs more
// than the rows. Included by tree/builder_search.hpp.
#pragma once
#include "tree/fast/extra_trees_levels.hpp"
#include "tree/search_random.hpp"

namespace committee {

// The features come in the order of their places.
template <class Accumulator>
void TreeBuilder<Accumulator>::scan_random_thresholds(const NodeRows& rows,
                                                      std::span<const u32> features, Worker& worker,
                                                      Candidate& best, u8* varies) {
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    const BinRange range = gather_run_bins(rows, features, worker);
    const u64 lows = std::bit_cast<u64>(range.lo), highs = std::bit_cast<u64>(range.hi_next);
    const u64 has_missing =
        std::bit_cast<u64>(reinterpret_cast<BinLanes>(range.lo_next == BinLanes{}));
    if (has_missing != 0) {
      (void)scan_single_cuts(rows, features, worker, best, varies);
      return;
    }
    SplitBinSearch search;
    for (std::size_t k = 0; k < features.size(); ++k) {
      const u32 lo = static_cast<u32>(lows >> (8 * k) & 0xFF);
      const u32 hi = static_cast<u32>((highs >> (8 * k) & 0xFF) - 1);
      const ColumnEnds& ends = column_ends_[features[k]];
      search.add({ends.low, ends.high, rows.numbers.at(Purpose::threshold, features[k])}, lo, hi);
      varies[k] = lo != hi;
    }
    search.finish();
    u64 limits = 0;  // a feature that is constant here has nothing on its left
    for (u32 k = 0; k < features.size(); ++k)
      limits |= ((search.cut(k) + 1) & (u64{0} - u64{varies[k]})) << (8 * k);
    u64 sums[kBatch];
    sum_lanes_below(rows.items, static_cast<u32>(sample_.heaviest), worker.run_bins.data(),
                    std::bit_cast<BinLanes>(limits), sums);
    const u32 lane = worker.finder->take_best_lane({sums, features.size()}, best.score);
    if (lane == kNone) return;
    best.feature = features[lane];
    best.place = worker.places[best.feature];
    best.cut = search.cut(lane);
    best.next = best.cut + 1;
    best.categorical = best.missing_left = best.has_missing = false;
  }
}

template <class Accumulator>
void TreeBuilder<Accumulator>::prepare_extra_trees() {
  const ExtraTreesTable* table =
      plan_.input.scratch ? plan_.input.scratch->caches->extra_trees.get() : nullptr;
  if (table == nullptr) table = (own_table_ = std::make_unique<ExtraTreesTable>(data_)).get();
  auto rules = std::make_shared<ExtraTreesRules>(tree_key_, params_, all_features_);
  rules->table = table;
  extra_trees_rules_ = std::move(rules);
}

// Finishes the subtree of a node; false: it is a leaf, or a value is missing.
template <class Accumulator>
bool TreeBuilder<Accumulator>::finish_extra_trees(SmallNode& node, TreePart& part, Worker& worker) {
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    if (!extra_trees_rules_ || is_terminal(node, worker)) return false;
    if (!worker.extra_trees) {
      worker.extra_trees = takes(Route::compact_tree)
                               ? std::shared_ptr<ExtraTreesLevels>(
                                     std::shared_ptr<void>(), &plan_.input.scratch->extra_trees)
                               : std::make_shared<ExtraTreesLevels>();
      worker.extra_trees->begin(*extra_trees_rules_, plan_.watch);
    }
    const u32 n_rows = static_cast<u32>(node.size());
    const u32 n_positive = static_cast<u32>(sample_.accumulator.positive(worker.total.data()));
    const ExtraTreesNode top = {
        node.key, weigh_impurity(n_rows, n_positive), kNone, node.depth, n_rows, n_positive};
    const u8* records = node.is_copied ? worker.copied.data() : block_.records;
    if (worker.extra_trees->finish(top, {records, block_.stride},
                                   {items_ + node.begin, node.size()})) {
      const CompactTree& tree = worker.extra_trees->tree();
      part.is_compact = takes(Route::compact_tree) && node.size() == sample_.n;
      worker.count(Route::extra_trees_bitmap, tree.size());
      if (part.is_compact) {
        worker.count(Route::compact_tree, tree.size());
      } else {
        tree.append_to(part.tree, *data_.bins, sample_.weight_unit, node.parent, node.is_right);
      }
      return true;
    }
    node.block_rows = node.size() / 4;  // some of its rows may be without missing values
  }
  return false;
}

}  // namespace committee
