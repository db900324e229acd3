#include "tree/fast/extra_trees_blocks.hpp"

#include <algorithm>

namespace committee {

namespace {

constexpr std::size_t kRowsAhead = 32;  // whose records are on their way

// The smallest and the largest bin of some rows.
template <int kVectors>
std::pair<u32, u32> find_ends(const RowLanes* column, const LaneSet<kVectors>& rows) {
  RowLanes lo = column[0] | ~rows.lanes[0], hi = column[0] & rows.lanes[0];
  for (int v = 1; v < kVectors; ++v) {
    const RowLanes low = column[v] | ~rows.lanes[v], high = column[v] & rows.lanes[v];
    lo = low < lo ? low : lo;
    hi = high > hi ? high : hi;
  }
  return {least_lane(lo), largest_lane(hi)};
}

}  // namespace

void ExtraTreesBlocks::finish(const ExtraTreesNode& top, const ExtraTreesRules& rules,
                              const ExtraTreesRecords& records, std::span<const u32> rows,
                              CompactTree& tree) {
  rules_ = &rules;
  records_ = records;
  tree_ = &tree;
  const std::size_t n = rows.size();
  if (n <= ExtraTreesBlock<1>::kRows) return finish_in<1>(top, rows);
  if (n <= ExtraTreesBlock<2>::kRows) return finish_in<2>(top, rows);
  if (n <= ExtraTreesBlock<4>::kRows) return finish_in<4>(top, rows);
  if (n <= ExtraTreesBlock<8>::kRows) return finish_in<8>(top, rows);
  if (n <= ExtraTreesBlock<16>::kRows) return finish_in<16>(top, rows);
  return finish_in<32>(top, rows);
}

template <int kVectors>
void ExtraTreesBlocks::finish_in(const ExtraTreesNode& top, std::span<const u32> rows) {
  Node<kVectors> node;
  static_cast<ExtraTreesNode&>(node) = top;
  std::copy(rows.begin(), rows.end(), block<kVectors>().rows);
  fill<kVectors>(node);
  grow<kVectors>(std::move(node));
}

// Columns of the block's rows, which are the node's.
template <int kVectors>
void ExtraTreesBlocks::fill(Node<kVectors>& node) {
  ExtraTreesBlock<kVectors>& own = block<kVectors>();
  const std::size_t n = node.n_rows;
  u8 positives[ExtraTreesBlock<kVectors>::kRows] = {}, rows[ExtraTreesBlock<kVectors>::kRows] = {};
  for (std::size_t i = 0; i < n; ++i) {
    positives[i] = static_cast<u8>(0 - (own.rows[i] >> 31));
    rows[i] = 255;
  }
  std::memcpy(&own.positives, positives, sizeof positives);
  std::memcpy(&node.rows, rows, sizeof rows);
  // Lanes beyond the rows hold the first one once more; what is left of the vectors counts nowhere.
  for (std::size_t i = n; i % kRowLanes != 0; ++i) own.rows[i] = own.rows[0];
  for (std::size_t first = 0; first < n; first += kRowLanes) {
    if constexpr (kVectors > 2) {
      for (std::size_t i = first + kRowsAhead; i < std::min(n, first + kRowsAhead + kRowLanes); ++i)
        prefetch(records_.find(own.rows[i]));
    }
    load_columns(records_, own.rows + first, [&](std::size_t feature, RowLanes lanes) {
      own.columns[feature][first / kRowLanes] = lanes;
    });
  }
}

template <int kVectors>
void ExtraTreesBlocks::grow(Node<kVectors> node) {
  ExtraTreesBlock<kVectors>& own = block<kVectors>();
  const auto hand_over_small = [&](const Node<kVectors>& small) {
    if constexpr (kVectors > 1) {
      if (small.n_rows > ExtraTreesBlock<kVectors>::kRows / 2) return false;
      hand_over<kVectors / 2, kVectors>(small);
      return true;
    }
    return false;
  };
  grow_depth_first(*rules_, *tree_, std::move(node), own.open, hand_over_small,
                   [&](Node<kVectors>& top, u32 id, Node<kVectors>& right) {
                     return split_node<BlockBest>(
                         *rules_, *tree_, top, id, right,
                         [&](std::span<const u8> features, const NodeNumbers& numbers,
                             BlockBest& best) { look_at<kVectors>(top, features, numbers, best); },
                         [&](const ExtraTreesSide& best) {
                           const RowLanes* column = own.columns[best.feature];
                           for (int v = 0; v < kVectors; ++v) {
                             const RowLanes left =
                                 find_left(column[v], top.rows.lanes[v], best.bin);
                             right.rows.lanes[v] = top.rows.lanes[v] & ~left;
                             top.rows.lanes[v] = left;
                           }
                         });
                   });
}

// Grows the subtree in the smallest block that holds its rows.
template <int kVectors, int kFrom>
void ExtraTreesBlocks::hand_over(const Node<kFrom>& node) {
  if constexpr (kVectors > 1) {
    if (node.n_rows <= ExtraTreesBlock<kVectors>::kRows / 2)
      return hand_over<kVectors / 2, kFrom>(node);
  }
  const ExtraTreesBlock<kFrom>& from = block<kFrom>();
  u32* to = block<kVectors>().rows;
  for (int v = 0; v < kFrom; ++v)
    to = list_rows(node.rows.lanes[v], from.rows + v * static_cast<int>(kRowLanes), to);
  Node<kVectors> top;
  static_cast<ExtraTreesNode&>(top) = node;
  fill<kVectors>(top);
  grow<kVectors>(std::move(top));
}

// A feature that is constant here has all rows on its left: a ratio of zeros, which never wins.
template <int kVectors>
COMMITTEE_INLINE inline void ExtraTreesBlocks::look_at(const Node<kVectors>& node,
                                                       std::span<const u8> features,
                                                       const NodeNumbers& numbers,
                                                       BlockBest& best) {
  const ExtraTreesBlock<kVectors>& own = block<kVectors>();
  ExtraTreesThresholds cuts;
  for (std::size_t k = 0; k < features.size(); ++k)
    std::tie(cuts.lo[k], cuts.hi[k]) = find_ends<kVectors>(own.columns[features[k]], node.rows);
  cuts.draw(*rules_, features, numbers);
  for (std::size_t k = 0; k < features.size(); ++k) {
    const RowLanes* column = own.columns[features[k]];
    RowLanes all{}, positive{};  // rows of every lane, up to 32
    for (int v = 0; v < kVectors; ++v) {
      const RowLanes left = find_left(column[v], node.rows.lanes[v], cuts.cuts[k]);
      all -= left;
      positive -= left & own.positives.lanes[v];
    }
    best.take(node, {features[k], cuts.cuts[k], add_lanes(all), add_lanes(positive)});
  }
}

}  // namespace committee
