// The arena of a tree whose leaves hold the weights of classes, from nodes that are listed
// depth-first.
#pragma once
#include <memory>
#include <span>

#include "tree/arena_store.hpp"
#include "tree/fast/level_cursors.hpp"

namespace committee {

// `largest`: weight of a class in a leaf. write(T, V, store) fills nodes with thresholds T and
// leaves with values V.
template <class Node, class Write>
Trees make_count_arena(std::span<const Node> nodes, u32 n_classes, u32 largest,
                       const std::vector<ColumnBins>& bins, const ArenaOptions& options,
                       Write&& write) {
  auto store = std::make_shared<TreeStore>();
  store->outputs = options.outputs;
  store->node_offsets.push_back(nodes.size());
  store->leaf_offsets.push_back((nodes.size() + 1) / 2);
  const ArenaShape shape{options.n_features, n_classes, needs_double_thresholds<Node>(nodes, bins),
                         choose_count_type(largest)};
  make_room(*store, shape);
  if (options.keep_training_info)
    store->leaf_samples = AlignedBuffer<u32>(store->leaf_offsets.back());
  with_values(*store, shape.value_type, [&]<class V>(V*) {
    shape.double_thresholds ? write(double{}, V{}, *store) : write(float{}, V{}, *store);
  });
  return view_store(std::move(store), shape);
}

}  // namespace committee
