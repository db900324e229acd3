// Nodes of more than 32 rows: a block each, histograms of some features at a time in shared memory.
#pragma once
#include "forest_children.cuh"

namespace committee::gpu {

constexpr u32 kSegments = kBins / kLanes;

// Shared memory of a block.
struct NodeRoom {
  Element* histograms;  // [chunk][element][kBins]
  Element *total, *left;  // [element]
  u32* occupied;        // [chunk][kSegments]: a bit a bin
  FeatureDraws draws;

  __device__ Element* histogram(const Forest& job, u32 k) const {
    return histograms + k * static_cast<Size>(job.n_elements) * kBins;
  }
};

struct SharedNode {
  OpenNode node;
  Cut best;
  Cut found[kLanes];  // by warp
  u32 index, n_left, n_right, first_child, taken, are_leaves, differs, first_varying;
};

__device__ inline NodeRoom lay_out(const Forest& job, Element* room, u32 chunk) {
  const Size n = job.n_elements;
  NodeRoom own;
  own.histograms = room;
  own.total = room + chunk * n * kBins;
  own.left = own.total + n;
  own.occupied = reinterpret_cast<u32*>(own.left + n);
  own.draws.order = reinterpret_cast<u16*>(own.occupied + chunk * kSegments);
  own.draws.swapped = own.draws.order + job.n_features;
  return own;
}

// A block at a node.
struct BlockSearch {
  const Forest& job;
  const NodeRoom& room;
  SharedNode& shared;
  const NodeFacts& facts;
  const NodeNumbers& numbers;

  __device__ u32 feature_at(u32 k) const { return job.draws ? room.draws.order[k] : k; }

  __device__ void fill(u32 first, u32 n_chunk) const {
    const u32 n_cells = n_chunk * job.n_elements * kBins, n = shared.node.n_rows;
    for (u32 i = threadIdx.x; i < n_cells; i += blockDim.x) room.histograms[i] = 0;
    __syncthreads();
    const SampleRow* const rows = job.rows_of(shared.node.tree, shared.node.depth) + shared.node.begin;
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
      const SampleRow row = rows[i];
      for (u32 k = 0; k < n_chunk; ++k)
        share_row(job, room.histogram(job, k) + job.bin(row.row, feature_at(first + k)), kBins, row);
    }
    __syncthreads();
  }

  // A warp: cells become sums up to their bin, the missing one stays; and which bins occur.
  __device__ void sum_up(u32 k) const {
    const u32 lane = lane_of();
    Element* const cells = room.histogram(job, k);
    for (u32 e = 0; e < job.n_elements; ++e) {
      Element before = 0;
      for (u32 s = 0; s < kSegments; ++s) {
        const u32 bin = s * kLanes + lane;
        Element sum = bin == kMissing ? 0 : cells[e * kBins + bin];
        for (u32 d = 1; d < kLanes; d *= 2) {
          const Element other = __shfl_up_sync(kAll, sum, d);
          if (lane >= d) sum += other;
        }
        sum += before;
        before = __shfl_sync(kAll, sum, kLanes - 1);
        if (bin != kMissing) cells[e * kBins + bin] = sum;
      }
    }
    __syncwarp();
    Element before = 0;
    for (u32 s = 0; s < kSegments; ++s) {
      const u32 bin = s * kLanes + lane;
      const Element fill = find_fill(job, CellView{cells + bin, kBins});
      Element last = __shfl_up_sync(kAll, fill, 1);
      last = lane == 0 ? before : last;
      before = __shfl_sync(kAll, fill, kLanes - 1);
      const u32 set = __ballot_sync(kAll, bin == kMissing ? fill != 0 : fill != last);
      if (lane == 0) room.occupied[k * kSegments + s] = set;
    }
    __syncwarp();
  }

  __device__ bool has_missing(u32 k) const { return room.occupied[k * kSegments + kSegments - 1] >> 31 != 0; }
  __device__ bool varies(u32 k) const {
    u32 n = 0;  // the missing bin counts as one
    for (u32 s = 0; s < kSegments; ++s) n += __popc(room.occupied[k * kSegments + s]);
    return n > 1;
  }
  // The next value bin that occurs after one; kMissing: there is none.
  __device__ u32 find_next(u32 k, u32 bin) const {
    for (++bin; bin < kMissing;) {
      const u32 rest = room.occupied[k * kSegments + bin / kLanes] >> (bin % kLanes);
      if (rest != 0) {
        const u32 found = bin + __popc(~rest & (rest - 1));
        return found;
      }
      bin = (bin / kLanes + 1) * kLanes;
    }
    return kMissing;
  }

  // A warp: all boundaries of a feature.
  __device__ void look(u32 k, u32 place, Cut& best) const {
    const u32 lane = lane_of(), feature = feature_at(place);
    const Element* const cells = room.histogram(job, k);
    const bool missing = has_missing(k);
    const CellView gone{cells + kMissing, kBins};
    Cut at = {kForbidden, find_priority(job, numbers, feature, place), feature, k, 0, 0, 0, missing ? 1u : 0u};
    if constexpr (kRandom) {
      if (lane != 0) return;
      const u32 lo = find_next(k, kAll);
      u32 hi = lo;
      for (u32 s = kSegments; s-- > 0;) {
        const u32 set = room.occupied[k * kSegments + s] & (s == kSegments - 1 ? kAll >> 1 : kAll);
        if (set == 0) continue;
        hi = s * kLanes + find_highest(set);
        break;
      }
      const u64 number = numbers.at(Purpose::threshold, feature);
      at.bin = lo, at.next = ForestNode::kNoBin;
      if (lo != hi) {
        at.bin = find_random_cut(job.low + feature * Size{kBins}, job.high + feature * Size{kBins}, number, lo, hi);
        at.next = at.bin + 1;
        at.missing_left = missing && (number & 1) != 0 ? 1 : 0;
      }
      const CellView own{cells + at.bin, kBins};
      if (at.missing_left) {
        consider(job, facts, CellPair{own, gone}, at, best);
      } else {
        consider(job, facts, own, at, best);
      }
    } else {
      for (u32 s = 0; s < kSegments; ++s) {
        at.bin = s * kLanes + lane;
        if (at.bin == kMissing || ((room.occupied[k * kSegments + s] >> lane) & 1u) == 0) continue;
        const u32 next = find_next(k, at.bin);
        if (next == kMissing && !missing) continue;
        at.next = next == kMissing ? ForestNode::kNoBin : next;
        at.missing_left = 0;
        const CellView own{cells + at.bin, kBins};
        consider(job, facts, own, at, best);
        if (!missing || next == kMissing) continue;
        at.missing_left = 1;
        consider(job, facts, CellPair{own, gone}, at, best);
      }
    }
  }
  __device__ static u32 find_highest(u32 set) {
    u32 at = 0;
    for (u32 step = 16; step > 0; step /= 2)
      if (set >> (at + step) != 0) at += step;
    return at;
  }

  // The best of a block's, and what lies left of it, where it is better than what was found before.
  __device__ void join(Cut best) const {
    join_cuts(best);
    if (lane_of() == 0) shared.found[warp_of()] = best;
    __syncthreads();
    if (warp_of() == 0) {
      best = lane_of() < blockDim.x / kLanes ? shared.found[lane_of()] : Cut::none();
      join_cuts(best);
      if (lane_of() == 0) shared.index = shared.best.loses_to(best) ? 1 : 0;
      if (lane_of() == 0 && shared.index) shared.best = best;
    }
    __syncthreads();
    if (shared.index) {
      const Element* const cells = room.histogram(job, shared.best.place);
      for (u32 e = threadIdx.x; e < job.n_elements; e += blockDim.x)
        room.left[e] = cells[e * kBins + shared.best.bin] +
                       (shared.best.missing_left ? cells[e * kBins + kMissing] : Element{0});
    }
    __syncthreads();
  }

  // Fills shared.best and room.left.
  __device__ void search(u32 chunk) const {
    const u32 n_features = job.n_features, n_wanted = job.max_features;
    u32 n_done = 0;
    bool varying = false;
    while (n_done < n_features && (n_done < n_wanted || !varying)) {
      const bool is_first = n_done < n_wanted;
      const u32 rest = (is_first ? n_wanted : n_features) - n_done, n = rest < chunk ? rest : chunk;
      if (threadIdx.x == 0) {
        if (job.draws) room.draws.draw(job, numbers, n_done, n_done + n);
        shared.first_varying = kAll;
      }
      __syncthreads();
      fill(n_done, n);
      for (u32 k = warp_of(); k < n; k += blockDim.x / kLanes) sum_up(k);
      __syncthreads();
      if (threadIdx.x == 0) {
        for (u32 k = n; k-- > 0;)
          if (varies(k)) shared.first_varying = k;
      }
      __syncthreads();
      const u32 first = shared.first_varying;
      Cut best = Cut::none();
      for (u32 k = warp_of(); k < n; k += blockDim.x / kLanes) {
        // Beyond those that are looked at in any case only the first counts.
        if (is_first ? varies(k) : k == first) look(k, n_done + k, best);
      }
      varying = varying || first != kAll;
      join(best);
      n_done += n;
    }
    if (threadIdx.x == 0 && job.draws) room.draws.restore(n_done);
  }
};

__device__ inline void partition_node(const Forest& job, SharedNode& shared) {
  const OpenNode node = shared.node;
  const Cut cut = shared.best;
  const SampleRow* const rows = job.rows_of(node.tree, node.depth) + node.begin;
  SampleRow* const to = job.rows_of(node.tree, node.depth + 1) + node.begin;
  const u32 lane = lane_of();
  for (u32 first = warp_of() * kLanes; first < node.n_rows; first += blockDim.x) {
    const u32 i = first + lane;
    const bool there = i < node.n_rows;
    const SampleRow row = there ? rows[i] : SampleRow::make(0, 0, 0);
    const bool is_left = there && goes_left(cut, job.bin(row.row, cut.feature));
    const u32 lefts = __ballot_sync(kAll, is_left), rights = __ballot_sync(kAll, there && !is_left);
    u32 left = 0, right = 0;
    if (lane == 0) {
      left = atomicAdd(&shared.n_left, static_cast<u32>(__popc(lefts)));
      right = atomicAdd(&shared.n_right, static_cast<u32>(__popc(rights)));
    }
    left = __shfl_sync(kAll, left, 0) + __popc(lefts & ((1u << lane) - 1));
    right = __shfl_sync(kAll, right, 0) + __popc(rights & ((1u << lane) - 1));
    if (there) to[is_left ? left : node.n_rows - 1 - right] = row;
  }
}

// All threads of a block. The node's split is known.
__device__ inline void split_node(const Forest& job, const NodeRoom& room, SharedNode& shared) {
  const OpenNode node = shared.node;
  if (threadIdx.x == 0) {
    shared.n_left = shared.n_right = 0;
    shared.taken = take_nodes(job, node.tree, &shared.first_child) ? 1 : 0;
  }
  __syncthreads();
  if (!shared.taken) return;
  partition_node(job, shared);
  Element* const total = job.total_of(node.tree, shared.first_child);
  for (u32 e = threadIdx.x; e < job.n_elements; e += blockDim.x) {
    total[e] = room.left[e];
    total[job.n_elements + e] = room.total[e] - room.left[e];
  }
  __syncthreads();
  if (threadIdx.x == 0)
    shared.are_leaves = open_children(job, node, shared.best, shared.first_child, shared.n_left);
  __syncthreads();
  const u32 n_left = shared.n_left;
  if (shared.are_leaves & 1u)
    list_leaf_rows(job, node.tree, node.depth + 1, node.begin, n_left, threadIdx.x, blockDim.x);
  if (shared.are_leaves & 2u)
    list_leaf_rows(job, node.tree, node.depth + 1, node.begin + n_left, node.n_rows - n_left, threadIdx.x, blockDim.x);
}

// Whether the targets of a node's rows are all the same.
__device__ inline bool is_constant(const Forest& job, SharedNode& shared) {
  if constexpr (kMoments) {
    const SampleRow* const rows = job.rows_of(shared.node.tree, shared.node.depth) + shared.node.begin;
    const u64 first = rows[0].wide();
    if (threadIdx.x == 0) shared.differs = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < shared.node.n_rows && shared.differs == 0; i += blockDim.x)
      if (rows[i].wide() != first) shared.differs = 1;
    __syncthreads();
    return shared.differs == 0;
  }
  return false;
}

__device__ inline void grow_queue(const Forest& job, u32 parity, u32 which, u32 chunk, Element* dynamic) {
  __shared__ SharedNode shared;
  const NodeRoom room = lay_out(job, dynamic, chunk);
  for (u32 f = threadIdx.x; f < job.n_features; f += blockDim.x) room.draws.order[f] = static_cast<u16>(f);
  const u32 n_open = job.state->n_open[parity][which];
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) {
      shared.index = atomicAdd(&job.state->tickets[which], 1u);
      if (shared.index < n_open) shared.node = job.queue(parity, which)[shared.index];
      shared.best = Cut::none();
    }
    __syncthreads();
    if (shared.index >= n_open) return;
    const OpenNode node = shared.node;
    const Element* const total = job.total_of(node.tree, node.id);
    for (u32 e = threadIdx.x; e < job.n_elements; e += blockDim.x) room.total[e] = total[e];
    __syncthreads();
    const NodeFacts facts = describe_node(job, node.tree, room.total);
    const NodeNumbers numbers(KeyPrefix(job.tree_keys[node.tree]), node.key);
    bool splits = !is_constant(job, shared);
    if (splits) {
      BlockSearch{job, room, shared, facts, numbers}.search(chunk);
      splits = shared.best.feature != kNoFeature && is_enough(job, node.tree, facts, CellView{room.left, 1});
    }
    if (splits) {
      split_node(job, room, shared);
    } else {
      list_leaf_rows(job, node.tree, node.depth, node.begin, node.n_rows, threadIdx.x, blockDim.x);
    }
  }
}

}  // namespace committee::gpu

extern "C" __global__ void __launch_bounds__(256) grow_some(const Forest* given, int parity) {
  COMMITTEE_SHARED(Element, room);
  grow_queue(*given, parity, kSomeRows, given->chunk_some, room);
}

extern "C" __global__ void __launch_bounds__(kBlock) grow_many(const Forest* given, int parity) {
  COMMITTEE_SHARED(Element, room);
  grow_queue(*given, parity, kManyRows, given->chunk_many, room);
}
