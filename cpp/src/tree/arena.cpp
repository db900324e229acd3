#include <algorithm>
#include <cmath>
#include <type_traits>

#include "committee/tree.hpp"
#include "tree/arena_store.hpp"

namespace committee {

namespace {

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
  ValueType value_type() const { return counts_ ? choose_count_type(largest_) : ValueType::real64; }

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
    if (in_arena_order) {
      order_ = order_nodes(tree);
      n_nodes_ = order_.size();
    } else if (tree.depth_first) {
      measure_levels<true>();
    } else {
      measure_levels<false>();
    }
  }
  std::size_t n_nodes() const { return n_nodes_; }
  // Calls use(node, place, number), where the number is a leaf's own, or the place of a left child.
  template <class Use>
  void visit(Use&& use) const {
    if (tree_.depth_first && order_.empty()) return visit_levels<true>(use);
    if (order_.empty()) return visit_levels<false>(use);
    u32 next = 1, leaf = 0;
    for (u32 place = 0; place < order_.size(); ++place) {
      const bool is_leaf = tree_.is_leaf(order_[place]);
      use(order_[place], place, is_leaf ? leaf++ : next);
      next += is_leaf ? 0 : 2;
    }
  }

 private:
  // First place of a node, number of a leaf and place of a child of the next level, at a depth.
  struct Level {
    u32 node = 0, leaf = 0, child = 0;
  };
  // The nodes depth-first, left before right, and their depths. kNumbered: as they are numbered.
  // Most of a tree was grown in that order; following it breadth-first would jump about in memory.
  template <bool kNumbered>
  class Descent {
   public:
    explicit Descent(const GrownTree& tree) : tree_(tree), open_(64) {}
    bool ended() const { return top_ == 0; }
    u32 node() const { return node_; }
    u32 depth() const { return depth_; }
    // On to the next node: the left child, or the last right one that was passed by.
    void pass(bool is_leaf) {
      if (top_ + 1 >= open_.size()) open_.resize(2 * open_.size());
      open_[top_] = {tree_.right[node_], depth_ + 1};
      const std::size_t from = top_ - (is_leaf ? 1 : 0);
      node_ = kNumbered ? node_ + 1 : is_leaf ? open_[from].node : tree_.left[node_];
      depth_ = open_[from].depth;
      top_ = from + (is_leaf ? 0 : 1);
    }

   private:
    struct Open {
      u32 node = 0, depth = 0;
    };
    const GrownTree& tree_;
    std::vector<Open> open_;  // right children to come, behind one of nothing
    std::size_t top_ = 1;
    u32 node_ = 0, depth_ = 0;
  };

  template <bool kNumbered>
  void measure_levels() {
    for (Descent<kNumbered> descent(tree_); !descent.ended(); ++n_nodes_) {
      const bool is_leaf = tree_.is_leaf(descent.node());
      const u32 depth = descent.depth();
      if (depth >= levels_.size()) levels_.emplace_back();
      ++levels_[depth].node;
      levels_[depth].leaf += is_leaf ? 1 : 0;
      descent.pass(is_leaf);
    }
    Level before;
    for (Level& level : levels_) {
      const Level counts = level;
      level = {before.node, before.leaf, before.node + counts.node};
      before.node += counts.node;
      before.leaf += counts.leaf;
    }
  }

  template <bool kNumbered, class Use>
  void visit_levels(Use&& use) const {
    std::vector<Level> levels = levels_;
    for (Descent<kNumbered> descent(tree_); !descent.ended();) {
      const u32 node = descent.node();
      const bool is_leaf = tree_.is_leaf(node);
      Level& level = levels[descent.depth()];
      use(node, level.node++, is_leaf ? level.leaf : level.child);
      level.leaf += is_leaf ? 1 : 0;
      level.child += is_leaf ? 0 : 2;
      descent.pass(is_leaf);
    }
  }

  std::size_t n_nodes_ = 0;
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
    if (!survey.has_derivable_weights())
      store->leaf_weights = AlignedBuffer<double>(store->leaf_offsets.back());
    if (store->outputs.empty())
      store->node_impurity = AlignedBuffer<double>(store->node_offsets.back());
  }
  with_values(*store, shape.value_type, [&]<class V>(V*) {
    for (std::size_t t = 0; t < grown.size(); ++t) {
      const auto write = shape.double_thresholds ? write_tree<double, V> : write_tree<float, V>;
      write(grown[t], layouts[t], {store->node_offsets[t], store->leaf_offsets[t]}, *store);
    }
  });
  return view_store(std::move(store), shape);
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
