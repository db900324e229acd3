// Sums over the entries of histograms.
#pragma once
#include "committee/types.hpp"

namespace committee {

void add_entries(const i64* from, std::size_t n, i64* to);
void subtract_entries(const i64* from, std::size_t n, i64* to);
// The sums of the entries up to each of them, and of `base`.
void add_up_entries(const i64* from, std::size_t n, i64 base, i64* sums);
// Adds the lower bits of entries, which are numbers of rows and ints, times a number of steps.
void add_counts(const i64* entries, std::size_t n, i32 mask, i32 steps, i64* sums);

}  // namespace committee
