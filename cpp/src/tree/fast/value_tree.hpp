// A tree of numbers as one list of nodes: depth-first, left before right. Leaves hold the sums over
// their rows; all else follows from these, as finish_tree has it.
#pragma once
#include <algorithm>

#include "committee/binning.hpp"
#include "committee/tree.hpp"

namespace committee {

struct TreeStore;

class ValueTree {
 public:
  struct Node {
    u32 n_rows;
    u32 right;        // 0: a leaf; the left child is the next node
    u8 feature, bin;  // of a split: the last bin that goes left
    bool missing_left;
    double weight, sum, second;  // of a leaf; summarise() adds up those of splits
    double value;                // of a leaf; of a split its importance, written by summarise()
    double impurity;             // written by summarise()
  };

  // Forgets all nodes, but not their memory. The first node to come has this depth.
  void begin(std::size_t n_rows, u32 depth) {
    n_nodes_ = 0;
    levels_.assign(depth + 1, 0);
    // One more, for summarise(); pages that are not written cost nothing.
    const std::size_t most_nodes = 2 * n_rows + 1;
    if (nodes_.size() < most_nodes) nodes_ = AlignedBuffer<Node>(most_nodes);
  }
  u32 size() const { return n_nodes_; }
  // Appends a node as a leaf, whose sums are filled in later.
  u32 add_node(u32 n_rows, u32 depth) {
    Node& node = nodes_[n_nodes_];
    node.n_rows = n_rows;
    node.right = 0;
    node.feature = node.bin = 0;
    node.missing_left = false;
    if (depth >= levels_.size()) [[unlikely]]
      levels_.resize(depth + 1);
    ++levels_[depth];
    return n_nodes_++;
  }
  // Begins a tree that gets all nodes of another one (append_nodes), and so many more (add_node).
  void begin_joined(const ValueTree& parts, u32 n_more);
  // Appends some nodes of that tree, a subtree, without a look at their depths.
  void append_nodes(const ValueTree& parts, u32 begin, u32 end);
  Node& operator[](u32 node) { return nodes_[node]; }

  // Of a whole tree: the sums and the impurity of each node. Returns the importances, as GrowResult
  // has them.
  std::vector<double> summarise(std::size_t n_features);
  // An arena of this tree, which was summarised, as compact_trees makes it.
  Trees compact(const std::vector<ColumnBins>& bins, const ArenaOptions& options) const;
  // Adds the nodes to a tree of any kind as a child of its node `parent` (kNoChild: the tree is
  // empty), and what its leaves add up to: two numbers a node.
  void append_to(GrownTree& tree, std::vector<double>& moments, const std::vector<ColumnBins>& bins,
                 u32 parent, bool is_right) const;

 private:
  template <class T>
  void write(const std::vector<ColumnBins>& bins, TreeStore& store) const;

  AlignedBuffer<Node> nodes_;
  u32 n_nodes_ = 0;
  std::vector<u32> levels_;   // nodes of each depth
  bool weighs_more_ = false;  // whether the rows of a leaf weigh more than one each
};

}  // namespace committee
