// Path-dependent Shapley values of trees, by the quadrature of the core (cpp/src/explain/shap.cpp): a thread has a row and
// some points of the quadrature, which have the row's decisions and sums in common. All threads of a block walk the same
// splits, one tree after the other, in the order in which they lie in memory; trees that are not too large lie in shared
// memory. It is a loop, not a recursion: functions for each level would not fit into the cache of instructions. What
// levels need lies in memory of the thread: few paths come to the deepest levels, so that most of it is in the cache.
#include "device.cuh"

#if !defined(COMMITTEE_ROW_BLOCK)
#define COMMITTEE_ROW_BLOCK 128
#endif
#if !defined(COMMITTEE_STAGED)
#define COMMITTEE_STAGED 1
#endif
#if !defined(COMMITTEE_SHARED_ROWS)
#define COMMITTEE_SHARED_ROWS 1
#endif

namespace committee::gpu {

constexpr int kRowBlock = COMMITTEE_ROW_BLOCK;     // rows, and threads, of a block
constexpr bool kInShared = COMMITTEE_SHARED_ROWS;  // values of the rows and sums, which are many where features are
constexpr bool kStaged = COMMITTEE_STAGED;         // splits of the tree at hand are in shared memory
constexpr u32 kLeafBit = 1u << 31;
// Of PointSplit::rule: flags, the level of the last split on the same feature, words of its set of levels.
constexpr u32 kMissingLeftBit = 1, kCategoryBit = 2, kAgainBit = 4, kIsRightBit = 8, kAboveShift = 4, kAboveMask = 63,
              kWordsShift = 10;
#if defined(COMMITTEE_DEEP)
using LevelBits = u64;
#else
using LevelBits = u32;
#endif
constexpr int kLevels = 8 * sizeof(LevelBits);

// A number for each point.
template <int kPoints>
struct Values {
  double at[kPoints];
};

// A split at some points of the quadrature. What is kept of the product by a row that goes left, and by one that goes
// right; what gains of a feature that was asked before are multiplied by; the share of the training weight that goes left.
template <int kPoints>
struct alignas(16) PointSplit {
  Values<kPoints> left, right, gain;
  double share, threshold;
  u32 child[2], back, slot, rule, first_word;  // back: how far before it the split above lies
  __device__ bool has(u32 bit) const { return (rule & bit) != 0; }
  __device__ bool is_leaf(int side) const { return (child[side] & kLeafBit) != 0; }
};

// 8 bytes a field; pointers are to device memory.
struct Explanation {
  const void* x;  // [row][feature]
  const void* splits;        // [pass][split], those of the first pass before `first_split` are elsewhere
  const u32* roots;          // of the trees that add to the column
  const u32* sizes;          // their numbers of splits
  const u32* leaves;         // their first leaves
  const double* values;      // [leaf], of the column; splits count leaves from the first one of their tree
  const u32* features;       // that are used
  const u32* words;          // of sets of levels
  const double* weights;     // of the points of each pass
  double* partial;           // [pass][used feature][partial_stride]
  double* out;               // [row][feature][column]
  const u32* outputs;        // numbers of classes whose values add up to zero

  i64 n_rows, n_features, n_used, n_passes, first_split, n_splits, n_staged, n_trees, n_columns,
      column, partial_stride, double_x, n_outputs;

  __device__ double read(Size row, u32 feature) const {
    const Size at = row * n_features + feature;
    return double_x ? static_cast<const double*>(x)[at] : static_cast<double>(static_cast<const float*>(x)[at]);
  }
};

struct alignas(16) FourWords {
  u32 words[4];
};

// One row at some points.
template <int kPoints>
struct RowWalk {
  using Split = PointSplit<kPoints>;
  using Sums = Values<kPoints>;
  const Split* splits;
  const double* values;
  const u32* words;
  double* sums;      // of the used features, `sum_stride` apart
  Sums* products;    // of each level above
  Sums* lefts;       // below left sides whose right sides are walked
  const float* narrow_x;  // of the used features, where they are in shared memory
  const double* wide_x;
  const Explanation* job;
  Size row, sum_stride;
  // A bit for each level: whether the row goes left; whether it has gone the path's way at the splits on the same feature
  // above; whether it does so including this one.
  LevelBits answers, befores, open;

  __device__ double read(u32 slot) const {
    if constexpr (!kInShared) return job->read(row, job->features[slot]);
    return wide_x ? wide_x[slot * kRowBlock] : static_cast<double>(narrow_x[slot * kRowBlock]);
  }
  __device__ bool goes_left(const Split& split) const {
    const double own = read(split.slot);
    if (own != own) return split.has(kMissingLeftBit);
    if (!split.has(kCategoryBit)) return own <= split.threshold;
    if (!(own >= 0.0 && own < 32.0 * static_cast<double>(split.rule >> kWordsShift))) return false;
    const u32 code = static_cast<u32>(own);
    return ((words[split.first_word + code / 32] >> (code % 32)) & 1u) != 0;
  }
  __device__ static void set_bit(LevelBits& bits, u32 level, bool value) {
    bits = (bits & ~(LevelBits{1} << level)) | (static_cast<LevelBits>(value ? 1 : 0) << level);
  }
  __device__ static bool has_bit(LevelBits bits, u32 level) { return ((bits >> level) & 1u) != 0; }
  // The part of the product that the left side of a split keeps.
  __device__ double find_kept(const Split& split, u32 level, int point) const {
    const double known = has_bit(answers, level) ? split.left.at[point] : split.right.at[point];
    return has_bit(befores, level) ? known : split.share;
  }
  __device__ Sums value_of(const Split& split, int side) const {
    Sums all;
    for (int k = 0; k < kPoints; ++k) all.at[k] = values[split.child[side] & ~kLeafBit];
    return all;
  }
  // To a side of a split that is no leaf; returns the products below.
  __device__ Sums descend(const Split& split, u32 level, bool to_right, Sums product) {
    for (int k = 0; k < kPoints; ++k) {
      const double kept = find_kept(split, level, k);
      product.at[k] *= to_right ? 1.0 - kept : kept;
    }
    set_bit(open, level, has_bit(befores, level) && has_bit(answers, level) != to_right);
    return product;
  }
  // Both sides of a split are known: its gain goes to its feature. Returns the sums over the leaves below of their values
  // times the factors from there down. Without a branch, since each would wait for what it reads.
  __device__ Sums close(const Split& split, u32 level, const Sums& product, const Sums& left,
                          const Sums& right) {
    double* const sum = sums + split.slot * sum_stride;
    const double before = *sum, answer = (has_bit(answers, level) ? 1.0 : 0.0) - split.share;
    double gained = 0.0;
    Sums below;
    for (int k = 0; k < kPoints; ++k) {
      const double apart = left.at[k] - right.at[k];
      gained = fma(split.gain.at[k] * product.at[k], apart, gained);
      below.at[k] = fma(find_kept(split, level, k), apart, right.at[k]);
    }
    *sum = fma(has_bit(befores, level) ? answer : 0.0, gained, before);
    return below;
  }

  // All splits of a tree, whose first one is `number`. They are entered in the order of their numbers: the next one is
  // read while one is worked on.
  __device__ void walk(u32 number, Sums product) {
    u32 level = 0, n_lefts = 0, entered = number;
    Split split = splits[number];
    for (;;) {
      const Split next = splits[entered + 1];
      set_bit(answers, level, goes_left(split));
      const u32 above = (split.rule >> kAboveShift) & kAboveMask;
      set_bit(befores, level, !split.has(kAgainBit) || has_bit(open, above));
      if (!split.is_leaf(0) || !split.is_leaf(1)) {
        products[level] = product;
        product = descend(split, level, split.is_leaf(0), product);
      } else {
        Sums below = close(split, level, product, value_of(split, 0), value_of(split, 1));
        for (;;) {
          if (level == 0) return;
          const bool is_right = split.has(kIsRightBit);
          number -= split.back;
          level -= 1;
          split = splits[number];
          product = products[level];
          if (!is_right && !split.is_leaf(1)) {
            lefts[n_lefts] = below;
            n_lefts += 1;
            product = descend(split, level, true, product);
            break;
          }
          Sums left = below, right = below;
          if (!is_right) {
            right = value_of(split, 1);
          } else if (split.is_leaf(0)) {
            left = value_of(split, 0);
          } else {
            n_lefts -= 1;
            left = lefts[n_lefts];
          }
          below = close(split, level, product, left, right);
        }
      }
      level += 1;
      entered += 1;
      number = entered;
      split = next;
    }
  }
};

// All trees of a job, a row a thread.
template <int kPoints>
__device__ inline void explain_rows(const Explanation& job, double* shared) {
  using Split = PointSplit<kPoints>;
  const u32 t = threadIdx.x, n_blocks = gridDim.x / job.n_passes, pass = blockIdx.x / n_blocks;
  Values<kPoints> weights;
  for (int k = 0; k < kPoints; ++k) weights.at[k] = job.weights[pass * kPoints + k];
  double* const partial = job.partial + pass * static_cast<Size>(job.n_used * job.partial_stride);
  FourWords* const stage = reinterpret_cast<FourWords*>(shared);  // of n_staged splits and their leaves
  double* const stage_values = shared + job.n_staged * (sizeof(Split) / 8);
  double* const sums = stage_values + (kStaged ? job.n_staged + 1 : 0);
  double* const x = sums + job.n_used * kRowBlock;
  RowWalk<kPoints> walk{};
  const Split* const splits = static_cast<const Split*>(job.splits) + (static_cast<i64>(pass) * job.n_splits - job.first_split);
  walk.splits = kStaged ? reinterpret_cast<const Split*>(stage) : splits;
  walk.words = job.words, walk.job = &job;
  Values<kPoints> products[kLevels], lefts[kLevels];
  walk.products = products, walk.lefts = lefts;
  walk.sums = sums + t, walk.sum_stride = kInShared ? kRowBlock : job.partial_stride;
  float* const narrow = reinterpret_cast<float*>(x);
  walk.narrow_x = narrow + t, walk.wide_x = job.double_x ? x + t : nullptr;
  for (Size first = (blockIdx.x % n_blocks) * Size{kRowBlock}; first < static_cast<Size>(job.n_rows);
       first += n_blocks * Size{kRowBlock}) {
    const Size row = first + t < static_cast<Size>(job.n_rows) ? first + t : job.n_rows - 1;
    walk.row = row;
    if constexpr (!kInShared) walk.sums = partial + first + t;  // the stride has room for whole blocks
    for (u32 slot = 0; slot < job.n_used; ++slot) {
      walk.sums[slot * walk.sum_stride] = 0.0;
      if constexpr (kInShared) {
        const double own = job.read(row, job.features[slot]);
        if (job.double_x) {
          x[slot * kRowBlock + t] = own;
        } else {
          narrow[slot * kRowBlock + t] = static_cast<float>(own);
        }
      }
    }
    for (i64 tree = 0; tree < job.n_trees; ++tree) {
      const u32 root = job.roots[tree];
      const double* const values = job.values + job.leaves[tree];
      walk.values = kStaged ? stage_values : values;
      if constexpr (kStaged) {
        constexpr u32 kParts = sizeof(Split) / sizeof(FourWords);
        const FourWords* const from = reinterpret_cast<const FourWords*>(splits + root);
        const u32 n_parts = kParts * job.sizes[tree], n_leaves = job.sizes[tree] + 1;
        __syncthreads();
        for (u32 i = t; i < n_parts; i += kRowBlock) stage[i] = from[i];
        for (u32 i = t; i < n_leaves; i += kRowBlock) stage_values[i] = values[i];
        __syncthreads();
      }
      walk.walk(kStaged ? 0 : root, weights);
    }
    if constexpr (kInShared) {
      for (u32 slot = 0; slot < job.n_used; ++slot)
        partial[slot * static_cast<Size>(job.partial_stride) + first + t] = walk.sums[slot * kRowBlock];
    }
  }
}

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

extern "C" __global__ void __launch_bounds__(kRowBlock) explain_at_1(const Explanation* __restrict__ given) {
  COMMITTEE_SHARED(double, shared);
  explain_rows<1>(*given, shared);
}
extern "C" __global__ void __launch_bounds__(kRowBlock) explain_at_2(const Explanation* __restrict__ given) {
  COMMITTEE_SHARED(double, shared);
  explain_rows<2>(*given, shared);
}
extern "C" __global__ void __launch_bounds__(kRowBlock) explain_at_3(const Explanation* __restrict__ given) {
  COMMITTEE_SHARED(double, shared);
  explain_rows<3>(*given, shared);
}
extern "C" __global__ void __launch_bounds__(kRowBlock) explain_at_4(const Explanation* __restrict__ given) {
  COMMITTEE_SHARED(double, shared);
  explain_rows<4>(*given, shared);
}

// Adds up the passes, in their order, to the values.
extern "C" __global__ void __launch_bounds__(256) sum_points(const Explanation* __restrict__ given) {
  const Explanation& job = *given;
  const Size n = static_cast<Size>(job.n_used) * job.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    const Size slot = i / job.n_rows, row = i % job.n_rows;
    double sum = 0.0;
    for (i64 pass = 0; pass < job.n_passes; ++pass)
      sum += job.partial[(pass * job.n_used + slot) * job.partial_stride + row];
    job.out[(row * job.n_features + job.features[slot]) * job.n_columns + job.column] += sum;
  }
}

// The last class of each output: what is missing to zero.
extern "C" __global__ void __launch_bounds__(256) complete_classes(const Explanation* __restrict__ given) {
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
  if (threadIdx.x != 0) return;
  sizes[0] = sizeof(Explanation);
  sizes[1] = sizeof(PointSplit<1>), sizes[2] = sizeof(PointSplit<2>);
  sizes[3] = sizeof(PointSplit<3>), sizes[4] = sizeof(PointSplit<4>);
}
