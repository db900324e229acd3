// The loop for subtrees that need nothing rare: numeric columns of one record group, one output, no
// bounds, depth first. A fully grown tree has about as many nodes as rows, so what a node costs
// besides its rows decides: nothing is allocated, totals come from the parent's split, and the
// records of a small subtree are copied to where they stay in the first cache.
#pragma once
#include "split/feature_sampler.hpp"
#include "split/threshold.hpp"
#include "tree/fast/presorted_subtree.hpp"
#include "tree/leaf_moments.hpp"
#include "tree/node_partition.hpp"
#include "tree/node_search.hpp"
#include "tree/node_writer.hpp"

namespace committee {

// A record's most bytes.
inline constexpr std::size_t kRecordRoom = 64;

// Of one thread at a time, over the search, the partition and the writer of the same thread.
template <class Accumulator>
class SubtreeBuilder {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;

  SubtreeBuilder(const GrowthContext<Accumulator>& context, TreeNodeSearch<Accumulator>& search,
                 NodePartition<Accumulator>& partition, NodeWriter<Accumulator>& writer)
      : context_(context),
        accumulator_(context.accumulator),
        items_(context.items),
        search_(search),
        partition_(partition),
        writer_(writer),
        total_(context.accumulator.cell()) {
    for (const u32 f : context.features) pool_[n_pool_++] = static_cast<u8>(f);
    n_wanted_ = std::min(context.params.max_features, n_pool_);
  }

  // Grows the subtree of a node with that total; features: those that may vary in it.
  void grow(const NodePosition& top, std::span<const u32> features, const Element* total,
            TreePart& part);

 private:
  // A node of the subtree; its total lies beside it.
  struct Node : NodePosition {
    u64 varying = ~u64{0};       // a bit a feature that may vary here
    bool is_copied = false;      // rows are numbers of copied records
    bool may_sort = true;        // no value is missing, as far as known
    bool is_sorted = false;      // there are sorted lists of its rows,
    bool is_second = false;      // the ones that count in the second buffer
    std::size_t block_rows = 0;  // up to how many rows it may be finished in a block
  };

  static constexpr bool kMaySort =
      Accumulator::kKind == AccumulatorKind::moments && Accumulator::kFixedCell > 0;

  bool search(Node& node, const NodeNumbers& numbers, Candidate& best);
  u32 draw_features(FeatureSampler<u8, false>& sampler, bool is_pair, u64 varying, u32* features);
  Node descend(Node& node, Candidate& best, TreePart& part);
  u32 add_node(const Node& node, TreePart& part);
  void write_split(const Node& node, Candidate& best, TreePart& part);
  std::size_t partition(Node& node, const Candidate& best);
  bool take_open(Node& node);
  void copy_records(Node& node);
  void bin_values(Node& node, std::span<const u32> features);
  void make_room();
  void number_row(std::size_t i, Item& item);
  double find_threshold(Candidate& best) const;
  void sort_rows(Node& node);
  void close_leaf(const Node& node, TreePart& part) const;
  bool finish_block(Node& node, TreePart& part);
  ExtraTreesLevels& open_extra_trees();
  ExtraTreesValues& open_values();
  MulticlassSubtree& open_multiclass();
  void open_classes(const Node& top, TreePart& part);
  ClassTree::Shape class_shape(const Node& top) const {
    return {top.size(), context_.data.n_cols, accumulator_.n_elements};
  }
  void keep_compact(GrowthScratch::Kept kept, TreePart& part);
  std::size_t count_compact() const {
    if (classes_) return classes_->size();
    return values_ ? values_->tree().size() : extra_trees_->tree().size();
  }
  void count_nodes(const TreePart& part, std::size_t n_before, std::size_t n_sorted);
  const u8* records_of(const Node& node) const {
    return node.is_copied ? copied_.data() : context_.block.records;
  }

  const GrowthContext<Accumulator>& context_;
  const Accumulator& accumulator_;
  Item* const items_;
  TreeNodeSearch<Accumulator>& search_;
  NodePartition<Accumulator>& partition_;
  NodeWriter<Accumulator>& writer_;
  u8 pool_[kMostBlockFeatures] = {};  // features that are drawn from, or searched
  u32 n_pool_ = 0, n_wanted_ = 0;
  std::vector<Element> total_;  // of the node at hand
  std::vector<Node> open_;
  std::vector<Element> open_totals_;
  // A copy of some records, and their rows.
  AlignedBuffer<u8> copied_;
  std::vector<u32> copied_rows_;
  struct LeafRow {
    double value, weight;
  };
  std::vector<LeafRow> copied_leaf_rows_;  // where leaves hold numbers
  std::vector<u32> value_ranks_;           // of exact splits (ValueRecords)
  // Of routes, made where they are taken.
  std::unique_ptr<PresortedRows<Accumulator>> presorted_;
  std::unique_ptr<ExtraTreesLevels> own_extra_trees_;
  ExtraTreesLevels* extra_trees_ = nullptr;
  std::unique_ptr<ExtraTreesValues> own_values_;
  ExtraTreesValues* values_ = nullptr;
  std::unique_ptr<MulticlassSubtree> own_multiclass_;
  MulticlassSubtree* multiclass_ = nullptr;
  ClassTree own_classes_;         // of a block
  ClassTree* classes_ = nullptr;  // of the whole tree; null: it is in its part
};

template <class Accumulator>
void SubtreeBuilder<Accumulator>::grow(const NodePosition& top, std::span<const u32> features,
                                       const Element* total, TreePart& part) {
  const u32 cell = accumulator_.cell();
  Node node;
  static_cast<NodePosition&>(node) = top;
  part.tree.depth_first = top.parent == kNone;  // else it is a part of a tree
  if (context_.extra_trees_rules || context_.multiclass_rules) node.block_rows = node.size();
  if (context_.value_rules) node.block_rows = std::min(node.size(), open_values().most_rows());
  std::copy_n(total, cell, total_.begin());
  if constexpr (Accumulator::kKind == AccumulatorKind::classes) open_classes(node, part);
  if (context_.params.exact) bin_values(node, features);
  const std::size_t n_before = part.tree.size();
  std::size_t n_sorted = 0;
  open_.clear();
  for (open_totals_.clear();;) {
    if (classes_ && node.is_right) classes_->turn_right(node.parent);
    if (node.size() <= node.block_rows && finish_block(node, part)) {
      if (!take_open(node)) return count_nodes(part, n_before, n_sorted);
      continue;
    }
    if (!node.is_copied) {
      context_.plan.watch.poll();
      if (node.size() * context_.block.stride <= kCopiedBytes) copy_records(node);
    }
    if (context_.takes(Route::presorted_rows) && node.is_copied && !node.is_sorted) sort_rows(node);
    n_sorted += node.is_sorted;
    // First of all, since the draws wait for it, and cannot be begun before a leaf is known.
    const NodeNumbers numbers = context_.numbers_of(node);
    node.id = add_node(node, part);
    const u32* rows = node.is_copied ? copied_rows_.data() : nullptr;
    Candidate best;
    if (writer_.is_leaf(node, total_.data(), rows) || !search(node, numbers, best)) {
      close_leaf(node, part);
      if (!take_open(node)) return count_nodes(part, n_before, n_sorted);
      continue;
    }
    // The right child waits, the left one is next.
    const Node right = descend(node, best, part);
    const Element* left_total = search_.finder().best_left();
    for (u32 s = 0; s < cell; ++s) {
      open_totals_.push_back(total_[s] - left_total[s]);
      total_[s] = left_total[s];
    }
    open_.push_back(right);
  }
}

template <class Accumulator>
void SubtreeBuilder<Accumulator>::count_nodes(const TreePart& part, std::size_t n_before,
                                              std::size_t n_sorted) {
  const std::size_t n = part.is_compact ? count_compact() : part.tree.size() - n_before;
  search_.count(Route::subtree, n);
  if (classes_) search_.count(Route::compact_tree, n);
  search_.count(Route::packed_records, context_.packed != 0 ? n : 0);
  search_.count(Route::presorted_rows, n_sorted);
}

// The node that was put aside last, and its total; false: there is none.
template <class Accumulator>
bool SubtreeBuilder<Accumulator>::take_open(Node& node) {
  if (open_.empty()) return false;
  const u32 cell = accumulator_.cell();
  node = open_.back();
  open_.pop_back();
  std::copy_n(open_totals_.end() - cell, cell, total_.begin());
  open_totals_.resize(open_totals_.size() - cell);
  return true;
}

// Finds the best split; false: the node must stay a leaf.
template <class Accumulator>
bool SubtreeBuilder<Accumulator>::search(Node& node, const NodeNumbers& numbers, Candidate& best) {
  search_.begin(total_.data(), context_.limits);
  NodeRows<Item> rows{context_.block, {items_ + node.begin, node.size()}, numbers};
  rows.block.records = records_of(node);
  if (node.is_sorted) {
    if constexpr (kMaySort)
      search_.finder().scan_lists(presorted_->list(node, node.is_second), node.varying, best);
  } else if (context_.plan.draws_features) {
    // Features are drawn without replacement until max_features were drawn and one of them varies.
    u8 order[kMostBlockFeatures];
    std::memcpy(order, pool_, sizeof order);
    FeatureSampler<u8, false> sampler(order, n_pool_, numbers);
    const bool is_pair = node.size() == 2 && context_.params.shuffle_ties;
    u32 features[kMostBlockFeatures];
    for (std::size_t n_varying = 0; n_varying == 0 && !sampler.is_over();) {
      const u32 n = draw_features(sampler, is_pair, node.varying, features);
      n_varying = search_.scan_numeric(rows, {features, n}, best, node.varying);
    }
  } else {
    u32 features[kMostBlockFeatures];
    u32 n = 0;
    for (u32 k = 0; k < n_pool_; ++k) {
      features[n] = pool_[k];
      n += node.varying >> pool_[k] & 1;
    }
    search_.scan_numeric(rows, {features, n}, best, node.varying);
  }
  search_.count_used();
  if (!best.found()) return false;
  const double least = context_.params.min_impurity_decrease;
  if (!(least > 0.0)) return true;
  const double decrease = search_.finder().measure_decrease(best) * context_.plan.decrease_unit;
  return decrease / context_.plan.total_weight + std::numeric_limits<double>::epsilon() >= least;
}

// The next features that may vary: up to max_features in all, beyond that the first one. Two rows
// are partitioned by any feature alike: the first that varies is taken.
template <class Accumulator>
u32 SubtreeBuilder<Accumulator>::draw_features(FeatureSampler<u8, false>& sampler, bool is_pair,
                                               u64 varying, u32* features) {
  u32 n = 0;
  do {
    const u32 f = sampler.draw();
    search_.set_priority(f, sampler.n_drawn());
    features[n] = f;
    n += varying >> f & 1;
    if (is_pair && n > 0) break;
  } while (sampler.n_drawn() < n_wanted_ || (n == 0 && !sampler.is_over()));
  return n;
}

// Splits the node, which becomes its left child; returns the right one.
template <class Accumulator>
typename SubtreeBuilder<Accumulator>::Node SubtreeBuilder<Accumulator>::descend(Node& node,
                                                                                Candidate& best,
                                                                                TreePart& part) {
  // No row lies between the bin and where it settles: the partition need not wait for it.
  const std::size_t n_left = partition(node, best);
  if (!best.has_missing) {
    best.missing_left = 2.0 * accumulator_.weight(search_.finder().best_left()) >
                        accumulator_.weight(total_.data());
  }
  write_split(node, best, part);
  Node right = node;
  node.parent = right.parent = node.id;
  ++node.depth;
  ++right.depth;
  node.is_right = false;
  right.is_right = true;
  right.key = child_key(node.key, true);
  node.key = child_key(node.key, false);
  right.begin = node.end = node.begin + n_left;
  return right;
}

template <class Accumulator>
u32 SubtreeBuilder<Accumulator>::add_node(const Node& node, TreePart& part) {
  if constexpr (Accumulator::kKind == AccumulatorKind::classes && sizeof(Element) == 4) {
    if (classes_)
      return classes_->add_heavy(total_.data(), static_cast<u32>(node.size()), node.depth);
  }
  return writer_.add_node(node, total_.data(), part);
}

template <class Accumulator>
void SubtreeBuilder<Accumulator>::write_split(const Node& node, Candidate& best, TreePart& part) {
  if constexpr (Accumulator::kKind == AccumulatorKind::classes && sizeof(Element) == 4) {
    if (classes_) {
      const std::span<const u32> total(total_.data(), accumulator_.n_elements);
      const std::span<const u32> left(search_.finder().best_left(), total.size());
      settle_split_bin(best, (*context_.data.bins)[best.feature]);
      const double decrease = measure_class_decrease(total, left);
      return classes_->split(node.id, {best.feature, best.bin, best.missing_left}, decrease);
    }
  }
  GrownTree::Split& split = part.tree.splits[node.id];
  split.feature = best.feature;
  split.missing_left = best.missing_left;
  split.threshold = find_threshold(best);
}

// Between bins of the table, or between the values of exact splits.
template <class Accumulator>
double SubtreeBuilder<Accumulator>::find_threshold(Candidate& best) const {
  if (!context_.params.exact) {
    const ColumnBins& bins = (*context_.data.bins)[best.feature];
    settle_split_bin(best, bins);
    return threshold_of(best, bins);
  }
  if (best.next == kNone) return std::numeric_limits<double>::infinity();
  const std::vector<double>& values = context_.plan.input.presort->values[best.feature];
  const u32* ranks = value_ranks_.data() + best.feature * kHistogramBins;
  return choose_threshold(values[ranks[best.bin]], values[ranks[best.next]]);
}

// By what was gathered last if the feature is among it, else by records or columns.
template <class Accumulator>
std::size_t SubtreeBuilder<Accumulator>::partition(Node& node, const Candidate& best) {
  if constexpr (kMaySort) {
    if (node.is_sorted)
      return presorted_->partition(node, best, node.varying, node.is_second, partition_);
  }
  u32 shift;
  const u64* words = search_.find_gathered(best.feature, shift);
  if (words && !best.has_missing) {
    const u32 bin = best.bin;
    return partition_.partition(
        node, [=](std::size_t i, const Item&) { return (words[i] >> shift & 0xFF) <= bin; });
  }
  if (!node.is_copied)
    return partition_.partition_by_bytes(node, best, {context_.data.column(best.feature), 1});
  const FieldPlace place = context_.block.place(best.feature);
  return partition_.partition_by_bytes(
      node, best, {copied_.data() + place.byte, context_.block.stride, place.mask});
}

// Numbers the node's rows anew, by their positions in the copy.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::copy_records(Node& node) {
  const RecordBlock& block = context_.block;
  const std::size_t n = node.size(), stride = block.stride, n_words = stride / sizeof(u64);
  const auto record = [&](u32 row) { return block.records + row * stride; };
  Item* items = items_ + node.begin;
  make_room();
  u64 first[kRecordRoom / sizeof(u64)], differ[kRecordRoom / sizeof(u64)] = {};
  std::memcpy(first, record(items[0].row), stride);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kPrefetchAhead < n) prefetch(record(items[i + kPrefetchAhead].row));
    const u8* from = record(items[i].row);
    u8* to = copied_.data() + i * stride;
    for (std::size_t k = 0; k < n_words; ++k) {
      u64 word;
      std::memcpy(&word, from + k * sizeof word, sizeof word);
      std::memcpy(to + k * sizeof word, &word, sizeof word);
      differ[k] |= word ^ first[k];
    }
    number_row(i, items[i]);
  }
  node.is_copied = true;
  u8 bytes[kRecordRoom];
  std::memcpy(bytes, differ, sizeof bytes);
  for (u32 f = 0; f < context_.data.n_cols; ++f) {
    const FieldPlace place = block.place(f);
    if ((bytes[place.byte] & place.mask) == 0) node.varying &= ~(u64{1} << f);
  }
}

// The same for exact splits: in so few rows each value is a bin of its own.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::bin_values(Node& node, std::span<const u32> features) {
  make_room();
  value_ranks_.resize(context_.data.n_cols * kHistogramBins);
  ValueRecords records{copied_.data(), context_.block.stride, value_ranks_.data()};
  node.varying = search_.bin_values(node, features, records);
  for (std::size_t i = 0; i < node.size(); ++i) number_row(i, items_[node.begin + i]);
  node.is_copied = true;
}

template <class Accumulator>
void SubtreeBuilder<Accumulator>::make_room() {
  if (!copied_.empty()) return;
  const std::size_t n_rows = kCopiedBytes / context_.block.stride;
  copied_ = AlignedBuffer<u8>(kCopiedBytes + kRecordRoom);
  copied_rows_.resize(n_rows);
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) copied_leaf_rows_.resize(n_rows);
}

// The item of a row becomes that of record i.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::number_row(std::size_t i, Item& item) {
  copied_rows_[i] = item.row;
  if constexpr (Accumulator::kKind == AccumulatorKind::moments)
    copied_leaf_rows_[i] = {context_.plan.input.target.values[item.row],
                            context_.plan.input.weight(item.row)};
  item.row = static_cast<u32>(i);
}

// Sorts the rows of a node whose records were copied, unless they are many or a value is missing.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::sort_rows([[maybe_unused]] Node& node) {
  if constexpr (kMaySort) {
    if (node.size() > RowLists::kMostRows || !node.may_sort) return;
    if (!presorted_) presorted_ = std::make_unique<PresortedRows<Accumulator>>(context_);
    node.is_sorted = node.may_sort = presorted_->sort(node, copied_.data(), node.varying);
    node.is_second = false;
  }
}

// As NodeWriter::close_leaf, for one output.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::close_leaf(const Node& node, TreePart& part) const {
  if (!node.is_copied) return writer_.close_leaf(node, part);
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    const double offset = context_.sample.targets.offsets[0];
    const double first = copied_leaf_rows_[items_[node.begin].row].value;
    LeafMoments moments(first, offset, writer_.is_poisson());
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const LeafRow& row = copied_leaf_rows_[items_[i].row];
      moments.add(row.value, row.weight);
    }
    part.moments[2 * std::size_t{node.id}] = moments.sum;
    part.moments[2 * std::size_t{node.id} + 1] = moments.second;
    part.tree.weight[node.id] = moments.weight;
    part.tree.values[node.id] = moments.value(node.size());
  }
}

// Finishes the subtree of a node in a block; false: it is a leaf, too large, or a value is missing.
template <class Accumulator>
bool SubtreeBuilder<Accumulator>::finish_block([[maybe_unused]] Node& node,
                                               [[maybe_unused]] TreePart& part) {
  const std::span<Item> items(items_ + node.begin, node.size());
  if constexpr (Accumulator::kKind == AccumulatorKind::classes && sizeof(Element) == 4) {
    if (accumulator_.total(total_.data()) > MulticlassSubtree::kMostWeight) return false;
    if (!multiclass_) multiclass_ = &open_multiclass();
    if (node.size() > multiclass_->most_rows() || writer_.is_leaf(node, total_.data()))
      return false;
    MulticlassRoot top{node.key, node.depth, PackedCounts16{}};
    for (u32 c = 0; c < accumulator_.n_elements; ++c) top.total[c] = static_cast<u16>(total_[c]);
    ClassTree& tree = classes_ ? *classes_ : own_classes_;
    if (!classes_) tree.begin(class_shape(node), node.depth);
    const std::size_t n_before = tree.size();
    if (multiclass_->finish(top, records_of(node), items, tree)) {
      search_.count(Route::multiclass_block, tree.size() - n_before);
      if (!classes_)
        tree.append_to(part.tree, *context_.data.bins, context_.sample.weight_unit, node.parent,
                       node.is_right);
      return true;
    }
  } else if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    if (writer_.is_leaf(node, total_.data())) return false;
    ExtraTreesLevels& extra_trees = open_extra_trees();
    const u32 n_rows = static_cast<u32>(node.size());
    const u32 n_positive = static_cast<u32>(accumulator_.positive(total_.data()));
    const ExtraTreesNode top = {
        node.key, weigh_impurity(n_rows, n_positive), kNone, node.depth, n_rows, n_positive};
    if (extra_trees.finish(top, {records_of(node), context_.block.stride}, items)) {
      const CompactTree& tree = extra_trees.tree();
      if (node.size() == context_.sample.n) keep_compact(GrowthScratch::Kept::extra_trees, part);
      search_.count(Route::extra_trees_bitmap, tree.size());
      search_.count(Route::compact_tree, part.is_compact ? tree.size() : 0);
      if (!part.is_compact)
        tree.append_to(part.tree, *context_.data.bins, context_.sample.weight_unit, node.parent,
                       node.is_right);
      return true;
    }
  } else if constexpr (GrowthContext<Accumulator>::may_take(Route::extra_trees_values)) {
    ExtraTreesValues& values = open_values();
    const ValueRoot top{node.key, node.depth, static_cast<u64>(accumulator_.weight(total_.data())),
                        total_[1]};
    const u32* names = node.is_copied ? copied_rows_.data() : nullptr;
    if (values.finish(top, {records_of(node), items, names, context_.plan.input})) {
      const ValueTree& tree = values.tree();
      if (node.size() == context_.sample.n) keep_compact(GrowthScratch::Kept::values, part);
      search_.count(Route::extra_trees_values, tree.size());
      search_.count(Route::compact_tree, part.is_compact ? tree.size() : 0);
      if (!part.is_compact)
        tree.append_to(part.tree, part.moments, *context_.data.bins, node.parent, node.is_right);
      return true;
    }
  }
  node.block_rows = node.size() / 4;  // some of its rows may be without missing values
  return false;
}

// As open_extra_trees, for several classes.
template <class Accumulator>
MulticlassSubtree& SubtreeBuilder<Accumulator>::open_multiclass() {
  GrowthScratch* scratch = context_.plan.n_threads == 1 ? context_.plan.input.scratch : nullptr;
  std::unique_ptr<MulticlassSubtree>& kept = scratch ? scratch->multiclass : own_multiclass_;
  if (!kept) kept = MulticlassSubtree::make(context_.block.stride);
  kept->begin(*context_.multiclass_rules);
  return *kept;
}

// The tree of the scratch becomes the whole tree, where that route is taken.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::keep_compact(GrowthScratch::Kept kept, TreePart& part) {
  part.is_compact = context_.takes(Route::compact_tree);
  if (part.is_compact) context_.plan.input.scratch->kept = kept;
}

template <class Accumulator>
void SubtreeBuilder<Accumulator>::open_classes(const Node& top, TreePart& part) {
  if (!context_.multiclass_rules || top.size() != context_.sample.n) return;
  keep_compact(GrowthScratch::Kept::classes, part);
  if (!part.is_compact) return;
  classes_ = &context_.plan.input.scratch->classes;
  classes_->begin(class_shape(top), top.depth);
}

// As open_extra_trees, for values.
template <class Accumulator>
ExtraTreesValues& SubtreeBuilder<Accumulator>::open_values() {
  if (!values_) {
    GrowthScratch* scratch = context_.plan.n_threads == 1 ? context_.plan.input.scratch : nullptr;
    std::unique_ptr<ExtraTreesValues>& kept = scratch ? scratch->values : own_values_;
    if (!kept) kept = ExtraTreesValues::make(context_.block.stride);
    values_ = kept.get();
    values_->begin(*context_.value_rules, context_.plan.watch);
  }
  return *values_;
}

// The blocks of extra-trees, a tree's own or those of the forest's scratch memory.
template <class Accumulator>
ExtraTreesLevels& SubtreeBuilder<Accumulator>::open_extra_trees() {
  if (!extra_trees_) {
    if (!context_.takes(Route::compact_tree))
      own_extra_trees_ = std::make_unique<ExtraTreesLevels>();
    extra_trees_ =
        own_extra_trees_ ? own_extra_trees_.get() : &context_.plan.input.scratch->extra_trees;
    extra_trees_->begin(*context_.extra_trees_rules, context_.plan.watch);
  }
  return *extra_trees_;
}

}  // namespace committee
