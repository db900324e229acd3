#include "tree/fast/multiclass_subtree.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/rank_sort.hpp"
#include "base/recompiled.hpp"
#include "split/threshold.hpp"
#include "tree/fast/multiclass_rows.hpp"

namespace committee {

namespace {

// Up to so many rows are sorted; the class weights of more are added up bin by bin.
constexpr u32 kMostSorted = 32;
// In place of a number of rows that is not yet known.
constexpr u32 kAnyRows = 0xFFFFFFFFu;

template <class Word>
struct BlockNode {
  u64 key;
  Word total;
  double impurity;  // times weight
  RowRange rows;
  u32 depth;
  bool is_leaf;
};

// A boundary, and what lies left of it.
template <class Word>
struct BlockSplit {
  double score = 0.0;
  u64 priority = ~u64{0};
  Word left{};
  u32 feature = kNone, bin = 0, next = 0;
  float bar = 0.0f;  // below it an estimate cannot belong to the best

  bool found() const { return feature != kNone; }
};

// A feature at hand, and its position in the node's order of features.
struct BlockFeature {
  u32 feature;
  u64 priority;
};

// Of the feature at hand: the bins that occur, what lies left of each, and what the boundary there
// scores.
template <class Word>
struct BoundaryWords {
  u8 cuts[kHistogramBins + 1];
  Word lefts[kHistogramBins + 4];
  float estimates[kHistogramBins + 4];
  // Of every bin; all zero between uses. Neighbouring rows, whose bins are often the same, go to
  // different ones: adding to what was just written would wait for the writing.
  Word sums[2][kHistogramBins] = {};
};

template <int kVectors>
class StridedBlock final : public MulticlassSubtree {
  using Rows = BlockRows<kVectors>;
  static constexpr std::size_t kStride = Rows::kStride;
  struct WideNode : BlockNode<PackedCounts16> {
    u32 parent;  // whose right child it is
  };
  static constexpr std::size_t kMostLight = kMostWordWeight<PackedCounts8>;

 public:
  void begin(const MulticlassRules& rules) override {
    rules_ = &rules;
    rows_.make_room(rules.n_rows);
    u8 bytes[kStride] = {};
    for (u32 k = 0; k < rules.n_pool; ++k) {
      const FieldPlace place = rules.places[rules.pool[k]];
      if (place.mask == 255) bytes[place.byte] = 255;
    }
    std::memcpy(&bins_, bytes, kStride);
  }

  std::size_t most_rows() const override { return rows_.most_rows(); }

  bool finish(const MulticlassRoot& top, const u8* records, std::span<const Item> items,
              ClassTree& tree) override {
    return call_recompiled([&] { return finish_block(top, records, items, tree); });
  }

 private:
  bool finish_block(const MulticlassRoot& top, const u8* records, std::span<const Item> items,
                    ClassTree& tree) {
    if (!rows_.copy(records, items, bins_)) return false;
    const RowRange rows = {0, static_cast<u32>(items.size()), false};
    WideNode node;
    static_cast<BlockNode<PackedCounts16>&>(node) = {top.key, top.total, weigh_impurity(top.total),
                                                     rows,    top.depth, false};
    for (open_.clear();;) {
      if (weigh(node.total) <= kMostLight) {
        grow_light({node.key, PackedCountsSimd::narrow(node.total), node.impurity, node.rows,
                    node.depth, node.is_leaf},
                   tree);
      } else {
        const u32 id = tree.add_heavy(node.total, node.rows.n, node.depth);
        BlockSplit<PackedCounts16> split;
        if (!node.is_leaf && find_split(node, split)) {
          WideNode right;
          descend(split, id, node, right, tree);
          right.parent = id;
          open_.push_back(right);
          continue;
        }
      }
      if (open_.empty()) return true;
      node = open_.back();
      open_.pop_back();
      tree.turn_right(node.parent);
    }
  }

  static u32 add_to_tree(const BlockNode<PackedCounts8>& node, ClassTree& tree) {
    return tree.add_node(node.total, node.rows.n, node.depth);
  }

  // The subtree of a node of bytes.
  void grow_light(BlockNode<PackedCounts8> node, ClassTree& tree) {
    for (u32 n_open = 0;;) {
      const u32 id = add_to_tree(node, tree);
      BlockSplit<PackedCounts8> split;
      if (!node.is_leaf && find_split(node, split)) {
        BlockNode<PackedCounts8> right;
        descend(split, id, node, right, tree);
        if (!node.is_leaf) {
          // The right child waits, the left one is next.
          waiting_[n_open] = id;
          light_[n_open++] = right;
          continue;
        }
        add_to_tree(node, tree);
        tree.turn_right(id);
        if (!right.is_leaf) {
          node = right;
          continue;
        }
        add_to_tree(right, tree);
      }
      do {
        if (n_open == 0) return;
        node = light_[--n_open];
        tree.turn_right(waiting_[n_open]);
        if (node.is_leaf) add_to_tree(node, tree);
      } while (node.is_leaf);
    }
  }

  template <class Word>
  bool find_split(const BlockNode<Word>& node, BlockSplit<Word>& best) {
    const auto any = rows_.find_differences(node.rows);
    RowLanes all = any.lanes[0];
    for (int v = 1; v < kVectors; ++v) all |= any.lanes[v];
    if (largest_lane(all) == 0) return false;
    u8 differ[kStride];
    std::memcpy(differ, &any, kStride);
    BlockFeature features[kMostBlockFeatures];
    const u32 n = rules_->draws_features ? draw_features(node.key, node.rows.n, differ, features)
                                         : list_features(node.key, differ, features);
    if (node.rows.n == 2 && n == 1) {
      partition_two(node, features[0].feature, best);
      return true;
    }
    for (u32 k = 0; k < n; ++k) {
      const FieldPlace place = rules_->places[features[k].feature];
      if (place.mask != 255) {
        look_at_bit(node, features[k], place, best);
      } else {
        look_at(node, features[k], list_bins(node, place.byte), best);
      }
    }
    return best.found();
  }

  bool varies(u32 feature, const u8* differ) const {
    const FieldPlace place = rules_->places[feature];
    return (differ[place.byte] & place.mask) != 0;
  }

  // Draws without replacement until n_wanted were drawn and one of them varies; keeps those that
  // do. Two rows are partitioned by any feature alike: the first that varies is taken.
  u32 draw_features(u64 key, u32 n_rows, const u8* differ, BlockFeature* features) const {
    const u32 n_wanted = n_rows == 2 && rules_->shuffle_ties ? 1 : rules_->n_wanted;
    BlockSampler draw(*rules_, NodeNumbers(rules_->tree_key, key));
    u32 n = 0;
    do {
      const u32 feature = draw.draw();
      features[n] = {feature, rules_->shuffle_ties ? draw.n_drawn() : feature};
      n += varies(feature, differ);
    } while (draw.n_drawn() < n_wanted || (n == 0 && !draw.is_over()));
    return n;
  }

  u32 list_features(u64 key, const u8* differ, BlockFeature* features) const {
    const NodeNumbers numbers(rules_->tree_key, key);
    u32 n = 0;
    for (u32 k = 0; k < rules_->n_pool; ++k) {
      const u32 feature = rules_->pool[k];
      if (!varies(feature, differ)) continue;
      features[n++] = {feature, tie_priority(numbers, feature, rules_->shuffle_ties)};
    }
    return n;
  }

  template <class Word>
  void look_at_bit(const BlockNode<Word>& node, const BlockFeature& feature, FieldPlace place,
                   BlockSplit<Word>& best) {
    BoundaryWords<Word>& own = words<Word>();
    own.cuts[0] = 0;
    own.cuts[1] = 1;
    own.lefts[1] = rows_.template add_unset<Word>(node.rows, place);
    consider(node, feature, 1, best);
  }

  // Two rows and one feature: nothing to compare.
  template <class Word>
  void partition_two(const BlockNode<Word>& node, u32 feature, BlockSplit<Word>& best) const {
    const FieldPlace place = rules_->places[feature];
    const u8* bytes = rows_.column(node.rows, place.byte);
    const u32 a = std::min<u32>(bytes[0] & place.mask, place.most);
    const u32 b = std::min<u32>(bytes[kStride] & place.mask, place.most);
    best.left = word_of<Word>(rows_.packs(node.rows)[a < b ? 0 : 1]);
    best.feature = feature;
    best.bin = std::min(a, b);
    best.next = std::max(a, b);
  }

  // Lists the bins that occur, and what lies left of each; returns how many.
  template <class Word>
  u32 list_bins(const BlockNode<Word>& node, u32 byte) {
    const u8* bytes = rows_.column(node.rows, byte);
    if constexpr (sizeof(Word) == sizeof(PackedCounts8)) {
      if (node.rows.n <= kMostSorted) return sort_rows(bytes, rows_.packs(node.rows), node.rows.n);
    }
    return add_up_bins<Word>(bytes, rows_.packs(node.rows), node.rows.n);
  }

  u32 sort_rows(const u8* bytes, const PackedCounts8* packs, u32 n_rows) {
    u8 unsorted[kMostSorted] = {}, places[kMostSorted], bins[kMostSorted];
    PackedCounts8 sorted[kMostSorted];
    for (u32 i = 0; i < n_rows; ++i) unsorted[i] = bytes[i * kStride];
    if (n_rows <= kRowLanes) {
      rank_rows<1>(unsorted, n_rows, places);
    } else {
      rank_rows<2>(unsorted, n_rows, places);
    }
    for (u32 i = 0; i < n_rows; ++i) {
      bins[places[i]] = unsorted[i];
      sorted[places[i]] = packs[i];
    }
    BoundaryWords<PackedCounts8>& own = words<PackedCounts8>();
    u32 n = 0, previous = kNone;
    PackedCounts8 left = 0;
    for (u32 i = 0; i < n_rows; ++i) {
      own.cuts[n] = bins[i];
      own.lefts[n] = left;
      n += bins[i] != previous;
      previous = bins[i];
      left += sorted[i];
    }
    return n;
  }

  template <class Word>
  u32 add_up_bins(const u8* bytes, const PackedCounts8* packs, u32 n_rows) {
    BoundaryWords<Word>& own = words<Word>();
    u64 touched = 0;  // groups of four bins
    const auto add = [&](u32 i, Word* sums) {
      const u32 bin = bytes[i * kStride];
      sums[bin] += word_of<Word>(packs[i]);
      touched |= u64{1} << (bin / 4);
    };
    for (u32 i = 0; i + 1 < n_rows; i += 2) {
      add(i, own.sums[0]);
      add(i + 1, own.sums[1]);
    }
    if (n_rows % 2 != 0) add(n_rows - 1, own.sums[0]);
    u32 n = 0;
    Word left{};
    for (; touched; touched &= touched - 1) {
      const u32 first = static_cast<u32>(std::countr_zero(touched)) * 4;
#pragma GCC unroll 4
      for (u32 bin = first; bin < first + 4; ++bin) {
        const Word sum = own.sums[0][bin] + own.sums[1][bin];
        own.cuts[n] = static_cast<u8>(bin);
        own.lefts[n] = left;
        n += !is_nothing(sum);
        left += sum;
        own.sums[0][bin] = own.sums[1][bin] = Word{};
      }
    }
    return n;
  }

  // All boundaries between n bins.
  template <class Word>
  void look_at(const BlockNode<Word>& node, const BlockFeature& feature, u32 n,
               BlockSplit<Word>& best) {
    if (n == 2) return consider(node, feature, 1, best);
    BoundaryWords<Word>& own = words<Word>();
    for (u32 k = n; k < n + 3; ++k) own.lefts[k] = own.lefts[1];
    const float weight = static_cast<float>(weigh(node.total));
    FloatQuad most{};
    for (u32 k = 1; k < n; k += 4) {
      const FloatQuad estimates = estimate_four(own.lefts + k, node.total, weight);
      std::memcpy(own.estimates + k, &estimates, sizeof estimates);
      most = PackedCountsSimd::larger_of(most, estimates);
    }
    const float bar = std::max(best.bar, PackedCountsSimd::largest_of(most) * kSurelyLess);
    for (u32 k = 1; k < n; k += 4) {
      FloatQuad estimates;
      std::memcpy(&estimates, own.estimates + k, sizeof estimates);
      for (u32 found = PackedCountsSimd::find_at_least(estimates, bar); found != 0;
           found &= found - 1) {
        const u32 at = k + static_cast<u32>(std::countr_zero(found));
        if (at < n) consider(node, feature, at, best);
      }
    }
  }

  // Of equal splits the one of the feature that comes first, then the lowest.
  template <class Word>
  void consider(const BlockNode<Word>& node, const BlockFeature& feature, u32 k,
                BlockSplit<Word>& best) {
    const BoundaryWords<Word>& own = words<Word>();
    const double score = score_sides(own.lefts[k], node.total);
    const u32 cut = own.cuts[k - 1];
    if (score < best.score) return;
    if (score == best.score &&
        std::pair(feature.priority, cut) > std::pair(best.priority, best.bin))
      return;
    best.score = score;
    best.priority = feature.priority;
    best.left = own.lefts[k];
    best.feature = feature.feature;
    best.bin = cut;
    best.next = own.cuts[k];
    best.bar = static_cast<float>(score) * kSurelyLess;
  }

  // Partitions node `id` of the tree, which becomes its left child.
  template <class Word>
  void descend(const BlockSplit<Word>& split, u32 id, BlockNode<Word>& node, BlockNode<Word>& right,
               ClassTree& tree) {
    const ColumnBins& bins = (*rules_->bins)[split.feature];
    const u32 bin = settle_split_bin(split.bin, split.next, bins);
    const bool missing_left = 2 * weigh(split.left) > weigh(node.total);
    ++node.depth;
    right.key = child_key(node.key, true);
    right.total = node.total - split.left;
    right.impurity = weigh_impurity(right.total);
    right.depth = node.depth;
    right.is_leaf = rules_->leaf_test.is_leaf(kAnyRows, right.depth, is_pure(right.total));
    const double left_impurity = weigh_impurity(split.left);
    tree.split(id, {split.feature, bin, missing_left},
               node.impurity - left_impurity - right.impurity);
    node.key = child_key(node.key, false);
    node.total = split.left;
    node.impurity = left_impurity;
    node.is_leaf = rules_->leaf_test.is_leaf(kAnyRows, node.depth, is_pure(node.total));
    const Leave leave = node.is_leaf ? right.is_leaf ? Leave::both : Leave::left
                                     : (right.is_leaf ? Leave::right : Leave::nothing);
    const FieldPlace place = rules_->places[split.feature];
    right.rows = rows_.partition(node.rows, {place.byte, place.mask, split.bin}, leave);
    node.is_leaf = rules_->leaf_test.is_leaf(node.rows.n, node.depth, node.is_leaf);
    right.is_leaf = rules_->leaf_test.is_leaf(right.rows.n, right.depth, right.is_leaf);
  }

  template <class Word>
  BoundaryWords<Word>& words() {
    return std::get<BoundaryWords<Word>>(words_);
  }

  const MulticlassRules* rules_ = nullptr;
  Rows rows_;
  typename Rows::Record bins_;  // all bits of the bytes that are bins of a feature
  std::tuple<BoundaryWords<PackedCounts8>, BoundaryWords<PackedCounts16>> words_;
  std::vector<WideNode> open_;
  // Of the subtree at hand, of bytes: nodes that are open, and whose right children they are.
  BlockNode<PackedCounts8> light_[kMostLight];
  u32 waiting_[kMostLight];
};

}  // namespace

std::unique_ptr<MulticlassSubtree> MulticlassSubtree::make(std::size_t stride) {
  if (stride == 16) return std::make_unique<StridedBlock<1>>();
  if (stride == 32) return std::make_unique<StridedBlock<2>>();
  return std::make_unique<StridedBlock<4>>();
}

}  // namespace committee
