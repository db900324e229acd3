// What formulas of one row or one split need, for the compilers of both engines: names of integers,
// the mark of functions that run on either, and numbers as their bits. CUDA's run-time compiler has
// no standard library, so nothing of it is used here beyond this file.
#pragma once
#include "compiler.hpp"
#if defined(__CUDACC__) || defined(COMMITTEE_DEVICE_SHIM)
#define COMMITTEE_HD __host__ __device__
#else
#define COMMITTEE_HD
#endif

#if defined(__CUDACC_RTC__)
namespace committee {
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
}  // namespace committee
#else
#include <bit>
#include <cstdint>
namespace committee {
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
}  // namespace committee
#endif

namespace committee {

COMMITTEE_HD inline u64 bits_of(double x) {
#if defined(__CUDA_ARCH__)
  return static_cast<u64>(__double_as_longlong(x));
#else
  return std::bit_cast<u64>(x);
#endif
}
COMMITTEE_HD inline double from_bits(u64 bits) {
#if defined(__CUDA_ARCH__)
  return __longlong_as_double(static_cast<i64>(bits));
#else
  return std::bit_cast<double>(bits);
#endif
}

}  // namespace committee
