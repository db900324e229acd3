#include "committee/instructions.hpp"

#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace committee {

namespace {

#if defined(__x86_64__)
// Which registers the system saves when it switches tasks.
unsigned read_saved_registers() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool find_avx512() {
  constexpr unsigned kVectors = 0xE6;  // of XCR0: SSE, AVX and the three parts of AVX-512
  constexpr unsigned kF = 1u << 16, kDQ = 1u << 17, kBW = 1u << 30, kVL = 1u << 31;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) return false;
  if ((read_saved_registers() & kVectors) != kVectors) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const unsigned wanted = kF | kDQ | kBW | kVL;
  return (b & wanted) == wanted;
}
#else
bool find_avx512() {
  return false;
}
#endif

std::atomic<bool> avx512{find_avx512()};

}  // namespace

bool may_use_avx512() {
  return avx512.load(std::memory_order_relaxed);
}

void use_plain_kernels(bool plain) {
  avx512.store(!plain && find_avx512(), std::memory_order_relaxed);
}

}  // namespace committee
