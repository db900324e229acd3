// Keys of random_threshold.hpp by AVX-512.
#pragma once
#include <bit>

#include "base/x86_vectors.hpp"
#include "tree/fast/random_threshold.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

struct WideKeys {
  COMMITTEE_AVX512 static u32 count_less(const u32* keys, u32 key) {
    const __m512i bar = _mm512_set1_epi32(static_cast<int>(key));
    return static_cast<u32>(
        std::popcount(lanes_of(_mm512_cmplt_epu32_mask(_mm512_load_si512(keys), bar))));
  }
};

}  // namespace committee
#endif
