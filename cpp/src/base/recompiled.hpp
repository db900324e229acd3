// Plain code that is compiled once more, for instructions that most processors have, or some.
#pragma once
#include "base/x86_vectors.hpp"

namespace committee {

#if defined(COMMITTEE_AVX2)
// All that the call does is compiled into this function, but for what is marked as not inlined.
template <class Call>
COMMITTEE_AVX2 COMMITTEE_FLATTEN auto call_avx2(const Call& call) {
  return call();
}
#endif

// Calls `call`, by AVX2, BMI1 and BMI2 where the processor has them. It returns the same: no
// operation of numbers is replaced by another.
template <class Call>
auto call_recompiled(const Call& call) {
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) return call_avx2(call);
#endif
  return call();
}

#if defined(COMMITTEE_AVX512)
template <class Call>
COMMITTEE_AVX512 COMMITTEE_FLATTEN auto call_avx512(const Call& call) {
  return call();
}
#endif

// The same for loops that the compiler turns into vectors of whatever width there is: by AVX-512
// too. What the loops call is marked as inlined, since Clang flattens one level only; numbers that
// they read are copied into the call, where nothing that they write can be one of them.
template <class Call>
auto call_widened(const Call& call) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) return call_avx512(call);
#endif
  return call_recompiled(call);
}

}  // namespace committee
