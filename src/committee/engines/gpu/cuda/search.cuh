// The best split of a node: a block of 32 x 32 threads takes a group of 32 features, eight bins a thread.
#pragma once
#include "committee/losses/shape.hpp"
#include "rows.cuh"

namespace committee::gpu {

constexpr int kSlices = kBlock / kLanes, kPer = kBins / kSlices;

// What a thread has of a histogram: eight bins of one feature. The missing bin, the last one, is apart.
struct Slice {
  Sum g[kPer];
  u32 h[kPer], n[kPer], w[kPer];
  Sum g_before, g_missing;  // sums of the value bins before, and of missing values
  u32 h_before, n_before, h_missing, n_missing, w_before, w_missing;
};

struct SearchSpace {  // shared memory of a block
  Sum g[kSlices][kLanes + 1];
  u32 h[kSlices][kLanes + 1], n[kSlices][kLanes + 1], w[kOptions ? kSlices : 1][kLanes + 1];
  Sum g_missing[kLanes];
  u32 h_missing[kLanes], n_missing[kLanes], w_missing[kLanes];
  double gain[kSlices][kLanes + 1];
  Split best[kLanes];
};

// Sums before each slice: thread (warp, lane) has slice `warp` of feature `lane`, and scans as feature `warp`.
template <bool kCounted>
__device__ inline void sum_slices(Slice& own, SearchSpace& space) {
  const u32 lane = lane_of(), warp = warp_of();
  constexpr bool kWeighed = kCounted && kOptions;
  if (warp == kSlices - 1) {
    space.g_missing[lane] = own.g[kPer - 1], space.h_missing[lane] = own.h[kPer - 1];
    own.g[kPer - 1] = 0, own.h[kPer - 1] = 0;
    if constexpr (kCounted) space.n_missing[lane] = own.n[kPer - 1], own.n[kPer - 1] = 0;
    if constexpr (kWeighed) space.w_missing[lane] = own.w[kPer - 1], own.w[kPer - 1] = 0;
  }
  Sum g = 0;
  u32 h = 0, n = 0, w = 0;
  for (int b = 0; b < kPer; ++b) {
    g += own.g[b], h += own.h[b];
    if constexpr (kCounted) n += own.n[b];
    if constexpr (kWeighed) w += own.w[b];
  }
  space.g[warp][lane] = g, space.h[warp][lane] = h;
  if constexpr (kCounted) space.n[warp][lane] = n;
  if constexpr (kWeighed) space.w[warp][lane] = w;
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
  if constexpr (kWeighed) scan(space.w);
  __syncthreads();
  own.g_before = space.g[warp][lane], own.h_before = space.h[warp][lane];
  own.g_missing = space.g_missing[lane], own.h_missing = space.h_missing[lane];
  if constexpr (kCounted) own.n_before = space.n[warp][lane], own.n_missing = space.n_missing[lane];
  if constexpr (kWeighed) own.w_before = space.w[warp][lane], own.w_missing = space.w_missing[lane];
}

// The best split of a thread's bins, without its feature.
struct BestOfSlice {
  double gain = 0.0;
  Sum left_g = 0;
  u32 left_h = 0, place = 0;
};

// The left side of a split.
struct LeftSide {
  Sum g = 0;
  u32 h = 0, n = 0, w = 0;
};

// What splits of a node are judged by. Sums of hessians are below 2^30. `more_l2` is what categories add. With kCounted
// rows can be counted, and are where it `counts`.
template <bool kCounted>
struct Judge {
  __device__ Judge(const Fit& fit, const TreeNode& node, double more_l2 = 0.0, bool counts = true) {
    counted = kCounted && counts;
    const TreeState& state = *fit.state;
    const double hessian = node.h, gradient = static_cast<double>(node.g);
    balance = SplitBalance::make(gradient, hessian, (fit.reg_lambda + more_l2) / state.hessian_unit,
                                 fit.reg_lambda / state.hessian_unit);
    unit = find_gain_unit(state.gradient_unit, state.hessian_unit);
    gamma = fit.gamma;
    i64 fewest = find_least_hessian(fit.min_child_weight, state.hessian_unit);
    const i64 for_rows = find_least_for_rows(fit.min_leaf, hessian, node.count);
    if (!counted && for_rows > fewest) fewest = for_rows;
    least = fewest < 0x7FFFFFFF ? static_cast<u32>(fewest) : 0x7FFFFFFFu;
    whole = node.h, n_rows = node.count, min_leaf = fit.min_leaf;
    if constexpr (!kOptions) return;
    by_values = fit.by_values != 0;
    least_weight = fit.count_weights ? fit.least_weight : 0.0;
    weight = static_cast<u32>(node.weight);
    total_g = node.g, g_unit = state.gradient_unit, h_unit = state.hessian_unit;
    if (!by_values) return;
    limits = fit.limits();
    lower = node.lower, upper = node.upper;
    const double g = gradient * g_unit, h = hessian * h_unit;
    objective = measure_objective(limits, g, h, find_bounded_step(limits, g, h, lower, upper));
  }
  __device__ bool allows(const LeftSide& left) const {
    if (left.h < least || whole < left.h + least) return false;
    if (!kCounted || !counted) return true;
    if (left.n < min_leaf || n_rows - left.n < min_leaf) return false;
    if constexpr (!kOptions) return true;
    const u32 lightest = left.w < weight - left.w ? left.w : weight - left.w;
    return !(least_weight > 0.0) || static_cast<double>(lightest) >= least_weight;
  }
  // What a split takes off the objective, gamma not counted.
  __device__ double measure(const LeftSide& left, i32 direction) const {
    if (kOptions && by_values) return measure_values(left, direction);
    return unit * balance.gain(static_cast<double>(left.g), static_cast<double>(left.h));
  }
  // With the values that its leaves may have; nothing where their order breaks a constraint.
  __device__ double measure_values(const LeftSide& left, i32 direction) const {
    const double gl = static_cast<double>(left.g) * g_unit, hl = static_cast<double>(left.h) * h_unit,
                 gr = static_cast<double>(total_g - left.g) * g_unit,
                 hr = static_cast<double>(whole - left.h) * h_unit;
    const double vl = find_bounded_step(limits, gl, hl, lower, upper),
                 vr = find_bounded_step(limits, gr, hr, lower, upper);
    if (!keep_direction(direction, vl, vr)) return -kNoBound;
    return objective - measure_objective(limits, gl, hl, vl) - measure_objective(limits, gr, hr, vr);
  }
  // Takes the split into `best` if it is allowed and better. Places come in ascending order on each side.
  __device__ void offer(const LeftSide& left, u32 place, i32 direction, BestOfSlice& best) const {
    if (!allows(left)) return;
    const double gain = measure(left, direction) - gamma;
    if (gain > best.gain || (gain == best.gain && gain > 0.0 && (place & 511) < (best.place & 511)))
      best.gain = gain, best.left_g = left.g, best.left_h = left.h, best.place = place;
  }
  SplitBalance balance;
  double unit, gamma;
  u32 least, whole, n_rows, min_leaf;
  bool counted, by_values;
  u32 weight;
  double least_weight, g_unit, h_unit, lower, upper, objective;
  Sum total_g;
  StepLimits limits;
};

// The best split of this thread's bins of a node.
template <bool kCounted>
__device__ inline BestOfSlice search_slice(const Fit& fit, const Judge<kCounted>& judge, const Slice& own, i32 node,
                                           u32 group) {
  BestOfSlice best;
  const u32 feature = group * kLanes + lane_of();
  if (feature >= fit.n_features || !fit.sees(node, feature)) return best;
  if (kOptions && fit.n_categories > 0 && fit.category_of[feature] != kAll) return best;
  const i32 direction = kOptions && fit.by_values ? fit.directions[feature] : 0;
  const bool missing = own.g_missing != 0 || own.h_missing != 0 || (kCounted && judge.counted && own.n_missing > 0);
  const u32 n_bins = fit.n_bins[feature], first = warp_of() * kPer, mark = missing ? kHasMissing : 0;
  LeftSide left{own.g_before, own.h_before, kCounted ? own.n_before : 0, kCounted && kOptions ? own.w_before : 0};
  for (int b = 0; b < kPer; ++b) {
    const u32 bin = first + b;
    // An empty bin splits as the one before it does.
    if (bin > 0 && own.g[b] == 0 && own.h[b] == 0 && !(kCounted && judge.counted && own.n[b] > 0)) continue;
    left.g += own.g[b], left.h += own.h[b];
    if constexpr (kCounted) left.n += own.n[b];
    if constexpr (kCounted && kOptions) left.w += own.w[b];
    // Missing values right (all values left is a split then), and again with them left.
    if (bin + (missing ? 0 : 1) < n_bins) judge.offer(left, bin | mark, direction, best);
    if (missing && bin + 1 < n_bins) {
      LeftSide more{left.g + own.g_missing, left.h + own.h_missing};
      if constexpr (kCounted) more.n = left.n + own.n_missing;
      if constexpr (kCounted && kOptions) more.w = left.w + own.w_missing;
      judge.offer(more, bin | mark | kMissingLeft, direction, best);
    }
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
    own.g[b] = read_sum(cells + at, kCells), own.h[b] = cells[(kPlanes - 1) * kCells + at];
  }
  return own;
}

// Of a node that is a child, or the root: `rest` and `whole` if it is the parent less its sibling.
__device__ inline void search_node(const Fit& fit, i32 id, u32 group, const u32* whole, const u32* rest,
                                   SearchSpace& space, Split* out) {
  const TreeNode& node = fit.nodes[id];
  u32* cells = fit.histogram(id, group);
  Slice own;
  if (whole && !kLong) {
    own = read_slice(whole);
    const Slice less = read_slice(rest);
    for (int b = 0; b < kPer; ++b) {
      const u32 at = (warp_of() * kPer + b) * kLanes + lane_of();
      cells[at] = static_cast<u32>(own.g[b] -= less.g[b]);
      cells[kCells + at] = own.h[b] -= less.h[b];
    }
  } else {
    if (whole) {  // each thread what it reads
      for (int b = 0; b < kPlanes * kPer; ++b) {
        const u32 at = b / kPer * kCells + (warp_of() * kPer + b % kPer) * kLanes + lane_of();
        cells[at] = whole[at] - rest[at];
      }
    }
    own = read_slice(cells);
  }
  __syncthreads();
  sum_slices<false>(own, space);
  Split found = best_of_features(search_slice(fit, Judge<false>(fit, node), own, id, group), space);
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
  const u32* counts = fit.count_cells(candidate.slot, group);
  for (int b = 0; b < kPer; ++b) {
    const u32 at = (warp_of() * kPer + b) * kLanes + lane_of();
    own.n[b] = counts[at];
    if constexpr (kOptions) own.w[b] = fit.count_weights ? counts[kCells + at] : 0;
  }
  __syncthreads();
  sum_slices<true>(own, space);
  const u32 feature = group * kLanes + warp_of();
#pragma unroll 1
  for (u32 counted = 0; counted < 2; ++counted) {
    const Judge<true> judge(fit, node, 0.0, counted != 0);
    Split found = best_of_features(search_slice(fit, judge, own, candidate.node, group), space);
    if (lane_of() != 0 || feature >= fit.n_features) continue;
    if (kOptions && fit.n_categories > 0 && fit.category_of[feature] != kAll) continue;
    if (found.gain > 0.0) found.feature = feature;
    found.counted = counted;
    fit.recounts[(candidate.slot * Size{2} + counted) * fit.n_features + feature] = found;
  }
  __syncthreads();
}

}  // namespace committee::gpu

// A block for each (group, child).
extern "C" __global__ void __launch_bounds__(kBlock) search_splits(const Fit* __restrict__ given, int root) {
  __shared__ SearchSpace space;
  const Fit& fit = *given;
  const u32 n_tasks = root ? 1 : 2 * fit.state->n_candidates, n_groups = fit.n_groups;
  for (u32 work = blockIdx.x; work < n_tasks * n_groups; work += gridDim.x) {
    const u32 task = work / n_groups, group = work % n_groups;
    Split* out = fit.found + static_cast<Size>(task) * fit.n_found() + group;
    i32 id = 0;
    const u32 *whole = nullptr, *rest = nullptr;
    if (!root) {
      const Candidate& candidate = fit.candidates[task / 2];
      const TreeNode& parent = fit.nodes[candidate.node];
      id = parent.left + static_cast<i32>(task % 2);
      if (candidate.state != kSplits || !fit.nodes[id].searched) continue;
      const i32 built = parent.left + (2 * parent.best.left_h <= parent.h ? 0 : 1);
      if (id != built) whole = fit.histogram(candidate.node, group), rest = fit.histogram(built, group);
    }
    // One call, since it is compiled in place: the search is all that there is to compile.
    search_node(fit, id, group, whole, rest, space, out);
  }
}

// A block for each (group, node whose rows were counted).
extern "C" __global__ void __launch_bounds__(kBlock) search_counts(const Fit* __restrict__ given) {
  __shared__ SearchSpace space;
  const Fit& fit = *given;
  const u32 n_groups = fit.n_groups;
  for (u32 work = blockIdx.x; work < fit.state->n_candidates * n_groups; work += gridDim.x) {
    const Candidate& candidate = fit.candidates[work / n_groups];
    if (candidate.state == kCounts) search_counted(fit, candidate, work % n_groups, space);
  }
}
