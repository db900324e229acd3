// Walks from the root to a leaf on raw values, several at a time: a walk is a chain of dependent
// loads, so the way to be fast is to have many of them under way.
#pragma once
#include "committee/tree.hpp"

namespace committee {

// What is written for a row: the number of its leaf within the tree, or the index of its node.
enum class Ending : u8 { leaf, node };

// One tree, many rows: row r starts at rows + r * row_stride (X: float or double; columns are
// neighbours).
template <class X>
void end_rows(const Trees& trees, std::size_t tree, const X* rows, std::ptrdiff_t row_stride,
              Ending ending, std::span<u32> ends);

// One row, many trees: ends[i] belongs to tree first + i.
template <class X>
void end_row(const Trees& trees, std::size_t first, const X* row, Ending ending,
             std::span<u32> ends);

}  // namespace committee
