// What an arena of trees made by this library owns; private to arena.cpp, arena_concat.cpp and the
// trees of tree/fast.
#pragma once
#include "committee/tree.hpp"

namespace committee {

// What compact_trees and concatenate_trees own; a Trees views it.
struct TreeStore {
  std::vector<u64> node_offsets{0}, leaf_offsets{0};
  AlignedBuffer<u8> nodes, values;
  AlignedBuffer<u32> leaf_samples;
  AlignedBuffer<double> leaf_weights, node_impurity;
  std::vector<u32> outputs, category_offsets, category_words;
};

inline std::size_t size_of(ValueType type) {
  switch (type) {
    case ValueType::count8:
      return 1;
    case ValueType::count16:
      return 2;
    case ValueType::count32:
      return 4;
    default:
      return 8;
  }
}

// The smallest that holds a whole number.
inline ValueType choose_count_type(double largest) {
  if (largest < 0x1p8) return ValueType::count8;
  return largest < 0x1p16 ? ValueType::count16 : ValueType::count32;
}

struct ArenaShape {
  std::size_t n_features = 0;
  u32 width = 1;
  bool double_thresholds = false;
  ValueType value_type = ValueType::real64;
};

inline Trees view_store(std::shared_ptr<const TreeStore> store, const ArenaShape& shape) {
  Trees trees;
  trees.n_trees = store->node_offsets.size() - 1;
  trees.n_features = shape.n_features;
  trees.double_thresholds = shape.double_thresholds;
  trees.node_offsets = store->node_offsets;
  trees.leaf_offsets = store->leaf_offsets;
  trees.nodes = store->nodes.data();
  trees.width = shape.width;
  trees.value_type = shape.value_type;
  trees.values = store->values.data();
  trees.outputs = store->outputs;
  trees.category_offsets = store->category_offsets;
  trees.category_words = store->category_words;
  trees.leaf_samples = store->leaf_samples.span();
  trees.leaf_weights = store->leaf_weights.span();
  trees.node_impurity = store->node_impurity.span();
  trees.owner = std::move(store);
  return trees;
}

inline void make_room(TreeStore& store, const ArenaShape& shape) {
  const std::size_t node_bytes =
      shape.double_thresholds ? sizeof(Node<double>) : sizeof(Node<float>);
  store.nodes = AlignedBuffer<u8>(store.node_offsets.back() * node_bytes);
  store.values =
      AlignedBuffer<u8>(store.leaf_offsets.back() * shape.width * size_of(shape.value_type));
}

// Calls use(T*) with the store's values as the type that they are kept in.
template <class Use>
void with_values(TreeStore& store, ValueType type, Use&& use) {
  u8* const at = store.values.data();
  switch (type) {
    case ValueType::count8:
      return use(at);
    case ValueType::count16:
      return use(reinterpret_cast<u16*>(at));
    case ValueType::count32:
      return use(reinterpret_cast<u32*>(at));
    default:
      return use(reinterpret_cast<double*>(at));
  }
}

}  // namespace committee
