#include "tree/fast/compact_tree.hpp"

#include "tree/fast/append_subtree.hpp"
#include "tree/fast/count_arena.hpp"

namespace committee {

Trees CompactTree::compact(const std::vector<ColumnBins>& bins, const ArenaOptions& options) const {
  return make_count_arena<Node>(
      {nodes_.data(), n_nodes_}, 2, largest_, bins, options,
      [&]<class T, class V>(T, V, TreeStore& store) { write<T, V>(bins, store); });
}

template <class T, class V>
void CompactTree::write(const std::vector<ColumnBins>& bins, TreeStore& store) const {
  auto* const nodes = reinterpret_cast<committee::Node<T>*>(store.nodes.data());
  V* const values = reinterpret_cast<V*>(store.values.data());
  u32* const samples = store.leaf_samples.empty() ? nullptr : store.leaf_samples.data();
  const std::vector<const double*> thresholds = list_thresholds(bins);
  LevelCursors cursors(levels_);
  V unread[2];
  u32 passed = 0;
  for (u32 id = 0; id < n_nodes_; ++id) {
    const Node& node = nodes_[id];
    const u64 leaf = mask_leaf(node.right);
    const u32 number = cursors.write_node(node, thresholds, nodes).number;
    V* const to = choose(leaf, values + 2 * (number & leaf), unread + 0);
    to[0] = static_cast<V>(node.n_rows - node.n_positive);
    to[1] = static_cast<V>(node.n_positive);
    const u64 sampled = samples ? leaf : 0;
    *choose(sampled, samples + (number & sampled), &passed) = node.n_rows;
  }
}

void CompactTree::append_to(GrownTree& tree, const std::vector<ColumnBins>& bins, double unit,
                            u32 parent, bool is_right) const {
  append_subtree(tree, n_nodes_, 2, parent, is_right, [&](u32 k, double* values) -> AppendedNode {
    const Node& node = nodes_[k];
    values[0] = (node.n_rows - node.n_positive) * unit;
    values[1] = node.n_positive * unit;
    const double threshold = node.right == 0 ? 0.0 : bins[node.feature].thresholds[node.bin];
    return {node.n_rows,  node.n_rows * unit, node.right,
            node.feature, threshold,          node.missing_left};
  });
}

}  // namespace committee
