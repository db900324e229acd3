// Subtrees of any classes that are finished in a block: see multiclass_subtree.hpp. Included by
// subtree_builder.hpp.
#pragma once
#include "tree/builder_loop.hpp"
#include "tree/fast/multiclass_subtree.hpp"

namespace committee {

template <class Accumulator>
void TreeBuilder<Accumulator>::prepare_multiclass() {
  if constexpr (Accumulator::kKind == AccumulatorKind::classes && sizeof(Element) == 4) {
    const Accumulator& accumulator = sample_.accumulator;
    auto rules = std::make_shared<MulticlassRules>(tree_key_, params_, all_features_);
    rules->bins = data_.bins.get();
    rules->n_rows = sample_.n;
    rules->stride = block_.stride;
    for (u32 f = 0; f < data_.n_cols; ++f) rules->places[f] = block_.place(f);
    rules->draws_features = plan_.draws_features;
    rules->shuffle_ties = params_.shuffle_ties;
    rules->n_classes = accumulator.n_elements;
    rules->weight_unit = sample_.weight_unit;
    multiclass_rules_ = std::move(rules);
  }
}

// Finishes the subtree of a node; false: it is a leaf, weighs too much, or a value is missing.
template <class Accumulator>
bool TreeBuilder<Accumulator>::finish_multiclass(SmallNode& node, TreePart& part,
                                                 Worker& worker) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::classes && sizeof(Element) == 4) {
    const Accumulator& accumulator = sample_.accumulator;
    const Element* total = worker.total.data();
    if (!multiclass_rules_ || accumulator.total(total) > MulticlassSubtree::kMostWeight ||
        is_terminal(node, worker))
      return false;
    if (!worker.multiclass_subtree)
      worker.multiclass_subtree = MulticlassSubtree::make(*multiclass_rules_);
    if (node.size() > worker.multiclass_subtree->most_rows()) return false;
    MulticlassRoot top{node.key, node.parent, node.depth, node.is_right, PackedCounts16{}};
    for (u32 c = 0; c < accumulator.n_elements; ++c) top.total[c] = static_cast<u16>(total[c]);
    const u8* records = node.is_copied ? worker.copied.data() : block_.records;
    const std::size_t n_before = part.tree.size();
    if (worker.multiclass_subtree->finish(top, records, {items_ + node.begin, node.size()},
                                          part.tree)) {
      worker.count(Route::multiclass_block, part.tree.size() - n_before);
      return true;
    }
    node.block_rows = node.size() / 4;  // some of its rows may be without missing values
  }
  return false;
}

}  // namespace committee
