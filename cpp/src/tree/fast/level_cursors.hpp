// The nodes of a tree that was grown depth-first, left before right, in the order of an arena:
// breadth-first.
#pragma once
#include <bit>
#include <vector>

#include "committee/binning.hpp"
#include "committee/tree.hpp"

namespace committee {

// Which nodes are leaves is a coin toss: whatever depends on it is chosen by a mask, all ones for a
// leaf, since compilers make branches of conditions.
inline u64 mask_leaf(u32 right) {
  return u64{0} - u64{right == 0};
}
// One where the mask is set, the other elsewhere.
template <class T>
  requires(sizeof(T) == 4 || sizeof(T) == 8)
inline T choose(u64 mask, T one, T other) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  const Bits a = std::bit_cast<Bits>(one), b = std::bit_cast<Bits>(other);
  return std::bit_cast<T>(static_cast<Bits>(b ^ ((a ^ b) & static_cast<Bits>(mask))));
}

// Walks over nodes 0, 1, .. and tells where each goes, from the number of nodes of each depth:
// every two of them are the children of one above.
class LevelCursors {
 public:
  explicit LevelCursors(const std::vector<u32>& levels);

  struct PlacedNode {
    u32 place, number;
  };
  // Each depth is written from one end to the other, too many of them at a time for a processor to
  // foresee: lines of so many places later are fetched before.
  static constexpr std::size_t kAhead = 16;
  // Writes the next node, but for what its leaf holds, to its place in the arena.
  template <class T, class Grown>
  PlacedNode write_node(const Grown& grown, const std::vector<const double*>& thresholds,
                        Node<T>* nodes) {
    const u64 leaf = mask_leaf(grown.right);
    const u32 place = take_place(), number = take_number(leaf);
    prefetch_to_write(nodes + place + kAhead);
    const u32 tag = grown.feature | u32{grown.missing_left} * Node<T>::kMissingLeft;
    const T threshold = static_cast<T>(thresholds[grown.feature][grown.bin]);
    nodes[place] = {choose(leaf, T{0}, threshold), number, choose(leaf, Node<T>::kLeaf, tag)};
    return {place, number};
  }

 private:
  // The place of the next node, and its number: a leaf's own, or the place of its left child.
  u32 take_place() { return cursors_[depth_].node++; }
  u32 take_number(u64 leaf) {
    Cursor& cursor = cursors_[depth_];
    const u32 number = choose(leaf, cursor.leaf, cursor.child), below = depth_ + 1;
    const u32 is_leaf = static_cast<u32>(leaf) & 1;
    cursor.leaf += is_leaf;
    cursor.child += 2 - 2 * is_leaf;
    waiting_[n_waiting_] = below;
    depth_ = choose(leaf, waiting_[n_waiting_ - 1], below);
    n_waiting_ += 1 - 2 * std::size_t{is_leaf};
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
