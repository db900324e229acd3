// Path-dependent Shapley values of trees, by the quadrature of the core (cpp/src/explain/shap.cpp): a thread has a row, a
// block has one point of the quadrature. All threads of a block walk the same splits, one tree after the other. What a
// level of the walk needs stays in registers: there is a function for each level, and all of them are inlined.
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

// As committee::ExplainedSplit.
struct alignas(16) PlanSplit {
  double threshold, share, share_above;
  u32 child[2], slot, above, first_word, flags;
};
// Of a split at a point: what is kept of the product by a row that goes left, and by one that goes right; what gains of
// a feature that was asked before are multiplied by.
struct alignas(16) PointFactor {
  double left, right, gain, unused;
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

  i64 n_rows, n_features, n_used, n_points, n_splits, n_trees, n_columns, column, partial_stride, double_x, n_outputs;

  __device__ double read(Size row, u32 feature) const {
    const Size at = row * n_features + feature;
    return double_x ? static_cast<const double*>(x)[at] : static_cast<double>(static_cast<const float*>(x)[at]);
  }
};

// One row at one point.
struct RowWalk {
  const PlanSplit* splits;
  const PointFactor* factors;
  const double* values;
  const u32* words;
  const double* x;  // of the used features, where they are in shared memory
  double* sums;     // of these
  const Explanation* job;
  Size row;

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

  // Sum over the leaves below a split of their values times the factors from there down. `product` is that of the
  // factors above; `open` has a bit for each level: the row has gone the path's way at the splits on its feature.
  template <int kLevel>
  __device__ __forceinline__ double visit(u32 number, double product, u64 open) {
    const PlanSplit split = splits[number];
    const PointFactor factor = factors[number];
    const bool answer = goes_left(split);
    const bool before = (split.flags & kAgainBit) == 0 || ((open >> split.above) & 1u) != 0;
    const double kept = before ? (answer ? factor.left : factor.right) : split.share;
    double left = 0.0, right = 0.0;
#pragma unroll 1
    for (u32 side = 0; side < 2; ++side) {
      const u32 child = side == 0 ? split.child[0] : split.child[1];
      left = right;
      if (child & kLeafBit) {
        right = values[child & ~kLeafBit];
      } else if constexpr (kLevel + 1 < kLevels) {
        const u64 own = before && answer == (side == 0) ? u64{1} << kLevel : 0;
        right = visit<kLevel + 1>(child, product * (side == 0 ? kept : 1.0 - kept), open | own);
      }
    }
    const double apart = left - right;
    if (before) add(split.slot, ((answer ? 1.0 : 0.0) - split.share) * (factor.gain * product * apart));
    return right + kept * apart;
  }
};

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

extern "C" __global__ void __launch_bounds__(kRowBlock) explain_trees(const Explanation* given) {
  const Explanation& job = *given;
  COMMITTEE_SHARED(double, shared);
  const u32 t = threadIdx.x, n_blocks = gridDim.x / job.n_points, point = blockIdx.x / n_blocks;
  const double weight = job.weights[point];
  double* const partial = job.partial + point * static_cast<Size>(job.n_used * job.partial_stride);
  RowWalk walk{job.splits, job.factors + point * job.n_splits, job.values, job.words, shared + t,
               shared + job.n_used * kRowBlock + t, &job, 0};
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
      if ((root & kLeafBit) == 0) walk.visit<0>(root, weight, 0);
    }
    if constexpr (kInShared) {
      for (u32 slot = 0; slot < job.n_used; ++slot)
        partial[slot * static_cast<Size>(job.partial_stride) + first + t] = walk.sums[slot * kRowBlock];
    }
  }
}

// Adds up the points, in their order.
extern "C" __global__ void __launch_bounds__(256) sum_points(const Explanation* given) {
  const Explanation& job = *given;
  const Size n = static_cast<Size>(job.n_used) * job.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    const Size slot = i / job.n_rows, row = i % job.n_rows;
    double sum = 0.0;
    for (i64 point = 0; point < job.n_points; ++point)
      sum += job.partial[(point * job.n_used + slot) * job.partial_stride + row];
    job.out[(row * job.n_features + job.features[slot]) * job.n_columns + job.column] = sum;
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
