// Sums of the leaves that rows end in, over all trees of an arena, in the order of the trees.
//
// sum_trees walks trees of any shape, in global memory. Where features have few thresholds, rows are bytes (binning.cu),
// and rows and trees are in shared memory: sum_complete_trees takes trees of at most COMMITTEE_DEPTH levels, filled up to
// that depth, sum_linked_trees any that fit.
#include "device.cuh"

#if !defined(COMMITTEE_DEPTH)
#define COMMITTEE_DEPTH 8
#endif
#if !defined(COMMITTEE_THREADS)
#define COMMITTEE_THREADS 512
#endif
#if !defined(COMMITTEE_ABREAST)
#define COMMITTEE_ABREAST 1
#endif

namespace committee::gpu {

constexpr u32 kLeafTag = 1u << 31, kCategoryTag = 1u << 30, kMissingLeftTag = 1u << 29, kFeatureTag = (1u << 28) - 1;
constexpr int kHeap = 1 << COMMITTEE_DEPTH;  // leaves of a complete tree, and room for its nodes
constexpr int kTreesAtOnce = 4;
constexpr int kThreads = COMMITTEE_THREADS, kRowsEach = 4;  // of a block with trees in shared memory, rows of a thread
constexpr int kTreesAbreast = COMMITTEE_ABREAST;

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
  // Trees for shared memory, those of a column side by side. The low 16 bits of a node: threshold's number | missing
  // values go left << 8 | feature's number << 9.
  const u16* heaps;           // [tree][kHeap], of complete trees
  const double* heap_terms;   // [tree][kHeap]
  const u32* links;           // [node], of linked trees: left child << 16; a leaf is its own child
  const double* link_terms;   // [node]
  const u32* tree_begins;     // [tree + 1]: nodes of linked trees
  const u32* tree_depths;     // [tree]
  const u32* chunk_ends;      // [tree]: the end of the chunk that begins with it
  const u32* slot_offsets;    // [column + 1]
  const u8* codes;            // [used feature][code_stride]: thresholds below the value; 255: missing

  i64 n_rows, n_features, n_trees, width, n_columns, double_x, double_thresholds, n_used, n_chunk, code_stride;
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

// Rows of the block, four a thread: the bytes of a thread's rows are a word, [feature][thread], so that every lane reads
// its own bank. Shared memory holds the codes of the rows, then the values and the nodes of a chunk of trees. Addresses
// are in bytes from its begin.
struct SharedTrees {
  const Prediction& job;
  u8* shared;
  const u8* own;  // the codes of this thread's rows
  u32 terms, nodes;

  // Trees of one leaf use no feature, and yet look at the first.
  __device__ SharedTrees(const Prediction& given, u8* memory, u32 terms_a_chunk)
      : job(given), shared(memory), own(memory + 4 * threadIdx.x),
        terms(4 * kThreads * (given.n_used > 0 ? static_cast<u32>(given.n_used) : 1)), nodes(terms + 8 * terms_a_chunk) {}

  template <bool kMayMiss>
  __device__ bool goes_right(u32 node, int r) const {
    const u32 code = own[(node & 0xFE00u) * (4 * kThreads / 512) + r];
    if constexpr (kMayMiss) {
      if (code == 255u && (node & 256u) != 0) return false;
    }
    return code > (node & 255u);
  }
  __device__ double read_term(u32 at) const { return *reinterpret_cast<const double*>(shared + at); }
};

struct CompleteTrees : SharedTrees {
  __device__ CompleteTrees(const Prediction& given, u8* memory) : SharedTrees(given, memory, kHeap * given.n_chunk) {}

  __device__ u32 end_chunk(u32 first, u32 last) const {
    const u32 n_chunk = job.n_chunk;
    return last - first < n_chunk ? last : first + n_chunk;
  }
  __device__ void load(u32 first, u32 last) const {
    double* const to_terms = reinterpret_cast<double*>(shared + terms);
    u32* const to_heaps = reinterpret_cast<u32*>(shared + nodes);
    const double* const from_terms = job.heap_terms + first * static_cast<Size>(kHeap);
    const u32* const from_heaps = reinterpret_cast<const u32*>(job.heaps + first * static_cast<Size>(kHeap));
    const u32 n = last - first;
    for (u32 i = threadIdx.x; i < n * kHeap; i += kThreads) to_terms[i] = from_terms[i];
    for (u32 i = threadIdx.x; i < n * kHeap / 2; i += kThreads) to_heaps[i] = from_heaps[i];
  }
  // Adds what the loaded trees say of this thread's rows. The tree at `heap` has its root at index 1, the children of i
  // at 2 i and 2 i + 1; the address of a child is twice that of its parent, less `heap`, and 2 more for the right one.
  template <bool kMayMiss>
  __device__ void add(u32 first, u32 last, double (&sum)[kRowsEach]) const {
    u32 heap = nodes, values = terms, n = last - first;
    for (; n >= kTreesAbreast; n -= kTreesAbreast) {
      add_some<kMayMiss, kTreesAbreast>(heap, values, sum);
      heap += 2 * kHeap * kTreesAbreast;
      values += 8 * kHeap * kTreesAbreast;
    }
    for (; n > 0; --n) {
      add_some<kMayMiss, 1>(heap, values, sum);
      heap += 2 * kHeap;
      values += 8 * kHeap;
    }
  }

 private:
  template <bool kMayMiss, int kTrees>
  __device__ void add_some(u32 heap, u32 values, double (&sum)[kRowsEach]) const {
    u32 at[kTrees][kRowsEach];
#pragma unroll
    for (int k = 0; k < kTrees; ++k)
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) at[k][r] = heap + 2 * kHeap * k + 2;
#pragma unroll
    for (int depth = 0; depth < COMMITTEE_DEPTH; ++depth) {
#pragma unroll
      for (int k = 0; k < kTrees; ++k) {
        const u32 left = 0u - (heap + 2 * kHeap * k), right = left + 2;
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) {
          const u32 node = *reinterpret_cast<const u16*>(shared + at[k][r]);
          at[k][r] = 2 * at[k][r] + (goes_right<kMayMiss>(node, r) ? right : left);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kTrees; ++k) {
      // Leaves follow the nodes in the count: that of index kHeap is the first.
      const u32 first = values + 8 * kHeap * k - 4 * (heap + 2 * kHeap * k) - 8 * kHeap;
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) sum[r] += read_term(4 * at[k][r] + first);
    }
  }
};

struct LinkedTrees : SharedTrees {
  __device__ LinkedTrees(const Prediction& given, u8* memory)
      : SharedTrees(given, memory, static_cast<u32>(given.n_chunk)) {}

  __device__ u32 end_chunk(u32 first, u32) const { return job.chunk_ends[first]; }
  __device__ void load(u32 first, u32 last) const {
    double* const to_terms = reinterpret_cast<double*>(shared + terms);
    u32* const to_links = reinterpret_cast<u32*>(shared + nodes);
    const u32 begin = job.tree_begins[first], n = job.tree_begins[last] - begin;
    for (u32 i = threadIdx.x; i < n; i += kThreads) {
      to_terms[i] = job.link_terms[begin + i];
      to_links[i] = job.links[begin + i];
    }
  }
  template <bool kMayMiss>
  __device__ void add(u32 first, u32 last, double (&sum)[kRowsEach]) const {
    const u32 begin = job.tree_begins[first];
    for (u32 tree = first; tree < last; ++tree) {
      const u32 root = nodes + 4 * (job.tree_begins[tree] - begin), depth = job.tree_depths[tree];
      u32 at[kRowsEach];
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) at[r] = root;
      // Few rows reach the deepest leaves: a warp is done as soon as none of its rows moves.
      for (u32 done = 0; done < depth; done += 2) {
        descend<kMayMiss>(root, at);
        if (__ballot_sync(kAll, descend<kMayMiss>(root, at)) == 0) break;
      }
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) sum[r] += read_term(terms + 2 * (at[r] - nodes));
    }
  }

 private:
  // One level down; leaves, whose threshold nothing exceeds, stay where they are. Whether a row moved.
  template <bool kMayMiss>
  __device__ bool descend(u32 root, u32 (&at)[kRowsEach]) const {
    bool moved = false;
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      const u32 node = *reinterpret_cast<const u32*>(shared + at[r]);
      const u32 next = root + (node >> 16) * 4 + (goes_right<kMayMiss>(node, r) ? 4 : 0);
      moved = moved || next != at[r];
      at[r] = next;
    }
    return moved;
  }
};

__device__ inline bool has_missing_code(u32 word) {
  const u32 inverted = ~word;  // a byte of zero where a code is 255
  return ((inverted - 0x01010101u) & ~inverted & 0x80808080u) != 0;
}

// Rows are numbered from the first of the codes, which are [feature][code_stride].
template <class Trees>
__device__ void sum_shared_trees(const Prediction& job, u8* shared) {
  const Trees trees(job, shared);
  const u32 t = threadIdx.x, n_used = job.n_used > 0 ? job.n_used : 1;
  u32* const codes = reinterpret_cast<u32*>(shared);
  constexpr u32 kRows = kThreads * kRowsEach;
  const Size n_rows = job.n_rows;
  for (Size begin = blockIdx.x * Size{kRows}; begin < n_rows; begin += gridDim.x * Size{kRows}) {
    const Size row = begin + kRowsEach * t;
    bool missing = false;
    for (u32 f = 0; f < n_used; ++f) {
      const u32* const from = reinterpret_cast<const u32*>(job.codes + f * static_cast<Size>(job.code_stride) + begin);
      const u32 word = row < n_rows && job.n_used > 0 ? from[t] : 0;
      codes[f * kThreads + t] = word;
      missing = missing || has_missing_code(word);
    }
    // Of any row of the warp; its lanes go the same way then.
    const bool may_miss = __ballot_sync(kAll, missing) != 0;
    for (u32 column = 0; column < job.n_columns; ++column) {
      const u32 last = job.slot_offsets[column + 1];
      double sum[kRowsEach] = {};
      for (u32 first = job.slot_offsets[column], end; first < last; first = end) {
        end = trees.end_chunk(first, last);
        __syncthreads();
        trees.load(first, end);
        __syncthreads();
        if (may_miss) {
          trees.template add<true>(first, end, sum);
        } else {
          trees.template add<false>(first, end, sum);
        }
      }
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r)
        if (row + r < n_rows) job.out[(row + r) * job.n_columns + column] = job.finish(sum[r], column);
    }
  }
}

}  // namespace committee::gpu

extern "C" __global__ void __launch_bounds__(kThreads) sum_complete_trees(const Prediction* given) {
  COMMITTEE_SHARED(u8, shared);
  sum_shared_trees<CompleteTrees>(*given, shared);
}

extern "C" __global__ void __launch_bounds__(kThreads) sum_linked_trees(const Prediction* given) {
  COMMITTEE_SHARED(u8, shared);
  sum_shared_trees<LinkedTrees>(*given, shared);
}

extern "C" __global__ void describe_prediction(Size* sizes) {
  if (threadIdx.x == 0) sizes[0] = sizeof(Prediction);
}
