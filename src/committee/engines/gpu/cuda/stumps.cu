// Boosting of stumps: the weights of rows as the core has them, and the class weights of each bin. The host searches
// these, and says what becomes of the weights.
#include "records.cuh"
#include "committee/stump_weights.hpp"

namespace committee::gpu {

constexpr int kChunkThreads = 256;

// Rows of one class: places begin .. end - 1 of Stumps::rows.
struct RowChunk {
  u32 begin, end, label, unused;
};

// 8 bytes a field; pointers are to device memory.
struct Stumps {
  const u8* records;       // [group][row][32]
  const u32* rows;         // that take part, class by class
  const RowChunk* chunks;  // of these
  double* levels;          // per row, as all weights
  const Size* units;       // null: all one
  Size* fixed;             // units times the level as an integer
  Size* deltas;            // per place in rows: what its integer has gained
  Size* histograms;        // [class][column][kStumpColumnSlots]
  const u8* sides;         // per bin: leaf of the split at hand
  const double* factors;   // [leaf][class]
  Size* leaves;            // [rows | units][leaf][class]
  i64 n_rows, n_present, n_features, n_groups, n_chunks, n_classes, n_leaves, feature;

  __device__ Size count_units(u32 row) const { return units ? units[row] : 1; }
  __device__ u32 leaf_of(u32 row) const {
    if (n_leaves == 1) return 0;
    return sides[records[(feature / kLanes * n_rows + row) * kLanes + feature % kLanes]];
  }
};

// Adds to a number of 64 bits in two halves: shared memory has no atomics of its own for whole ones.
__device__ inline void add_halves(u32* low, u32* high, u32 low_more, u32 high_more) {
  const u32 before = atomicAdd(low, low_more);
  const u32 more = high_more + (before + low_more < before ? 1 : 0);
  if (more != 0) atomicAdd(high, more);
}

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

// All levels times a power of two; all integers are new.
extern "C" __global__ void __launch_bounds__(256) scale_levels(const Stumps* given, double factor) {
  const Stumps& job = *given;
  for (Size j = blockIdx.x * Size{256} + threadIdx.x; j < static_cast<Size>(job.n_present); j += gridDim.x * Size{256}) {
    const u32 row = job.rows[j];
    job.levels[row] = multiply_stump_level(job.levels[row], factor);
    job.fixed[row] = job.deltas[j] = fix_stump_level(job.levels[row]) * job.count_units(row);
  }
}

// Levels times the factor of leaf and class. A block for each chunk.
extern "C" __global__ void __launch_bounds__(kChunkThreads) multiply_levels(const Stumps* given) {
  const Stumps& job = *given;
  const RowChunk chunk = job.chunks[blockIdx.x];
  for (u32 j = chunk.begin + threadIdx.x; j < chunk.end; j += kChunkThreads) {
    const u32 row = job.rows[j];
    const double factor = job.factors[job.leaf_of(row) * job.n_classes + chunk.label];
    job.deltas[j] = 0;
    if (factor == 1.0) continue;
    const Size before = job.fixed[row];
    job.levels[row] = multiply_stump_level(job.levels[row], factor);
    job.fixed[row] = fix_stump_level(job.levels[row]) * job.count_units(row);
    job.deltas[j] = job.fixed[row] - before;
  }
}

// Rows, and rows as often as they weigh, of each leaf and class. A block for each chunk.
extern "C" __global__ void __launch_bounds__(kChunkThreads) count_leaves(const Stumps* given) {
  const Stumps& job = *given;
  const RowChunk chunk = job.chunks[blockIdx.x];
  __shared__ Size sums[4];
  if (threadIdx.x < 4) sums[threadIdx.x] = 0;
  __syncthreads();
  Size own[4] = {0, 0, 0, 0};
  for (u32 j = chunk.begin + threadIdx.x; j < chunk.end; j += kChunkThreads) {
    const u32 row = job.rows[j], leaf = job.leaf_of(row);
    own[leaf] += 1;
    own[2 + leaf] += job.count_units(row);
  }
  for (u32 k = 0; k < 4; ++k)
    if (own[k] != 0) atomicAdd(&sums[k], own[k]);
  __syncthreads();
  if (threadIdx.x >= 4 || sums[threadIdx.x] == 0) return;
  const Size of = threadIdx.x / 2, leaf = threadIdx.x % 2;
  atomicAdd(job.leaves + (of * job.n_leaves + leaf) * job.n_classes + chunk.label, sums[threadIdx.x]);
}

// What the integers have gained to the histograms. A block for each chunk and group of columns; a warp takes a row at a
// time, lane = column, so that every lane has a bank of its own.
extern "C" __global__ void __launch_bounds__(kBlock) add_deltas(const Stumps* given) {
  const Stumps& job = *given;
  COMMITTEE_SHARED(u32, cells);  // low halves, high halves, and what the warps hold
  u32* const high = cells + kCells;
  const u32 lane = lane_of(), warp = warp_of(), group = blockIdx.x % job.n_groups;
  const RowChunk chunk = job.chunks[blockIdx.x / job.n_groups];
  u32* const mine = cells + 2 * kCells + warp * 3 * kLanes;  // [row | low | high][kLanes]
  const u8* const records = job.records + static_cast<Size>(group) * job.n_rows * kLanes + lane;
  const u32 column = group * kLanes + lane;
  const bool there = column < job.n_features;
  constexpr int kInFlight = 8;
  for (u32 i = threadIdx.x; i < 2 * kCells; i += kBlock) cells[i] = 0;
  __syncthreads();
  for (u32 base = chunk.begin + warp * kLanes; base < chunk.end; base += kBlock) {
    const u32 j = base + lane;
    const Size delta = j < chunk.end ? job.deltas[j] : 0;
    const u32 changed = __ballot_sync(kAll, delta != 0), n = __popc(changed);
    if (n == 0) continue;
    __syncwarp();
    if (delta != 0) {
      const u32 place = __popc(changed & ((1u << lane) - 1));
      mine[place] = job.rows[j];
      mine[kLanes + place] = static_cast<u32>(delta);
      mine[2 * kLanes + place] = static_cast<u32>(delta >> 32);
    }
    __syncwarp();
    for (u32 first = 0; first < n; first += kInFlight) {
      u32 bins[kInFlight];
      for (u32 k = 0; k < kInFlight; ++k)
        bins[k] = records[static_cast<Size>(mine[first + k < n ? first + k : first]) * kLanes];
      for (u32 k = 0; there && k < kInFlight && first + k < n; ++k) {
        const u32 at = bins[k] * kLanes + lane;
        add_halves(cells + at, high + at, mine[kLanes + first + k], mine[2 * kLanes + first + k]);
      }
    }
    __syncwarp();
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < kCells; i += kBlock) {
    const Size sum = cells[i] + (static_cast<Size>(high[i]) << 32);
    const Size of = group * kLanes + i % kLanes;
    if (sum != 0) atomicAdd(job.histograms + (chunk.label * job.n_features + of) * kStumpColumnSlots + i / kLanes, sum);
  }
}

extern "C" __global__ void describe_stumps(Size* sizes) {
  if (threadIdx.x == 0) sizes[0] = sizeof(Stumps), sizes[1] = sizeof(RowChunk), sizes[2] = kStumpColumnSlots;
}
