// Arenas made of arenas: several joined to one, and some trees of one.
#include <algorithm>
#include <cstring>

#include "committee/parallel.hpp"
#include "tree/arena_store.hpp"

namespace committee {

namespace {

// Copies the nodes of a part, and of its category sets those that its nodes name.
template <class From, class To>
void append_nodes(const Trees& part, std::size_t first, TreeStore& store) {
  const Node<From>* const from = static_cast<const Node<From>*>(part.nodes);
  Node<To>* const to = reinterpret_cast<Node<To>*>(store.nodes.data()) + first;
  const std::size_t n_sets = part.category_offsets.empty() ? 0 : part.category_offsets.size() - 1;
  constexpr u32 kUnseen = 0xFFFFFFFFu;
  if (std::is_same_v<From, To> && n_sets == 0) {
    const std::size_t n_bytes = part.node_offsets[part.n_trees] * sizeof(Node<To>);
    if (n_bytes != 0) std::memcpy(to, from, n_bytes);
    return;
  }
  std::vector<u32> renamed(n_sets, kUnseen);
  for (std::size_t i = 0; i < part.node_offsets[part.n_trees]; ++i) {
    to[i] = {static_cast<To>(0), from[i].left, from[i].tag};
    if (!from[i].is_categorical()) {
      to[i].threshold = static_cast<To>(from[i].threshold);
      continue;
    }
    u32& set = renamed[from[i].category_set()];
    if (set == kUnseen) {
      if (store.category_offsets.empty()) store.category_offsets.push_back(0);
      set = static_cast<u32>(store.category_offsets.size() - 1);
      const auto words = part.category_words.begin();
      store.category_words.insert(store.category_words.end(),
                                  words + part.category_offsets[from[i].category_set()],
                                  words + part.category_offsets[from[i].category_set() + 1]);
      store.category_offsets.push_back(static_cast<u32>(store.category_words.size()));
    }
    std::memcpy(&to[i].threshold, &set, sizeof set);
  }
}

void append_part(const Trees& part, std::size_t first_node, std::size_t first_leaf,
                 const ArenaShape& shape, TreeStore& store) {
  if (part.double_thresholds) {
    append_nodes<double, double>(part, first_node, store);
  } else if (shape.double_thresholds) {
    append_nodes<float, double>(part, first_node, store);
  } else {
    append_nodes<float, float>(part, first_node, store);
  }
  const std::size_t n_leaves = part.leaf_offsets[part.n_trees];
  if (n_leaves == 0) return;
  if (part.value_type == shape.value_type) {
    const std::size_t leaf_bytes = size_of(shape.value_type) * shape.width;
    std::memcpy(store.values.data() + first_leaf * leaf_bytes, part.values, n_leaves * leaf_bytes);
    return;
  }
  with_values(store, shape.value_type, [&]<class V>(V* out) {
    out += first_leaf * shape.width;
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
      for (u32 c = 0; c < shape.width; ++c) *out++ = static_cast<V>(part.value(leaf, c));
    }
  });
}

// Training information is kept where every part has it.
void make_room_for_training_info(std::span<const Trees> parts, TreeStore& store) {
  const auto knows_samples = [](const Trees& p) {
    return p.n_trees == 0 || !p.leaf_samples.empty();
  };
  const auto knows_impurity = [](const Trees& p) {
    return p.n_trees == 0 || !p.node_impurity.empty();
  };
  if (!std::all_of(parts.begin(), parts.end(), knows_samples)) return;
  store.leaf_samples = AlignedBuffer<u32>(store.leaf_offsets.back());
  if (std::all_of(parts.begin(), parts.end(), knows_impurity))
    store.node_impurity = AlignedBuffer<double>(store.node_offsets.back());
  if (std::any_of(parts.begin(), parts.end(),
                  [](const Trees& p) { return !p.leaf_weights.empty(); }))
    store.leaf_weights = AlignedBuffer<double>(store.leaf_offsets.back());
}

void append_training_info(const Trees& part, std::size_t first_node, std::size_t first_leaf,
                          TreeStore& store) {
  if (!store.leaf_samples.empty())
    std::copy(part.leaf_samples.begin(), part.leaf_samples.end(),
              store.leaf_samples.data() + first_leaf);
  if (!store.node_impurity.empty())
    std::copy(part.node_impurity.begin(), part.node_impurity.end(),
              store.node_impurity.data() + first_node);
  if (store.leaf_weights.empty()) return;
  for (std::size_t leaf = 0; leaf < part.leaf_offsets[part.n_trees]; ++leaf)
    store.leaf_weights[first_leaf + leaf] = leaf_weight(part, leaf);
}

}  // namespace

Trees concatenate_trees(std::span<const Trees> parts, int n_threads) {
  if (parts.empty()) throw std::invalid_argument("There must be at least one part to concatenate.");
  const Trees& head = parts[0];
  ArenaShape shape{head.n_features, head.width, false, ValueType::count8};
  auto store = std::make_shared<TreeStore>();
  store->outputs.assign(head.outputs.begin(), head.outputs.end());
  for (const Trees& part : parts) {
    if (part.n_features != head.n_features || part.width != head.width ||
        !std::equal(part.outputs.begin(), part.outputs.end(), head.outputs.begin(),
                    head.outputs.end())) {
      throw std::invalid_argument("Trees to concatenate must have the same features and outputs.");
    }
    shape.double_thresholds = shape.double_thresholds || part.double_thresholds;
    shape.value_type = std::max(shape.value_type, part.value_type);
    const u64 first_node = store->node_offsets.back(), first_leaf = store->leaf_offsets.back();
    for (std::size_t t = 1; t <= part.n_trees; ++t) {
      store->node_offsets.push_back(first_node + part.node_offsets[t]);
      store->leaf_offsets.push_back(first_leaf + part.leaf_offsets[t]);
    }
  }
  make_room(*store, shape);
  make_room_for_training_info(parts, *store);
  // Category sets are numbered part after part.
  const bool has_sets = std::any_of(
      parts.begin(), parts.end(), [](const Trees& part) { return !part.category_offsets.empty(); });
  std::vector<std::size_t> first{0};
  for (const Trees& part : parts) first.push_back(first.back() + part.n_trees);
  parallel_for(parts.size(), has_sets ? 1 : n_threads, [&](std::size_t k) {
    const u64 node = store->node_offsets[first[k]], leaf = store->leaf_offsets[first[k]];
    append_part(parts[k], node, leaf, shape, *store);
    append_training_info(parts[k], node, leaf, *store);
  });
  return view_store(std::move(store), shape);
}

Trees select_trees(const Trees& trees, std::size_t first, std::size_t last) {
  if (first > last || last > trees.n_trees) {
    throw std::invalid_argument("Trees can be selected from 0 to " + std::to_string(trees.n_trees) +
                                "; got " + std::to_string(first) + " to " + std::to_string(last) +
                                ".");
  }
  struct Offsets {
    std::shared_ptr<const void> arena;
    std::vector<u64> nodes, leaves;
  };
  auto offsets = std::make_shared<Offsets>();
  offsets->arena = trees.owner;
  const u64 node = trees.node_offsets[first], leaf = trees.leaf_offsets[first];
  const u64 n_nodes = trees.node_offsets[last] - node, n_leaves = trees.leaf_offsets[last] - leaf;
  for (std::size_t t = first; t <= last; ++t) {
    offsets->nodes.push_back(trees.node_offsets[t] - node);
    offsets->leaves.push_back(trees.leaf_offsets[t] - leaf);
  }
  const std::size_t node_bytes =
      trees.double_thresholds ? sizeof(Node<double>) : sizeof(Node<float>);
  Trees part = trees;
  part.n_trees = last - first;
  part.node_offsets = offsets->nodes;
  part.leaf_offsets = offsets->leaves;
  part.nodes = static_cast<const u8*>(trees.nodes) + node * node_bytes;
  part.values =
      static_cast<const u8*>(trees.values) + leaf * trees.width * size_of(trees.value_type);
  if (!trees.leaf_samples.empty()) part.leaf_samples = trees.leaf_samples.subspan(leaf, n_leaves);
  if (!trees.leaf_weights.empty()) part.leaf_weights = trees.leaf_weights.subspan(leaf, n_leaves);
  if (!trees.node_impurity.empty()) part.node_impurity = trees.node_impurity.subspan(node, n_nodes);
  part.owner = std::move(offsets);
  return part;
}

}  // namespace committee
