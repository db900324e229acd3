// Products of all rows of one table with all rows of another.
#pragma once
#include "parallel.hpp"
#include "types.hpp"

namespace committee {

// products: (n_rows, n_others); both tables are in C order with n_columns > 0. A product is summed
// in the order of the columns: it has the same bits on every machine, whatever other rows there
// are. With a watch, throws Interrupted.
template <class Stored>
void multiply_rows(std::span<const double> rows, std::span<const Stored> others,
                   std::size_t n_columns, double* products, InterruptWatch* watch);

}  // namespace committee
