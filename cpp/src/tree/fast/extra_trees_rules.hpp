// What the nodes of extra-trees of two classes draw: features, and a random cut of each.
#pragma once
#include <array>

#include "base/u8x16.hpp"
#include "tree/fast/block_rules.hpp"
#include "tree/fast/compact_tree.hpp"
#include "tree/fast/random_threshold.hpp"

namespace committee {

// Whether a value is missing anywhere in a table of bytes.
bool has_missing(const BinnedMatrix& data);

// What all trees of a table share.
struct ExtraTreesTable {
  // Whether every column is numeric and finite, and there are at most 64.
  static bool fits(const BinnedMatrix& data);
  explicit ExtraTreesTable(const BinnedMatrix& binned);

  const BinnedMatrix* data;
  std::vector<RandomThresholds> columns;  // of every feature
  bool has_missing = false;               // anywhere
};

struct ExtraTreesRules : BlockRules {
  ExtraTreesRules(const KeyPrefix& key, const GrowParams& params, std::span<const u32> features,
                  const ExtraTreesTable& shared)
      : BlockRules(key, params, features), table(&shared) {}
  const ExtraTreesTable* table;

  bool is_leaf(u32 n_rows, u32 n_positive, u32 depth) const {
    return leaf_test.is_leaf(n_rows, depth, n_positive == 0 || n_positive == n_rows);
  }
};

// A node in its tree.
struct ExtraTreesNode {
  u64 key;
  double impurity;    // times rows
  u32 parent, depth;  // the parent of a right child
  u32 n_rows, n_positive;
};

// A row: the number of its record, and in the highest bit whether it is positive.
inline constexpr u32 kPositive = 1u << 31;

// Records of 16-byte multiples.
struct ExtraTreesRecords {
  const u8* bytes = nullptr;
  std::size_t stride = 0;
  const u8* find(u32 row) const { return bytes + (row & ~kPositive) * stride; }
};

// A split, and what lies left of it.
struct ExtraTreesSide {
  u32 feature, bin, n_rows, n_positive;
};

// The best of the cuts that were looked at in a block. Gini's decrease is proportional to a ratio
// of whole numbers (criteria/gini.hpp). Up to 512 rows two different ratios differ as doubles as
// well, so that products decide as quotients would; equal ones go to the feature that was drawn
// first. The quotients that ExtraTreesLevels compares would cost 4 % of a forest here (measured).
struct BlockBest {
  i64 dividend = -1, divisor = 1;
  u64 packed = 0;

  bool found() const { return dividend >= 0; }
  ExtraTreesSide left() const {
    return {static_cast<u32>(packed & 0xFF), static_cast<u32>(packed >> 8 & 0xFF),
            static_cast<u32>(packed >> 16 & 0xFFFF), static_cast<u32>(packed >> 32)};
  }
  void take(const ExtraTreesNode& node, const ExtraTreesSide& left) {
    const i64 l = left.n_rows, p = left.n_positive, w = node.n_rows;
    const i64 d = p * w - static_cast<i64>(node.n_positive) * l;
    const i64 own_dividend = d * d, own_divisor = l * (w - l);
    const u64 own =
        left.feature | u64{left.bin} << 8 | u64{left.n_rows} << 16 | u64{left.n_positive} << 32;
    // A mask, since a compiler would guess which is better.
    const i64 all = -static_cast<i64>(own_dividend * divisor > dividend * own_divisor);
    dividend ^= (dividend ^ own_dividend) & all;
    divisor ^= (divisor ^ own_divisor) & all;
    packed ^= (packed ^ own) & static_cast<u64>(all);
  }
};

// Writes the split of a node, which becomes its left child. Field by field: a copy of what was just
// written in smaller pieces would wait for the writes.
inline void descend(CompactTree& tree, u32 id, const ExtraTreesSide& left, ExtraTreesNode& node,
                    ExtraTreesNode& right) {
  right.key = child_key(node.key, true);
  right.parent = id;
  right.depth = node.depth + 1;
  right.n_rows = node.n_rows - left.n_rows;
  right.n_positive = node.n_positive - left.n_positive;
  right.impurity = weigh_impurity(right.n_rows, right.n_positive);
  const double impurity = weigh_impurity(left.n_rows, left.n_positive);
  const double decrease = std::max(0.0, node.impurity - impurity - right.impurity);
  tree.split(id, left.feature, left.bin, 2 * left.n_rows > node.n_rows, decrease);
  node.key = child_key(node.key, false);
  ++node.depth;
  node.n_rows = left.n_rows;
  node.n_positive = left.n_positive;
  node.impurity = impurity;
}

// Features that are looked at side by side.
inline constexpr u32 kThresholdsTogether = 8;

// Draws features without replacement until n_wanted were looked at and one of them varies, some at
// a time: look(features, numbers) tells whether one has varied so far. Two rows are partitioned by
// any feature alike: the first that varies is taken.
template <class Look>
COMMITTEE_INLINE inline void draw_features(const ExtraTreesRules& rules, const ExtraTreesNode& node,
                                           Look&& look) {
  const NodeNumbers numbers(rules.tree_key, node.key);
  const u32 n_wanted = node.n_rows == 2 ? 1 : rules.n_wanted;
  BlockSampler draw(rules, numbers);
  for (bool found = false; !draw.is_over() && (draw.n_drawn() < n_wanted || !found);) {
    const u32 first = draw.n_drawn();
    const u32 last = std::min(std::max(n_wanted, first + 1), first + kThresholdsTogether);
    while (draw.n_drawn() < last) draw.draw();
    found = look(draw.newest(last - first), numbers);
  }
}

// Splits a node, which becomes its left child; false: it must stay a leaf. look_at(features,
// numbers, best) looks at some features, partition(left, right) partitions the node's rows.
template <class Best, class Node, class LookAt, class Partition>
COMMITTEE_INLINE inline bool split_node(const ExtraTreesRules& rules, CompactTree& tree, Node& node,
                                        u32 id, Node& right, LookAt&& look_at,
                                        Partition&& partition) {
  Best best;
  draw_features(rules, node, [&](std::span<const u8> features, const NodeNumbers& numbers) {
    look_at(features, numbers, best);
    return best.found();
  });
  if (!best.found()) return false;
  const ExtraTreesSide left = best.left();
  descend(tree, id, left, node, right);
  partition(left);
  return true;
}

// Grows a subtree depth-first, left before right. hand_over(node) grows the subtree of a node
// elsewhere or returns false; split(node, id, right) is as split_node.
template <class Node, class HandOver, class Split>
COMMITTEE_INLINE inline void grow_depth_first(const ExtraTreesRules& rules, CompactTree& tree,
                                              Node node, std::vector<Node>& open,
                                              HandOver&& hand_over, Split&& split) {
  for (open.clear();;) {
    const bool is_leaf = rules.is_leaf(node.n_rows, node.n_positive, node.depth);
    if (is_leaf || !hand_over(node)) {
      const u32 id = tree.add_node(node.n_rows, node.n_positive, node.depth);
      Node right;
      if (!is_leaf && split(node, id, right)) {
        open.push_back(std::move(right));
        continue;
      }
      tree.close_leaf(node.n_rows, node.n_positive);
    }
    if (open.empty()) return;
    node = std::move(open.back());
    open.pop_back();
    tree.turn_right(node.parent);
  }
}

// The smallest and the largest bin of a run of features, and a cut between them.
struct ExtraTreesThresholds {
  u32 lo[kThresholdsTogether], hi[kThresholdsTogether], cuts[kThresholdsTogether];

  // In steps, each for all features: what a cut costs is mostly the waiting of a step for the one
  // before.
  template <class Keys = PlainKeys>
  COMMITTEE_INLINE void draw(const ExtraTreesRules& rules, std::span<const u8> features,
                             const NodeNumbers& numbers) {
    const RandomThresholds* columns = rules.table->columns.data();
    const std::size_t n = features.size();
    double thresholds[kThresholdsTogether];
    u32 keys[kThresholdsTogether];
    for (std::size_t k = 0; k < n; ++k) {
      const RandomThresholds& column = columns[features[k]];
      thresholds[k] = column.draw(lo[k], hi[k], numbers.at(Purpose::threshold, features[k]));
      keys[k] = column.key_of(thresholds[k]);
    }
    for (std::size_t k = 0; k < n; ++k) cuts[k] = columns[features[k]].find_run<Keys>(keys[k]);
    for (std::size_t k = 0; k < n; ++k)
      cuts[k] = columns[features[k]].count_below<Keys>(cuts[k], keys[k]);
    for (std::size_t k = 0; k < n; ++k)
      cuts[k] = columns[features[k]].settle(cuts[k], keys[k], thresholds[k], lo[k], hi[k]);
  }
};

// The bins of sixteen rows become columns: 16 lanes a feature.
template <class Store>
COMMITTEE_INLINE inline void load_columns(const ExtraTreesRecords& records, const u32* rows,
                                          Store&& store) {
  for (std::size_t byte = 0; byte < records.stride; byte += kRowLanes) {
    RowLanes lanes[kRowLanes];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRowLanes; ++i) lanes[i] = load_lanes(records.find(rows[i]) + byte);
    transpose_lanes(lanes);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kRowLanes; ++k) store(byte + k, lanes[k]);
  }
}

inline RowLanes find_left(RowLanes column, RowLanes rows, u32 cut) {
  return reinterpret_cast<RowLanes>(column <= RowLanes{} + static_cast<u8>(cut)) & rows;
}

// Writes those of sixteen rows that are in a set, and perhaps others behind them: room for sixteen
// more is needed. Returns the end.
inline u32* list_rows(RowLanes set, const u32* rows, u32* to) {
#if defined(__aarch64__)
  // Four at a time: a table tells, for each of the 16 subsets of four lanes, which bytes they are.
  static constexpr auto kPick = [] {
    std::array<std::array<u8, 16>, 16> table{};
    for (u32 subset = 0; subset < 16; ++subset) {
      for (u32 lane = 0, byte = 0; lane < 4; ++lane) {
        for (u32 b = 0; b < 4 && (subset >> lane & 1) != 0; ++b)
          table[subset][byte++] = static_cast<u8>(4 * lane + b);
      }
    }
    return table;
  }();
  static constexpr u8 kCount[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  const uint8x16_t bits =
      (uint8x16_t)(set & RowLanes{1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8});
  const uint8x16_t pairs = vpaddq_u8(bits, bits);
  u32 subsets = vgetq_lane_u32(vreinterpretq_u32_u8(vpaddq_u8(pairs, pairs)), 0);
  if (subsets == 0) return to;
#pragma GCC unroll 4
  for (int quad = 0; quad < 4; ++quad) {
    const u32 subset = subsets >> (8 * quad) & 0xF;
    const uint8x16_t from = vreinterpretq_u8_u32(vld1q_u32(rows + 4 * quad));
    vst1q_u8(reinterpret_cast<u8*>(to), vqtbl1q_u8(from, vld1q_u8(kPick[subset].data())));
    to += kCount[subset];
  }
#elif defined(__SSE2__)
  // A bit a row; where the rows of four go follows from their bits alone, so that no row waits for
  // the one before.
  struct Places {
    u8 at[4], count;
  };
  static constexpr auto kPlaces = [] {
    std::array<Places, 16> table{};
    for (u32 subset = 0; subset < 16; ++subset) {
      u8 n = 0;
      for (u32 lane = 0; lane < 4; ++lane) {
        table[subset].at[lane] = n;
        n = static_cast<u8>(n + (subset >> lane & 1));
      }
      table[subset].count = n;
    }
    return table;
  }();
  const u32 subsets = static_cast<u32>(_mm_movemask_epi8((__m128i)set));
  if (subsets == 0) return to;
#pragma GCC unroll 4
  for (int quad = 0; quad < 4; ++quad) {
    const Places& places = kPlaces[subsets >> (4 * quad) & 0xF];
#pragma GCC unroll 4
    for (int lane = 0; lane < 4; ++lane) to[places.at[lane]] = rows[4 * quad + lane];
    to += places.count;
  }
#else
  u8 lanes[kRowLanes];
  std::memcpy(lanes, &set, sizeof lanes);
  for (std::size_t i = 0; i < kRowLanes; ++i) {
    *to = rows[i];
    to += lanes[i] & 1;
  }
#endif
  return to;
}

}  // namespace committee
