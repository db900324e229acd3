// Subtrees of any classes that are finished in a block: see multiclass_subtree.hpp. Included by
// subtree_builder.hpp.
#pragma once
#include "tree/builder_loop.hpp"
#include "tree/fast/multiclass_subtree.hpp"

namespace committee {

template <class Tally>
void Growth<Tally>::prepare_class_blocks() {
  if constexpr (Tally::kKind == TallyKind::classes && sizeof(Slot) == 4) {
    const Tally& tally = sample_.tally;
    if (params_.criterion != Gini::kName || params_.random_splits || tally.counted ||
        tally.n_slots > kWordClasses || sample_.heaviest > ClassBlock::kHeaviestRow ||
        plan_.min_weight_leaf > 1.0 || params_.min_samples_leaf > 1 ||
        params_.min_impurity_decrease > 0.0)
      return;
    auto rules = std::make_shared<ClassRules>(tree_key_, params_, all_features_);
    rules->bins = data_.bins.get();
    rules->n_rows = sample_.n;
    rules->stride = block_.stride;
    for (u32 f = 0; f < data_.n_cols; ++f) rules->places[f] = block_.place(f);
    rules->draws_features = plan_.draws_features;
    rules->shuffle_ties = params_.shuffle_ties;
    rules->n_classes = tally.n_slots;
    rules->weight_unit = sample_.weight_unit;
    class_rules_ = std::move(rules);
  }
}

// Finishes the subtree of a node; false: it is a leaf, weighs too much, or a value is missing.
template <class Tally>
bool Growth<Tally>::finish_classes(SmallNode& node, TreePart& part, Worker& worker) const {
  if constexpr (Tally::kKind == TallyKind::classes && sizeof(Slot) == 4) {
    const Tally& tally = sample_.tally;
    const Slot* total = worker.total.data();
    if (!class_rules_ || tally.total(total) > ClassBlock::kMostWeight || is_terminal(node, worker))
      return false;
    if (!worker.class_block) worker.class_block = ClassBlock::make(*class_rules_);
    if (node.size() > worker.class_block->most_rows()) return false;
    ClassTop top{node.key, node.parent, node.depth, node.is_right, WideWord{}};
    for (u32 c = 0; c < tally.n_slots; ++c) top.total[c] = static_cast<u16>(total[c]);
    const u8* records = node.is_copied ? worker.copied.data() : block_.records;
    if (worker.class_block->finish(top, records, {items_ + node.begin, node.size()}, part.tree))
      return true;
    node.block_rows = node.size() / 4;  // some of its rows may be without missing values
  }
  return false;
}

}  // namespace committee
