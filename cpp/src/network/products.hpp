// Products of small matrices of floats. An entry is the sum of its products in the order of the
// inner index, each product and each sum rounded: vectors go over entries, never over the terms of
// a sum, so that every processor gives the same bits.
#pragma once
#include "committee/types.hpp"

namespace committee {

// Steps from one row or column to the next, in floats: a transposed matrix has them exchanged.
struct FloatView {
  const float* data;
  std::size_t row_step, column_step;
};

// Columns of a product are multiples of this.
inline constexpr std::size_t kFloatLanes = 4;

// c = a b, c in C order. `panel` is memory that is kept from call to call.
void multiply_floats(const FloatView& a, const FloatView& b, std::size_t n_rows,
                     std::size_t n_inner, std::size_t n_columns, float* c,
                     std::vector<float>& panel);

}  // namespace committee
