#include "class_blocks.hpp"

#include <algorithm>

#include "class_estimates.hpp"
#include "row_ranks.hpp"
#include "committee/cut.hpp"

namespace committee {

namespace {

// Up to so many rows are sorted; the class weights of more are added up bin by bin.
constexpr u32 kMostSorted = 32;

struct BlockNode {
  u64 key, total;
  u32 begin, n;  // rows
  u32 depth;
  bool is_leaf;
};

// A boundary, and what lies left of it.
struct BlockSplit {
  double score = 0.0;
  u64 place = ~u64{0}, left = 0;
  u32 feature = kNone, cut = 0, next = 0;
  float bar = 0.0f;  // what is estimated less is worth less

  bool found() const { return feature != kNone; }
};

// A node that is not yet in its tree.
struct ListedNode {
  u64 total;
  double threshold;
  u16 n, right;  // rows, number of the right child; 0: a leaf
  u8 feature, missing_left;
};

// A feature at hand.
struct BlockFeature {
  u32 feature;
  u64 place;  // in the node's order of features
};

template <int kVectors>
class StridedBlock final : public ClassBlock {
  static constexpr std::size_t kStride = kVectors * kRowLanes, kRoom = kMostWeight + 1;
  struct Record {
    RowLanes lanes[kVectors];
  };

 public:
  explicit StridedBlock(const ClassRules& rules) : rules_(rules) {
    std::copy_n(rules.pool, 64, order_);
    std::fill_n(bins_, kRoom, u8{0});  // what lies behind the rows is looked at, but counts nowhere
  }

  bool finish(const ClassTop& top, const u8* records, std::span<const Item> items,
              GrownTree& tree) override {
    if (!copy(records, items)) return false;
    n_nodes_ = 0;
    grow({top.key, top.total, 0, static_cast<u32>(items.size()), top.depth, false});
    append_to(tree, top);
    return true;
  }

 private:
  // False: a value is missing.
  bool copy(const u8* records, std::span<const Item> items) {
    Record missing{};
    for (std::size_t i = 0; i < items.size(); ++i) {
      std::memcpy(&records_[i], records + items[i].row * kStride, kStride);
      for (int v = 0; v < kVectors; ++v)
        missing.lanes[v] |=
            reinterpret_cast<RowLanes>(records_[i].lanes[v] == RowLanes{} + kMissingBin);
      packs_[i] = ByteSweep::pack(items[i].label, items[i].weight);
    }
    u8 bytes[kStride];
    std::memcpy(bytes, &missing, kStride);
    for (u32 k = 0; k < rules_.n_pool; ++k) {
      const FieldPlace place = rules_.places[rules_.pool[k]];
      if (place.mask == 255 && bytes[place.byte] != 0) return false;
    }
    return true;
  }

  // The node is no leaf, as far as known.
  void grow(BlockNode node) {
    for (u32 n_open = 0;;) {
      const u32 id = list_node(node);
      BlockSplit split;
      if (find_split(node, split)) {
        BlockNode right;
        descend(id, split, node, right);
        if (!node.is_leaf) {
          // The right child waits, the left one is next.
          waiting_[n_open] = id;
          open_[n_open++] = right;
          continue;
        }
        list_node(node);
        nodes_[id].right = static_cast<u16>(n_nodes_);
        if (!right.is_leaf) {
          node = right;
          continue;
        }
        list_node(right);
      }
      do {
        if (n_open == 0) return;
        node = open_[--n_open];
        nodes_[waiting_[n_open]].right = static_cast<u16>(n_nodes_);
        if (node.is_leaf) list_node(node);
      } while (node.is_leaf);
    }
  }

  u32 list_node(const BlockNode& node) {
    ListedNode& listed = nodes_[n_nodes_];
    listed.total = node.total;
    listed.n = static_cast<u16>(node.n);
    listed.right = 0;
    return n_nodes_++;
  }

  bool find_split(const BlockNode& node, BlockSplit& best) {
    u8 differ[kStride];
    if (!find_differences(node, differ)) return false;
    BlockFeature features[64];
    const u32 n = rules_.draws_features ? draw_features(node, differ, features)
                                        : list_features(node, differ, features);
    if (node.n == 2 && n == 1) {
      part_two(node, features[0].feature, best);
      return true;
    }
    for (u32 k = 0; k < n; ++k) {
      const FieldPlace place = rules_.places[features[k].feature];
      if (place.mask != 255) {
        look_at_bit(node, features[k], place, best);
      } else if (node.n <= kMostSorted) {
        look_at(node, features[k], sort_rows(node, place.byte), best);
      } else {
        look_at(node, features[k], add_up_bins(node, place.byte), best);
      }
    }
    return best.found();
  }

  // Bits of the records that are not the same in all rows; false: all of them are.
  bool find_differences(const BlockNode& node, u8* differ) const {
    const Record* rows = records_ + node.begin;
    const Record first = rows[0];
    Record any{};
    for (u32 i = 1; i < node.n; ++i) {
      for (int v = 0; v < kVectors; ++v) any.lanes[v] |= rows[i].lanes[v] ^ first.lanes[v];
    }
    std::memcpy(differ, &any, kStride);
    RowLanes all = any.lanes[0];
    for (int v = 1; v < kVectors; ++v) all |= any.lanes[v];
    return largest_lane(all) != 0;
  }

  bool varies(u32 feature, const u8* differ) const {
    const FieldPlace place = rules_.places[feature];
    return (differ[place.byte] & place.mask) != 0;
  }

  // Draws without replacement until n_wanted were drawn and one of them varies; keeps those that
  // do. Two rows are parted by any feature alike: the first that varies is taken.
  u32 draw_features(const BlockNode& node, const u8* differ, BlockFeature* features) {
    const NodeNumbers numbers(rules_.tree_key, node.key);
    const u32 n_pool = rules_.n_pool;
    const u32 n_wanted = node.n == 2 && rules_.shuffle_ties ? 1 : rules_.n_wanted;
    u8 with[64];
    u32 n = 0, k = 0;
    do {
      const u32 at = k + scale_below(numbers.at(Purpose::features, k), n_pool - k);
      const u32 feature = order_[at];
      order_[at] = order_[k];
      with[k++] = static_cast<u8>(at);
      features[n] = {feature, rules_.shuffle_ties ? k : feature};
      n += varies(feature, differ);
    } while (k < n_wanted || (n == 0 && k < n_pool));
    while (k-- > 0) order_[with[k]] = rules_.pool[with[k]];
    return n;
  }

  u32 list_features(const BlockNode& node, const u8* differ, BlockFeature* features) const {
    const NodeNumbers numbers(rules_.tree_key, node.key);
    u32 n = 0;
    for (u32 k = 0; k < rules_.n_pool; ++k) {
      const u32 feature = rules_.pool[k];
      if (!varies(feature, differ)) continue;
      const u64 drawn = rules_.shuffle_ties ? numbers.at(Purpose::tie, feature) >> 32 << 32 : 0;
      features[n++] = {feature, drawn | feature};
    }
    return n;
  }

  const u8* column(const BlockNode& node, u32 byte) const {
    return reinterpret_cast<const u8*>(records_ + node.begin) + byte;
  }

  void look_at_bit(const BlockNode& node, const BlockFeature& feature, FieldPlace place,
                   BlockSplit& best) {
    const u8* bytes = column(node, place.byte);
    const u64* packs = packs_ + node.begin;
    u64 left = 0;
    for (u32 i = 0; i < node.n; ++i)
      left += packs[i] & (u64{(bytes[i * kStride] & place.mask) != 0} - 1);
    cuts_[0] = 0;
    cuts_[1] = 1;
    lefts_[1] = left;
    consider(node, feature, 1, best);
  }

  // Two rows and one feature: nothing to compare.
  void part_two(const BlockNode& node, u32 feature, BlockSplit& best) const {
    const FieldPlace place = rules_.places[feature];
    const u8* bytes = column(node, place.byte);
    const u32 a = std::min<u32>(bytes[0] & place.mask, place.most);
    const u32 b = std::min<u32>(bytes[kStride] & place.mask, place.most);
    best.left = packs_[node.begin + (a < b ? 0 : 1)];
    best.feature = feature;
    best.cut = std::min(a, b);
    best.next = std::max(a, b);
  }

  // Lists the bins that occur, and what lies left of each; returns how many.
  u32 sort_rows(const BlockNode& node, u32 byte) {
    const u8* bytes = column(node, byte);
    for (u32 i = 0; i < node.n; ++i) bins_[i] = bytes[i * kStride];
    u8 places[kMostSorted], bins[kMostSorted];
    u64 packs[kMostSorted];
    if (node.n <= kRowLanes) {
      rank_rows<1>(bins_, node.n, places);
    } else {
      rank_rows<2>(bins_, node.n, places);
    }
    for (u32 i = 0; i < node.n; ++i) {
      bins[places[i]] = bins_[i];
      packs[places[i]] = packs_[node.begin + i];
    }
    u32 n = 0, previous = kNone;
    u64 left = 0;
    for (u32 i = 0; i < node.n; ++i) {
      cuts_[n] = bins[i];
      lefts_[n] = left;
      n += bins[i] != previous;
      previous = bins[i];
      left += packs[i];
    }
    return n;
  }

  u32 add_up_bins(const BlockNode& node, u32 byte) {
    const u8* bytes = column(node, byte);
    const u64* packs = packs_ + node.begin;
    u64 touched = 0;  // groups of four bins
    for (u32 i = 0; i < node.n; ++i) {
      const u32 bin = bytes[i * kStride];
      sums_[bin] += packs[i];
      touched |= u64{1} << (bin / 4);
    }
    u32 n = 0;
    u64 left = 0;
    for (; touched; touched &= touched - 1) {
      const u32 first = static_cast<u32>(__builtin_ctzll(touched)) * 4;
#pragma GCC unroll 4
      for (u32 bin = first; bin < first + 4; ++bin) {
        cuts_[n] = static_cast<u8>(bin);
        lefts_[n] = left;
        n += sums_[bin] != 0;
        left += sums_[bin];
        sums_[bin] = 0;
      }
    }
    return n;
  }

  void look_at(const BlockNode& node, const BlockFeature& feature, u32 n, BlockSplit& best) {
    if (n == 2) return consider(node, feature, 1, best);
    for (u32 k = n; k < n + 3; ++k) lefts_[k] = lefts_[1];
    const WordQuad quad(node.total, ByteSweep::add_bytes(node.total));
    FloatQuad most{};
    for (u32 k = 1; k < n; k += 4) {
      const FloatQuad estimates = quad.estimate(lefts_ + k);
      std::memcpy(estimates_ + k, &estimates, sizeof estimates);
      most = larger_of(most, estimates);
    }
    const float bar = std::max(best.bar, largest_of(most) * kSurelyLess);
    for (u32 k = 1; k < n; k += 4) {
      FloatQuad estimates;
      std::memcpy(&estimates, estimates_ + k, sizeof estimates);
      for (u32 found = find_at_least(estimates, bar); found != 0; found &= found - 1) {
        const u32 at = k + static_cast<u32>(__builtin_ctz(found));
        if (at < n) consider(node, feature, at, best);
      }
    }
  }

  void consider(const BlockNode& node, const BlockFeature& feature, u32 k, BlockSplit& best) const {
    ByteSweep sweep(node.total, ByteSweep::add_bytes(node.total));
    sweep.set_left(lefts_[k]);
    const double score = sweep.measure().score();
    const u32 cut = cuts_[k - 1];
    if (score < best.score) return;
    if (score == best.score && std::pair(feature.place, cut) > std::pair(best.place, best.cut))
      return;
    best.score = score;
    best.place = feature.place;
    best.left = lefts_[k];
    best.feature = feature.feature;
    best.cut = cut;
    best.next = cuts_[k];
    best.bar = static_cast<float>(score) * kSurelyLess;
  }

  // Writes the split of the node, which becomes its left child.
  void descend(u32 id, const BlockSplit& split, BlockNode& node, BlockNode& right) {
    const ColumnBins& bins = (*rules_.bins)[split.feature];
    ListedNode& listed = nodes_[id];
    listed.threshold = bins.thresholds[settle_cut(split.cut, split.next, bins)];
    listed.feature = static_cast<u8>(split.feature);
    listed.missing_left =
        2 * ByteSweep::add_bytes(split.left) > ByteSweep::add_bytes(node.total) ? 1 : 0;
    const u32 n = node.n;
    right = {child_key(node.key, true), node.total - split.left, node.begin, n, ++node.depth, false};
    node.key = child_key(node.key, false);
    node.total = split.left;
    node.is_leaf = is_pure(node.total) || node.depth >= rules_.max_depth;
    right.is_leaf = is_pure(right.total) || node.depth >= rules_.max_depth;
    node.n = part(node, split, right.is_leaf);
    right.n = n - node.n;
    if (!node.is_leaf) right.begin = node.begin + node.n;
    node.is_leaf = node.is_leaf || node.n < rules_.min_samples_split;
    right.is_leaf = right.is_leaf || right.n < rules_.min_samples_split;
  }

  static bool is_pure(u64 total) {
    return total >> (static_cast<u32>(__builtin_ctzll(total)) & ~7u) <= 255;
  }

  // Parts the rows of a node, which is the left child already, though n is not; returns how many go
  // left. Rows of a leaf are not needed any more: those of the other child take their places.
  u32 part(const BlockNode& node, const BlockSplit& split, bool right_ends) {
    const FieldPlace place = rules_.places[split.feature];
    const u8* bytes = column(node, place.byte);
    Record* records = records_ + node.begin;
    u64* packs = packs_ + node.begin;
    const u32 cut = split.cut, n = node.n;
    const auto goes_left = [=](u32 i) { return (bytes[i * kStride] & place.mask) <= cut; };
    u32 n_left = 0, n_right = 0;
    if (node.is_leaf && right_ends) {
      for (u32 i = 0; i < n; ++i) n_left += goes_left(i);
    } else if (node.is_leaf) {
      for (u32 i = 0; i < n; ++i) {
        const bool is_left = goes_left(i);
        records[n_right] = records[i];
        packs[n_right] = packs[i];
        n_right += !is_left;
      }
      n_left = n - n_right;
    } else if (right_ends) {
      for (u32 i = 0; i < n; ++i) {
        const bool is_left = goes_left(i);
        records[n_left] = records[i];
        packs[n_left] = packs[i];
        n_left += is_left;
      }
    } else {
      for (u32 i = 0; i < n; ++i) {
        const bool is_left = goes_left(i);
        const Record record = records[i];
        const u64 pack = packs[i];
        records[n_left] = spare_[n_right] = record;
        packs[n_left] = spare_packs_[n_right] = pack;
        n_left += is_left;
        n_right += !is_left;
      }
      std::copy_n(spare_, n_right, records + n_left);
      std::copy_n(spare_packs_, n_right, packs + n_left);
    }
    return n_left;
  }

  void append_to(GrownTree& tree, const ClassTop& top) const {
    const u32 first = static_cast<u32>(tree.size());
    const std::size_t n = first + n_nodes_;
    if (top.parent != kNone) (top.is_right ? tree.right : tree.left)[top.parent] = first;
    tree.width = rules_.n_classes;
    for (auto* column : {&tree.left, &tree.right}) column->resize(n, GrownTree::kNoChild);
    tree.splits.resize(n);
    tree.n_samples.resize(n);
    for (auto* column : {&tree.weight, &tree.impurity}) column->resize(n);
    tree.values.resize(n * tree.width);
    for (u32 k = 0; k < n_nodes_; ++k) {
      const ListedNode& node = nodes_[k];
      const u32 id = first + k;
      tree.n_samples[id] = node.n;
      tree.weight[id] = ByteSweep::add_bytes(node.total) * rules_.weight_unit;
      double* values = tree.values.data() + std::size_t{id} * tree.width;
      for (u32 c = 0; c < tree.width; ++c)
        values[c] = static_cast<double>(node.total >> (8 * c) & 0xFF) * rules_.weight_unit;
      if (node.right == 0) continue;
      tree.left[id] = id + 1;
      tree.right[id] = first + node.right;
      GrownTree::Split& split = tree.splits[id];
      split.feature = node.feature;
      split.missing_left = node.missing_left != 0;
      split.threshold = node.threshold;
    }
  }

  const ClassRules& rules_;
  Record records_[kRoom], spare_[kRoom];
  u64 packs_[kRoom], spare_packs_[kRoom];  // the weight of a row, in the byte of its class
  // Of the feature at hand: bins that occur, and what lies left of each.
  u8 cuts_[kHistogramBins + 1];
  u64 lefts_[kHistogramBins + 4];
  float estimates_[kHistogramBins + 4];
  u64 sums_[kHistogramBins] = {};  // all zero between uses
  u8 bins_[kRoom];
  u8 order_[64];  // the pool between uses
  ListedNode nodes_[2 * kRoom];
  u32 n_nodes_ = 0;
  BlockNode open_[kRoom];
  u32 waiting_[kRoom];  // whose right children they are
};

}  // namespace

std::shared_ptr<ClassBlock> ClassBlock::make(const ClassRules& rules) {
  if (rules.stride == 16) return std::make_shared<StridedBlock<1>>(rules);
  if (rules.stride == 32) return std::make_shared<StridedBlock<2>>(rules);
  return std::make_shared<StridedBlock<4>>(rules);
}

}  // namespace committee
