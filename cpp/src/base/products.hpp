// Products of matrices. An entry is the sum of its products in the order of the inner index, each
// product and each sum rounded: vectors go over entries, never over the terms of a sum, so that
// every processor gives the same bits.
#pragma once
#include "committee/types.hpp"

namespace committee {

// Steps from one row or column to the next, in numbers: a transposed matrix has them exchanged.
template <class Number>
struct FactorView {
  const Number* data;
  std::size_t row_step, column_step;
};

// c = a b, c in C order. `panel` is memory that is kept from call to call. Columns of b may be
// stored in single precision.
template <class Number, class Stored>
void multiply_matrices(const FactorView<Number>& a, const FactorView<Stored>& b, std::size_t n_rows,
                       std::size_t n_inner, std::size_t n_columns, Number* c,
                       std::vector<Number>& panel);

}  // namespace committee
