#include "tree/fast/extra_trees_values.hpp"

#include "base/recompiled.hpp"
#include "tree/fast/value_rows.hpp"
#include "tree/leaf_moments.hpp"

namespace committee {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{8} << 20;  // of the rows of a block
constexpr u32 kPolledRows = 4096;                          // a node of so many takes a while

struct ValueNode {
  u64 key;
  ValueSums total;
  ValueRange rows;
  u32 depth, parent;  // the parent of a right child
};

template <int kVectors>
class ValueBlock final : public ExtraTreesValues {
  using Rows = ValueRows<kVectors>;
  using Record = typename Rows::Record;

 public:
  std::size_t most_rows() const override {
    return std::min(ValueSums::kMostRows, kBlockBytes / (2 * sizeof(typename Rows::Row)));
  }

  void begin(const ValueRules& rules, InterruptWatch& watch) override {
    rules_ = &rules;
    watch_ = &watch;
    u8 bytes[sizeof bins_] = {};
    for (u32 k = 0; k < rules.n_pool; ++k) bytes[rules.pool[k]] = 255;
    std::memcpy(&bins_, bytes, sizeof bins_);
  }

  bool finish(const ValueRoot& top, const ValueInput& input) override {
    rows_.make_room(input.items.size());
    const bool is_complete =
        rows_.copy(input.records, input.items, bins_, [&](u32 row) -> ValueLeafRow {
          const std::size_t name = input.names ? input.names[row] : row;
          return {input.table.target.values[name], input.table.weight(name)};
        });
    if (!is_complete) return false;
    tree_.begin(input.items.size(), top.depth);
    const u32 n = static_cast<u32>(input.items.size());
    const ValueSums total = ValueSums::of_row(0, top.weight, top.target);
    const ValueNode node{
        top.key, {total.word - 1 + n, total.target}, {0, n, false}, top.depth, kNone};
#if defined(COMMITTEE_AVX512)
    if (may_use(Instructions::avx512)) {
      grow<WideCuts<kVectors>>(node);
      return true;
    }
#endif
    call_recompiled([&] { grow<PlainCuts<kVectors>>(node); });
    return true;
  }

 private:
  // Depth-first, left before right.
  template <class Cuts>
  void grow(ValueNode node) {
    for (open_.clear();;) {
      if (node.rows.n >= kPolledRows) watch_->poll();
      const u32 id = tree_.add_node(node.rows.n, node.depth);
      ValueNode right;
      if (is_leaf(node)) {
        close_leaf(id, node.rows);
      } else if (node.rows.n == 2) {
        split_pair(id, node);
      } else if (split<Cuts>(id, node, right)) {
        // The right child waits, the left one is next.
        open_.push_back(right);
        continue;
      } else {
        close_leaf(id, node.rows);
      }
      if (open_.empty()) return;
      node = open_.back();
      open_.pop_back();
      tree_[node.parent].right = tree_.size();
    }
  }

  bool is_leaf(const ValueNode& node) const {
    return rules_->leaf_test.is_leaf(node.rows.n, node.depth, false) || is_pure(node.rows);
  }

  // Whether all rows have one target.
  bool is_pure(const ValueRange& range) const {
    const ValueSpan<kVectors> rows = rows_.span(range);
    const ValueSums &a = rows[0].sums, &b = rows[1].sums;
    // Modulo 2^64 this tells of two targets that differ, without a division.
    if (static_cast<u64>(a.target) * static_cast<u64>(b.weight()) !=
        static_cast<u64>(b.target) * static_cast<u64>(a.weight()))
      return false;
    const i64 first = a.target / a.weight();
    return std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row.sums.target / row.sums.weight() == first;
    });
  }

  void close_leaf(u32 id, const ValueRange& range) {
    const ValueSpan<kVectors> rows = rows_.span(range);
    LeafMoments moments(rows_.leaf_row(rows[0]).value, rules_->offset, false);
    for (const auto& row : rows) {
      const ValueLeafRow& own = rows_.leaf_row(row);
      moments.add(own.value, own.weight);
    }
    ValueTree::Node& leaf = tree_[id];
    leaf.weight = moments.weight;
    leaf.sum = moments.sum;
    leaf.second = moments.second;
    leaf.value = moments.value(range.n);
  }

  // Two rows are partitioned by any feature alike: the first one that varies is taken.
  void split_pair(u32 id, const ValueNode& node) {
    const ValueSpan<kVectors> rows = rows_.span(node.rows);
    for (const auto& row : rows) rows_.prefetch_leaf_row(row);
    const u8 *a = rows[0].bins(), *b = rows[1].bins();
    const NodeNumbers numbers(rules_->tree_key, node.key);
    const u32 feature =
        rules_->draws_features ? draw_for_pair(numbers, a, b) : find_for_pair(numbers, a, b);
    if (feature == kNone) return close_leaf(id, node.rows);
    const RandomThresholds& column = rules_->table->columns[feature];
    const u32 lo = std::min(a[feature], b[feature]), hi = std::max(a[feature], b[feature]);
    const double threshold = column.draw(lo, hi, numbers.at(Purpose::threshold, feature));
    const u32 key = column.key_of(threshold);
    const u32 run = column.find_run<PlainKeys>(key);
    const u32 cut = column.settle(column.count_below<PlainKeys>(run, key), key, threshold, lo, hi);
    const u32 left = a[feature] <= cut ? 0 : 1;
    write_split(id, feature, cut, rows[left].sums.weight(), node.total.weight());
    for (const u32 row : {left, 1 - left}) {
      if (row == 1 - left) tree_[id].right = tree_.size();
      close_leaf(tree_.add_node(1, node.depth + 1), {node.rows.begin + row, 1, node.rows.half});
    }
  }

  u32 draw_for_pair(const NodeNumbers& numbers, const u8* a, const u8* b) const {
    BlockSampler draw(*rules_, numbers);
    while (!draw.is_over()) {
      const u32 feature = draw.draw();
      if (a[feature] != b[feature]) return feature;
    }
    return kNone;
  }

  u32 find_for_pair(const NodeNumbers& numbers, const u8* a, const u8* b) const {
    u64 least = ~u64{0};
    u32 first = kNone;
    for (u32 k = 0; k < rules_->n_pool; ++k) {
      const u32 feature = rules_->pool[k];
      const u64 own = tie_priority(numbers, feature, true);
      const bool is_first = a[feature] != b[feature] && own < least;
      least = is_first ? own : least;
      first = is_first ? feature : first;
    }
    return first;
  }

  void write_split(u32 id, u32 feature, u32 cut, i64 left, i64 total) {
    ValueTree::Node& node = tree_[id];
    node.feature = static_cast<u8>(feature);
    node.bin = static_cast<u8>(cut);
    node.missing_left = 2 * left > total;
  }

  // Splits a node, which becomes its left child; false: it must stay a leaf.
  template <class Cuts>
  bool split(u32 id, ValueNode& node, ValueNode& right) {
    const NodeNumbers numbers(rules_->tree_key, node.key);
    const ValueSpan<kVectors> rows = rows_.span(node.rows);
    ValueEnds ends;
    find_ends<kVectors>(rows, ends);
    u8 features[kMostBlockFeatures];
    const u32 n = rules_->draws_features ? draw_features(numbers, ends, features)
                                         : list_features(ends, features);
    BestValueCut best;
    for (u32 first = 0; first < n; first += kThresholdsTogether)
      Cuts::look_at({*rules_, numbers, node.total, ends}, rows,
                    {features + first, std::min(kThresholdsTogether, n - first)}, best);
    if (!best.found()) return false;
    write_split(id, best.feature, best.bin, best.left.weight(), node.total.weight());
    right.key = child_key(node.key, true);
    right.total = {node.total.word - best.left.word, node.total.target - best.left.target};
    right.parent = id;
    right.depth = ++node.depth;
    rows_.partition(node.rows, best.feature, best.bin, best.left.n_rows(), right.rows);
    for (const ValueRange& child : {node.rows, right.rows}) {
      if (child.n == 1) rows_.prefetch_leaf_row(rows_.span(child)[0]);
    }
    node.key = child_key(node.key, false);
    node.total = best.left;
    return true;
  }

  // Draws without replacement until n_wanted were drawn and one of them varies; lists those that
  // do.
  u32 draw_features(const NodeNumbers& numbers, const ValueEnds& ends, u8* features) const {
    BlockSampler draw(*rules_, numbers);
    u32 n = 0;
    do {
      const u8 feature = draw.draw();
      features[n] = feature;
      n += ends.lo[feature] != ends.hi[feature];
    } while (draw.n_drawn() < rules_->n_wanted || (n == 0 && !draw.is_over()));
    return n;
  }

  u32 list_features(const ValueEnds& ends, u8* features) const {
    u32 n = 0;
    for (u32 k = 0; k < rules_->n_pool; ++k) {
      const u8 feature = rules_->pool[k];
      features[n] = feature;
      n += ends.lo[feature] != ends.hi[feature];
    }
    return n;
  }

  const ValueRules* rules_ = nullptr;
  InterruptWatch* watch_ = nullptr;
  Rows rows_;
  Record bins_;  // all bits of the bytes that are bins of a feature
  std::vector<ValueNode> open_;
};

}  // namespace

std::unique_ptr<ExtraTreesValues> ExtraTreesValues::make(std::size_t stride) {
  if (stride == 16) return std::make_unique<ValueBlock<1>>();
  if (stride == 32) return std::make_unique<ValueBlock<2>>();
  return std::make_unique<ValueBlock<4>>();
}

}  // namespace committee
