// The rows of a node in the order of their codes.
#pragma once
#include "committee/types.hpp"

namespace committee {

// Up to kMostFew rows by their bins, stable: keyed receives bin << 8 | row. `bins` has room for
// whole blocks of 16 rows, up to four.
void sort_few(const u8* bins, std::size_t n, u16* keyed);

// Keyed rows, code << 32 | row, by code; stable, so that equal codes stay in row order.
void sort_keyed(std::vector<u64>& keyed, std::vector<u64>& spare, u32 largest_code);

// Rows or features, without a copy of the sort for each accumulator.
void sort_ascending(std::vector<u32>& numbers);

}  // namespace committee
