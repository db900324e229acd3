// The nodes of a tree that was grown depth-first, left before right, in the order of an arena:
// breadth-first.
#pragma once
#include <vector>

#include "committee/binning.hpp"
#include "committee/tree.hpp"

namespace committee {

// Walks over nodes 0, 1, .. and tells where each goes, from the number of nodes of each depth:
// every two of them are the children of one above. Nothing branches on which nodes are leaves,
// since that is a coin toss.
class LevelCursors {
 public:
  explicit LevelCursors(const std::vector<u32>& levels);

  struct PlacedNode {
    u32 place, number;
  };
  // Writes the next node, but for what its leaf holds, to its place in the arena.
  template <class T, class Grown>
  PlacedNode write_node(const Grown& grown, const std::vector<const double*>& thresholds,
                        Node<T>* nodes) {
    const bool is_leaf = grown.right == 0;
    const u32 place = take_place(), number = take_number(is_leaf);
    const u32 tag = grown.feature | (grown.missing_left ? Node<T>::kMissingLeft : 0);
    const T threshold = static_cast<T>(thresholds[grown.feature][grown.bin]);
    nodes[place] = {is_leaf ? T{0} : threshold, number, is_leaf ? Node<T>::kLeaf : tag};
    return {place, number};
  }

 private:
  // The place of the next node, and its number: a leaf's own, or the place of its left child.
  u32 take_place() { return cursors_[depth_].node++; }
  u32 take_number(bool is_leaf) {
    Cursor& cursor = cursors_[depth_];
    const u32 number = is_leaf ? cursor.leaf : cursor.child;
    cursor.leaf += is_leaf ? 1 : 0;
    cursor.child += is_leaf ? 0 : 2;
    waiting_[n_waiting_] = depth_ + 1;
    depth_ = is_leaf ? waiting_[n_waiting_ - 1] : depth_ + 1;
    n_waiting_ = is_leaf ? n_waiting_ - 1 : n_waiting_ + 1;
    return number;
  }

  // Where the next nodes of a depth go.
  struct Cursor {
    u32 node, leaf, child;
  };
  std::vector<Cursor> cursors_;
  std::vector<u32> waiting_;  // depths of right children, behind one of none
  std::size_t n_waiting_ = 1;
  u32 depth_ = 0;
};

// The thresholds of each column; of leaves, whose feature is the first, any.
std::vector<const double*> list_thresholds(const std::vector<ColumnBins>& bins);

// Whether float numbers cannot hold the thresholds of the splits of some nodes.
template <class Node>
bool needs_double_thresholds(std::span<const Node> nodes, const std::vector<ColumnBins>& bins) {
  const auto is_wide = [](double x) { return static_cast<double>(static_cast<float>(x)) != x; };
  if (std::none_of(bins.begin(), bins.end(), [&](const ColumnBins& column) {
        return std::any_of(column.thresholds.begin(), column.thresholds.end(), is_wide);
      }))
    return false;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return node.right != 0 && is_wide(bins[node.feature].thresholds[node.bin]);
  });
}

}  // namespace committee
