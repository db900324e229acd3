// A table of numbers to bytes: of each value the number of thresholds below it, as the core finds it.
#include "device.cuh"

namespace committee::gpu {

constexpr int kTile = 1024;        // rows that a block turns to bytes at a time
constexpr int kTileStride = kTile + 4;  // lanes write to banks of their own
constexpr int kSlots = 1024;       // room for values that a sample has not got, of one column
constexpr Size kEmpty = ~Size{0};  // no number that occurs

// 8 bytes a field; pointers are to device memory.
struct Binning {
  const void* x;        // row r and column c: at r * row_stride + c * column_stride
  u8* bins;             // [used column][bin_stride]; or records: [group][row][kLanes], groups group_stride apart
  const void* tables;   // [group][kBins][kLanes], of the type of x: thresholds, and infinity past the last
  const u32* columns;   // that are used
  const u32* n_levels;  // of these; 0: numbers
  const u8* counted;    // rows that ranges are of; null: all
  Size* ranges;         // [used column][3]: largest key, largest inverted key, 1 if a value is missing; null: not wanted
  const double* values;  // [used column][kBins]: the value of each bin where every value has one
  const u32* n_values;   // of these; kAll: not such a column
  Size* slots;           // [used column][kSlots]: other values
  u32* n_slots;
  i64 n_rows, n_used, row_stride, column_stride, bin_stride;
  i64 group_stride;  // 0: bins by columns

  __device__ u8* place_of(u32 used, Size row) const {
    if (group_stride == 0) return bins + used * static_cast<Size>(bin_stride) + row;
    return bins + used / kLanes * static_cast<Size>(group_stride) + row * kLanes + used % kLanes;
  }
};

// In the order of the numbers.
__device__ inline Size make_key(double x) {
  const Size bits = bits_of(x + 0.0);
  return (bits >> 63) ? ~bits : bits | (Size{1} << 63);
}

template <class T>
__device__ inline u32 read_level(T x, u32 n_levels) {
  if (!(x >= T(0)) || !(static_cast<double>(x) < static_cast<double>(n_levels))) return kMissing;
  const u32 code = static_cast<u32>(x);
  return static_cast<T>(code) == x ? code : kMissing;
}

// What a thread has seen of its column.
template <class T>
struct Range {
  T low, high;
  bool any = false, missing = false;

  __device__ void add(T x, bool is_missing) {
    missing = missing || is_missing;
    if (x != x) return;
    low = any && low < x ? low : x;
    high = any && high > x ? high : x;
    any = true;
  }
  __device__ void store(Size* to) const {
    if (any) {
      atomicMax(to, make_key(static_cast<double>(high)));
      atomicMax(to + 1, ~make_key(static_cast<double>(low)));
    }
    if (missing) atomicMax(to + 2, Size{1});
  }
};

// By rows: a warp has a row, a lane a column. By columns: a warp has a column, a lane a row.
template <class T, bool kByColumns>
__device__ inline void apply_bins(const Binning& job, T* table) {
  u8* const tile = reinterpret_cast<u8*>(table + kCells);  // [kLanes][kTileStride]
  const u32 n_groups = (job.n_used + kLanes - 1) / kLanes, group = blockIdx.x % n_groups;
  const u32 own = kByColumns ? warp_of() : lane_of(), used = group * kLanes + own;
  const bool there = used < job.n_used;
  for (u32 i = threadIdx.x; i < kCells; i += kBlock) {
    const T threshold = static_cast<const T*>(job.tables)[group * static_cast<Size>(kCells) + i];
    table[kByColumns ? (i % kLanes) * kBins + i / kLanes : i] = threshold;
  }
  __syncthreads();
  const T* const x = static_cast<const T*>(job.x) + (there ? job.columns[used] * job.column_stride : 0);
  const u32 n_levels = there ? job.n_levels[used] : 0;
  const T* const thresholds = kByColumns ? table + own * kBins : table + own;
  const u32 stride = kByColumns ? 1 : kLanes;
  Range<T> range;
  const Size n_rows = job.n_rows, n_tiles = (n_rows + kTile - 1) / kTile;
  for (Size t = blockIdx.x / n_groups; t < n_tiles; t += gridDim.x / n_groups) {
    const Size first = t * kTile;
#pragma unroll 4
    for (u32 i = 0; i < kLanes; ++i) {
      const u32 place = kByColumns ? i * kLanes + lane_of() : warp_of() * kLanes + i;
      const Size row = first + place;
      u32 bin = 0;
      if (there && row < n_rows) {
        const T value = x[row * job.row_stride];
#pragma unroll
        for (u32 step = kBins / 2; step > 0; step /= 2)
          bin += thresholds[(bin + step - 1) * stride] < value ? step : 0;
        bin = value != value ? kMissing : n_levels > 0 ? read_level(value, n_levels) : bin;
        if (job.ranges && (!job.counted || job.counted[row])) range.add(value, bin == kMissing);
      }
      tile[own * kTileStride + place] = static_cast<u8>(bin);
    }
    __syncthreads();
    const u32 column = group * kLanes + warp_of();
    if (job.group_stride != 0) {  // a warp writes 32 records; lanes without a column have zeros
      for (u32 i = 0; i < kLanes; ++i) {
        const u32 place = warp_of() * kLanes + i;
        if (first + place < n_rows) *job.place_of(group * kLanes + lane_of(), first + place) = tile[lane_of() * kTileStride + place];
      }
    } else if (column < job.n_used) {
      const u32* const from = reinterpret_cast<const u32*>(tile + warp_of() * kTileStride);
      u32* const to = reinterpret_cast<u32*>(job.bins + column * static_cast<Size>(job.bin_stride) + first);
      for (u32 k = lane_of(); k < kTile / 4 && first + 4 * k < n_rows; k += kLanes) to[k] = from[k];
    }
    __syncthreads();
  }
  if (job.ranges && there) range.store(job.ranges + 3 * used);
}

template <class T>
__device__ inline void find_other_values(const Binning& job) {
  for (u32 used = 0; used < job.n_used; ++used) {
    const u32 n_values = job.n_values[used];
    if (n_values == kAll) continue;
    const T* const x = static_cast<const T*>(job.x) + job.columns[used] * job.column_stride;
    for (Size row = blockIdx.x * Size{256} + threadIdx.x; row < static_cast<Size>(job.n_rows);
         row += gridDim.x * Size{256}) {
      const double value = static_cast<double>(x[row * job.row_stride]) + 0.0;
      if (value != value || (job.counted && !job.counted[row])) continue;
      const u32 bin = *job.place_of(used, row);
      if (bin < n_values && job.values[used * Size{kBins} + bin] == value) continue;
      if (job.n_slots[used] > kSlots / 2) break;  // too many to have bins of their own
      const Size bits = bits_of(value);
      Size slot = (bits * 0x9E3779B97F4A7C15ull) >> 54;
      for (int tries = 0; tries < kSlots; ++tries, slot = (slot + 1) % kSlots) {
        const Size found = atomicCAS(job.slots + used * Size{kSlots} + slot, kEmpty, bits);
        if (found == kEmpty) atomicAdd(job.n_slots + used, 1u);
        if (found == kEmpty || found == bits) break;
      }
    }
  }
}

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

extern "C" __global__ void __launch_bounds__(kBlock) bin_float_rows(const Binning* job) {
  COMMITTEE_SHARED(float, table);
  apply_bins<float, false>(*job, table);
}
extern "C" __global__ void __launch_bounds__(kBlock) bin_double_rows(const Binning* job) {
  COMMITTEE_SHARED(double, table);
  apply_bins<double, false>(*job, table);
}
extern "C" __global__ void __launch_bounds__(kBlock) bin_float_columns(const Binning* job) {
  COMMITTEE_SHARED(float, table);
  apply_bins<float, true>(*job, table);
}
extern "C" __global__ void __launch_bounds__(kBlock) bin_double_columns(const Binning* job) {
  COMMITTEE_SHARED(double, table);
  apply_bins<double, true>(*job, table);
}
extern "C" __global__ void __launch_bounds__(256) find_other_floats(const Binning* job) {
  find_other_values<float>(*job);
}
extern "C" __global__ void __launch_bounds__(256) find_other_doubles(const Binning* job) {
  find_other_values<double>(*job);
}
extern "C" __global__ void describe_binning(Size* sizes) {
  if (threadIdx.x == 0) sizes[0] = sizeof(Binning);
}
