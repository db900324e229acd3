#include <algorithm>
#include <atomic>

#include "base/x86_vectors.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace committee {

namespace {

#if defined(__x86_64__)
// Which registers the system saves when it switches tasks.
COMMITTEE_TARGET("xsave") unsigned read_saved_registers() {
  return static_cast<unsigned>(_xgetbv(0));
}

Instructions find_instructions() {
  // Of XCR0: SSE and AVX, and with them the three parts of AVX-512.
  constexpr unsigned kSavedAvx = 0x6, kSavedAvx512 = 0xE6;
  constexpr unsigned kAvx2 = 1u << 3 | 1u << 5 | 1u << 8;  // BMI1, AVX2, BMI2
  constexpr unsigned kF = 1u << 16, kDQ = 1u << 17, kBW = 1u << 30, kVL = 1u << 31;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) return Instructions::plain;
  const unsigned saved = read_saved_registers();
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return Instructions::plain;
  const auto has = [&](unsigned registers, unsigned wanted) {
    return (saved & registers) == registers && (b & wanted) == wanted;
  };
  if (has(kSavedAvx512, kAvx2 | kF | kDQ | kBW | kVL)) return Instructions::avx512;
  return has(kSavedAvx, kAvx2) ? Instructions::avx2 : Instructions::plain;
}
#else
Instructions find_instructions() {
  return Instructions::plain;
}
#endif

std::atomic<Instructions> allowed{find_instructions()};

}  // namespace

bool may_use(Instructions wanted) {
  return allowed.load(std::memory_order_relaxed) >= wanted;
}

void limit_instructions(Instructions most) {
  allowed.store(std::min(most, find_instructions()), std::memory_order_relaxed);
}

}  // namespace committee
