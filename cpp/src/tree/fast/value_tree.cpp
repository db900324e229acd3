#include "tree/fast/value_tree.hpp"

#include "tree/arena_store.hpp"
#include "tree/fast/append_subtree.hpp"
#include "tree/fast/level_cursors.hpp"

namespace committee {

void ValueTree::begin_joined(const ValueTree& parts, u32 n_more) {
  begin((parts.n_nodes_ + n_more) / 2 + 1, 0);
  levels_ = parts.levels_;
}

void ValueTree::append_nodes(const ValueTree& parts, u32 begin, u32 end) {
  const u32 shift = n_nodes_ - begin;  // modulo 2^32
  Node* to = nodes_.data() + n_nodes_;
  for (u32 id = begin; id < end; ++id, ++to) {
    *to = parts.nodes_[id];
    to->right += shift & static_cast<u32>(~mask_leaf(to->right));
  }
  n_nodes_ += end - begin;
}

// As fill_values and measure_importances of finish_tree.cpp, whose order of additions is this one.
std::vector<double> ValueTree::summarise(std::size_t n_features) {
  weighs_more_ = false;
  nodes_[n_nodes_] = {};  // stands for the children of leaves
  for (u32 id = n_nodes_; id-- > 0;) {
    Node& node = nodes_[id];
    const u64 leaf = mask_leaf(node.right);
    const Node &left = nodes_[id + 1], &right = nodes_[choose(leaf, n_nodes_, node.right)];
    weighs_more_ |= (leaf & 1) != 0 && node.weight != node.n_rows;
    node.weight = choose(leaf, node.weight, left.weight + right.weight);
    node.sum = choose(leaf, node.sum, left.sum + right.sum);
    node.second = choose(leaf, node.second, left.second + right.second);
    const double mean = node.sum / node.weight;
    node.impurity = std::max(0.0, node.second / node.weight - mean * mean);
    const double decrease =
        node.weight * node.impurity - left.weight * left.impurity - right.weight * right.impurity;
    node.value = choose(leaf, node.value, std::max(0.0, decrease));
  }
  // Behind those of the features, for leaves; several, which do not wait for one another.
  constexpr u32 kUnread = 4;
  std::vector<double> importances(n_features + kUnread, 0.0);
  for (u32 id = 0; id < n_nodes_; ++id) {
    const Node& node = nodes_[id];
    const u32 unread = static_cast<u32>(n_features) + id % kUnread;
    importances[choose(mask_leaf(node.right), unread, u32{node.feature})] += node.value;
  }
  importances.resize(n_features);
  return importances;
}

Trees ValueTree::compact(const std::vector<ColumnBins>& bins, const ArenaOptions& options) const {
  auto store = std::make_shared<TreeStore>();
  const std::span<const Node> nodes(nodes_.data(), n_nodes_);
  store->node_offsets.push_back(n_nodes_);
  store->leaf_offsets.push_back((n_nodes_ + 1) / 2);
  const ArenaShape shape{options.n_features, 1, needs_double_thresholds(nodes, bins),
                         ValueType::real64};
  make_room(*store, shape);
  if (options.keep_training_info) {
    store->leaf_samples = AlignedBuffer<u32>(store->leaf_offsets.back());
    if (weighs_more_) store->leaf_weights = AlignedBuffer<double>(store->leaf_offsets.back());
    store->node_impurity = AlignedBuffer<double>(store->node_offsets.back());
  }
  shape.double_thresholds ? write<double>(bins, *store) : write<float>(bins, *store);
  return view_store(std::move(store), shape);
}

template <class T>
void ValueTree::write(const std::vector<ColumnBins>& bins, TreeStore& store) const {
  auto* const nodes = reinterpret_cast<committee::Node<T>*>(store.nodes.data());
  double* const values = reinterpret_cast<double*>(store.values.data());
  u32* const samples = store.leaf_samples.empty() ? nullptr : store.leaf_samples.data();
  double* const weights = store.leaf_weights.empty() ? nullptr : store.leaf_weights.data();
  double* const impurity = store.node_impurity.empty() ? nullptr : store.node_impurity.data();
  const std::vector<const double*> thresholds = list_thresholds(bins);
  LevelCursors cursors(levels_);
  double unread = 0.0;
  u32 passed = 0;
  for (u32 id = 0; id < n_nodes_; ++id) {
    const Node& node = nodes_[id];
    const u64 leaf = mask_leaf(node.right);
    const u64 sampled = samples ? leaf : 0, weighed = weights ? leaf : 0;
    const auto [place, number] = cursors.write_node(node, thresholds, nodes);
    prefetch_to_write(values + (number & leaf) + LevelCursors::kAhead);
    if (impurity) prefetch_to_write(impurity + place + LevelCursors::kAhead);
    *choose(leaf, values + (number & leaf), &unread) = node.value;
    *choose(sampled, samples + (number & sampled), &passed) = node.n_rows;
    *choose(weighed, weights + (number & weighed), &unread) = node.weight;
    *(impurity ? impurity + place : &unread) = node.impurity;
  }
}

void ValueTree::append_to(GrownTree& tree, std::vector<double>& moments,
                          const std::vector<ColumnBins>& bins, u32 parent, bool is_right) const {
  const std::size_t first = moments.size();
  moments.resize(first + 2 * std::size_t{n_nodes_}, 0.0);
  append_subtree(tree, n_nodes_, 1, parent, is_right, [&](u32 k, double* value) -> AppendedNode {
    const Node& node = nodes_[k];
    if (node.right != 0)
      return {
          node.n_rows,      0.0, node.right, node.feature, bins[node.feature].thresholds[node.bin],
          node.missing_left};
    *value = node.value;
    moments[first + 2 * std::size_t{k}] = node.sum;
    moments[first + 2 * std::size_t{k} + 1] = node.second;
    return {node.n_rows, node.weight, 0, 0, 0.0, false};
  });
}

}  // namespace committee
