#include "tree/fast/class_tree.hpp"

#include <algorithm>
#include <cstring>

#include "committee/criteria/all.hpp"
#include "tree/fast/append_subtree.hpp"
#include "tree/fast/count_arena.hpp"

namespace committee {

Trees ClassTree::compact(const std::vector<ColumnBins>& bins, const ArenaOptions& options) const {
  return make_count_arena<Node>(
      {nodes_.data(), n_nodes_}, n_classes_, find_largest(), bins, options,
      [&]<class T, class V>(T, V, TreeStore& store) { write<T, V>(bins, store); });
}

// What a class weighs in a leaf, as far as bytes may not hold it.
u32 ClassTree::find_largest() const {
  u32 largest = 0;
  for (u32 id = 0; id < n_nodes_; ++id) {
    const Node& node = nodes_[id];
    if (!node.is_heavy || node.right != 0) continue;
    for (u32 c = 0; c < n_classes_; ++c) largest = std::max(largest, weigh_class(node, c));
  }
  return largest;
}

namespace {

// Four classes or more of 16 bits are written as the first four and the last four.
template <class V>
void write_light(PackedCounts8 counts, u32 n_classes, V* to) {
  constexpr u32 kHalf = kPackedClasses / 2;
  if (sizeof(V) == sizeof(u16) && n_classes >= kHalf) {
    const PackedCounts16 first = PackedCountsSimd::widen(counts);
    const PackedCounts16 last = PackedCountsSimd::widen(counts >> (8 * (n_classes - kHalf)));
    std::memcpy(to, &first, kHalf * sizeof(u16));
    std::memcpy(to + (n_classes - kHalf), &last, kHalf * sizeof(u16));
  } else {
    for (u32 c = 0; c < n_classes; ++c, counts >>= 8) to[c] = static_cast<V>(counts & 0xFF);
  }
}

}  // namespace

template <class T, class V>
void ClassTree::write(const std::vector<ColumnBins>& bins, TreeStore& store) const {
  auto* const nodes = reinterpret_cast<committee::Node<T>*>(store.nodes.data());
  V* const values = reinterpret_cast<V*>(store.values.data());
  u32* const samples = store.leaf_samples.empty() ? nullptr : store.leaf_samples.data();
  const std::vector<const double*> thresholds = list_thresholds(bins);
  const u32 n_classes = n_classes_;
  LevelCursors cursors(levels_);
  V unread[kPackedClasses];
  u32 passed = 0;
  for (u32 id = 0; id < n_nodes_; ++id) {
    const Node& node = nodes_[id];
    const bool is_leaf = node.right == 0;
    const u32 number = cursors.write_node(node, thresholds, nodes).number;
    V* const to = is_leaf ? values + n_classes * std::size_t{number} : unread;
    if (node.is_heavy) [[unlikely]] {
      for (u32 c = 0; c < n_classes; ++c) to[c] = static_cast<V>(weigh_class(node, c));
    } else {
      write_light(node.counts, n_classes, to);
    }
    *(is_leaf && samples ? samples + number : &passed) = node.n_rows;
  }
}

void ClassTree::append_to(GrownTree& tree, const std::vector<ColumnBins>& bins, double unit,
                          u32 parent, bool is_right) const {
  append_subtree(
      tree, n_nodes_, n_classes_, parent, is_right, [&](u32 k, double* values) -> AppendedNode {
        const Node& node = nodes_[k];
        u64 weight = 0;
        for (u32 c = 0; c < n_classes_; ++c) {
          const u32 own = weigh_class(node, c);
          values[c] = own * unit;
          weight += own;
        }
        const double threshold = node.right == 0 ? 0.0 : bins[node.feature].thresholds[node.bin];
        return {node.n_rows, static_cast<double>(weight) * unit,
                node.right,  node.feature,
                threshold,   node.missing_left};
      });
}

double measure_class_decrease(std::span<const u32> total, std::span<const u32> left) {
  const u32 n_classes = static_cast<u32>(total.size());
  double counts[3][kPackedClasses] = {};  // of the node and its children
  for (u32 c = 0; c < n_classes; ++c) {
    counts[0][c] = total[c];
    counts[1][c] = left[c];
    counts[2][c] = total[c] - left[c];
  }
  double weighed[3];
  for (int k = 0; k < 3; ++k) {
    double weight = 0.0;
    for (u32 c = 0; c < n_classes; ++c) weight += counts[k][c];
    weighed[k] = weight * measure_class_impurity(Gini::kName, {counts[k], n_classes},
                                                 std::span<const u32>(&n_classes, 1));
  }
  return weighed[0] - weighed[1] - weighed[2];
}

}  // namespace committee
