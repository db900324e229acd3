#include "drawn_blocks.hpp"

#include <algorithm>

namespace committee {

namespace {

// Features that are looked at side by side.
constexpr u32 kTogether = 8;

// The smallest and the largest bin of some rows.
template <int kVectors>
std::pair<u32, u32> find_ends(const RowLanes* column, const RowSet<kVectors>& rows) {
  RowLanes lo = column[0] | ~rows.lanes[0], hi = column[0] & rows.lanes[0];
  for (int v = 1; v < kVectors; ++v) {
    const RowLanes low = column[v] | ~rows.lanes[v], high = column[v] & rows.lanes[v];
    lo = low < lo ? low : lo;
    hi = high > hi ? high : hi;
  }
  return {least_lane(lo), largest_lane(hi)};
}

RowLanes find_left(RowLanes column, RowLanes rows, u32 cut) {
  return reinterpret_cast<RowLanes>(column <= RowLanes{} + static_cast<u8>(cut)) & rows;
}

}  // namespace

// The best of the cuts that were looked at. Gini's decrease is proportional to a ratio of whole
// numbers (criteria/gini.hpp). Up to 512 rows two different ratios differ as doubles as well, so
// that products decide as quotients would; equal ones go to the feature that was drawn first.
struct DrawnBlocks::Best {
  struct Side {
    u32 feature, cut, n_rows, n_positive;  // of the left side
  };
  i64 dividend = -1, divisor = 1;
  u64 packed = 0;

  bool found() const { return dividend >= 0; }
  Side left() const {
    return {static_cast<u32>(packed & 0xFF), static_cast<u32>(packed >> 8 & 0xFF),
            static_cast<u32>(packed >> 16 & 0xFFFF), static_cast<u32>(packed >> 32)};
  }
  void take(u32 n_rows, u32 n_positive, const Side& side) {
    const i64 l = side.n_rows, p = side.n_positive, w = n_rows;
    const i64 d = p * w - static_cast<i64>(n_positive) * l;
    const i64 own_dividend = d * d, own_divisor = l * (w - l);
    const u64 own =
        side.feature | u64{side.cut} << 8 | u64{side.n_rows} << 16 | u64{side.n_positive} << 32;
    // A mask, since a compiler would guess which is better.
    const i64 all = -static_cast<i64>(own_dividend * divisor > dividend * own_divisor);
    dividend ^= (dividend ^ own_dividend) & all;
    divisor ^= (divisor ^ own_divisor) & all;
    packed ^= (packed ^ own) & static_cast<u64>(all);
  }
};

bool DrawnBlocks::finish(const Top& top, const u8* records, std::size_t stride,
                         std::span<const BinaryTally::Item> items, GrownTree& tree) {
  records_ = records;
  stride_ = stride;
  tree_ = &tree;
  tree.width = 2;
  const std::size_t n = items.size();
  if (n <= RowBlock<1>::kRows) return finish_in<1>(top, items);
  if (n <= RowBlock<2>::kRows) return finish_in<2>(top, items);
  if (n <= RowBlock<4>::kRows) return finish_in<4>(top, items);
  if (n <= RowBlock<8>::kRows) return finish_in<8>(top, items);
  if (n <= RowBlock<16>::kRows) return finish_in<16>(top, items);
  return finish_in<32>(top, items);
}

template <int kVectors>
bool DrawnBlocks::finish_in(const Top& top, std::span<const BinaryTally::Item> items) {
  RowBlock<kVectors>& own = block<kVectors>();
  Node<kVectors> node;
  node.key = top.key;
  node.parent = top.parent;
  node.depth = top.depth;
  node.is_right = top.is_right;
  node.n_rows = static_cast<u32>(items.size());
  node.n_positive = 0;
  u8 positives[RowBlock<kVectors>::kRows] = {}, rows[RowBlock<kVectors>::kRows] = {};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_positive = items[i].pack >> 16 != 0;
    own.records[i] = items[i].row;
    positives[i] = static_cast<u8>(0 - is_positive);
    rows[i] = 255;
    node.n_positive += is_positive;
  }
  std::memcpy(&own.positives, positives, sizeof positives);
  std::memcpy(&node.rows, rows, sizeof rows);
  if (!fill_columns<kVectors>(node.n_rows)) return false;
  grow<kVectors>(std::move(node));
  return true;
}

// False: a value is missing.
template <int kVectors>
bool DrawnBlocks::fill_columns(u32 n_rows) {
  RowBlock<kVectors>& own = block<kVectors>();
  // Lanes beyond the rows hold the first one once more.
  for (std::size_t i = n_rows; i % kRowLanes != 0; ++i) own.records[i] = own.records[0];
  RowLanes missing{};
  for (std::size_t first = 0; first < n_rows; first += kRowLanes) {
    for (std::size_t byte = 0; byte < stride_; byte += kRowLanes) {
      RowLanes lanes[kRowLanes];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRowLanes; ++i) {
        lanes[i] = load_lanes(records_ + own.records[first + i] * stride_ + byte);
        missing |= reinterpret_cast<RowLanes>(lanes[i] == RowLanes{} + kMissingBin);
      }
      transpose_lanes(lanes);
#pragma GCC unroll 16
      for (std::size_t k = 0; k < kRowLanes; ++k)
        own.columns[byte + k][first / kRowLanes] = lanes[k];
    }
  }
  // Vectors without a row: whatever they hold, no row of them counts.
  return largest_lane(missing) == 0;
}

template <int kVectors>
void DrawnBlocks::grow(Node<kVectors> node) {
  std::vector<Node<kVectors>>& open = block<kVectors>().open;
  for (open.clear();;) {
    bool is_done = is_leaf(node.n_rows, node.n_positive, node.depth);
    if constexpr (kVectors > 1) {
      if (!is_done && node.n_rows <= RowBlock<kVectors>::kRows / 2) {
        hand_over<kVectors / 2, kVectors>(node);
        if (open.empty()) return;
        node = open.back();
        open.pop_back();
        continue;
      }
    }
    const u32 id = add_to_tree<kVectors>(node);
    Node<kVectors> right;
    if (is_done || !split<kVectors>(node, id, right)) {
      if (open.empty()) return;
      node = open.back();
      open.pop_back();
    } else {
      open.push_back(right);
    }
  }
}

// Grows the subtree in the smallest block that holds its rows.
template <int kVectors, int kFrom>
void DrawnBlocks::hand_over(const Node<kFrom>& node) {
  if constexpr (kVectors > 1) {
    if (node.n_rows <= RowBlock<kVectors>::kRows / 2) return hand_over<kVectors / 2, kFrom>(node);
  }
  const RowBlock<kFrom>& from = block<kFrom>();
  RowBlock<kVectors>& own = block<kVectors>();
  u8 positives[RowBlock<kVectors>::kRows] = {}, rows[RowBlock<kVectors>::kRows] = {};
  u32 n = 0;
  for (int v = 0; v < kFrom; ++v) {
    const u32 positive = pack_lanes(from.positives.lanes[v]);
    for (u32 rest = pack_lanes(node.rows.lanes[v]); rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(__builtin_ctz(rest));
      own.records[n] = from.records[static_cast<std::size_t>(v) * kRowLanes + lane];
      positives[n] = static_cast<u8>(0 - (positive >> lane & 1));
      rows[n++] = 255;
    }
  }
  Node<kVectors> top;
  std::memcpy(&own.positives, positives, sizeof positives);
  std::memcpy(&top.rows, rows, sizeof rows);
  top.key = node.key;
  top.n_rows = node.n_rows;
  top.n_positive = node.n_positive;
  top.parent = node.parent;
  top.depth = node.depth;
  top.is_right = node.is_right;
  fill_columns<kVectors>(n);
  grow<kVectors>(std::move(top));
}

bool DrawnBlocks::is_leaf(u32 n_rows, u32 n_positive, u32 depth) const {
  return n_positive == 0 || n_positive == n_rows || depth >= rules_.max_depth ||
         n_rows < rules_.min_samples_split;
}

template <int kVectors>
u32 DrawnBlocks::add_to_tree(const Node<kVectors>& node) {
  const double unit = rules_.weight_unit;
  const double value[2] = {(node.n_rows - node.n_positive) * unit, node.n_positive * unit};
  const u32 id = tree_->add_node(node.n_rows, node.n_rows * unit, 0.0, value);
  if (node.parent != kNone) (node.is_right ? tree_->right : tree_->left)[node.parent] = id;
  return id;
}

// Splits the node, which becomes its left child; false: it must stay a leaf.
template <int kVectors>
bool DrawnBlocks::split(Node<kVectors>& node, u32 id, Node<kVectors>& right) {
  Best found;
  if (!search<kVectors>(node, found)) return false;
  const Best::Side best = found.left();
  GrownTree::Split& made = tree_->splits[id];
  made.feature = best.feature;
  made.missing_left = 2 * best.n_rows > node.n_rows;
  made.threshold = rules_.thresholds[best.feature][best.cut];
  const RowLanes* column = block<kVectors>().columns[best.feature];
  for (int v = 0; v < kVectors; ++v) {
    const RowLanes left = find_left(column[v], node.rows.lanes[v], best.cut);
    right.rows.lanes[v] = node.rows.lanes[v] & ~left;
    node.rows.lanes[v] = left;
  }
  right.n_rows = node.n_rows - best.n_rows;
  right.n_positive = node.n_positive - best.n_positive;
  right.key = child_key(node.key, true);
  right.parent = node.parent = id;
  right.depth = ++node.depth;
  right.is_right = true;
  node.n_rows = best.n_rows;
  node.n_positive = best.n_positive;
  node.key = child_key(node.key, false);
  node.is_right = false;
  return true;
}

// Draws features without replacement until n_wanted were looked at and one of them varies. Two rows
// are parted by any feature alike: the first that varies is taken.
template <int kVectors>
bool DrawnBlocks::search(const Node<kVectors>& node, Best& best) {
  const NodeNumbers numbers(rules_.tree_key, node.key);
  const u32 n_pool = rules_.n_pool;
  u8 order[64];
  std::memcpy(order, rules_.pool, sizeof order);
  u32 n_drawn = 0;
  for (u32 n_wanted = node.n_rows == 2 ? 1 : rules_.n_wanted;
       n_drawn < n_pool && (n_drawn < n_wanted || !best.found());) {
    const u32 first = n_drawn, last = std::min(std::max(n_wanted, first + 1), first + kTogether);
    for (; n_drawn < last; ++n_drawn) {
      const u64 number = numbers.at(Purpose::features, n_drawn);
      std::swap(order[n_drawn], order[n_drawn + scale_below(number, n_pool - n_drawn)]);
    }
    look_at<kVectors>(node, {order + first, last - first}, numbers, best);
  }
  return best.found();
}

// In steps, each for all features: what a feature costs is mostly the waiting of a step for the one
// before. A feature that is constant here has all rows on its left: a ratio of zeros, which never
// wins.
template <int kVectors>
[[gnu::always_inline]] inline void DrawnBlocks::look_at(const Node<kVectors>& node,
                                                        std::span<const u8> features,
                                                        const NodeNumbers& numbers, Best& best) {
  const RowBlock<kVectors>& own = block<kVectors>();
  const std::size_t n = features.size();
  const ColumnCuts* columns = rules_.columns.data();
  u32 lo[kTogether], hi[kTogether], keys[kTogether], cuts[kTogether];
  double thresholds[kTogether];
  for (std::size_t k = 0; k < n; ++k)
    std::tie(lo[k], hi[k]) = find_ends<kVectors>(own.columns[features[k]], node.rows);
  for (std::size_t k = 0; k < n; ++k) {
    const ColumnCuts& column = columns[features[k]];
    thresholds[k] = column.draw(lo[k], hi[k], numbers.at(Purpose::threshold, features[k]));
    keys[k] = column.key_of(thresholds[k]);
  }
  for (std::size_t k = 0; k < n; ++k) cuts[k] = columns[features[k]].find_run(keys[k]);
  for (std::size_t k = 0; k < n; ++k) cuts[k] = columns[features[k]].count_below(cuts[k], keys[k]);
  for (std::size_t k = 0; k < n; ++k)
    cuts[k] = columns[features[k]].settle(cuts[k], keys[k], thresholds[k], lo[k], hi[k]);
  for (std::size_t k = 0; k < n; ++k) {
    const RowLanes* column = own.columns[features[k]];
    RowLanes all{}, positive{};  // rows of every lane, up to 32
    for (int v = 0; v < kVectors; ++v) {
      const RowLanes left = find_left(column[v], node.rows.lanes[v], cuts[k]);
      all -= left;
      positive -= left & own.positives.lanes[v];
    }
    best.take(node.n_rows, node.n_positive,
              {features[k], cuts[k], add_lanes(all), add_lanes(positive)});
  }
}

}  // namespace committee
