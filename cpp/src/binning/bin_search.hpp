// The search for the bins of many values with AVX-512, whose permutations look up a whole vector of
// small numbers in a table of registers: no step waits for memory.
#pragma once
#include <vector>

#include "base/radix_sort.hpp"
#include "base/x86_vectors.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

// Keys of at most 255 thresholds, ascending, as the search wants them: of doubles the upper halves.
template <class K>
std::vector<u32> lay_out_keys(const std::vector<K>& keys);
// out[i] = #{ keys below that of values[i] }, kMissingBin for NaN.
COMMITTEE_AVX512 void search_wide(const u32* laid, const float* values, std::size_t n, u8* out);
// The same of `keys`, which decide where upper halves are equal.
COMMITTEE_AVX512 void search_wide(const u32* laid, const std::vector<u64>& keys,
                                  const double* values, std::size_t n, u8* out);

}  // namespace committee
#endif
