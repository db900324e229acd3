#include "committee/tree.hpp"

#include <algorithm>
#include <cmath>

namespace committee {

namespace {

// What compact_trees and concatenate_trees own; a Trees views it.
struct TreeStore {
  std::vector<u64> node_offsets{0}, leaf_offsets{0};
  AlignedBuffer<u8> nodes, values;
  std::vector<u32> outputs, category_offsets, category_words, leaf_samples;
  std::vector<double> leaf_weights, node_impurity;
};

std::size_t size_of(ValueType type) {
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

struct ArenaShape {
  std::size_t n_features = 0;
  u32 width = 1;
  bool double_thresholds = false;
  ValueType value_type = ValueType::real64;
};

Trees view_store(std::shared_ptr<const TreeStore> store, const ArenaShape& shape) {
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
  trees.leaf_samples = store->leaf_samples;
  trees.leaf_weights = store->leaf_weights;
  trees.node_impurity = store->node_impurity;
  trees.owner = std::move(store);
  return trees;
}

void make_room(TreeStore& store, const ArenaShape& shape) {
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

bool is_float_number(double x) {
  return static_cast<double>(static_cast<float>(x)) == x;
}

// What must be known of all trees before the first node is written.
class Survey {
 public:
  explicit Survey(bool class_weights) : counts_(class_weights) {}
  void look_at(const GrownTree& tree) {
    for (std::size_t node = 0; node < tree.size(); ++node) {
      if (!tree.is_leaf(static_cast<u32>(node))) {
        const GrownTree::Split& split = tree.splits[node];
        doubles_ = doubles_ || (!split.categorical && !is_float_number(split.threshold));
      } else if (counts_) {
        for (u32 c = 0; c < tree.width; ++c) look_at_value(tree.values[node * tree.width + c]);
      }
    }
  }
  bool double_thresholds() const { return doubles_; }
  ValueType value_type() const {
    if (!counts_) return ValueType::real64;
    if (largest_ < 0x1p8) return ValueType::count8;
    return largest_ < 0x1p16 ? ValueType::count16 : ValueType::count32;
  }

 private:
  void look_at_value(double value) {
    const bool in_range = value >= 0.0 && value < 0x1p32;
    counts_ = counts_ && in_range && static_cast<double>(static_cast<u32>(value)) == value;
    largest_ = std::max(largest_, value);
  }
  bool doubles_ = false;
  bool counts_;
  double largest_ = 0.0;
};

template <class T>
Node<T> make_leaf(u32 number) {
  return {T{0}, number, Node<T>::kLeaf};
}

template <class T>
Node<T> make_split(const GrownTree::Split& split, u32 left, TreeStore& store) {
  Node<T> node{T{0}, left, split.feature};
  if (split.missing_left) node.tag |= Node<T>::kMissingLeft;
  if (split.categorical) {
    node.tag |= Node<T>::kCategorical;
    if (store.category_offsets.empty()) store.category_offsets.push_back(0);
    const u32 set = static_cast<u32>(store.category_offsets.size() - 1);
    std::memcpy(&node.threshold, &set, sizeof set);
    store.category_words.insert(store.category_words.end(), split.left_categories->begin(),
                                split.left_categories->end());
    store.category_offsets.push_back(static_cast<u32>(store.category_words.size()));
  } else {
    node.threshold = static_cast<T>(split.threshold);
  }
  return node;
}

template <class T>
void write_nodes(const GrownTree& tree, std::span<const u32> order, std::size_t first,
                 TreeStore& store) {
  Node<T>* const nodes = reinterpret_cast<Node<T>*>(store.nodes.data()) + first;
  u32 next = 1, leaf = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const u32 node = order[i];
    if (tree.is_leaf(node)) {
      nodes[i] = make_leaf<T>(leaf++);
    } else {
      nodes[i] = make_split<T>(tree.splits[node], next, store);
      next += 2;
    }
  }
}

double derive_weight(const GrownTree& tree, u32 node, std::span<const u32> outputs) {
  if (outputs.empty()) return tree.n_samples[node];
  double sum = 0.0;
  for (u32 c = 0; c < outputs[0]; ++c) sum += tree.values[std::size_t{node} * tree.width + c];
  return sum;
}

void write_training_info(std::span<const GrownTree> grown, std::span<const std::vector<u32>> orders,
                         TreeStore& store) {
  bool derivable = true;
  for (std::size_t t = 0; t < grown.size(); ++t) {
    const GrownTree& tree = grown[t];
    for (const u32 node : orders[t]) {
      if (store.outputs.empty()) store.node_impurity.push_back(tree.impurity[node]);
      if (!tree.is_leaf(node)) continue;
      store.leaf_samples.push_back(tree.n_samples[node]);
      store.leaf_weights.push_back(tree.weight[node]);
      derivable = derivable && tree.weight[node] == derive_weight(tree, node, store.outputs);
    }
  }
  if (derivable) store.leaf_weights = {};
}

}  // namespace

// Where nodes are numbered depth-first, sorting the numbers by depth is enough; following the
// children would jump about in memory.
std::vector<u32> order_nodes(const GrownTree& tree) {
  const u32 n = static_cast<u32>(tree.size());
  std::vector<u32> order(n);
  if (tree.depth_first) {
    std::vector<u32> depth(n, 0), first{0, 0};
    for (u32 node = 0; node < n; ++node) {
      const u32 own = depth[node];
      if (!tree.is_leaf(node)) depth[tree.left[node]] = depth[tree.right[node]] = own + 1;
      if (own + 2 > first.size()) first.resize(own + 2, 0);
      ++first[own + 1];
    }
    for (std::size_t d = 1; d < first.size(); ++d) first[d] += first[d - 1];
    for (u32 node = 0; node < n; ++node) order[first[depth[node]]++] = node;
    return order;
  }
  order.assign(1, 0);
  order.reserve(n);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const u32 node = order[i];
    if (tree.is_leaf(node)) continue;
    order.push_back(tree.left[node]);
    order.push_back(tree.right[node]);
  }
  return order;
}

Trees compact_trees(std::span<const GrownTree> grown, const ArenaOptions& options) {
  auto store = std::make_shared<TreeStore>();
  store->outputs = options.outputs;
  std::vector<std::vector<u32>> orders;
  orders.reserve(grown.size());
  Survey survey(!options.outputs.empty());
  ArenaShape shape{options.n_features, grown.empty() ? 1 : grown[0].width, false,
                   ValueType::real64};
  for (const GrownTree& tree : grown) {
    if (tree.width != shape.width)
      throw std::invalid_argument("All trees must have the same number of values a leaf.");
    orders.push_back(order_nodes(tree));
    survey.look_at(tree);
    const std::size_t n_nodes = orders.back().size();
    store->node_offsets.push_back(store->node_offsets.back() + n_nodes);
    store->leaf_offsets.push_back(store->leaf_offsets.back() + (n_nodes + 1) / 2);
  }
  shape.double_thresholds = survey.double_thresholds();
  shape.value_type = survey.value_type();
  make_room(*store, shape);
  for (std::size_t t = 0; t < grown.size(); ++t) {
    const auto write = shape.double_thresholds ? write_nodes<double> : write_nodes<float>;
    write(grown[t], orders[t], store->node_offsets[t], *store);
  }
  with_values(*store, shape.value_type, [&]<class V>(V* out) {
    for (std::size_t t = 0; t < grown.size(); ++t) {
      const GrownTree& tree = grown[t];
      for (const u32 node : orders[t]) {
        if (!tree.is_leaf(node)) continue;
        for (u32 c = 0; c < tree.width; ++c)
          *out++ = static_cast<V>(tree.values[std::size_t{node} * tree.width + c]);
      }
    }
  });
  if (options.keep_training_info) write_training_info(grown, orders, *store);
  return view_store(std::move(store), shape);
}

namespace {

// Copies the nodes of a part, and of its category sets those that its nodes name.
template <class From, class To>
void append_nodes(const Trees& part, std::size_t first, TreeStore& store) {
  const Node<From>* const from = static_cast<const Node<From>*>(part.nodes);
  Node<To>* const to = reinterpret_cast<Node<To>*>(store.nodes.data()) + first;
  const std::size_t n_sets = part.category_offsets.empty() ? 0 : part.category_offsets.size() - 1;
  constexpr u32 kUnseen = 0xFFFFFFFFu;
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
void append_training_info(std::span<const Trees> parts, TreeStore& store) {
  const auto knows_samples = [](const Trees& p) {
    return p.n_trees == 0 || !p.leaf_samples.empty();
  };
  const auto knows_impurity = [](const Trees& p) {
    return p.n_trees == 0 || !p.node_impurity.empty();
  };
  if (!std::all_of(parts.begin(), parts.end(), knows_samples)) return;
  const bool impurity = std::all_of(parts.begin(), parts.end(), knows_impurity);
  const bool weights = std::any_of(parts.begin(), parts.end(),
                                   [](const Trees& p) { return !p.leaf_weights.empty(); });
  for (const Trees& part : parts) {
    store.leaf_samples.insert(store.leaf_samples.end(), part.leaf_samples.begin(),
                              part.leaf_samples.end());
    if (impurity) {
      store.node_impurity.insert(store.node_impurity.end(), part.node_impurity.begin(),
                                 part.node_impurity.end());
    }
    if (!weights) continue;
    for (std::size_t leaf = 0; leaf < part.leaf_offsets[part.n_trees]; ++leaf) {
      store.leaf_weights.push_back(leaf_weight(part, leaf));
    }
  }
}

}  // namespace

Trees concatenate_trees(std::span<const Trees> parts) {
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
  std::size_t tree = 0;
  for (const Trees& part : parts) {
    append_part(part, store->node_offsets[tree], store->leaf_offsets[tree], shape, *store);
    tree += part.n_trees;
  }
  append_training_info(parts, *store);
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

double leaf_weight(const Trees& trees, std::size_t leaf) {
  if (!trees.leaf_weights.empty()) return trees.leaf_weights[leaf];
  if (!trees.outputs.empty()) {
    double sum = 0.0;
    for (u32 c = 0; c < trees.outputs[0]; ++c) sum += trees.value(leaf, c);
    return sum;
  }
  return trees.leaf_samples.empty() ? std::numeric_limits<double>::quiet_NaN()
                                    : trees.leaf_samples[leaf];
}

}  // namespace committee
