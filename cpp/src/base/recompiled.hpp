// Plain code that is compiled once more, for instructions that most processors have.
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

}  // namespace committee
