// For kernels with a form for AVX-512: COMMITTEE_AVX512 marks its functions, and is not defined
// where no processor has it. Lambdas and functions that are not marked stay plain.
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
#define COMMITTEE_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#endif
