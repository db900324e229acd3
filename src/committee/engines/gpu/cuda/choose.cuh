// Which nodes are split next, and the tree when none is. One block.
#pragma once
#include "committee/best_first.hpp"
#include "search.cuh"

namespace committee::gpu {

// Best-first growth compares gains by their bits; zero: not worth a split. By level all others are equal, and the
// oldest comes first.
__device__ inline u64 rank_gain(const Fit& fit, const TreeNode& node) {
  if (!fit.is_worthwhile(node)) return 0;
  return fit.level_wise ? 1 : bits_of(node.best.gain);
}

// The levels of a split that was found, over to its node.
__device__ inline void take_codes(const Fit& fit, i32 node, const Split& best, const u32* found) {
  if (!kOptions || !(best.gain > 0.0) || (best.place & kCategorical) == 0) return;
  found += fit.category_of[best.feature] * static_cast<Size>(fit.n_words);
  for (i64 k = 0; k < fit.n_words; ++k) fit.codes[node * static_cast<Size>(fit.n_words) + k] = found[k];
}

// The rule of a leaf whose best split left too few rows: the best column is counted, until the best column is
// one that was counted. By a warp.
__device__ inline void settle_counts(const Fit& fit, const Candidate& candidate) {
  TreeNode& node = fit.nodes[candidate.node];
  Split* estimated = fit.recounts + candidate.slot * Size{2} * fit.n_features;
  const Split* counted = estimated + fit.n_features;
  const double before = node.best.gain;
  Split best;
  for (;;) {
    best = no_split();
    for (u32 f = lane_of(); f < fit.n_features; f += kLanes)
      if (estimated[f].gain > 0.0 && estimated[f].beats(best)) best = estimated[f];
    best = best_of_warp(best);
    if (!(best.gain > 0.0) || best.counted != 0) break;
    __syncwarp();
    if (lane_of() == 0) estimated[best.feature] = counted[best.feature];
    __syncwarp();
  }
  if (lane_of() != 0) return;
  take_codes(fit, candidate.node, best,
             fit.recount_codes + (candidate.slot * Size{2} + 1) * fit.n_categories * fit.n_words);
  if (best.gain > before) best.gain = before;
  node.best = best;
  node.counted = 1;
}

// Takes the results of the search over to the nodes.
__device__ inline void take_found(const Fit& fit, bool root) {
  const u32 n_tasks = root ? 1 : 2 * fit.state->n_candidates, n_found = fit.n_found();
  for (u32 task = threadIdx.x; task < n_tasks; task += kBlock) {
    i32 id = 0;
    if (!root) {
      Candidate& candidate = fit.candidates[task / 2];
      TreeNode& node = fit.nodes[candidate.node];
      if (candidate.state != kSplits) continue;
      id = node.left + static_cast<i32>(task % 2);
      if (!fit.nodes[id].searched) continue;
    } else if (!fit.may_split(fit.nodes[0])) {
      continue;
    }
    Split best = no_split();
#pragma unroll 1
    for (u32 k = 0; k < n_found; ++k) {
      const Split& other = fit.found[static_cast<Size>(task) * n_found + k];
      if (other.gain > 0.0 && other.beats(best)) best = other;
    }
    take_codes(fit, id, best, fit.found_codes + task * static_cast<Size>(fit.n_categories) * fit.n_words);
    fit.nodes[id].best = best;
  }
  if (root) return;
  for (u32 k = warp_of(); k < static_cast<u32>(fit.state->n_candidates); k += kBlock / kLanes)
    if (fit.candidates[k].state == kCounts) settle_counts(fit, fit.candidates[k]);
  __syncthreads();
  // Expanded in vain: the children's places are kept for the next try.
  for (u32 k = threadIdx.x; k < static_cast<u32>(fit.state->n_candidates); k += kBlock) {
    TreeNode& node = fit.nodes[fit.candidates[k].node];
    if (fit.candidates[k].state != kSplits) node.reserved = node.left, node.left = -1;
  }
}

constexpr u32 kSharedOpen = 768;  // open leaves that are in shared memory

// The open leaves as best-first growth sees them, in the order of their creation: gains by their ranks, and children.
// Those that were split stay in the list, without a gain.
struct OpenLeaves {
  struct Space {
    u64 ranks[kSharedOpen];
    i32 lefts[kSharedOpen], ids[kSharedOpen];
  };
  __device__ OpenLeaves(const Fit& fit, Space& space)
      : fit(fit), space(space), shared(2 * fit.max_leaves + 4 <= kSharedOpen) {}
  __device__ u64 rank(u32 at) const {
    if (shared) return space.ranks[at];
    const i32 id = fit.open[at];
    return id < 0 ? 0 : rank_gain(fit, fit.nodes[id]);
  }
  __device__ i32 left(u32 at) const { return shared ? space.lefts[at] : fit.nodes[fit.open[at]].left; }
  __device__ i32 id(u32 at) const { return shared ? space.ids[at] : fit.open[at]; }
  // What is in the list already.
  __device__ void read(u32 at, i32 id) const {
    if (!shared) return;
    space.ids[at] = id;
    space.ranks[at] = id < 0 ? 0 : rank_gain(fit, fit.nodes[id]);
    space.lefts[at] = id < 0 ? -1 : fit.nodes[id].left;
  }
  __device__ void open(u32 at, i32 id) const {
    fit.open[at] = id;
    read(at, id);
  }
  __device__ void forget(u32 at) const {
    fit.nodes[id(at)].chosen = 1;
    fit.open[at] = -1;
    if (shared) space.ranks[at] = 0, space.ids[at] = -1;
  }
  const Fit& fit;
  Space& space;
  bool shared;
};

// The same as grow_best_first asks for them, by one warp, which finds the first of them together.
struct WarpLeaves {
  __device__ WarpLeaves(const Fit& fit, const OpenLeaves& leaves)
      : fit(fit), leaves(leaves), n_open(fit.state->n_open), n_chosen(fit.state->n_chosen), first(kAll) {}
  __device__ bool may_split() const { return n_chosen + 1 < static_cast<u32>(fit.max_leaves); }
  __device__ bool find_first() {
    u64 gain = 0;
    first = kAll;
#pragma unroll 4
    for (u32 i = lane_of(); i < n_open; i += kLanes) {
      const u64 own = leaves.rank(i);
      if (is_split_first(own, i, gain, first)) gain = own, first = i;
    }
    for (u32 d = kLanes / 2; d > 0; d /= 2) {
      const u64 other = __shfl_xor_sync(kAll, gain, d);
      const u32 place = __shfl_xor_sync(kAll, first, d);
      if (is_split_first(other, place, gain, first)) gain = other, first = place;
    }
    return gain > 0;
  }
  __device__ bool is_expanded() const { return leaves.left(first) >= 0; }
  __device__ void split_first() {
    const i32 left = leaves.left(first);
    const u32 lane = lane_of();
    __syncwarp();
    if (lane == 2) leaves.forget(first);
    if (lane < 2) leaves.open(n_open + lane, left + static_cast<i32>(lane));
    __syncwarp();
    n_open += 2;
    n_chosen += 1;
  }
  const Fit& fit;
  const OpenLeaves& leaves;
  u32 n_open, n_chosen, first;
};

// Best-first growth with the gains known so far, until it meets a leaf that is not expanded. All threads of a block,
// of which one warp goes on.
__device__ inline void replay(const Fit& fit) {
  __shared__ OpenLeaves::Space space;
  TreeState& state = *fit.state;
  const OpenLeaves leaves(fit, space);
  for (i32 i = threadIdx.x; i < state.n_open; i += kBlock) leaves.read(i, fit.open[i]);
  __syncthreads();
  if (warp_of() != 0) return;
  WarpLeaves open(fit, leaves);
  const bool finished = grow_best_first(open);
  if (lane_of() != 0) return;
  if (!finished) state.must = leaves.id(open.first);
  state.n_open = static_cast<i32>(open.n_open), state.n_chosen = static_cast<i32>(open.n_chosen);
  state.finished = finished;
}

// Least gain on the way to a node from the open leaf above it: growth takes nodes in this order.
__device__ inline u64 find_key(const Fit& fit, i32 id) {
  const TreeNode* node = fit.nodes + id;
  u64 key = rank_gain(fit, *node);
  while (key > 0 && node->parent >= 0 && fit.nodes[node->parent].chosen == 0) {
    node = fit.nodes + node->parent;
    const u64 other = rank_gain(fit, *node);
    if (other < key) key = other;
  }
  return key;
}

// Keys of all nodes that best-first growth may still come to, zero for the others, and the least of those that are
// expanded in the next step. A node with as many larger keys before it as there are splits left is never reached, and
// one with more of them than are expanded ahead of time has to wait: the key of that rank is found by its bytes.
__device__ inline u64 find_least_key(const Fit& fit) {
  __shared__ u32 counts[256];
  __shared__ u32 n_keys, chosen, n_before;
  const u32 n = fit.state->n_nodes, n_left = fit.max_leaves - 1 - fit.state->n_chosen;
  const u32 wanted = n_left < fit.ahead + 1 ? n_left : static_cast<u32>(fit.ahead + 1);
  if (threadIdx.x == 0) n_keys = 0, n_before = 0;
  __syncthreads();
  u32 own = 0;
  for (u32 id = threadIdx.x; id < n; id += kBlock) {
    const u64 key = fit.nodes[id].chosen != 0 || fit.nodes[id].unused != 0 ? 0 : find_key(fit, id);
    fit.keys[id] = key;
    own += key > 0 ? 1 : 0;
  }
  if (own > 0) atomicAdd(&n_keys, own);
  __syncthreads();
  if (n_keys <= wanted) return 1;
  u64 prefix = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    if (threadIdx.x < 256) counts[threadIdx.x] = 0;
    __syncthreads();
    for (u32 id = threadIdx.x; id < n; id += kBlock) {
      const u64 key = fit.keys[id];
      if (key > 0 && (shift == 56 || (key >> (shift + 8)) == prefix)) atomicAdd(&counts[(key >> shift) & 255u], 1u);
    }
    __syncthreads();
    if (warp_of() == 0) {  // from the largest byte down, eight a lane
      const u32 lane = lane_of();
      u32 sum = 0;
      for (u32 k = 0; k < 8; ++k) sum += counts[255 - (8 * lane + k)];
      u32 before = sum;
      for (u32 d = 1; d < kLanes; d *= 2) {
        const u32 other = __shfl_up_sync(kAll, before, d);
        if (lane >= d) before += other;
      }
      before += n_before - sum;
      __syncwarp();
      if (before < wanted && before + sum >= wanted) {
        u32 byte = 255 - 8 * lane;
        while (before + counts[byte] < wanted) before += counts[byte--];
        chosen = byte, n_before = before;
      }
    }
    __syncthreads();
    prefix = prefix << 8 | chosen;
    __syncthreads();
  }
  return prefix;
}

// Whether a node is expanded in the next step.
__device__ inline bool is_taken(const Fit& fit, i32 id, u64 least_key) {
  const TreeNode& node = fit.nodes[id];
  if (node.left >= 0 || node.chosen != 0 || !fit.is_worthwhile(node)) return false;
  return fit.max_leaves == 0 || fit.keys[id] >= least_key;
}

// The candidates of the next step: the node that best-first growth waits for, if any, and then others in the order of
// their numbers, as long as there is room beside what growth is still sure to need.
__device__ inline void list_candidates(const Fit& fit) {
  __shared__ u32 n_refused, n_made;
  TreeState& state = *fit.state;
  const u32 n = state.n_nodes;
  const u64 least_key = fit.max_leaves > 0 ? find_least_key(fit) : 0;
  const i32 must = fit.max_leaves > 0 ? state.must : -1;
  // Two for each split that is left; and where sides may have too few rows, two for each leaf that growth may wait for
  // and that is expanded in vain: its places are lost if it is not split after all.
  const u32 n_vain = fit.checked ? 4 * fit.max_leaves : 0;
  const u32 n_sure = fit.max_leaves > 0 ? 2 * (fit.max_leaves - 1 - state.n_chosen) + n_vain : 0;
  const u32 room = fit.max_nodes > n + n_sure ? (fit.max_nodes - n - n_sure) / 2 : 0;
  const u32 n_first = must < 0 ? 0 : 1, first_new = must >= 0 && fit.nodes[must].reserved < 0 ? 1 : 0;
  u32 n_taken = n_first, n_new = first_new, n_rows = must < 0 ? 0 : count_rows_to_part(fit, fit.nodes[must]);
  __syncthreads();
  if (threadIdx.x == 0) n_refused = 0, n_made = first_new;
  const auto take = [&](i32 id, u32 place, u32 first, i32 left) {
    fit.candidates[place] = {id, first, 0, 0, kSplits, 0, 0, 0, 0};
    fit.nodes[id].left = left;
    // Until check_candidates makes them, the children are no nodes.
    for (int side = 0; side < 2; ++side) fit.nodes[left + side].unused = 1;
  };
  __syncthreads();
  for (u32 begin = 0; begin < n; begin += kBlock) {
    const u32 id = begin + threadIdx.x;
    const bool wanted =
        id < n && static_cast<i32>(id) != must && fit.nodes[id].unused == 0 && is_taken(fit, id, least_key);
    const bool fresh = wanted && fit.nodes[id].reserved < 0;
    u32 n_fresh, n_more, rows;
    const u32 new_at = n_new + scan_block(fresh, &n_fresh);
    bool taken = wanted && (!fresh || new_at - first_new < room);
    const u32 place = n_taken + scan_block(taken, &n_more);
    taken = taken && place < fit.max_candidates;
    const u32 first = n_rows + scan_block(taken ? count_rows_to_part(fit, fit.nodes[id]) : 0, &rows);
    if (wanted && !taken) atomicAdd(&n_refused, 1u);
    // Not n_fresh: a node that is refused has no children, and what lies in their places is of another tree. Those
    // that are taken are the first of the fresh ones, so that their places leave no gap.
    if (taken && fresh) atomicAdd(&n_made, 1u);
    if (taken) take(id, place, first, fresh ? static_cast<i32>(n + 2 * new_at) : fit.nodes[id].reserved);
    n_taken += n_more, n_rows += rows, n_new += n_fresh;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (n + 2 * n_made > fit.max_nodes) {  // they would be written beside the memory
    fit.fail(kNoRoom);
    state.n_candidates = state.n_rows_to_part = 0;
    return;
  }
  if (must >= 0) take(must, 0, 0, first_new ? static_cast<i32>(n) : fit.nodes[must].reserved);
  if (n_taken > fit.max_candidates) n_taken = fit.max_candidates;
  state.n_candidates = n_taken;
  state.n_rows_to_part = n_rows;
  state.n_nodes = n + 2 * n_made;
  if (n_taken == 0 && n_refused > 0) fit.fail(kNoRoom);
  if (n_rows > fit.n_items) {  // partitioning them would leave the list
    fit.fail(kTooManyRows);
    state.n_candidates = state.n_rows_to_part = 0;
  }
  state.n_steps += 1;
  state.n_expanded += n_taken;
}

// Whether a node that was split has a feature, and children that are its own.
__device__ inline bool is_sound(const Fit& fit, i32 id) {
  const TreeNode& node = fit.nodes[id];
  if (node.best.feature >= fit.n_features || node.left <= id || node.left + 1 >= fit.state->n_nodes) return false;
  const TreeNode* children = fit.nodes + node.left;
  return children[0].parent == id && children[1].parent == id && children[0].unused == 0 && children[1].unused == 0;
}

// The nodes that are in the tree, in the order of their numbers. A tree that cannot be right becomes one leaf.
__device__ inline void write_tree(const Fit& fit, int number) {
  FinalNode* tree = fit.trees + number * static_cast<Size>(fit.max_final);
  const u32 n = fit.state->n_nodes;
  u32* numbers = reinterpret_cast<u32*>(fit.keys);
  u32 n_final = 0;
  for (u32 begin = 0; begin < n; begin += kBlock) {
    const u32 id = begin + threadIdx.x;
    const bool there = id < n && fit.nodes[id].unused == 0 && (id == 0 || fit.nodes[fit.nodes[id].parent].chosen != 0);
    u32 more;
    const u32 at = n_final + scan_block(there, &more);
    if (there) numbers[id] = at;
    n_final += more;
  }
  __syncthreads();
  if (!fit.state->finished || n_final > fit.max_final) {
    if (threadIdx.x != 0) return;
    fit.fail(fit.state->finished ? kTooManyNodes : kNotFinished);  // or more steps were needed than the host thought
    tree[0] = FinalNode{};
    tree[0].left = -1, tree[0].count = kAll;
    fit.state->n_final = fit.tree_sizes[number] = 1;
    return;
  }
  for (u32 id = threadIdx.x; id < n; id += kBlock) {
    const TreeNode& node = fit.nodes[id];
    if (node.unused != 0 || (id > 0 && fit.nodes[node.parent].chosen == 0)) continue;
    FinalNode final{};
    final.left = -1;
    final.count = id > 0 ? numbers[node.parent] : kAll;  // until set_values
    if (node.chosen != 0 && !is_sound(fit, id)) {
      fit.fail(kBrokenSplit);
    } else if (node.chosen != 0) {
      final.gain = node.best.gain, final.feature = node.best.feature, final.place = node.best.place;
      final.left = static_cast<i32>(numbers[node.left]);
    }
    tree[numbers[id]] = final;
    if constexpr (kOptions) {
      fit.bounds[2 * numbers[id]] = node.lower, fit.bounds[2 * numbers[id] + 1] = node.upper;
      u32* const codes = fit.tree_codes + (number * static_cast<Size>(fit.max_final) + numbers[id]) * fit.n_words;
      for (i64 k = 0; k < fit.n_words; ++k)
        codes[k] = (final.place & kCategorical) != 0 ? fit.codes[id * static_cast<Size>(fit.n_words) + k] : 0;
    }
  }
  if (threadIdx.x == 0) fit.state->n_final = fit.tree_sizes[number] = n_final;
}

// The next step, or the end of the tree. One block.
__device__ inline void choose_next(const Fit& fit, bool root) {
  TreeState& state = *fit.state;
  if (state.finished) return;
  take_found(fit, root);
  __syncthreads();
  if (fit.max_leaves > 0) {
    replay(fit);
  } else {
    for (i32 id = threadIdx.x; id < state.n_nodes; id += kBlock)
      if (fit.nodes[id].unused == 0) fit.nodes[id].chosen = fit.nodes[id].left >= 0;
  }
  __syncthreads();
  if (!state.finished) list_candidates(fit);
  __syncthreads();
  if (threadIdx.x != 0 || (!state.finished && state.n_candidates > 0)) return;
  state.finished = 1;
  state.n_candidates = state.n_rows_to_part = 0;
}

}  // namespace committee::gpu

// A kernel of its own, not the last block of the search: it is compiled beside it, and takes no longer.
extern "C" __global__ void __launch_bounds__(kBlock) choose_nodes(const Fit* __restrict__ given, int root) {
  choose_next(*given, root != 0);
}

extern "C" __global__ void __launch_bounds__(kBlock) write_nodes(const Fit* __restrict__ given) {
  write_tree(*given, given->state->number);
}
