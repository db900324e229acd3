#include "committee/tree.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "committee/parallel.hpp"

namespace committee {

namespace {

// What compact_trees and concatenate_trees own; a Trees views it.
struct TreeStore {
  std::vector<u64> node_offsets{0}, leaf_offsets{0};
  AlignedBuffer<u8> nodes, values;
  AlignedBuffer<u32> leaf_samples;
  std::vector<u32> outputs, category_offsets, category_words;
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
  trees.leaf_samples = store->leaf_samples.span();
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

double derive_weight(const GrownTree& tree, u32 node, std::span<const u32> outputs) {
  if (outputs.empty()) return tree.n_samples[node];
  double sum = 0.0;
  for (u32 c = 0; c < outputs[0]; ++c) sum += tree.values[std::size_t{node} * tree.width + c];
  return sum;
}

// What must be known of all trees before the first node is written.
class Survey {
 public:
  explicit Survey(std::span<const u32> outputs) : outputs_(outputs), counts_(!outputs.empty()) {}
  // Which nodes are leaves is a coin toss: nothing here branches on it.
  void look_at(const GrownTree& tree) {
    for (u32 node = 0; node < tree.size(); ++node) {
      const GrownTree::Split& split = tree.splits[node];
      const bool is_leaf = tree.is_leaf(node);
      categories_ |= split.categorical;
      doubles_ |= !is_leaf & !split.categorical & !is_float_number(split.threshold);
      derivable_ &= !is_leaf | (tree.weight[node] == derive_weight(tree, node, outputs_));
      if (!counts_) continue;
      const double kept = is_leaf ? 1.0 : 0.0;
      for (u32 c = 0; c < tree.width; ++c)
        look_at_value(kept * tree.values[std::size_t{node} * tree.width + c]);
    }
  }
  bool double_thresholds() const { return doubles_; }
  bool has_categories() const { return categories_; }
  bool has_derivable_weights() const { return derivable_; }
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
  std::span<const u32> outputs_;
  bool doubles_ = false, categories_ = false, derivable_ = true;
  bool counts_;
  double largest_ = 0.0;
};

template <class T>
Node<T> make_categorical(const GrownTree::Split& split, u32 left, TreeStore& store) {
  Node<T> node{T{0}, left, split.feature | Node<T>::kCategorical};
  if (split.missing_left) node.tag |= Node<T>::kMissingLeft;
  if (store.category_offsets.empty()) store.category_offsets.push_back(0);
  const u32 set = static_cast<u32>(store.category_offsets.size() - 1);
  std::memcpy(&node.threshold, &set, sizeof set);
  store.category_words.insert(store.category_words.end(), split.left_categories->begin(),
                              split.left_categories->end());
  store.category_offsets.push_back(static_cast<u32>(store.category_words.size()));
  return node;
}

// A leaf, or a numeric split.
template <class T>
Node<T> make_node(const GrownTree::Split& split, bool is_leaf, u32 number) {
  const u32 tag = split.feature | (split.missing_left ? Node<T>::kMissingLeft : 0);
  return {static_cast<T>(is_leaf ? 0.0 : split.threshold), number, is_leaf ? Node<T>::kLeaf : tag};
}

// Where a tree's nodes lie in the arena: breadth-first, siblings side by side.
class Layout {
 public:
  Layout(const GrownTree& tree, bool in_arena_order) : tree_(tree) {
    if (in_arena_order || !tree.depth_first) {
      order_ = order_nodes(tree);
    } else {
      levels_ = measure_levels(tree);
    }
  }
  std::size_t n_nodes() const { return levels_.empty() ? order_.size() : tree_.size(); }
  // Calls use(node, place, number), where the number is a leaf's own, or the place of a left child.
  template <class Use>
  void visit(Use&& use) const {
    if (levels_.empty()) {
      u32 next = 1, leaf = 0;
      for (u32 place = 0; place < order_.size(); ++place) {
        const bool is_leaf = tree_.is_leaf(order_[place]);
        use(order_[place], place, is_leaf ? leaf++ : next);
        next += is_leaf ? 0 : 2;
      }
      return;
    }
    std::vector<Level> levels = levels_;
    Descent descent(levels_.size());
    for (u32 node = 0; node < tree_.size(); ++node) {
      const bool is_leaf = tree_.is_leaf(node);
      Level& level = levels[descent.depth()];
      use(node, level.node++, is_leaf ? level.leaf : level.child);
      level.leaf += is_leaf ? 1 : 0;
      level.child += is_leaf ? 0 : 2;
      descent.pass(is_leaf);
    }
  }

 private:
  // First place of a node, number of a leaf and place of a child of the next level, at a depth.
  struct Level {
    u32 node = 0, leaf = 0, child = 0;
  };
  // The depths of nodes that are numbered depth-first, left before right.
  class Descent {
   public:
    explicit Descent(std::size_t n_levels) : open_(n_levels + 2, 0) {}
    u32 depth() const { return depth_; }
    // On to the next node: the left child, or the last right one that was passed by.
    void pass(bool is_leaf) {
      if (top_ + 1 >= open_.size()) open_.resize(2 * open_.size());
      open_[top_] = depth_ + 1;
      const std::size_t from = top_ - (is_leaf ? 1 : 0);
      depth_ = open_[from];
      top_ = from + (is_leaf ? 0 : 1);
    }

   private:
    std::vector<u32> open_;  // depths of right children to come, behind one of the root
    std::size_t top_ = 1;
    u32 depth_ = 0;
  };
  // Such a tree is read from front to back; following it breadth-first would jump about in memory.
  static std::vector<Level> measure_levels(const GrownTree& tree) {
    std::vector<Level> levels;
    Descent descent(64);
    for (u32 node = 0; node < tree.size(); ++node) {
      const bool is_leaf = tree.is_leaf(node);
      const u32 depth = descent.depth();
      if (depth >= levels.size()) levels.emplace_back();
      ++levels[depth].node;
      levels[depth].leaf += is_leaf ? 1 : 0;
      descent.pass(is_leaf);
    }
    Level before;
    for (Level& level : levels) {
      const Level counts = level;
      level = {before.node, before.leaf, before.node + counts.node};
      before.node += counts.node;
      before.leaf += counts.leaf;
    }
    return levels;
  }
  const GrownTree& tree_;
  std::vector<u32> order_;
  std::vector<Level> levels_;
};

// Where a tree begins in the arena.
struct Beginning {
  std::size_t node, leaf;
};

template <class T, class V>
void write_tree(const GrownTree& tree, const Layout& layout, Beginning first, TreeStore& store) {
  Node<T>* const nodes = reinterpret_cast<Node<T>*>(store.nodes.data()) + first.node;
  V* const values = reinterpret_cast<V*>(store.values.data()) + first.leaf * tree.width;
  std::vector<V> unread(tree.width);  // where the values of inner nodes go
  const bool keeps_samples = !store.leaf_samples.empty();
  layout.visit([&](u32 node, u32 place, u32 number) {
    const GrownTree::Split& split = tree.splits[node];
    const bool is_leaf = tree.is_leaf(node);
    if (is_leaf || !split.categorical) {
      nodes[place] = make_node<T>(split, is_leaf, number);
    } else {
      nodes[place] = make_categorical<T>(split, number, store);
    }
    V* const to = is_leaf ? values + std::size_t{number} * tree.width : unread.data();
    for (u32 c = 0; c < tree.width; ++c)
      to[c] = static_cast<V>(tree.values[std::size_t{node} * tree.width + c]);
    if (keeps_samples) {
      u32 passed;
      *(is_leaf ? &store.leaf_samples[first.leaf + number] : &passed) = tree.n_samples[node];
    }
    if (!store.leaf_weights.empty() && is_leaf)
      store.leaf_weights[first.leaf + number] = tree.weight[node];
    if (!store.node_impurity.empty()) store.node_impurity[first.node + place] = tree.impurity[node];
  });
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
  Survey survey(store->outputs);
  ArenaShape shape{options.n_features, grown.empty() ? 1 : grown[0].width, false,
                   ValueType::real64};
  for (const GrownTree& tree : grown) {
    if (tree.width != shape.width)
      throw std::invalid_argument("All trees must have the same number of values a leaf.");
    survey.look_at(tree);
  }
  std::vector<Layout> layouts;
  layouts.reserve(grown.size());
  for (const GrownTree& tree : grown) {
    // Category sets are numbered in the order of the arena.
    layouts.emplace_back(tree, survey.has_categories());
    const std::size_t n_nodes = layouts.back().n_nodes();
    store->node_offsets.push_back(store->node_offsets.back() + n_nodes);
    store->leaf_offsets.push_back(store->leaf_offsets.back() + (n_nodes + 1) / 2);
  }
  shape.double_thresholds = survey.double_thresholds();
  shape.value_type = survey.value_type();
  make_room(*store, shape);
  if (options.keep_training_info) {
    store->leaf_samples = AlignedBuffer<u32>(store->leaf_offsets.back());
    if (!survey.has_derivable_weights()) store->leaf_weights.resize(store->leaf_offsets.back());
    if (store->outputs.empty()) store->node_impurity.resize(store->node_offsets.back());
  }
  with_values(*store, shape.value_type, [&]<class V>(V*) {
    for (std::size_t t = 0; t < grown.size(); ++t) {
      const auto write = shape.double_thresholds ? write_tree<double, V> : write_tree<float, V>;
      write(grown[t], layouts[t], {store->node_offsets[t], store->leaf_offsets[t]}, *store);
    }
  });
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
  if (std::is_same_v<From, To> && n_sets == 0) {
    std::memcpy(to, from, part.node_offsets[part.n_trees] * sizeof(Node<To>));
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
  store.leaf_samples = AlignedBuffer<u32>(store.leaf_offsets.back());
  u32* samples = store.leaf_samples.data();
  for (const Trees& part : parts) {
    samples = std::copy(part.leaf_samples.begin(), part.leaf_samples.end(), samples);
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
  // Category sets are numbered part after part.
  const bool has_sets = std::any_of(
      parts.begin(), parts.end(), [](const Trees& part) { return !part.category_offsets.empty(); });
  std::vector<std::size_t> first{0};
  for (const Trees& part : parts) first.push_back(first.back() + part.n_trees);
  parallel_for(parts.size(), has_sets ? 1 : n_threads, [&](std::size_t k) {
    append_part(parts[k], store->node_offsets[first[k]], store->leaf_offsets[first[k]], shape,
                *store);
  });
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
