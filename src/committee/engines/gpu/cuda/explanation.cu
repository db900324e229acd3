// Path-dependent Shapley values of trees, by the quadrature of the core (cpp/src/explain/shap.cpp): a thread has a row, a
// block has one point of the quadrature. All threads of a block walk the same splits, one tree after the other, in the
// order in which they lie in memory. What a level of the walk needs stays in registers: there is a function for each
// level, and all of them are inlined. That is little, a product and a sum; all else is read again, from the cache.
#include "device.cuh"

#if !defined(COMMITTEE_LEVELS)
#define COMMITTEE_LEVELS 8
#endif
#if !defined(COMMITTEE_SHARED_ROWS)
#define COMMITTEE_SHARED_ROWS 1
#endif

namespace committee::gpu {

constexpr int kLevels = COMMITTEE_LEVELS;  // splits of the longest path, at most 64
constexpr int kRowBlock = 128;             // rows, and threads, of a block
constexpr bool kInShared = COMMITTEE_SHARED_ROWS;  // values of the rows and sums, which are many where features are
constexpr u32 kLeafBit = 1u << 31;
constexpr u32 kMissingLeftBit = 1, kCategoryBit = 2, kAgainBit = 4;
constexpr u32 kAhead = 6, kLeavesAhead = 24;  // splits and leaves that are fetched before the walk comes to them
#if COMMITTEE_LEVELS <= 32
using LevelBits = u32;
#else
using LevelBits = u64;
#endif

// As committee::ExplainedSplit.
struct alignas(16) PlanSplit {
  double threshold, share, share_above;
  u32 child[2], slot, above, first_word, flags;
};
// Of a split at a point: what is kept of the product by a row that goes left, and by one that goes right; what gains of
// a feature that was asked before are multiplied by. Also the split above.
struct alignas(16) PointFactor {
  double left, right, gain;
  u32 parent, unused;
};

// 8 bytes a field; pointers are to device memory.
struct Explanation {
  const void* x;  // [row][feature]
  const PlanSplit* splits;
  const PointFactor* factors;  // [point][split]
  const u32* roots;            // of the trees that add to the column
  const double* values;        // [leaf], of the column
  const u32* features;         // that are used
  const u32* words;            // of sets of levels
  const double* weights;       // of the points
  double* partial;             // [point][used feature][partial_stride]
  double* out;                 // [row][feature][column]
  const u32* outputs;          // numbers of classes whose values add up to zero

  i64 n_rows, n_features, n_used, n_points, first_split, n_splits, n_trees, n_columns, column, partial_stride, double_x,
      n_outputs;

  __device__ double read(Size row, u32 feature) const {
    const Size at = row * n_features + feature;
    return double_x ? static_cast<const double*>(x)[at] : static_cast<double>(static_cast<const float*>(x)[at]);
  }
};

// Starts to bring a line of memory into the cache.
__device__ inline void fetch_ahead(const void* at) {
#if !defined(COMMITTEE_DEVICE_SHIM)
  asm volatile("prefetch.global.L1 [%0];" ::"l"(at));
#else
  static_cast<void>(at);
#endif
}

// One row at one point.
struct RowWalk {
  const PlanSplit* splits;
  const PointFactor* factors;  // of the first split on
  const double* values;
  const u32* words;
  const double* x;  // of the used features, where they are in shared memory
  double* sums;     // of these
  const Explanation* job;
  Size row;
  u32 number;  // of the split at hand
  // A bit for each level on the way to it: whether the row goes left; whether it has gone the path's way at the splits
  // on the same feature above; whether it does so including this one; which side the path goes.
  LevelBits answers, befores, open, rights;

  __device__ double read(u32 slot) const {
    if constexpr (kInShared) return x[slot * kRowBlock];
    return job->read(row, job->features[slot]);
  }
  __device__ bool goes_left(const PlanSplit& split) const {
    const double own = read(split.slot);
    if (own != own) return (split.flags & kMissingLeftBit) != 0;
    if ((split.flags & kCategoryBit) == 0) return own <= split.threshold;
    if (!(own >= 0.0 && own < 32.0 * static_cast<double>(split.flags >> 8))) return false;
    const u32 code = static_cast<u32>(own);
    return ((words[split.first_word + code / 32] >> (code % 32)) & 1u) != 0;
  }
  __device__ void add(u32 slot, double gain) {
    if constexpr (kInShared) {
      sums[slot * kRowBlock] += gain;
    } else {
      sums[slot * static_cast<Size>(job->partial_stride)] += gain;
    }
  }
  template <int kLevel>
  __device__ static void set_bit(LevelBits& bits, bool value) {
    constexpr LevelBits kBit = LevelBits{1} << kLevel;
    bits = value ? bits | kBit : bits & ~kBit;
  }
  template <int kLevel>
  __device__ static bool has_bit(LevelBits bits) {
    return ((bits >> kLevel) & 1u) != 0;
  }
  // The part of the product that the left side of the split at hand keeps.
  template <int kLevel>
  __device__ double find_kept() const {
    const PointFactor& factor = factors[number];
    if (!has_bit<kLevel>(befores)) return splits[number].share;
    return has_bit<kLevel>(answers) ? factor.left : factor.right;
  }

  // Sum over the leaves below the split at hand of their values times the factors from there down. `product` is that of
  // the factors above.
  template <int kLevel>
  __device__ __forceinline__ double visit(double product) {
    {
      fetch_ahead(splits + number + kAhead);
      fetch_ahead(factors + number + kAhead);
      const PlanSplit& split = splits[number];
      set_bit<kLevel>(answers, goes_left(split));
      set_bit<kLevel>(befores, (split.flags & kAgainBit) == 0 || ((open >> split.above) & 1u) != 0);
      set_bit<kLevel>(rights, false);
    }
    double left = 0.0, right = 0.0;
#pragma unroll 1
    for (;;) {
      const bool is_right = has_bit<kLevel>(rights);
      const u32 child = splits[number].child[is_right ? 1 : 0];
      left = right;
      if (child & kLeafBit) {
        right = values[child & ~kLeafBit];
        fetch_ahead(values + (child & ~kLeafBit) + kLeavesAhead);
      } else if constexpr (kLevel + 1 < kLevels) {
        const double kept = find_kept<kLevel>();
        set_bit<kLevel>(open, has_bit<kLevel>(befores) && has_bit<kLevel>(answers) != is_right);
        number = child;
        right = visit<kLevel + 1>(product * (is_right ? 1.0 - kept : kept));
        number = factors[number].parent;
      }
      if (is_right) break;
      set_bit<kLevel>(rights, true);
    }
    const double apart = left - right;
    const PlanSplit& split = splits[number];
    if (has_bit<kLevel>(befores))
      add(split.slot, ((has_bit<kLevel>(answers) ? 1.0 : 0.0) - split.share) * (factors[number].gain * product * apart));
    return right + find_kept<kLevel>() * apart;
  }
};

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

extern "C" __global__ void __launch_bounds__(kRowBlock) explain_trees(const Explanation* __restrict__ given) {
  const Explanation& job = *given;
  COMMITTEE_SHARED(double, shared);
  const u32 t = threadIdx.x, n_blocks = gridDim.x / job.n_points, point = blockIdx.x / n_blocks;
  const double weight = job.weights[point];
  double* const partial = job.partial + point * static_cast<Size>(job.n_used * job.partial_stride);
  RowWalk walk{job.splits, job.factors + (static_cast<i64>(point) * job.n_splits - job.first_split), job.values,
               job.words, shared + t, shared + job.n_used * kRowBlock + t, &job, 0, 0, 0, 0, 0, 0};
  for (Size first = (blockIdx.x % n_blocks) * Size{kRowBlock}; first < static_cast<Size>(job.n_rows);
       first += n_blocks * Size{kRowBlock}) {
    const Size row = first + t < static_cast<Size>(job.n_rows) ? first + t : job.n_rows - 1;
    walk.row = row;
    if constexpr (!kInShared) walk.sums = partial + first + t;  // the stride has room for whole blocks
    for (u32 slot = 0; slot < job.n_used; ++slot) {
      if constexpr (kInShared) {
        shared[slot * kRowBlock + t] = job.read(row, job.features[slot]);
        walk.sums[slot * kRowBlock] = 0.0;
      } else {
        walk.sums[slot * static_cast<Size>(job.partial_stride)] = 0.0;
      }
    }
    for (i64 tree = 0; tree < job.n_trees; ++tree) {
      const u32 root = job.roots[tree];
      if ((root & kLeafBit) != 0) continue;
      walk.number = root;
      walk.visit<0>(weight);
    }
    if constexpr (kInShared) {
      for (u32 slot = 0; slot < job.n_used; ++slot)
        partial[slot * static_cast<Size>(job.partial_stride) + first + t] = walk.sums[slot * kRowBlock];
    }
  }
}

// Adds up the points, in their order, to the values.
extern "C" __global__ void __launch_bounds__(256) sum_points(const Explanation* given) {
  const Explanation& job = *given;
  const Size n = static_cast<Size>(job.n_used) * job.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    const Size slot = i / job.n_rows, row = i % job.n_rows;
    double sum = 0.0;
    for (i64 point = 0; point < job.n_points; ++point)
      sum += job.partial[(point * job.n_used + slot) * job.partial_stride + row];
    job.out[(row * job.n_features + job.features[slot]) * job.n_columns + job.column] += sum;
  }
}

// The last class of each output: what is missing to zero.
extern "C" __global__ void __launch_bounds__(256) complete_classes(const Explanation* given) {
  const Explanation& job = *given;
  const Size n = static_cast<Size>(job.n_features) * job.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    double* at = job.out + i * job.n_columns;
    for (i64 output = 0; output < job.n_outputs; ++output) {
      const u32 n_classes = job.outputs[output];
      double others = 0.0;
      for (u32 c = 0; c + 1 < n_classes; ++c) others += at[c];
      at[n_classes - 1] = 0.0 - others;
      at += n_classes;
    }
  }
}

extern "C" __global__ void describe_explanation(Size* sizes) {
  if (threadIdx.x == 0) sizes[0] = sizeof(Explanation), sizes[1] = sizeof(PlanSplit);
}
