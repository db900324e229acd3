// Walks from the root to a leaf on raw values, several at a time: a walk is a chain of dependent
// loads, so the way to be fast is to have many of them under way.
#pragma once
#include "committee/tree.hpp"

namespace committee {

// Rows that are on their way through a tree at a time.
constexpr std::size_t kMostEnds = 512;

// What is written for a row: the number of its leaf within the tree, or the index of its node.
enum class Ending : u8 { leaf, node };

// Rows whose columns are neighbours (X: float or double).
template <class X>
struct RowSpan {
  const X* first;
  std::ptrdiff_t stride;
  const X* row(std::size_t r) const { return first + static_cast<std::ptrdiff_t>(r) * stride; }
};

// A tree as rows are walked through it.
template <class X>
struct TreeWalk {
  const Trees* trees;
  std::size_t tree, n_nodes;
  const u8* steps;  // the unfolded tree, or null
  // The walk for this tree and these rows: ends[i] belongs to row i.
  void (*end_rows)(const TreeWalk& walk, const RowSpan<X>& rows, Ending ending,
                   std::span<u32> ends);
};

// One tree after the other, many rows each. Where the rows pay for it, a tree is unfolded into
// scratch memory that stays in the second-level cache: nodes that take half the instructions a
// step.
template <class X>
class TreeWalker {
 public:
  // n_rows: that will go through each tree; missing: whether any of their values may be missing.
  TreeWalker(const Trees& trees, std::size_t n_rows, bool missing)
      : trees_(trees), n_rows_(n_rows), missing_(missing) {}
  // Valid until the next tree is taken.
  TreeWalk<X> take_tree(std::size_t tree);

 private:
  const Trees& trees_;
  std::size_t n_rows_;
  bool missing_;
  AlignedBuffer<u8> steps_;
};

// One row, many trees: ends[i] belongs to tree first + i.
template <class X>
void end_row(const Trees& trees, std::size_t first, const X* row, Ending ending,
             std::span<u32> ends);

}  // namespace committee
