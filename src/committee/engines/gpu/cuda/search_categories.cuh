// The best split of a node by a category: its levels in the order of their gradients, of which a prefix goes left.
#pragma once
#include "search.cuh"

namespace committee::gpu {

constexpr int kSortThreads = 256;

// The levels of a category in a node. Missing values are the last one.
struct LevelView {
  const u32 *sums, *counts, *weights;  // counts and weights may be null
  Size stride, plane;                  // between levels, and between planes of a sum
  u32 n_levels;
  bool wide;
  __device__ Size at(u32 level) const { return (!wide && level == n_levels ? kMissing : level) * stride; }
  __device__ LeftSide read(u32 level) const {
    const Size place = at(level);
    LeftSide side{read_sum(sums + place, plane), sums[(kPlanes - 1) * plane + place]};
    if (counts) side.n = counts[place];
    if (weights) side.w = weights[place];
    return side;
  }
};

__device__ inline LevelView view_levels(const Fit& fit, i32 node, u32 task, const Candidate* counted, u32 category) {
  const u32 feature = fit.categories[category], wide = fit.wide_of[category];
  LevelView view{};
  view.n_levels = fit.n_bins[feature];
  view.wide = wide != kAll;
  if (view.wide) {
    const Size per_plane = fit.n_levels;
    view.sums = fit.level_sums + task * (kPlanes + 2) * per_plane + fit.wide_offsets[wide];
    view.stride = 1, view.plane = per_plane;
    if (counted) view.counts = view.sums + kPlanes * per_plane;
    if (counted && fit.count_weights) view.weights = view.sums + (kPlanes + 1) * per_plane;
    return view;
  }
  const u32 group = feature / kLanes, lane = feature % kLanes;
  view.sums = fit.histogram(node, group) + lane;
  view.stride = kLanes, view.plane = kCells;
  if (counted) view.counts = fit.count_cells(counted->slot, group) + lane;
  if (counted && fit.count_weights) view.weights = view.counts + kCells;
  return view;
}

// Doubles in the order of their bits.
__device__ inline u64 order_bits(double x) {
  const u64 bits = bits_of(x + 0.0);  // zero has one sign
  return (bits >> 63) != 0 ? ~bits : bits | (u64{1} << 63);
}

// A direction's best prefix; of equal ones the shortest. Without a constructor, since it is in shared memory.
struct BestPrefix {
  double gain;
  Sum g;
  u32 h, length;  // 0: none
  __device__ void offer(const BestPrefix& other) {
    if (other.length == 0) return;
    if (length == 0 || other.gain > gain || (other.gain == gain && other.length < length)) *this = other;
  }
};

struct SortSpace {  // shared memory of a block
  Sum g[kSortThreads];
  u32 h[kSortThreads], n[kSortThreads], w[kSortThreads];
  BestPrefix best[2][kSortThreads];
  u32 n_keyed;
};

// Sorts n (a power of two) pairs of a key and a place, ascending.
__device__ inline void sort_pairs(u64* keys, u32* places, u32 n) {
  for (u32 size = 2; size <= n; size *= 2) {
    for (u32 step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (u32 i = threadIdx.x; i < n; i += kSortThreads) {
        const u32 j = i ^ step;
        if (j < i) continue;
        const bool up = (i & size) == 0;
        const bool more = keys[i] != keys[j] ? keys[i] > keys[j] : places[i] > places[j];
        if (more != up) continue;
        const u64 key = keys[i];
        const u32 place = places[i];
        keys[i] = keys[j], places[i] = places[j];
        keys[j] = key, places[j] = place;
      }
    }
  }
  __syncthreads();
}

// Keys of the levels that are ordered, and all others behind them.
template <bool kCounted>
__device__ inline u32 key_levels(const Fit& fit, const TreeNode& node, const LevelView& view, u64* keys, u32* places,
                                 u32 n, SortSpace& space) {
  // Rows that the node's weight counts as, and the hessian of an average one.
  const double n_copies = static_cast<double>(node.weight) * fit.weight_unit, row = static_cast<double>(node.h) / n_copies;
  if (threadIdx.x == 0) space.n_keyed = 0;
  __syncthreads();
  for (u32 level = threadIdx.x; level < n; level += kSortThreads) {
    keys[level] = ~u64{0};
    places[level] = level;
    if (level > view.n_levels) continue;
    const LeftSide side = view.read(level);
    const double h = side.h;
    const double n_rows = !kCounted        ? h / row
                          : view.weights ? static_cast<double>(side.w) * fit.weight_unit
                                         : static_cast<double>(side.n);
    if ((side.g == 0 && side.h == 0) || !(n_rows >= static_cast<double>(fit.min_level) - 0.5)) continue;
    keys[level] = order_bits(find_category_key(static_cast<double>(side.g), h, fit.category_smooth, row));
    atomicAdd(&space.n_keyed, 1u);
  }
  __syncthreads();
  return space.n_keyed;
}

__device__ inline void add_side(LeftSide& to, const LeftSide& side) {
  to.g += side.g, to.h += side.h, to.n += side.n, to.w += side.w;
}
__device__ inline LeftSide less_side(const LeftSide& whole, const LeftSide& part) {
  return {whole.g - part.g, whole.h - part.h, whole.n - part.n, whole.w - part.w};
}

// What comes before each thread's levels, and all of them.
__device__ inline LeftSide scan_sides(LeftSide own, LeftSide& total, SortSpace& space) {
  const u32 t = threadIdx.x;
  const LeftSide first = own;
  space.g[t] = own.g, space.h[t] = own.h, space.n[t] = own.n, space.w[t] = own.w;
  for (u32 d = 1; d < kSortThreads; d *= 2) {
    __syncthreads();
    LeftSide other;
    if (t >= d) other = {space.g[t - d], space.h[t - d], space.n[t - d], space.w[t - d]};
    __syncthreads();
    add_side(own, other);
    space.g[t] = own.g, space.h[t] = own.h, space.n[t] = own.n, space.w[t] = own.w;
  }
  __syncthreads();
  const u32 last = kSortThreads - 1;
  total = {space.g[last], space.h[last], space.n[last], space.w[last]};
  __syncthreads();
  return less_side(own, first);
}

// The best split of a node by a category, and its levels. All threads of a block.
template <bool kCounted>
__device__ inline void search_levels(const Fit& fit, const TreeNode& node, const LevelView& view, u32 feature,
                                     SortSpace& space, Split* out, u32* codes) {
  u64* const keys = fit.sort_keys + blockIdx.x * static_cast<Size>(fit.n_sorted);
  u32* const places = fit.sort_places + blockIdx.x * static_cast<Size>(fit.n_sorted);
  u32 n = 1;
  while (n < view.n_levels + 1) n *= 2;
  const u32 n_keyed = key_levels<kCounted>(fit, node, view, keys, places, n, space);
  sort_pairs(keys, places, n);
  const Judge<kCounted> judge(fit, node, fit.category_l2);
  const u32 t = threadIdx.x, per = (n_keyed + kSortThreads - 1) / kSortThreads;
  const u32 begin = t * per < n_keyed ? t * per : n_keyed, end = begin + per < n_keyed ? begin + per : n_keyed;
  LeftSide own, total;
  for (u32 i = begin; i < end; ++i) add_side(own, view.read(places[i]));
  LeftSide left = scan_sides(own, total, space);
  BestPrefix best[2] = {{0.0, 0, 0, 0}, {0.0, 0, 0, 0}};  // levels of the lowest keys left; of the highest
  for (u32 i = begin; i < end; ++i) {
    const LeftSide rest = less_side(total, left);  // levels i and up
    if (judge.allows(rest)) best[1].offer({judge.measure(rest, 0), rest.g, rest.h, n_keyed - i});
    add_side(left, view.read(places[i]));
    if (judge.allows(left)) best[0].offer({judge.measure(left, 0), left.g, left.h, i + 1});
  }
  for (int k = 0; k < 2; ++k) space.best[k][t] = best[k];
  for (u32 d = kSortThreads / 2; d > 0; d /= 2) {
    __syncthreads();
    for (int k = 0; t < d && k < 2; ++k) space.best[k][t].offer(space.best[k][t + d]);
  }
  __syncthreads();
  const BestPrefix &low = space.best[0][0], &high = space.best[1][0];
  const double low_gain = low.length > 0 ? low.gain - fit.gamma : 0.0,
               high_gain = high.length > 0 ? high.gain - fit.gamma : 0.0;
  const bool reversed = low.length == 0 || (high.length > 0 && high_gain > low_gain);
  const BestPrefix& chosen = reversed ? high : low;
  const double gain = reversed ? high_gain : low_gain;
  for (u32 k = t; k < fit.n_words; k += kSortThreads) codes[k] = 0;
  __syncthreads();
  if (t == 0) {
    Split found = no_split();
    if (chosen.length > 0 && gain > 0.0) {
      found.gain = gain, found.left_g = chosen.g, found.left_h = chosen.h;
      found.feature = feature, found.place = kCategorical | kHasMissing;
    }
    found.counted = kCounted ? 1 : 0;
    *out = found;
  }
  __syncthreads();
  for (u32 i = t; i < chosen.length; i += kSortThreads) {
    const u32 level = places[reversed ? n_keyed - 1 - i : i];
    if (level < view.n_levels) {
      atomicOr(codes + level / 32, 1u << (level % 32));
    } else if (gain > 0.0) {
      out->place |= kMissingLeft;  // one thread at most
    }
  }
  __syncthreads();
}

}  // namespace committee::gpu

// Before add_levels.
extern "C" __global__ void __launch_bounds__(256) clear_levels(const Fit* __restrict__ given, int root) {
  const Fit& fit = *given;
  const Size n = (root ? 1 : 2 * static_cast<Size>(fit.state->n_candidates)) * (kPlanes + 2) * fit.n_levels;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) fit.level_sums[i] = 0;
}

// Sums over the levels of categories that have too many for bins: of both children of each candidate, of nodes whose
// rows are counted, or of the root.
extern "C" __global__ void __launch_bounds__(256) add_levels(const Fit* __restrict__ given, int root) {
  const Fit& fit = *given;
  const u32 total = root ? static_cast<u32>(fit.n_items) : fit.state->n_rows_to_part;
  const Size per_plane = fit.n_levels;
  for (u32 i = blockIdx.x * 256 + threadIdx.x; i < total; i += gridDim.x * 256) {
    Item item;
    u32 task = 0;
    if (root) {
      item = fit.items[i];
    } else {
      const i32 k = find_candidate(fit.state->n_candidates, i, [&](i32 c) { return fit.candidates[c].first; });
      const Candidate& candidate = fit.candidates[k];
      if (candidate.state == kWaits) continue;
      const TreeNode& node = fit.nodes[candidate.node];
      const u32 at = i - candidate.first;
      item = fit.list(node.depth + 1)[node.begin + at];
      task = 2 * k + (candidate.state == kSplits && at >= candidate.n_left ? 1 : 0);
    }
    u32* const sums = fit.level_sums + task * (kPlanes + 2) * per_plane;
    for (u32 wide = 0; wide < fit.n_wide; ++wide) {
      const u32 code = fit.wide_codes[wide * static_cast<Size>(fit.n_rows) + item.row];
      const u32 last = fit.wide_offsets[wide + 1] - fit.wide_offsets[wide] - 1;
      u32* const at = sums + fit.wide_offsets[wide] + (code < last ? code : last);
      const i32 g = item.gradient();
      const u32 h = item.hessian();
      if constexpr (kLong) {
        atomicAdd(at, (static_cast<u32>(g) & kPartMask) * h);
        atomicAdd(at + per_plane, (static_cast<u32>(g >> kPartBits) & kPartMask) * h);
        atomicAdd(at + 2 * per_plane, static_cast<u32>(g >> (2 * kPartBits)) * h);
      } else {
        atomicAdd(at, static_cast<u32>(g));
      }
      atomicAdd(at + (kPlanes - 1) * per_plane, h);
      atomicAdd(at + kPlanes * per_plane, 1u);
      if (fit.weights) atomicAdd(at + (kPlanes + 1) * per_plane, fit.weights[item.row]);
    }
  }
}

// A block for each (task, category), after search_splits, which completes the histograms.
extern "C" __global__ void __launch_bounds__(kSortThreads) search_categories(const Fit* __restrict__ given, int root) {
  __shared__ SortSpace space;
  const Fit& fit = *given;
  const u32 n_tasks = root ? 1 : 2 * fit.state->n_candidates, n_categories = fit.n_categories;
  for (u32 work = blockIdx.x; work < n_tasks * n_categories; work += gridDim.x) {
    const u32 task = work / n_categories, category = work % n_categories, feature = fit.categories[category];
    const Candidate* candidate = root ? nullptr : fit.candidates + task / 2;
    const Size n_words = fit.n_words;
    if (candidate && candidate->state == kWaits) continue;
    if (candidate && candidate->state == kCounts) {
      if (task % 2 != 0) continue;
      const bool seen = fit.sees(candidate->node, feature);
      const TreeNode& node = fit.nodes[candidate->node];
      const LevelView view = view_levels(fit, candidate->node, task, candidate, category);
      for (u32 counted = 0; counted < 2; ++counted) {
        const Size slot = candidate->slot * Size{2} + counted;
        Split* out = fit.recounts + slot * fit.n_features + feature;
        u32* codes = fit.recount_codes + (slot * n_categories + category) * n_words;
        if (!seen) {
          if (threadIdx.x == 0) *out = no_split();
        } else if (counted != 0) {
          search_levels<true>(fit, node, view, feature, space, out, codes);
        } else {
          LevelView estimated = view;
          estimated.counts = estimated.weights = nullptr;
          search_levels<false>(fit, node, estimated, feature, space, out, codes);
        }
      }
      continue;
    }
    const i32 id = root ? 0 : fit.nodes[candidate->node].left + static_cast<i32>(task % 2);
    if (!root && !fit.nodes[id].searched) continue;
    Split* out = fit.found + static_cast<Size>(task) * fit.n_found() + fit.n_groups + category;
    if (!fit.sees(id, feature)) {
      if (threadIdx.x == 0) *out = no_split();
      continue;
    }
    search_levels<false>(fit, fit.nodes[id], view_levels(fit, id, task, nullptr, category), feature, space, out,
                         fit.found_codes + (task * static_cast<Size>(n_categories) + category) * n_words);
  }
}
