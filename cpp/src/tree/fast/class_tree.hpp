// A tree of up to eight classes whose weights are whole numbers: depth-first, left before right. A
// node is 24 bytes, and what an arena and the importances want to know of the whole tree is added
// up on the way: a full tree has about as many nodes as rows, and going through all of them again
// costs more than many of them did.
#pragma once
#include "committee/binning.hpp"
#include "committee/criteria/gini.hpp"
#include "committee/tree.hpp"
#include "tree/fast/packed_counts.hpp"

namespace committee {

struct TreeStore;

class ClassTree {
 public:
  struct Node {
    PackedCounts8 counts;  // of its classes, or where those of a heavy node begin in their list
    u32 n_rows;
    u32 right;        // 0: a leaf; the left child is the next node
    u8 feature, bin;  // of a split: the last bin that goes left
    bool missing_left, is_heavy;
  };
  static_assert(sizeof(Node) == 24);
  // The split of a node.
  struct Cut {
    u32 feature, bin;
    bool missing_left;
  };
  // What a tree is of.
  struct Shape {
    std::size_t n_rows, n_features;
    u32 n_classes;
  };

  // Forgets all nodes, but not their memory. The first node to come has this depth.
  void begin(const Shape& shape, u32 depth) {
    n_nodes_ = 0;
    n_classes_ = shape.n_classes;
    heavy_.clear();
    levels_.assign(depth + 1, 0);
    importances_.assign(shape.n_features, 0.0);
    const std::size_t most_nodes = 2 * shape.n_rows;  // pages that are not written cost nothing
    if (nodes_.size() < most_nodes) nodes_ = AlignedBuffer<Node>(most_nodes);
  }
  u32 size() const { return n_nodes_; }
  // Appends a leaf, which may be split afterwards.
  u32 add_node(PackedCounts8 counts, u32 n_rows, u32 depth) {
    nodes_[n_nodes_] = {counts, n_rows, 0, 0, 0, false, false};
    if (depth >= levels_.size()) [[unlikely]]
      levels_.push_back(0);
    ++levels_[depth];
    return n_nodes_++;
  }
  // The same for classes whose weights bytes may not hold.
  template <class Counts>
  u32 add_heavy(const Counts& counts, u32 n_rows, u32 depth) {
    const u32 node = add_node(heavy_.size(), n_rows, depth);
    nodes_[node].is_heavy = true;
    for (u32 c = 0; c < n_classes_; ++c) heavy_.push_back(counts[c]);
    return node;
  }
  // `decrease`: of weight times impurity, from the node to its children.
  void split(u32 node, const Cut& cut, double decrease) {
    nodes_[node].feature = static_cast<u8>(cut.feature);
    nodes_[node].bin = static_cast<u8>(cut.bin);
    nodes_[node].missing_left = cut.missing_left;
    importances_[cut.feature] += decrease > 0.0 ? decrease : 0.0;
  }
  // The node that is added next is the right child of this one.
  void turn_right(u32 node) { nodes_[node].right = n_nodes_; }

  // As GrowResult has them: the nodes were split in the order that they are added up in.
  const std::vector<double>& importances() const { return importances_; }
  // An arena of this tree, as compact_trees makes it; rows weigh whole numbers.
  Trees compact(const std::vector<ColumnBins>& bins, const ArenaOptions& options) const;
  // Adds the nodes to a tree of any kind, where a weight of one is `unit`, as a child of its node
  // `parent` (kNoChild: the tree is empty).
  void append_to(GrownTree& tree, const std::vector<ColumnBins>& bins, double unit, u32 parent,
                 bool is_right) const;

 private:
  u32 weigh_class(const Node& node, u32 c) const {
    return node.is_heavy ? heavy_[node.counts + c] : class_weight(node.counts, c);
  }
  u32 find_largest() const;
  template <class T, class V>
  void write(const std::vector<ColumnBins>& bins, TreeStore& store) const;

  AlignedBuffer<Node> nodes_;
  u32 n_nodes_ = 0, n_classes_ = 0;
  std::vector<u32> heavy_;
  std::vector<u32> levels_;  // nodes of each depth
  std::vector<double> importances_;
};

// By how much a split lowers weight times impurity, as the importances have it.
double measure_class_decrease(std::span<const u32> total, std::span<const u32> left);
// Weight times impurity, as measure_class_impurities has it.
template <class Word>
double weigh_impurity(Word counts) {
  const double weight = weigh(counts);
  const double impurity = Gini::kBase - add_squares(counts) / weight / weight;
  return impurity < 1e-15 ? 0.0 : weight * impurity;
}

}  // namespace committee
