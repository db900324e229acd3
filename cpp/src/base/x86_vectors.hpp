// For kernels with forms for AVX2 and AVX-512: COMMITTEE_AVX2 and COMMITTEE_AVX512 mark their
// functions, and are not defined where no processor has them. Lambdas and functions that are not
// marked stay plain. What GCC lowers to plain instructions before it inlines, such as its own
// vectors of 32 bytes, cannot be shared by functions that are marked: each form is written out.
#pragma once
#include "committee/instructions.hpp"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
// GCC 12 takes the registers whose contents its own headers leave open for a mistake.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
#define COMMITTEE_AVX2 COMMITTEE_TARGET("avx2,bmi,bmi2")
#define COMMITTEE_AVX512 COMMITTEE_TARGET("bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl")

namespace committee {

// The lanes of a mask as a number. A mask must not be widened otherwise (compiler.hpp).
COMMITTEE_AVX512 inline u32 lanes_of(__mmask16 mask) {
  u32 lanes;
  COMMITTEE_WIDEN_MASK("kmovw", mask, lanes);
  return lanes;
}
COMMITTEE_AVX512 inline u32 lanes_of(__mmask8 mask) {
  u32 lanes;
  COMMITTEE_WIDEN_MASK("kmovb", mask, lanes);
  return lanes;
}

}  // namespace committee
#endif
