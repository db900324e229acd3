// Which features a node may look at: drawn for the tree, for its depth and for itself, and those that constraints allow
// beside the ones above it.
#pragma once
#include "rows.cuh"

namespace committee::gpu {

// Draws a share of n features to the front of the list; returns how many they are.
__device__ inline u32 draw_share(u32* features, u32 n, double share, Rng rng) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number
  const double rounded = (share * static_cast<double>(n) + kShift) - kShift;
  const u32 wanted = rounded > 1.0 ? static_cast<u32>(rounded) : 1;
  if (share >= 1.0 || wanted >= n) return n;
  for (u32 k = 0; k < wanted; ++k) {
    const u32 other = k + rng.below(n - k), kept = features[k];
    features[k] = features[other];
    features[other] = kept;
  }
  return wanted;
}

__device__ inline void set_mask(u32* mask, u32 n_groups, const u32* features, u32 n) {
  for (u32 group = 0; group < n_groups; ++group) mask[group] = 0;
  for (u32 k = 0; k < n; ++k) mask[features[k] / kLanes] |= 1u << (features[k] % kLanes);
}

// The features of a mask, ascending; returns how many.
__device__ inline u32 list_mask(const u32* mask, u32 n_features, u32* features) {
  u32 n = 0;
  for (u32 f = 0; f < n_features; ++f)
    if ((mask[f / kLanes] >> (f % kLanes)) & 1u) features[n++] = f;
  return n;
}

// Takes features out of a node's mask of which no open group knows.
__device__ inline void close_groups(const Fit& fit, i32 id, u32* mask) {
  const u64* const open = fit.open_groups + id * static_cast<Size>(fit.n_sets);
  for (u32 f = 0; f < fit.n_features; ++f) {
    bool allowed = false;
    for (i64 k = 0; k < fit.n_sets; ++k)
      allowed = allowed || (open[k] & fit.feature_groups[f * static_cast<Size>(fit.n_sets) + k]) != 0;
    if (!allowed) mask[f / kLanes] &= ~(1u << (f % kLanes));
  }
}

}  // namespace committee::gpu

// The features of the tree, and of each depth. One block.
extern "C" __global__ void __launch_bounds__(kBlock) draw_lists(const Fit* __restrict__ given) {
  const Fit& fit = *given;
  const u32 n = fit.n_features, n_groups = fit.n_groups;
  const u64 seed = fit.seed, tree = fit.orders[fit.state->number].tree;
  u32* const all = fit.lists;
  if (threadIdx.x == 0) {
    for (u32 f = 0; f < n; ++f) all[1 + f] = f;
    const u32 drawn = draw_share(all + 1, n, fit.colsample_tree, Rng(combine_keys(seed, 0), tree, 0, Purpose::column));
    set_mask(fit.list_masks, n_groups, all + 1, drawn);
    all[0] = list_mask(fit.list_masks, n, all + 1);
  }
  __syncthreads();
  for (i64 depth = 1 + threadIdx.x; depth <= fit.list_depth; depth += kBlock) {
    u32* const own = fit.lists + depth * (static_cast<Size>(n) + 1);
    u32* const mask = fit.list_masks + depth * static_cast<Size>(n_groups);
    for (u32 k = 0; k < all[0]; ++k) own[1 + k] = all[1 + k];
    const u32 drawn =
        draw_share(own + 1, all[0], fit.colsample_level, Rng(combine_keys(seed, depth), tree, 0, Purpose::column));
    set_mask(mask, n_groups, own + 1, drawn);
    own[0] = list_mask(mask, n, own + 1);
  }
}

// The masks of the root, or of the children that were made; a thread each.
extern "C" __global__ void __launch_bounds__(32) choose_features(const Fit* __restrict__ given, int root) {
  const Fit& fit = *given;
  const u32 n_tasks = root ? 1 : 2 * fit.state->n_candidates, n = fit.n_features, n_groups = fit.n_groups;
  const u64 tree = fit.orders[fit.state->number].tree;
  for (u32 task = blockIdx.x * 32 + threadIdx.x; task < n_tasks; task += gridDim.x * 32) {
    i32 id = 0;
    if (!root) {
      const Candidate& candidate = fit.candidates[task / 2];
      if (candidate.state != kSplits) continue;
      const TreeNode& parent = fit.nodes[candidate.node];
      id = parent.left + static_cast<i32>(task % 2);
      for (i64 k = 0; k < fit.n_sets; ++k)
        fit.open_groups[id * static_cast<Size>(fit.n_sets) + k] =
            fit.open_groups[candidate.node * static_cast<Size>(fit.n_sets) + k] &
            fit.feature_groups[parent.best.feature * static_cast<Size>(fit.n_sets) + k];
    }
    const TreeNode& node = fit.nodes[id];
    const i64 depth = fit.colsample_level < 1.0 ? node.depth + 1 : 0;
    const u32* const list = fit.lists + depth * (static_cast<Size>(n) + 1);
    u32* const mask = fit.masks + id * static_cast<Size>(n_groups);
    if (fit.colsample_node < 1.0) {
      u32* const drawn = fit.drawn + task * static_cast<Size>(n);
      for (u32 k = 0; k < list[0]; ++k) drawn[k] = list[1 + k];
      const u32 n_drawn = draw_share(drawn, list[0], fit.colsample_node,
                                     Rng(combine_keys(fit.seed, 0), tree, node.key, Purpose::column));
      set_mask(mask, n_groups, drawn, n_drawn);
    } else {
      for (u32 k = 0; k < n_groups; ++k) mask[k] = fit.list_masks[depth * static_cast<Size>(n_groups) + k];
    }
    if (fit.n_sets > 0) close_groups(fit, id, mask);
  }
}
