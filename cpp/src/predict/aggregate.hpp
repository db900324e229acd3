// What a leaf adds to a row: the one place for the meaning of Combine.
#pragma once
#include "committee/predict.hpp"

namespace committee {

// How the trees of one call add up. Every path asks here, so all give the same bytes.
struct Terms {
  const Trees* trees = nullptr;
  Combine combine = Combine::mean;
  std::span<const double> tree_weights;
  std::span<const u32> slots;

  double weight(std::size_t tree) const { return tree_weights.empty() ? 1.0 : tree_weights[tree]; }
  u32 slot(std::size_t tree) const { return slots.empty() ? 0 : slots[tree]; }
};

// out[c] += weight of the tree * what the leaf (numbered within its tree) says of column c; `out`
// is the row's first column, width values are added from the tree's slot on.
void add_leaf(const Terms& terms, std::size_t tree, u32 leaf, double* out);

// The same for one row and many trees: it ended in leaves[i] of tree first + i.
void add_row(const Terms& terms, std::size_t first, std::span<const u32> leaves, double* out);

// The same for many rows of one tree: row i ended in leaves[i], its columns start at out + i *
// out_width.
void add_leaves(const Terms& terms, std::size_t tree, std::span<const u32> leaves, double* out,
                std::size_t out_width);

// The same for rows that do not lie together: the columns of row i start at out + rows[i] * width.
void add_leaves_to(const Terms& terms, std::size_t tree, std::span<const u32> leaves,
                   const u32* rows, double* out);

// Before so many rows ask for leaves of a tree.
void read_values(const Trees& trees, std::size_t tree, std::size_t n_rows);

// The same as add_leaves for `mean` and `vote` where each leaf holds one class only: row i ended in
// classes[i], whose share is 1; adding the others' 0 changes nothing.
void add_classes(const Terms& terms, std::size_t tree, std::span<const u32> classes, double* out,
                 std::size_t out_width);

}  // namespace committee
