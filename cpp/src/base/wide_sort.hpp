// Keys of floats, and their order, by AVX-512; for radix_sort.hpp.
#pragma once
#include "base/x86_vectors.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

// Sorts n keys; `spare` has room for as many and for a register of others.
void sort_wide(u32* keys, std::size_t n, u32* spare);
void sort_wide(u64* keys, std::size_t n, u64* spare);

// The keys (make_key) of those values that are not NaN, and a register of others behind them;
// returns how many these are.
std::size_t list_keys_wide(const float* values, std::size_t n, u32* keys);
std::size_t list_keys_wide(const double* values, std::size_t n, u64* keys);

// Of sorted keys: moves the distinct ones to the front and lists how many keys are up to each, and
// a register of others behind these; returns how many are distinct.
std::size_t list_distinct_wide(u32* keys, std::size_t n, u64* counts);
std::size_t list_distinct_wide(u64* keys, std::size_t n, u64* counts);

}  // namespace committee
#endif
