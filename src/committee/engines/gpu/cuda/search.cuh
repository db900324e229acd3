// The best split of a node: a block of 32 x 32 threads takes a group of 32 features, eight bins a thread.
#pragma once
#include "boosting.cuh"

namespace committee::gpu {

constexpr int kSlices = kBlock / kLanes, kPer = kBins / kSlices;

// What a thread has of a histogram: eight bins of one feature. The missing bin, the last one, is apart.
struct Slice {
  i32 g[kPer];
  u32 h[kPer], n[kPer];
  i32 g_before, g_missing;  // sums of the value bins before, and of missing values
  u32 h_before, n_before, h_missing, n_missing;
};

struct SearchSpace {  // shared memory of a block
  i32 g[kSlices][kLanes + 1];
  u32 h[kSlices][kLanes + 1], n[kSlices][kLanes + 1];
  i32 g_missing[kLanes];
  u32 h_missing[kLanes], n_missing[kLanes];
  double gain[kSlices][kLanes + 1];
  Split best[kLanes];
};

// Sums before each slice: thread (warp, lane) has slice `warp` of feature `lane`, and scans as feature `warp`.
template <bool kCounted>
__device__ inline void sum_slices(Slice& own, SearchSpace& space) {
  const u32 lane = lane_of(), warp = warp_of();
  if (warp == kSlices - 1) {
    space.g_missing[lane] = own.g[kPer - 1], space.h_missing[lane] = own.h[kPer - 1];
    own.g[kPer - 1] = 0, own.h[kPer - 1] = 0;
    if constexpr (kCounted) space.n_missing[lane] = own.n[kPer - 1], own.n[kPer - 1] = 0;
  }
  i32 g = 0;
  u32 h = 0, n = 0;
  for (int b = 0; b < kPer; ++b) {
    g += own.g[b], h += own.h[b];
    if constexpr (kCounted) n += own.n[b];
  }
  space.g[warp][lane] = g, space.h[warp][lane] = h;
  if constexpr (kCounted) space.n[warp][lane] = n;
  __syncthreads();
  const auto scan = [&](auto& sums) {  // in place, exclusive
    const auto slice = sums[lane][warp];
    auto sum = slice;
    for (u32 d = 1; d < kLanes; d *= 2) {
      const auto other = __shfl_up_sync(kAll, sum, d);
      if (lane >= d) sum += other;
    }
    sums[lane][warp] = sum - slice;
  };
  scan(space.g);
  scan(space.h);
  if constexpr (kCounted) scan(space.n);
  __syncthreads();
  own.g_before = space.g[warp][lane], own.h_before = space.h[warp][lane];
  own.g_missing = space.g_missing[lane], own.h_missing = space.h_missing[lane];
  if constexpr (kCounted) own.n_before = space.n[warp][lane], own.n_missing = space.n_missing[lane];
}

// The best split of a thread's bins, without its feature.
struct BestOfSlice {
  double gain = 0.0;
  i32 left_g = 0;
  u32 left_h = 0, place = 0;
};

// What splits of a node are judged by. Sums of hessians are below 2^30.
template <bool kCounted>
struct Judge {
  __device__ Judge(const Fit& fit, const TreeNode& node) {
    const TreeState& state = *fit.state;
    const double hessian = node.h, l2 = fit.reg_lambda / state.hessian_unit;
    balance = SplitBalance::make(static_cast<double>(node.g), hessian, l2, l2);
    unit = find_gain_unit(state.gradient_unit, state.hessian_unit);
    gamma = fit.gamma;
    i64 fewest = find_least_hessian(fit.min_child_weight, state.hessian_unit);
    const i64 for_rows = find_least_for_rows(fit.min_leaf, hessian, node.count);
    if (!kCounted && for_rows > fewest) fewest = for_rows;
    least = fewest < 0x7FFFFFFF ? static_cast<u32>(fewest) : 0x7FFFFFFFu;
    whole = node.h, n_rows = node.count, min_leaf = fit.min_leaf;
  }
  // Takes the split into `best` if it is allowed and better. Places come in ascending order on each side.
  __device__ void offer(i32 g, u32 h, u32 n, u32 place, BestOfSlice& best) const {
    if (h < least || whole < h + least) return;
    if (kCounted && (n < min_leaf || n_rows - n < min_leaf)) return;
    const double gain = unit * balance.gain(static_cast<double>(g), static_cast<double>(h)) - gamma;
    if (gain > best.gain || (gain == best.gain && gain > 0.0 && (place & 511) < (best.place & 511)))
      best.gain = gain, best.left_g = g, best.left_h = h, best.place = place;
  }
  SplitBalance balance;
  double unit, gamma;
  u32 least, whole, n_rows, min_leaf;
};

// The best split of this thread's bins.
template <bool kCounted>
__device__ inline BestOfSlice search_slice(const Fit& fit, const Judge<kCounted>& judge, const Slice& own, u32 group) {
  BestOfSlice best;
  const u32 feature = group * kLanes + lane_of();
  if (feature >= fit.n_features) return best;
  const bool missing = own.g_missing != 0 || own.h_missing != 0 || (kCounted && own.n_missing > 0);
  const u32 n_bins = fit.n_bins[feature], first = warp_of() * kPer, mark = missing ? kHasMissing : 0;
  i32 g = own.g_before;
  u32 h = own.h_before, n = kCounted ? own.n_before : 0;
  for (int b = 0; b < kPer; ++b) {
    const u32 bin = first + b;
    // An empty bin splits as the one before it does.
    if (bin > 0 && own.g[b] == 0 && own.h[b] == 0 && !(kCounted && own.n[b] > 0)) continue;
    g += own.g[b], h += own.h[b];
    if constexpr (kCounted) n += own.n[b];
    // Missing values right (all values left is a split then), and again with them left.
    if (bin + (missing ? 0 : 1) < n_bins) judge.offer(g, h, n, bin | mark, best);
    if (missing && bin + 1 < n_bins)
      judge.offer(g + own.g_missing, h + own.h_missing, kCounted ? n + own.n_missing : 0, bin | mark | kMissingLeft,
                  best);
  }
  return best;
}

__device__ inline Split best_of_warp(Split own) {
  for (u32 d = kLanes / 2; d > 0; d /= 2) {
    Split other;
    other.gain = __shfl_xor_sync(kAll, own.gain, d);
    other.left_g = __shfl_xor_sync(kAll, own.left_g, d);
    other.left_h = __shfl_xor_sync(kAll, own.left_h, d);
    other.feature = __shfl_xor_sync(kAll, own.feature, d);
    other.place = __shfl_xor_sync(kAll, own.place, d);
    other.counted = __shfl_xor_sync(kAll, own.counted, d);
    if (other.beats(own)) own = other;
  }
  return own;
}

// The best split of feature `warp` of the group, in every lane of that warp. Uses the sums' space.
__device__ inline Split best_of_features(const BestOfSlice& own, SearchSpace& space) {
  const u32 lane = lane_of(), warp = warp_of();
  __syncthreads();
  space.gain[warp][lane] = own.gain, space.h[warp][lane] = own.place;
  space.g[warp][lane] = own.left_g, space.n[warp][lane] = own.left_h;
  __syncthreads();
  Split found = no_split();
  if (space.gain[lane][warp] > 0.0) {
    found.gain = space.gain[lane][warp], found.place = space.h[lane][warp];
    found.left_g = space.g[lane][warp], found.left_h = space.n[lane][warp];
    found.feature = warp;
  }
  return best_of_warp(found);
}

__device__ inline Slice read_slice(const u32* cells) {
  Slice own{};
  for (int b = 0; b < kPer; ++b) {
    const u32 at = (warp_of() * kPer + b) * kLanes + lane_of();
    own.g[b] = cells[at], own.h[b] = cells[kCells + at];
  }
  return own;
}

// Of a node that is a child, or the root: `rest` and `whole` if it is the parent less its sibling.
__device__ inline void search_node(const Fit& fit, i32 id, u32 group, const u32* whole, const u32* rest,
                                   SearchSpace& space, Split* out) {
  const TreeNode& node = fit.nodes[id];
  u32* cells = fit.histogram(id, group);
  Slice own;
  if (whole) {
    own = read_slice(whole);
    const Slice less = read_slice(rest);
    for (int b = 0; b < kPer; ++b) {
      const u32 at = (warp_of() * kPer + b) * kLanes + lane_of();
      cells[at] = own.g[b] -= less.g[b];
      cells[kCells + at] = own.h[b] -= less.h[b];
    }
  } else {
    own = read_slice(cells);
  }
  __syncthreads();
  sum_slices<false>(own, space);
  Split found = best_of_features(search_slice(fit, Judge<false>(fit, node), own, group), space);
  if (lane_of() == 0) space.best[warp_of()] = found;
  __syncthreads();
  if (warp_of() == 0) {
    found = best_of_warp(space.best[lane_of()]);
    if (lane_of() == 0) {
      if (found.gain > 0.0) found.feature += group * kLanes;
      *out = found;
    }
  }
  __syncthreads();
}

// Of a node whose rows were counted: the best split of each feature as estimated, and by counts.
__device__ inline void search_counted(const Fit& fit, const Candidate& candidate, u32 group, SearchSpace& space) {
  const TreeNode& node = fit.nodes[candidate.node];
  Slice own = read_slice(fit.histogram(candidate.node, group));
  const u32* counts = fit.counts + (candidate.slot * static_cast<Size>(fit.n_groups) + group) * kCells;
  for (int b = 0; b < kPer; ++b) own.n[b] = counts[(warp_of() * kPer + b) * kLanes + lane_of()];
  __syncthreads();
  sum_slices<true>(own, space);
  const u32 feature = group * kLanes + warp_of();
  const auto keep = [&](Split found, u32 counted) {
    if (lane_of() != 0 || feature >= fit.n_features) return;
    if (found.gain > 0.0) found.feature = feature;
    found.counted = counted;
    fit.recounts[(candidate.slot * Size{2} + counted) * fit.n_features + feature] = found;
  };
  keep(best_of_features(search_slice(fit, Judge<false>(fit, node), own, group), space), 0);
  keep(best_of_features(search_slice(fit, Judge<true>(fit, node), own, group), space), 1);
  __syncthreads();
}

}  // namespace committee::gpu

// A block for each (group, child), and for each (group, node whose rows were counted).
extern "C" __global__ void __launch_bounds__(kBlock) search_splits(const Fit* given, int root) {
  __shared__ SearchSpace space;
  const Fit& fit = *given;
  const u32 n_tasks = root ? 1 : 2 * fit.state->n_candidates, n_groups = fit.n_groups;
  for (u32 work = blockIdx.x; work < n_tasks * n_groups; work += gridDim.x) {
    const u32 task = work / n_groups, group = work % n_groups;
    Split* out = fit.found + static_cast<Size>(task) * n_groups + group;
    if (root) {
      search_node(fit, 0, group, nullptr, nullptr, space, out);
      continue;
    }
    const Candidate& candidate = fit.candidates[task / 2];
    const TreeNode& parent = fit.nodes[candidate.node];
    const i32 id = parent.left + static_cast<i32>(task % 2);
    if (candidate.state == kSplits) {
      if (!fit.nodes[id].searched) continue;
      const i32 built = parent.left + (2 * parent.best.left_h <= parent.h ? 0 : 1);
      const bool own = id == built;
      search_node(fit, id, group, own ? nullptr : fit.histogram(candidate.node, group),
                  own ? nullptr : fit.histogram(built, group), space, out);
    } else if (candidate.state == kCounts && task % 2 == 0) {
      search_counted(fit, candidate, group, space);
    }
  }
}
