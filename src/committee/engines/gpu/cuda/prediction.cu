// Sums of the leaves that rows end in, over all trees of an arena, in the order of the trees.
//
// sum_trees walks trees of any shape, in global memory. sum_complete_trees takes trees of at most COMMITTEE_DEPTH levels
// whose features have few thresholds: rows become bytes, trees become complete, and both are in shared memory.
#include "device.cuh"

#if !defined(COMMITTEE_DEPTH)
#define COMMITTEE_DEPTH 8
#endif

namespace committee::gpu {

constexpr u32 kLeafTag = 1u << 31, kCategoryTag = 1u << 30, kMissingLeftTag = 1u << 29, kFeatureTag = (1u << 28) - 1;
constexpr int kHeap = 1 << COMMITTEE_DEPTH;  // leaves of a complete tree, and room for its nodes
constexpr int kTreesAtOnce = 4;

// 8 bytes a field; pointers are to device memory.
struct Prediction {
  const void* x;  // [row][feature]
  double* out;    // [row][column]
  const u8* nodes;  // of an arena: threshold, left, tag
  const u64* node_offsets;
  const u64* leaf_offsets;
  const double* terms;  // [leaf][width]: what a leaf adds
  const u32* slots;     // column of each tree; null: all columns
  const u32* category_offsets;
  const u32* category_words;
  const double* baseline;  // null: zero
  // Complete trees, those of a column side by side.
  const u16* heaps;           // [tree][kHeap]: threshold's number | missing values go left << 8 | feature's number << 9
  const double* heap_terms;   // [tree][kHeap]
  const u32* slot_offsets;    // [column + 1]
  const u32* features;        // that are used
  const double* thresholds;   // of these, ascending
  const u32* threshold_offsets;

  i64 n_rows, n_features, n_trees, width, n_columns, double_x, double_thresholds, n_used, n_chunk;
  double divisor;

  __device__ double read(Size row, u32 feature) const {
    const Size at = row * n_features + feature;
    return double_x ? static_cast<const double*>(x)[at] : static_cast<double>(static_cast<const float*>(x)[at]);
  }
  __device__ double finish(double sum, u32 column) const {
    const double whole = divisor == 1.0 ? sum : sum / divisor;
    return baseline ? whole + baseline[column] : whole;
  }
};

// Whether a set holds the code that x is; codes beyond its words are not held.
__device__ inline bool holds_level(const Prediction& job, u32 set, double x) {
  const u32 first = job.category_offsets[set], n = job.category_offsets[set + 1] - first;
  if (!(x >= 0.0 && x < 32.0 * static_cast<double>(n))) return false;
  const u32 code = static_cast<u32>(x);
  return ((job.category_words[first + code / 32] >> (code % 32)) & 1u) != 0;
}

// Some trees side by side: each is a chain of loads that wait for one another, and the chains wait at the same time.
struct TreeWalks {
  const u8* nodes[kTreesAtOnce];  // of each tree
  const u8* at[kTreesAtOnce];
  u32 leaf[kTreesAtOnce];
  u32 n_open;

  // One step of a walk that has not ended.
  __device__ void step(const Prediction& job, Size row, u32 size, int k) {
    const u32* const rest = reinterpret_cast<const u32*>(at[k] + size - 8);
    const u32 left = rest[0], tag = rest[1];
    if (tag & kLeafTag) {
      leaf[k] = left;
      at[k] = nullptr;
      --n_open;
      return;
    }
    const double x = job.read(row, tag & kFeatureTag);
    bool goes_left;
    if (x != x) {
      goes_left = (tag & kMissingLeftTag) != 0;
    } else if (tag & kCategoryTag) {
      goes_left = holds_level(job, *reinterpret_cast<const u32*>(at[k]), x);
    } else {
      const double threshold = job.double_thresholds ? *reinterpret_cast<const double*>(at[k])
                                                     : static_cast<double>(*reinterpret_cast<const float*>(at[k]));
      goes_left = x <= threshold;
    }
    at[k] = nodes[k] + (left + (goes_left ? 0 : 1)) * static_cast<Size>(size);
  }
  // The leaves of trees first .. first + n - 1, by their numbers within their trees.
  __device__ void walk(const Prediction& job, Size row, u32 first, u32 n) {
    const u32 size = job.double_thresholds ? 16 : 12;
#pragma unroll
    for (int k = 0; k < kTreesAtOnce; ++k)
      nodes[k] = at[k] = k < n ? job.nodes + job.node_offsets[first + k] * size : nullptr;
    for (n_open = n; n_open > 0;) {
#pragma unroll
      for (int k = 0; k < kTreesAtOnce; ++k)
        if (at[k] != nullptr) step(job, row, size, k);
    }
  }
};

// Thresholds of a feature that are less than x: x <= threshold k if they are k at most. 255: missing.
__device__ inline u32 find_code(const Prediction& job, u32 feature, double x) {
  if (x != x) return 255;
  const u32 first = job.threshold_offsets[feature];
  u32 low = 0, n = job.threshold_offsets[feature + 1] - first;
  while (n > 0) {
    const u32 half = n / 2;
    const bool more = job.thresholds[first + low + half] < x;
    low = more ? low + half + 1 : low;
    n = more ? n - half - 1 : half;
  }
  return low;
}

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

extern "C" __global__ void __launch_bounds__(256) sum_trees(const Prediction* given) {
  const Prediction& job = *given;
  for (Size row = blockIdx.x * Size{256} + threadIdx.x; row < static_cast<Size>(job.n_rows);
       row += gridDim.x * Size{256}) {
    double* const out = job.out + row * job.n_columns;
    for (i64 k = 0; k < job.n_columns; ++k) out[k] = 0.0;
    for (u32 first = 0; first < job.n_trees; first += kTreesAtOnce) {
      const u32 n = job.n_trees - first < kTreesAtOnce ? job.n_trees - first : kTreesAtOnce;
      TreeWalks walks;
      walks.walk(job, row, first, n);
#pragma unroll
      for (int t = 0; t < kTreesAtOnce; ++t) {
        if (t >= n) continue;
        const double* const terms = job.terms + (job.leaf_offsets[first + t] + walks.leaf[t]) * job.width;
        double* const to = out + (job.slots ? job.slots[first + t] : 0);
        for (i64 k = 0; k < job.width; ++k) to[k] += terms[k];
      }
    }
    for (i64 k = 0; k < job.n_columns; ++k) out[k] = job.finish(out[k], k);
  }
}

namespace committee::gpu {

// Adds what n complete trees in shared memory say of this thread's row.
template <bool kMayMiss>
__device__ inline double add_complete(const u32* words, const u16* heaps, const double* terms, u32 n, double sum) {
  const u32* const own = words + threadIdx.x;
  for (u32 tree = 0; tree < n; tree += kTreesAtOnce) {
    const u16* heap[kTreesAtOnce];
    u32 at[kTreesAtOnce];
#pragma unroll
    for (int k = 0; k < kTreesAtOnce; ++k) {
      // Past the last tree: that one again, whose value is not taken.
      heap[k] = heaps + (tree + k < n ? tree + k : n - 1) * kHeap;
      at[k] = 0;
    }
#pragma unroll
    for (int depth = 0; depth < COMMITTEE_DEPTH; ++depth) {
#pragma unroll
      for (int k = 0; k < kTreesAtOnce; ++k) {
        const u32 node = heap[k][at[k]];
        const u32 code = (own[(node >> 11) * kBlock] >> ((node >> 6) & 24u)) & 255u;
        u32 right = code > (node & 255u) ? 1u : 0u;
        if constexpr (kMayMiss) right ^= code == 255u ? (node >> 8) & 1u : 0u;
        at[k] = 2 * at[k] + 1 + right;
      }
    }
#pragma unroll
    for (int k = 0; k < kTreesAtOnce; ++k)
      if (tree + k < n) sum += terms[(tree + k) * kHeap + at[k] - (kHeap - 1)];
  }
  return sum;
}

}  // namespace committee::gpu

// A block has kBlock rows. Shared memory: their codes [word of four features][row], then n_chunk trees.
extern "C" __global__ void __launch_bounds__(kBlock) sum_complete_trees(const Prediction* given) {
  const Prediction& job = *given;
  COMMITTEE_SHARED(u32, words);
  // Trees of one leaf use no feature, and yet look at the first.
  const u32 n_words = job.n_used > 0 ? (job.n_used + 3) / 4 : 1, t = threadIdx.x, n_chunk = job.n_chunk;
  double* const terms = reinterpret_cast<double*>(words + n_words * kBlock);
  u16* const heaps = reinterpret_cast<u16*>(terms + n_chunk * kHeap);
  for (Size begin = blockIdx.x * Size{kBlock}; begin < static_cast<Size>(job.n_rows); begin += gridDim.x * Size{kBlock}) {
    const Size row = begin + t;
    const bool there = row < static_cast<Size>(job.n_rows);
    bool missing = false;
    for (u32 w = 0; w < n_words; ++w) {
      u32 word = 0;
      for (u32 f = 4 * w; there && f < 4 * w + 4 && f < job.n_used; ++f) {
        const u32 code = find_code(job, f, job.read(row, job.features[f]));
        missing = missing || code == 255;
        word |= code << (8 * (f % 4));
      }
      words[w * kBlock + t] = word;
    }
    // Of any row of the warp; its lanes go the same way then.
    const bool has_missing = __ballot_sync(kAll, missing) != 0;
    for (u32 column = 0; column < job.n_columns; ++column) {
      const u32 last = job.slot_offsets[column + 1];
      double sum = 0.0;
      for (u32 first = job.slot_offsets[column]; first < last; first += n_chunk) {
        const u32 n = last - first < n_chunk ? last - first : n_chunk;
        __syncthreads();
        for (u32 i = t; i < n * kHeap; i += kBlock) {
          terms[i] = job.heap_terms[first * static_cast<Size>(kHeap) + i];
          heaps[i] = job.heaps[first * static_cast<Size>(kHeap) + i];
        }
        __syncthreads();
        sum = has_missing ? add_complete<true>(words, heaps, terms, n, sum) : add_complete<false>(words, heaps, terms, n, sum);
      }
      if (there) job.out[row * job.n_columns + column] = job.finish(sum, column);
    }
    __syncthreads();
  }
}

extern "C" __global__ void describe_prediction(Size* sizes) {
  if (threadIdx.x == 0) sizes[0] = sizeof(Prediction);
}
