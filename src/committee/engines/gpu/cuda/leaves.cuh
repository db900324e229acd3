// What becomes of a tree: sums and values of its leaves, and their way into the scores.
#pragma once
#include "gradients.cuh"
#include "rows.cuh"

namespace committee::gpu {

constexpr int kLeafThreads = 512;
constexpr u32 kSharedNodes = 1024;  // of a tree whose sums fit into shared memory

// `codes` are those of the tree's first node.
__device__ inline u32 find_leaf(const Fit& fit, const FinalNode* tree, const u32* codes, u32 row) {
  u32 at = 0;
  while (tree[at].left >= 0) {
    const u32 feature = tree[at].feature;
    const u32 bin = fit.record(feature / kLanes, row)[feature % kLanes];
    const u32* own = kOptions ? codes + at * static_cast<Size>(fit.n_words) : nullptr;
    at = tree[at].left + (goes_left(fit, row, bin, feature, tree[at].place, own) ? 0 : 1);
  }
  return at;
}

// The tree at hand.
struct TreeView {
  __device__ explicit TreeView(const Fit& fit)
      : nodes(fit.trees + fit.state->number * static_cast<Size>(fit.max_final)),
        codes(kOptions ? fit.tree_codes + fit.state->number * static_cast<Size>(fit.max_final) * fit.n_words
                       : nullptr) {}
  FinalNode* nodes;
  const u32* codes;
};

// A node of a tree that rows walk down, in shared memory: the feature, and its left child beside the split's place;
// no child: a leaf.
struct WalkNode {
  u32 feature, rule;
  static constexpr int kPlaceBits = 11;
  __device__ static WalkNode make(const FinalNode& node) {
    const u32 left = node.left < 0 ? 0 : static_cast<u32>(node.left);
    return {node.feature, left << kPlaceBits | (node.place & ((1u << kPlaceBits) - 1))};
  }
};

// Bins of a block's rows in shared memory, four of a row in a word: whatever features the threads look at, each has a
// bank of its own. Only of tables that have one record a row.
struct RecordWords {
  u32 words[kLanes / 4][kLeafThreads];
  __device__ void read(const Fit& fit, u32 row) {
    const FourWords* const from = reinterpret_cast<const FourWords*>(fit.record(0, row));
    const FourWords halves[2] = {from[0], from[1]};
#pragma unroll
    for (int k = 0; k < kLanes / 4; ++k) words[k][threadIdx.x] = halves[k / 4].words[k % 4];
  }
  __device__ u32 bin(u32 feature) const { return (words[feature / 4][threadIdx.x] >> (8 * (feature % 4))) & 255u; }
};

// `codes` are those of the tree's first node, `find_bin` gives the row's bin of a feature.
template <class FindBin>
__device__ inline u32 walk_down(const Fit& fit, const WalkNode* nodes, const u32* codes, u32 row, FindBin&& find_bin) {
  u32 at = 0;
  for (;;) {
    const WalkNode node = nodes[at];
    const u32 left = node.rule >> WalkNode::kPlaceBits;
    if (left == 0) return at;
    const u32* own = kOptions ? codes + at * static_cast<Size>(fit.n_words) : nullptr;
    at = left + (goes_left(fit, row, find_bin(node.feature), node.feature, node.rule, own) ? 0 : 1);
  }
}

}  // namespace committee::gpu

// Rows walk down the tree; exact sums of the fixed gradients over the rows of each leaf. A block takes `n_own` rows at a
// time, at most 32,768, which halves of 15 bits leave room for in 32.
extern "C" __global__ void __launch_bounds__(kLeafThreads, 3)
    sum_leaves(const Fit* __restrict__ given, int score, u32 n_own) {
  const Fit& fit = *given;
  const TreeView tree(fit);
  __shared__ u32 parts[4][kSharedNodes], counts[kSharedNodes];
  __shared__ WalkNode nodes[kSharedNodes];
  __shared__ RecordWords records;
  const u32 n_nodes = fit.state->n_final;
  const bool in_shared = n_nodes <= kSharedNodes, summed = in_shared && !fit.weights, narrow = fit.n_groups == 1;
  const Size n = fit.n_items;
  const FixedPairs pairs(fit, score);
  if (in_shared)
    for (u32 i = threadIdx.x; i < n_nodes; i += kLeafThreads) nodes[i] = WalkNode::make(tree.nodes[i]);
  for (Size begin = blockIdx.x * static_cast<Size>(n_own); begin < n; begin += gridDim.x * static_cast<Size>(n_own)) {
    const Size end = n - begin < n_own ? n : begin + n_own;
    if (summed) {
      for (u32 i = threadIdx.x; i < n_nodes; i += kLeafThreads) {
        for (int part = 0; part < 4; ++part) parts[part][i] = 0;
        counts[i] = 0;
      }
    }
    __syncthreads();
    for (Size i = begin + threadIdx.x; i < end; i += kLeafThreads) {
      const u32 row = fit.present ? fit.present[i] : static_cast<u32>(i);
      if (in_shared && narrow) records.read(fit, row);
      const FixedGradientPair pair = pairs.read(row);
      u32 leaf;
      if (!in_shared) {
        leaf = find_leaf(fit, tree.nodes, tree.codes, row);
      } else if (narrow) {
        leaf = walk_down(fit, nodes, tree.codes, row, [&](u32 feature) { return records.bin(feature); });
      } else {
        leaf = walk_down(fit, nodes, tree.codes, row, [&](u32 feature) {
          return static_cast<u32>(fit.record(feature / kLanes, row)[feature % kLanes]);
        });
      }
      fit.leaves[row] = leaf;
      if (summed) {  // in halves, so that 32 bits hold all rows of the block
        atomicAdd(&parts[0][leaf], static_cast<u32>(pair.gradient >> 15));
        atomicAdd(&parts[1][leaf], static_cast<u32>(pair.gradient) & 0x7FFFu);
        atomicAdd(&parts[2][leaf], static_cast<u32>(pair.hessian >> 15));
        atomicAdd(&parts[3][leaf], static_cast<u32>(pair.hessian) & 0x7FFFu);
        atomicAdd(&counts[leaf], 1u);
      } else {
        const i64 weight = fit.weights ? fit.weights[row] : 1;
        atomicAdd(fit.sums + 4 * leaf, static_cast<Size>(weight * pair.gradient));
        atomicAdd(fit.sums + 4 * leaf + 1, static_cast<Size>(weight * pair.hessian));
        atomicAdd(fit.sums + 4 * leaf + 2, static_cast<Size>(weight));
        atomicAdd(fit.sums + 4 * leaf + 3, Size{1});
      }
    }
    __syncthreads();
    if (!summed) continue;
    for (u32 i = threadIdx.x; i < n_nodes; i += kLeafThreads) {
      if (counts[i] == 0) continue;
      const i64 g = static_cast<i64>(static_cast<i32>(parts[0][i])) * 32768 + parts[1][i],
                h = static_cast<i64>(parts[2][i]) * 32768 + parts[3][i];
      atomicAdd(fit.sums + 4 * i, static_cast<Size>(g));
      atomicAdd(fit.sums + 4 * i + 1, static_cast<Size>(h));
      atomicAdd(fit.sums + 4 * i + 2, Size{counts[i]});
      atomicAdd(fit.sums + 4 * i + 3, Size{counts[i]});
    }
    __syncthreads();
  }
}

// Values of the leaves. Long gradients: in steps of their unit, so that these can follow.
extern "C" __global__ void __launch_bounds__(kBlock) set_values(const Fit* __restrict__ given, int score) {
  const Fit& fit = *given;
  __shared__ Size largest;
  FinalNode* tree = TreeView(fit).nodes;
  const double rate = fit.orders[fit.state->number].rate;
  const double g_unit = fit.units[2 * score] * fit.weight_unit, h_unit = fit.units[2 * score + 1] * fit.weight_unit;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  for (i32 i = threadIdx.x; i < fit.state->n_final; i += kBlock) {
    if (tree[i].left >= 0) continue;
    const i64 g = static_cast<i64>(fit.sums[4 * i]), h = static_cast<i64>(fit.sums[4 * i + 1]);
    double value = fit.renewed ? fit.renewed[i]
                               : find_newton_step(fit.limits(), static_cast<double>(g) * g_unit,
                                                  static_cast<double>(h) * h_unit);
    if (kOptions) value = hold_within(value, fit.bounds[2 * i], fit.bounds[2 * i + 1]);
    value = rate * value;
    if constexpr (kLong) {
      constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number
      const double steps = (value / fit.units[0] + kShift) - kShift;
      value = steps * fit.units[0];
      atomicMax(&largest, static_cast<Size>(steps < 0.0 ? -steps : steps));
    }
    tree[i].value = value;
    tree[i].weight = static_cast<i64>(fit.sums[4 * i + 2]);
    for (u32 above = tree[i].count; above != kAll; above = tree[above].count)
      atomicAdd(fit.sums + 4 * above + 2, fit.sums[4 * i + 2]);
    tree[i].count = static_cast<u32>(fit.sums[4 * i + 3]);
  }
  __syncthreads();
  // Where no value was missing, rows that were not there follow the heavier side.
  for (i32 i = threadIdx.x; i < fit.state->n_final; i += kBlock) {
    if (tree[i].left < 0 || (tree[i].place & kHasMissing) != 0) continue;
    if (2 * fit.sums[4 * tree[i].left + 2] > fit.sums[4 * i + 2]) tree[i].place |= kMissingLeft;
  }
  if (kLong && threadIdx.x == 0) fit.state->bound += static_cast<i64>(largest);
}

extern "C" __global__ void __launch_bounds__(256) update_scores(const Fit* __restrict__ given, int score) {
  const Fit& fit = *given;
  const TreeView tree(fit);
  double* scores = fit.scores + score * static_cast<Size>(fit.n_rows);
  const Size first = blockIdx.x * Size{256} + threadIdx.x, step = gridDim.x * Size{256};
  for (Size i = first; i < static_cast<Size>(fit.n_items); i += step) {
    const u32 row = fit.present ? fit.present[i] : static_cast<u32>(i);
    const double value = tree.nodes[fit.leaves[row]].value;
    if constexpr (kLong) {
      if (value == 0.0) continue;
      fit.pairs[row].gradient += static_cast<i32>(value / fit.units[0]);  // a whole number
    }
    scores[row] += value;
  }
  for (Size i = first; i < static_cast<Size>(fit.n_held_out); i += step) {
    const u32 row = fit.held_out[i];
    scores[row] += tree.nodes[find_leaf(fit, tree.nodes, tree.codes, row)].value;
  }
}

// Trees of earlier rounds, times a factor, added to the scores of all rows. Tree t has the nodes from offsets[t] on.
extern "C" __global__ void __launch_bounds__(256)
    add_trees(const Fit* __restrict__ given, const FinalNode* nodes, const u32* codes, const u32* offsets, u32 n_trees,
              u32 first, double factor) {
  const Fit& fit = *given;
  const Size n = fit.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    for (u32 t = 0; t < n_trees; ++t) {
      const FinalNode* tree = nodes + offsets[t];
      const u32* own = kOptions ? codes + offsets[t] * static_cast<Size>(fit.n_words) : nullptr;
      fit.scores[(first + t) % fit.n_scores * n + i] += factor * tree[find_leaf(fit, tree, own, i)].value;
    }
  }
}
