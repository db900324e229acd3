// The vocabulary of all kernels. The same sources are compiled for a GPU by NVRTC and, through a shim
// that runs the threads of a block as fibers, for the CPU, where tests run them.
#pragma once
#if defined(COMMITTEE_DEVICE_SHIM)
#include "cuda_shim.hpp"
#define COMMITTEE_CALLED inline
#else
// Of functions that are called, not compiled in place: what is long and not in a hurry.
#define COMMITTEE_CALLED __noinline__
// Dynamic shared memory.
#define COMMITTEE_SHARED(type, name)                              \
  extern __shared__ __align__(128) unsigned char shared_bytes[]; \
  type* const name = reinterpret_cast<type*>(shared_bytes)
#endif
#include "committee/gradient_words.hpp"
#include "committee/random_keys.hpp"
#include "committee/split_gain.hpp"

namespace committee::gpu {

constexpr int kLanes = 32;   // threads of a warp, and features of a group: a record is a sector of 32 bytes
constexpr int kBins = 256;   // value bins and, last, the missing one
constexpr int kCells = kBins * kLanes;
constexpr u32 kMissing = 255;
constexpr u32 kAll = 0xFFFFFFFFu;
constexpr int kBlock = 1024;  // threads of most blocks

using Size = unsigned long long;  // of offsets, and what 64-bit atomics take

__device__ inline u32 lane_of() {
  return threadIdx.x % kLanes;
}
__device__ inline u32 warp_of() {
  return threadIdx.x / kLanes;
}

// Whether this block is the last one of its launch to come here, and sees all that the others have written.
// `n_done` is zero before, and again after.
__device__ inline bool is_last_block(u32* n_done) {
  __shared__ u32 last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(n_done, 1u) == gridDim.x - 1 ? 1 : 0;
  __syncthreads();
  if (last == 0) return false;
  if (threadIdx.x == 0) *n_done = 0;
  __threadfence();
  __syncthreads();
  return true;
}

// Exclusive sum over the threads of a block; also returns the total.
__device__ COMMITTEE_CALLED u32 scan_block(u32 x, u32* total) {
  __shared__ u32 sums[kLanes + 1];
  const u32 lane = lane_of(), warp = warp_of();
  u32 v = x;
  for (u32 d = 1; d < kLanes; d *= 2) {
    const u32 other = __shfl_up_sync(kAll, v, d);
    if (lane >= d) v += other;
  }
  __syncthreads();
  if (lane == kLanes - 1) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    const u32 s = lane < blockDim.x / kLanes ? sums[lane] : 0;
    u32 t = s;
    for (u32 d = 1; d < kLanes; d *= 2) {
      const u32 other = __shfl_up_sync(kAll, t, d);
      if (lane >= d) t += other;
    }
    sums[lane] = t - s;
    if (lane == kLanes - 1) sums[kLanes] = t;
  }
  __syncthreads();
  *total = sums[kLanes];
  return sums[warp] + v - x;
}

}  // namespace committee::gpu
