// What the core asks of its compiler beyond C++20. GCC and Clang (as clang-cl too) have all of it.
// Marks and hints have a form for other compilers here; vectors and AVX do not, so that those
// compilers are refused when the build is configured. No other file names an extension
// (tests/contract/test_source_rules.py). `#pragma GCC unroll` is no exception: a compiler that does
// not know a pragma passes over it.
#pragma once

#if defined(__GNUC__) || defined(__clang__) || defined(__CUDACC_RTC__)
#define COMMITTEE_INLINE [[gnu::always_inline]]
// Of a lambda, behind its parameters: an attribute in brackets would be one of its type there.
#define COMMITTEE_INLINE_LAMBDA __attribute__((always_inline))
#define COMMITTEE_NOINLINE [[gnu::noinline]]
#define COMMITTEE_COLD [[gnu::cold]]
// All that the function calls is compiled into it.
#define COMMITTEE_FLATTEN [[gnu::flatten]]
// The function may use these instructions; whoever calls it has asked the processor.
#define COMMITTEE_TARGET(names) [[gnu::target(names)]]
// `using Four COMMITTEE_VECTOR(16) = float;`: arithmetic on all lanes at once.
#define COMMITTEE_VECTOR(n_bytes) [[gnu::vector_size(n_bytes)]]
#define COMMITTEE_RESTRICT __restrict
#if defined(__clang__)
#define COMMITTEE_WIDEN_MASK(instruction, mask, wide) wide = mask
#else
// A mask of 8 or 16 lanes as a number of 32 bits. GCC 12 and 13 may spill a mask by its own width
// and read 32 bits there, which instructions of their choice cannot.
#define COMMITTEE_WIDEN_MASK(instruction, mask, wide) \
  asm(instruction " %1, %0" : "=r"(wide) : "k"(mask))
#endif
#elif defined(_MSC_VER)
#define COMMITTEE_INLINE [[msvc::forceinline]]
#define COMMITTEE_INLINE_LAMBDA
#define COMMITTEE_NOINLINE [[msvc::noinline]]
#define COMMITTEE_COLD
#define COMMITTEE_FLATTEN [[msvc::flatten]]
#define COMMITTEE_TARGET(names)
#define COMMITTEE_RESTRICT __restrict
#else
#define COMMITTEE_INLINE
#define COMMITTEE_INLINE_LAMBDA
#define COMMITTEE_NOINLINE
#define COMMITTEE_COLD
#define COMMITTEE_FLATTEN
#define COMMITTEE_TARGET(names)
#define COMMITTEE_RESTRICT
#endif

#if !defined(__CUDACC_RTC__)
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace committee {

// Asks for a cache line that will be read soon; any address may be given.
COMMITTEE_INLINE inline void prefetch(const void* at) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(at);
#elif defined(_M_X64)
  _mm_prefetch(static_cast<const char*>(at), _MM_HINT_T0);
#else
  (void)at;
#endif
}
COMMITTEE_INLINE inline void prefetch_to_write(const void* at) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(at, 1);
#else
  prefetch(at);
#endif
}

// Where a call stands: as a default argument, in the function that calls.
struct CallSite {
  const char* function;
  int line;
#if defined(__GNUC__) || defined(__clang__) || defined(_MSC_VER)
  static constexpr CallSite current(const char* function = __builtin_FUNCTION(),
                                    int line = __builtin_LINE()) {
    return {function, line};
  }
#else
  static constexpr CallSite current() { return {"a place unknown to this compiler", 0}; }
#endif
};

// Tells the processor that this thread only waits, so that its neighbour on the core gets on.
inline void pause_briefly() {
#if defined(_M_X64) && !defined(__clang__)
  _mm_pause();
#elif defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

#if defined(__GNUC__) || defined(__clang__)
// The lanes of a and b, numbered one after the other, that are named.
template <int... kLanes, class Lanes>
COMMITTEE_INLINE inline auto shuffle_lanes(const Lanes& a, const Lanes& b) {
  return __builtin_shufflevector(a, b, kLanes...);
}
// Each lane as a number of the other type.
template <class To, class Lanes>
COMMITTEE_INLINE inline To convert_lanes(const Lanes& lanes) {
  return __builtin_convertvector(lanes, To);
}
#endif

}  // namespace committee
#endif
