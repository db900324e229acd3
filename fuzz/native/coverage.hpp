// Which paths an input took, as the compiler reports them (-fsanitize-coverage=trace-pc,trace-cmp).
//
// A pair of blocks, one after the other, is a feature, in eight classes of how often it ran.
// Included by one source of a program; that source is compiled without sanitizers and coverage.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>

namespace coverage {

constexpr std::size_t kSize = std::size_t{1} << 16;
inline std::array<std::uint8_t, kSize> hits{};  // by the input that runs
inline std::array<std::uint8_t, kSize> seen{};  // classes of all inputs so far, a bit each
inline thread_local std::uintptr_t previous = 0;
inline std::uintptr_t base = 0;  // addresses count from here: they are the same in every process

// Numbers that were compared and differ: what an input would have to hold instead.
struct Comparison {
  std::uint64_t left, right;
  std::uint8_t size;
};
inline std::array<Comparison, 512> compared{};
inline std::size_t n_compared = 0;

inline void note_block(std::uintptr_t place) {
  const std::uintptr_t here = static_cast<std::uint64_t>(place) * 0x9E3779B97F4A7C15u >> 48;
  std::uint8_t& n = hits[(here ^ previous) % kSize];
  if (n < 255) ++n;
  previous = here >> 1;
}

inline void note_comparison(std::uint64_t left, std::uint64_t right, std::uint8_t size) {
  if (left == right) return;
  compared[n_compared % compared.size()] = {left, right, size};
  ++n_compared;
}

inline std::uint8_t find_class(std::uint8_t n) {
  if (n <= 3) return static_cast<std::uint8_t>(1u << (n - 1));
  return static_cast<std::uint8_t>(n < 8 ? 8 : n < 16 ? 16 : n < 32 ? 32 : n < 128 ? 64 : 128);
}

// Forgets the last input.
inline void start_input() {
  hits.fill(0);
  n_compared = 0;
  previous = 0;
}

// How many features no input before had. `by_class`: how often a pair ran counts too.
inline std::size_t count_new(bool by_class) {
  std::size_t n_new = 0;
  for (std::size_t i = 0; i < kSize; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, &hits[i], sizeof eight);
    if (eight == 0) continue;
    for (std::size_t k = i; k < i + 8; ++k) {
      if (hits[k] == 0) continue;
      const std::uint8_t bit = by_class ? find_class(hits[k]) : std::uint8_t{1};
      n_new += (seen[k] & bit) == 0;
      seen[k] |= bit;
    }
  }
  return n_new;
}

inline std::size_t count_pairs() {
  std::size_t n_pairs = 0;
  for (const std::uint8_t classes : seen) n_pairs += classes != 0;
  return n_pairs;
}

}  // namespace coverage

extern "C" {

void __sanitizer_cov_trace_pc() {
  coverage::note_block(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                       coverage::base);
}
void __sanitizer_cov_trace_cmp1(std::uint8_t, std::uint8_t) {}
void __sanitizer_cov_trace_cmp2(std::uint16_t a, std::uint16_t b) {
  coverage::note_comparison(a, b, 2);
}
void __sanitizer_cov_trace_cmp4(std::uint32_t a, std::uint32_t b) {
  coverage::note_comparison(a, b, 4);
}
void __sanitizer_cov_trace_cmp8(std::uint64_t a, std::uint64_t b) {
  coverage::note_comparison(a, b, 8);
}
void __sanitizer_cov_trace_const_cmp1(std::uint8_t, std::uint8_t) {}
void __sanitizer_cov_trace_const_cmp2(std::uint16_t a, std::uint16_t b) {
  coverage::note_comparison(a, b, 2);
}
void __sanitizer_cov_trace_const_cmp4(std::uint32_t a, std::uint32_t b) {
  coverage::note_comparison(a, b, 4);
}
void __sanitizer_cov_trace_const_cmp8(std::uint64_t a, std::uint64_t b) {
  coverage::note_comparison(a, b, 8);
}
void __sanitizer_cov_trace_cmpf(float a, float b) {
  std::uint32_t left, right;
  std::memcpy(&left, &a, 4);
  std::memcpy(&right, &b, 4);
  coverage::note_comparison(left, right, 4);
}
void __sanitizer_cov_trace_cmpd(double a, double b) {
  std::uint64_t left, right;
  std::memcpy(&left, &a, 8);
  std::memcpy(&right, &b, 8);
  coverage::note_comparison(left, right, 8);
}
void __sanitizer_cov_trace_switch(std::uint64_t value, std::uint64_t* cases) {
  for (std::uint64_t k = 0; k < cases[0] && k < 16; ++k)
    coverage::note_comparison(value, cases[2 + k], static_cast<std::uint8_t>(cases[1] / 8));
}
}
