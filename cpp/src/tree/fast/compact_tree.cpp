#include "tree/fast/compact_tree.hpp"

#include "tree/arena_store.hpp"
#include "tree/fast/append_subtree.hpp"

namespace committee {

namespace {

bool is_float_number(double x) {
  return static_cast<double>(static_cast<float>(x)) == x;
}

// Where the next nodes of a depth go, in an arena that is ordered breadth-first.
struct Cursor {
  u32 node, leaf, child;
};

// From the number of nodes of each depth: every two of them are the children of one above.
std::vector<Cursor> place_levels(const std::vector<u32>& levels) {
  std::vector<Cursor> cursors;
  u32 node = 0, leaf = 0;
  for (std::size_t d = 0; d < levels.size(); ++d) {
    const u32 below = d + 1 < levels.size() ? levels[d + 1] : 0;
    cursors.push_back({node, leaf, node + levels[d]});
    node += levels[d];
    leaf += levels[d] - below / 2;
  }
  return cursors;
}

}  // namespace

bool CompactTree::has_double_thresholds(const std::vector<ColumnBins>& bins) const {
  const auto is_narrow = [](const ColumnBins& column) {
    return std::all_of(column.thresholds.begin(), column.thresholds.end(), is_float_number);
  };
  if (std::all_of(bins.begin(), bins.end(), is_narrow)) return false;
  return std::any_of(nodes_.data(), nodes_.data() + n_nodes_, [&](const Node& node) {
    return node.right != 0 && !is_float_number(bins[node.feature].thresholds[node.bin]);
  });
}

Trees CompactTree::compact(const std::vector<ColumnBins>& bins, const ArenaOptions& options) const {
  auto store = std::make_shared<TreeStore>();
  store->outputs = options.outputs;
  store->node_offsets.push_back(n_nodes_);
  store->leaf_offsets.push_back((n_nodes_ + 1) / 2);
  const ValueType type = largest_ < 0x100     ? ValueType::count8
                         : largest_ < 0x10000 ? ValueType::count16
                                              : ValueType::count32;
  const ArenaShape shape{options.n_features, 2, has_double_thresholds(bins), type};
  make_room(*store, shape);
  if (options.keep_training_info)
    store->leaf_samples = AlignedBuffer<u32>(store->leaf_offsets.back());
  with_values(*store, type, [&]<class V>(V*) {
    shape.double_thresholds ? write<double, V>(bins, *store) : write<float, V>(bins, *store);
  });
  return view_store(std::move(store), shape);
}

// Which nodes are leaves is a coin toss: nothing here branches on it.
template <class T, class V>
void CompactTree::write(const std::vector<ColumnBins>& bins, TreeStore& store) const {
  using StoredNode = committee::Node<T>;
  StoredNode* const nodes = reinterpret_cast<StoredNode*>(store.nodes.data());
  V* const values = reinterpret_cast<V*>(store.values.data());
  u32* const samples = store.leaf_samples.empty() ? nullptr : store.leaf_samples.data();
  static constexpr double kNowhere = 0.0;  // of leaves, whose feature is the first
  std::vector<const double*> thresholds;
  for (const ColumnBins& column : bins)
    thresholds.push_back(column.thresholds.empty() ? &kNowhere : column.thresholds.data());
  std::vector<Cursor> cursors = place_levels(levels_);
  std::vector<u32> waiting(levels_.size() + 2, 0);  // depths of right children, behind one of none
  V unread[2];
  u32 passed = 0;
  std::size_t n_waiting = 1;
  u32 depth = 0;
  for (u32 id = 0; id < n_nodes_; ++id) {
    const Node& node = nodes_[id];
    const bool is_leaf = node.right == 0;
    Cursor& cursor = cursors[depth];
    const u32 number = is_leaf ? cursor.leaf : cursor.child;
    const u32 tag = node.feature | (node.missing_left ? StoredNode::kMissingLeft : 0);
    const T threshold = static_cast<T>(thresholds[node.feature][node.bin]);
    nodes[cursor.node++] = {is_leaf ? T{0} : threshold, number, is_leaf ? StoredNode::kLeaf : tag};
    cursor.leaf += is_leaf ? 1 : 0;
    cursor.child += is_leaf ? 0 : 2;
    V* const to = is_leaf ? values + 2 * std::size_t{number} : unread;
    to[0] = static_cast<V>(node.n_rows - node.n_positive);
    to[1] = static_cast<V>(node.n_positive);
    *(is_leaf && samples ? samples + number : &passed) = node.n_rows;
    waiting[n_waiting] = depth + 1;
    depth = is_leaf ? waiting[n_waiting - 1] : depth + 1;
    n_waiting = is_leaf ? n_waiting - 1 : n_waiting + 1;
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
