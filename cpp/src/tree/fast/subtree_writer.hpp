// Where SubtreeBuilder keeps what it has grown: nodes go into the tree's part by the writer of the
// general loop, or, of a whole tree of classes, into one list; and the subtrees that are finished
// in blocks have lists of their own, which become the whole tree or are appended to its part.
#pragma once
#include "split/threshold.hpp"
#include "tree/leaf_moments.hpp"
#include "tree/node_search.hpp"
#include "tree/node_writer.hpp"

namespace committee {

// A node of a subtree that may be finished in a block.
struct BlockNode : NodePosition {
  std::size_t block_rows = 0;  // with up to how many rows
};

// The rows of such a node.
template <class Item>
struct SubtreeRows {
  const u8* records;  // of the table, or copied ones
  std::span<Item> items;
  const u32* names;  // of copied records, by the numbers of the items; else null
};

// Of one thread at a time, over the search and the writer of the same thread.
template <class Accumulator>
class SubtreeWriter {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;

  SubtreeWriter(const GrowthContext<Accumulator>& context, TreeNodeSearch<Accumulator>& search,
                NodeWriter<Accumulator>& nodes)
      : context_(context), accumulator_(context.accumulator), search_(search), nodes_(nodes) {}

  // Takes the subtree of that node; what is written from here on belongs to it.
  void begin(BlockNode& top, TreePart& part);
  // The nodes since then, for the diagnostics.
  void count(const TreePart& part);
  // The node that is added next; its total.
  u32 add_node(const NodePosition& node, const Element* total, TreePart& part);
  // Splits the node `id` by what the search has found; find_threshold() of the split.
  template <class FindThreshold>
  void write_split(u32 id, const Candidate& best, const Element* total, TreePart& part,
                   FindThreshold&& find_threshold);
  // Fills in a leaf of numbers.
  void close_leaf(const NodePosition& node, const LeafMoments& moments, TreePart& part);
  // Whether leaves of numbers must be filled in here.
  bool keeps_numbers() const { return numbers_ != nullptr; }
  // Finishes the subtree of a node in a block; false: it is a leaf, too large, or a value is
  // missing.
  bool finish_block(BlockNode& node, const SubtreeRows<Item>& rows, const Element* total,
                    TreePart& part);

 private:
  static constexpr bool kIsNumbers =
      GrowthContext<Accumulator>::may_take(Route::extra_trees_values);
  static constexpr bool kIsClasses =
      Accumulator::kKind == AccumulatorKind::classes && sizeof(Element) == 4;

  void open_classes(const NodePosition& top, TreePart& part);
  ExtraTreesLevels& open_extra_trees();
  ExtraTreesValues& open_values();
  MulticlassSubtree& open_multiclass();
  bool finish_classes(const NodePosition& node, const SubtreeRows<Item>& rows, const Element* total,
                      TreePart& part);
  bool finish_extra_trees(const NodePosition& node, const SubtreeRows<Item>& rows,
                          const Element* total, TreePart& part);
  bool finish_values(const NodePosition& node, const SubtreeRows<Item>& rows, const Element* total,
                     TreePart& part);
  void keep_compact(GrowthScratch::Kept kept, TreePart& part);
  bool is_whole(const NodePosition& node) const { return node.size() == context_.sample.n; }
  GrowthScratch* find_scratch() const {
    return context_.plan.n_threads == 1 ? context_.plan.input.scratch : nullptr;
  }
  ClassTree::Shape class_shape(const NodePosition& top) const {
    return {top.size(), context_.data.n_cols, accumulator_.n_elements};
  }
  std::size_t count_compact() const {
    if (classes_) return classes_->size();
    return values_ ? values_->tree().size() : extra_trees_->tree().size();
  }

  const GrowthContext<Accumulator>& context_;
  const Accumulator& accumulator_;
  TreeNodeSearch<Accumulator>& search_;
  NodeWriter<Accumulator>& nodes_;
  std::size_t n_before_ = 0;  // nodes of the part
  // Of routes, made where they are taken.
  std::unique_ptr<ExtraTreesLevels> own_extra_trees_;
  ExtraTreesLevels* extra_trees_ = nullptr;
  std::unique_ptr<ExtraTreesValues> own_values_;
  ExtraTreesValues* values_ = nullptr;
  std::unique_ptr<MulticlassSubtree> own_multiclass_;
  MulticlassSubtree* multiclass_ = nullptr;
  ClassTree own_classes_;         // of a block
  ClassTree* classes_ = nullptr;  // of the whole tree; null: it is in its part
  ValueTree* numbers_ = nullptr;  // of all subtrees; the same
};

template <class Accumulator>
void SubtreeWriter<Accumulator>::begin(BlockNode& top, TreePart& part) {
  part.tree.depth_first = top.parent == kNone;  // else it is a part of a tree
  if (context_.extra_trees_rules || context_.multiclass_rules) top.block_rows = top.size();
  if (context_.value_rules) top.block_rows = std::min(top.size(), open_values().most_rows());
  if constexpr (Accumulator::kKind == AccumulatorKind::classes) open_classes(top, part);
  if (context_.keeps_numbers()) {
    ValueParts& parts = context_.plan.input.scratch->numbers;
    parts.begin_subtree(top.parent, top.is_right);
    numbers_ = &parts.subtrees();
  }
  n_before_ = numbers_ ? numbers_->size() : part.tree.size();
}

template <class Accumulator>
void SubtreeWriter<Accumulator>::count(const TreePart& part) {
  const std::size_t n_after = numbers_ ? numbers_->size() : part.tree.size();
  const std::size_t n = part.is_compact ? count_compact() : n_after - n_before_;
  search_.count(Route::subtree, n);
  if (classes_ || numbers_) search_.count(Route::compact_tree, n);
  search_.count(Route::packed_records, context_.packed != 0 ? n : 0);
}

template <class Accumulator>
u32 SubtreeWriter<Accumulator>::add_node(const NodePosition& node, const Element* total,
                                         TreePart& part) {
  if constexpr (kIsClasses) {
    if (classes_) {
      if (node.is_right) classes_->turn_right(node.parent);
      return classes_->add_heavy(total, static_cast<u32>(node.size()), node.depth);
    }
  }
  if constexpr (kIsNumbers) {
    if (numbers_) {
      const u32 id = numbers_->add_node(static_cast<u32>(node.size()), node.depth);
      if (node.is_right && id != n_before_) (*numbers_)[node.parent].right = id;
      return id;
    }
  }
  return nodes_.add_node(node, total, part);
}

template <class Accumulator>
void SubtreeWriter<Accumulator>::close_leaf(const NodePosition& node, const LeafMoments& moments,
                                            TreePart& part) {
  const double value = moments.value(node.size());
  if (numbers_) {
    ValueTree::Node& leaf = (*numbers_)[node.id];
    leaf.weight = moments.weight;
    leaf.sum = moments.sum;
    leaf.second = moments.second;
    leaf.value = value;
    return;
  }
  part.moments[2 * std::size_t{node.id}] = moments.sum;
  part.moments[2 * std::size_t{node.id} + 1] = moments.second;
  part.tree.weight[node.id] = moments.weight;
  part.tree.values[node.id] = value;
}

template <class Accumulator>
template <class FindThreshold>
void SubtreeWriter<Accumulator>::write_split(u32 id, const Candidate& best,
                                             [[maybe_unused]] const Element* total, TreePart& part,
                                             FindThreshold&& find_threshold) {
  if constexpr (kIsClasses) {
    if (classes_) {
      const std::span<const u32> all(total, accumulator_.n_elements);
      const std::span<const u32> left(search_.finder().best_left(), all.size());
      return classes_->split(id, {best.feature, best.bin, best.missing_left},
                             measure_class_decrease(all, left));
    }
  }
  if constexpr (kIsNumbers) {
    if (numbers_) {
      ValueTree::Node& node = (*numbers_)[id];
      node.feature = static_cast<u8>(best.feature);
      node.bin = static_cast<u8>(best.bin);
      node.missing_left = best.missing_left;
      return;
    }
  }
  GrownTree::Split& split = part.tree.splits[id];
  split.feature = best.feature;
  split.missing_left = best.missing_left;
  split.threshold = find_threshold();
}

template <class Accumulator>
bool SubtreeWriter<Accumulator>::finish_block([[maybe_unused]] BlockNode& node,
                                              [[maybe_unused]] const SubtreeRows<Item>& rows,
                                              [[maybe_unused]] const Element* total,
                                              [[maybe_unused]] TreePart& part) {
  if constexpr (kIsClasses) {
    if (accumulator_.total(total) > MulticlassSubtree::kMostWeight) return false;
    if (!multiclass_) multiclass_ = &open_multiclass();
    if (node.size() > multiclass_->most_rows() || nodes_.is_leaf(node, total)) return false;
    if (finish_classes(node, rows, total, part)) return true;
  } else if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    if (nodes_.is_leaf(node, total)) return false;
    if (finish_extra_trees(node, rows, total, part)) return true;
  } else if constexpr (GrowthContext<Accumulator>::may_take(Route::extra_trees_values)) {
    if (finish_values(node, rows, total, part)) return true;
  }
  node.block_rows = node.size() / 4;  // some of its rows may be without missing values
  return false;
}

template <class Accumulator>
bool SubtreeWriter<Accumulator>::finish_classes(const NodePosition& node,
                                                const SubtreeRows<Item>& rows, const Element* total,
                                                TreePart& part) {
  MulticlassRoot top{node.key, node.depth, PackedCounts16{}};
  for (u32 c = 0; c < accumulator_.n_elements; ++c) top.total[c] = static_cast<u16>(total[c]);
  ClassTree& tree = classes_ ? *classes_ : own_classes_;
  if (!classes_) tree.begin(class_shape(node), node.depth);
  const std::size_t n_before = tree.size();
  if (classes_ && node.is_right) tree.turn_right(node.parent);
  if (!multiclass_->finish(top, rows.records, rows.items, tree)) return false;
  search_.count(Route::multiclass_block, tree.size() - n_before);
  if (!classes_)
    tree.append_to(part.tree, *context_.data.bins, context_.sample.weight_unit, node.parent,
                   node.is_right);
  return true;
}

template <class Accumulator>
bool SubtreeWriter<Accumulator>::finish_extra_trees(const NodePosition& node,
                                                    const SubtreeRows<Item>& rows,
                                                    const Element* total, TreePart& part) {
  ExtraTreesLevels& extra_trees = open_extra_trees();
  const u32 n_rows = static_cast<u32>(node.size());
  const u32 n_positive = static_cast<u32>(accumulator_.positive(total));
  const ExtraTreesNode top = {
      node.key, weigh_impurity(n_rows, n_positive), kNone, node.depth, n_rows, n_positive};
  if (!extra_trees.finish(top, {rows.records, context_.block.stride}, rows.items)) return false;
  const CompactTree& tree = extra_trees.tree();
  if (is_whole(node)) keep_compact(GrowthScratch::Kept::extra_trees, part);
  search_.count(Route::extra_trees_bitmap, tree.size());
  search_.count(Route::compact_tree, part.is_compact ? tree.size() : 0);
  if (!part.is_compact)
    tree.append_to(part.tree, *context_.data.bins, context_.sample.weight_unit, node.parent,
                   node.is_right);
  return true;
}

template <class Accumulator>
bool SubtreeWriter<Accumulator>::finish_values(const NodePosition& node,
                                               const SubtreeRows<Item>& rows, const Element* total,
                                               TreePart& part) {
  ExtraTreesValues& values = open_values();
  const ValueRoot top{node.key, node.depth, static_cast<u64>(accumulator_.weight(total)), total[1]};
  if (!values.finish(top, {rows.records, rows.items, rows.names, context_.plan.input}))
    return false;
  const ValueTree& tree = values.tree();
  if (is_whole(node)) keep_compact(GrowthScratch::Kept::values, part);
  search_.count(Route::extra_trees_values, tree.size());
  search_.count(Route::compact_tree, part.is_compact ? tree.size() : 0);
  if (!part.is_compact)
    tree.append_to(part.tree, part.moments, *context_.data.bins, node.parent, node.is_right);
  return true;
}

// The tree of the scratch becomes the whole tree, where that route is taken.
template <class Accumulator>
void SubtreeWriter<Accumulator>::keep_compact(GrowthScratch::Kept kept, TreePart& part) {
  part.is_compact = context_.takes(Route::compact_tree);
  if (part.is_compact) context_.plan.input.scratch->kept = kept;
}

template <class Accumulator>
void SubtreeWriter<Accumulator>::open_classes(const NodePosition& top, TreePart& part) {
  if (!context_.multiclass_rules || !is_whole(top)) return;
  keep_compact(GrowthScratch::Kept::classes, part);
  if (!part.is_compact) return;
  classes_ = &context_.plan.input.scratch->classes;
  classes_->begin(class_shape(top), top.depth);
}

// The blocks of extra-trees, a tree's own or those of the forest's scratch memory.
template <class Accumulator>
ExtraTreesLevels& SubtreeWriter<Accumulator>::open_extra_trees() {
  if (!extra_trees_) {
    if (!context_.takes(Route::compact_tree))
      own_extra_trees_ = std::make_unique<ExtraTreesLevels>();
    extra_trees_ =
        own_extra_trees_ ? own_extra_trees_.get() : &context_.plan.input.scratch->extra_trees;
    extra_trees_->begin(*context_.extra_trees_rules, context_.plan.watch);
  }
  return *extra_trees_;
}

// The same for values.
template <class Accumulator>
ExtraTreesValues& SubtreeWriter<Accumulator>::open_values() {
  if (!values_) {
    GrowthScratch* scratch = find_scratch();
    std::unique_ptr<ExtraTreesValues>& kept = scratch ? scratch->values : own_values_;
    if (!kept) kept = ExtraTreesValues::make(context_.block.stride);
    values_ = kept.get();
    values_->begin(*context_.value_rules, context_.plan.watch);
  }
  return *values_;
}

// The same for several classes.
template <class Accumulator>
MulticlassSubtree& SubtreeWriter<Accumulator>::open_multiclass() {
  GrowthScratch* scratch = find_scratch();
  std::unique_ptr<MulticlassSubtree>& kept = scratch ? scratch->multiclass : own_multiclass_;
  if (!kept) kept = MulticlassSubtree::make(context_.block.stride);
  kept->begin(*context_.multiclass_rules);
  return *kept;
}

}  // namespace committee
