// A tree of two classes whose rows weigh the same, as extra-trees grow it: depth-first, left before
// right. A node is sixteen bytes, and what an arena and the importances want to know of the whole
// tree is added up on the way: a full tree has about as many nodes as rows, and going through all
// of them again costs more than many of them did.
#pragma once
#include <algorithm>

#include "committee/binning.hpp"
#include "committee/criteria/gini.hpp"
#include "committee/tree.hpp"

namespace committee {

struct TreeStore;

class CompactTree {
 public:
  struct Node {
    u32 n_rows, n_positive;
    u32 right;        // 0: a leaf; the left child is the next node
    u8 feature, bin;  // of a split: the last bin that goes left
    bool missing_left;
  };
  static_assert(sizeof(Node) == 16);

  // Forgets all nodes, but not their memory. The first node to come has this depth.
  void begin(std::size_t n_rows, std::size_t n_features, u32 depth) {
    n_nodes_ = largest_ = 0;
    levels_.assign(depth + 1, 0);
    importances_.assign(n_features, 0.0);
    const std::size_t most_nodes = 2 * n_rows;  // pages that are not written cost nothing
    if (nodes_.size() < most_nodes) nodes_ = AlignedBuffer<Node>(most_nodes);
  }
  u32 size() const { return n_nodes_; }
  u32 add_node(u32 n_rows, u32 n_positive, u32 depth) {
    nodes_[n_nodes_] = {n_rows, n_positive, 0, 0, 0, false};
    if (depth >= levels_.size()) [[unlikely]]
      levels_.push_back(0);
    ++levels_[depth];
    return n_nodes_++;
  }
  // The node that is added last stays a leaf.
  void close_leaf(u32 n_rows, u32 n_positive) {
    largest_ = std::max(largest_, std::max(n_positive, n_rows - n_positive));
  }
  void split(u32 node, u32 feature, u32 bin, bool missing_left, double decrease) {
    nodes_[node].feature = static_cast<u8>(feature);
    nodes_[node].bin = static_cast<u8>(bin);
    nodes_[node].missing_left = missing_left;
    importances_[feature] += decrease;
  }
  // The node that is added next is the right child of this one.
  void turn_right(u32 node) { nodes_[node].right = n_nodes_; }

  // As GrowResult has them: the nodes were split in the order that they are added up in.
  const std::vector<double>& importances() const { return importances_; }
  // An arena of this tree, as compact_trees makes it; rows weigh one.
  Trees compact(const std::vector<ColumnBins>& bins, const ArenaOptions& options) const;
  // Adds the nodes to a tree of any kind, where rows weigh `unit`, as a child of its node `parent`
  // (kNoChild: the tree is empty).
  void append_to(GrownTree& tree, const std::vector<ColumnBins>& bins, double unit, u32 parent,
                 bool is_right) const;

 private:
  template <class T, class V>
  void write(const std::vector<ColumnBins>& bins, TreeStore& store) const;

  AlignedBuffer<Node> nodes_;
  u32 n_nodes_ = 0;
  u32 largest_ = 0;          // rows of a class in a leaf
  std::vector<u32> levels_;  // nodes of each depth
  std::vector<double> importances_;
};

// Rows times impurity, as measure_class_impurities has it.
inline double weigh_impurity(u32 n_rows, u32 n_positive) {
  const double counts[2] = {static_cast<double>(n_rows - n_positive),
                            static_cast<double>(n_positive)};
  const double n = n_rows;
  const double impurity = Gini::kBase - Gini().impurity_term(counts, 2, n) / n;
  return impurity < 1e-15 ? 0.0 : n * impurity;
}

}  // namespace committee
