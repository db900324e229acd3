// What goes over the rows of nodes: partitioning, histograms, leaves.
#pragma once
#include "boosting.cuh"

namespace committee::gpu {

constexpr int kPartThreads = 256, kPartItems = 8, kPartRows = kPartThreads * kPartItems;

__device__ inline bool goes_left(u32 bin, u32 place) {
  return bin == kMissing ? (place & kMissingLeft) != 0 : bin <= (place & 255);
}

// The last candidate whose rows begin at or before `at`; `first_of` is their common ordinate.
template <class First>
__device__ inline i32 find_candidate(i32 n, u32 at, First&& first_of) {
  i32 low = 0;
  for (i32 step = 1 << 15; step > 0; step /= 2)
    if (low + step < n && first_of(low + step) <= at) low += step;
  return low;
}

// Rows from..from + n of a node, by a block of kPartThreads. Not stable between blocks, which no sum can see.
__device__ inline void partition_piece(const Fit& fit, Candidate& candidate, u32 from, u32 n) {
  __shared__ u32 counts[kPartItems * kPartThreads / kLanes], bases[2];
  const TreeNode& node = fit.nodes[candidate.node];
  const Item* source = fit.list(node.depth) + node.begin + from;
  Item* target = fit.list(node.depth + 1) + node.begin;
  const u8* column = fit.columns + node.best.feature * static_cast<Size>(fit.column_stride);
  const u32 t = threadIdx.x, lane = lane_of(), warp = warp_of(), place = node.best.place;
  Item item[kPartItems];
  u32 rank[kPartItems];
  bool left[kPartItems];
  for (int j = 0; j < kPartItems; ++j) {
    const u32 i = j * kPartThreads + t;
    item[j] = Item::make(0, 0, 0);
    if (i < n) item[j] = source[i];
  }
  for (int j = 0; j < kPartItems; ++j) {
    const u32 i = j * kPartThreads + t;
    left[j] = i < n && goes_left(column[item[j].row], place);
  }
  for (int j = 0; j < kPartItems; ++j) {
    const u32 mask = __ballot_sync(kAll, left[j]);
    rank[j] = __popc(mask & ((1u << lane) - 1));
    if (lane == 0) counts[j * (kPartThreads / kLanes) + warp] = __popc(mask);
  }
  __syncthreads();
  if (warp == 0) {  // 64 counts, two a lane
    const u32 a = counts[2 * lane], b = counts[2 * lane + 1];
    u32 v = a + b;
    for (u32 d = 1; d < kLanes; d *= 2) {
      const u32 other = __shfl_up_sync(kAll, v, d);
      if (lane >= d) v += other;
    }
    counts[2 * lane] = v - a - b;
    counts[2 * lane + 1] = v - b;
    if (lane == kLanes - 1) {
      bases[0] = atomicAdd(&candidate.n_left, v);
      bases[1] = node.count - atomicAdd(&candidate.n_right, n - v) - (n - v);
    }
  }
  __syncthreads();
  for (int j = 0; j < kPartItems; ++j) {
    const u32 i = j * kPartThreads + t, before = counts[j * (kPartThreads / kLanes) + warp] + rank[j];
    if (i < n) target[left[j] ? bases[0] + before : bases[1] + (i - before)] = item[j];
  }
  __syncthreads();
}

// Adds n items to the cells of a group in shared memory: a warp takes a row at a time, lane = feature. The
// cell of (bin, feature) lies at bin * 32 + feature, so every lane has a bank of its own. `ones`: rows are
// counted instead.
__device__ inline void add_items(const Fit& fit, const Item* items, u32 n, u32 group, bool ones, u32* cells,
                                 Item* stage) {
  const u32 lane = lane_of(), warp = warp_of(), n_warps = blockDim.x / kLanes;
  const bool there = group * kLanes + lane < fit.n_features;
  const u8* records = fit.record(group, 0) + lane;
  Item* const mine = stage + warp * kLanes;
  constexpr int kInFlight = 16;
  for (u32 base = warp * kLanes; base < n; base += n_warps * kLanes) {
    Item item = Item::make(0, 0, 0);  // past the end: row 0 with an empty word changes nothing
    if (base + lane < n) item = items[base + lane];
    if (ones) item = Item::make(item.row, 0, base + lane < n ? 1 : 0);
    __syncwarp();
    mine[lane] = item;
    __syncwarp();
    for (int r = 0; r < kLanes; r += kInFlight) {
      u32 bin[kInFlight];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) bin[j] = records[static_cast<Size>(mine[r + j].row) * kLanes];
      if (!there) continue;
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
        const Item own = mine[r + j];
        atomicAdd(cells + bin[j] * kLanes + lane, static_cast<u32>(own.gradient()));
        atomicAdd(cells + kCells + bin[j] * kLanes + lane, own.hessian());
      }
    }
  }
}

__device__ inline void clear_cells(u32* cells) {
  for (u32 i = threadIdx.x; i < 2 * kCells; i += blockDim.x) cells[i] = 0;
}

// Adds the block's cells to those in global memory, from cell `first` on, and clears them.
__device__ inline void flush_cells(u32* cells, u32 first, u32* to) {
  for (u32 i = first + threadIdx.x; i < 2 * kCells; i += blockDim.x) {
    const u32 x = cells[i];
    if (x != 0) atomicAdd(to + (i - first), x);
  }
  __syncthreads();
  clear_cells(cells);
}

}  // namespace committee::gpu

// The records of all rows from the columns.
extern "C" __global__ void __launch_bounds__(256) make_records(const Fit* given) {
  const Fit& fit = *given;
  const Size n = fit.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n * fit.n_groups; i += gridDim.x * Size{256}) {
    const u32 group = i / n, row = i % n;
    u8* record = fit.records + i * kLanes;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 feature = group * kLanes + lane;
      record[lane] = feature < fit.n_features ? fit.columns[feature * static_cast<Size>(fit.column_stride) + row] : 0;
    }
  }
}

// Rows of the candidates to the sides of their splits; also clears what add_histograms adds to.
extern "C" __global__ void __launch_bounds__(kPartThreads) partition_rows(const Fit* given) {
  const Fit& fit = *given;
  const TreeState& state = *fit.state;
  const i32 n = state.n_candidates;
  const Size first = blockIdx.x * Size{kPartThreads} + threadIdx.x, step = gridDim.x * Size{kPartThreads};
  const Size per_node = static_cast<Size>(fit.n_groups) * 2 * kCells;
  for (Size i = first; i < n * per_node; i += step) {
    const TreeNode& node = fit.nodes[fit.candidates[i / per_node].node];
    const i32 built = node.left + (2 * node.best.left_h <= node.h ? 0 : 1);
    fit.histograms[built * per_node + i % per_node] = 0;
  }
  if (fit.checked) {
    const u32 n_counts = n < fit.max_counts ? n : fit.max_counts;
    for (Size i = first; i < n_counts * per_node / 2; i += step) fit.counts[i] = 0;
  }
  const u32 total = state.n_rows_to_part;
  for (u32 begin = blockIdx.x * kPartRows; begin < total; begin += gridDim.x * kPartRows) {
    const u32 end = total - begin < kPartRows ? total : begin + kPartRows;
    i32 k = find_candidate(n, begin, [&](i32 i) { return fit.candidates[i].first; });
    for (u32 at = begin; at < end; ++k) {
      Candidate& candidate = fit.candidates[k];
      const u32 count = fit.nodes[candidate.node].count, from = at - candidate.first;
      const u32 length = count - from < end - at ? count - from : end - at;
      if (length > 0) partition_piece(fit, candidate, from, length);
      at += length;
    }
  }
}

// Whether both sides of a candidate's split have enough rows; if so its children exist now. One block.
extern "C" __global__ void __launch_bounds__(kBlock) check_candidates(const Fit* given) {
  const Fit& fit = *given;
  TreeState& state = *fit.state;
  const u32 n = state.n_candidates, fewest = fit.min_leaf > 1 ? fit.min_leaf : 1;
  u32 n_counts = 0, n_rows = 0;
  for (u32 begin = 0; begin < n; begin += kBlock) {
    const u32 k = begin + threadIdx.x;
    Candidate* candidate = k < n ? fit.candidates + k : nullptr;
    TreeNode* node = candidate ? fit.nodes + candidate->node : nullptr;
    const bool few = node && fit.checked && !node->counted &&
                     (candidate->n_left < fewest || node->count - candidate->n_left < fewest);
    u32 total, rows = 0;
    const u32 slot = n_counts + scan_block(few, &total);
    n_counts += total;
    if (node && !few) {
      TreeNode* children = fit.nodes + node->left;
      bool searched = false;
      for (int side = 0; side < 2; ++side) {
        TreeNode& child = children[side];
        child = TreeNode{};
        child.best = no_split();
        child.g = side == 0 ? node->best.left_g : node->g - node->best.left_g;
        child.h = side == 0 ? node->best.left_h : node->h - node->best.left_h;
        child.begin = node->begin + (side == 0 ? 0 : candidate->n_left);
        child.count = side == 0 ? candidate->n_left : node->count - candidate->n_left;
        child.parent = candidate->node;
        child.left = child.reserved = -1;
        child.depth = node->depth + 1;
        child.searched = fit.may_split(child);
        searched = searched || child.searched;
      }
      candidate->state = kSplits;
      if (searched) rows = children[2 * node->best.left_h <= node->h ? 0 : 1].count;
    } else if (node) {
      candidate->state = slot < fit.max_counts ? kCounts : kWaits;
      candidate->slot = slot;
      if (candidate->state == kCounts) rows = node->count;
    }
    u32 sum;
    const u32 job = n_rows + scan_block(rows, &sum);
    n_rows += sum;
    if (candidate) candidate->job = job, candidate->rows = rows;
  }
  if (threadIdx.x == 0) state.n_rows_to_add = n_rows, state.n_counts += n_counts;
}

// Histograms of one child of each candidate, or of the root; of rows where they have to be counted.
extern "C" __global__ void __launch_bounds__(kBlock) add_histograms(const Fit* given, int root, u32 least_rows) {
  const Fit& fit = *given;
  const TreeState& state = *fit.state;
  const i32 n = root ? 1 : state.n_candidates;
  const u32 total = root ? static_cast<u32>(fit.n_items) : state.n_rows_to_add;
  if (n == 0 || total == 0) return;
  COMMITTEE_SHARED(u32, cells);
  Item* stage = reinterpret_cast<Item*>(cells + 2 * kCells);
  const Size work = static_cast<Size>(total) * fit.n_groups;
  Size n_blocks = work / least_rows + 1;
  if (n_blocks > gridDim.x) n_blocks = gridDim.x;
  if (blockIdx.x >= n_blocks) return;
  clear_cells(cells);
  __syncthreads();
  Size at = work * blockIdx.x / n_blocks;
  const Size end = work * (blockIdx.x + 1) / n_blocks;
  while (at < end) {
    const u32 group = at / total, begin = at % total;
    const u32 last = end - at < total - begin ? begin + static_cast<u32>(end - at) : total;
    i32 k = root ? 0 : find_candidate(n, begin, [&](i32 i) { return fit.candidates[i].job; });
    for (u32 row = begin; row < last; ++k) {
      const u32 first = root ? 0 : fit.candidates[k].job, rows = root ? total : fit.candidates[k].rows;
      if (rows == 0 || first + rows <= row) continue;
      const u32 stop = first + rows < last ? first + rows : last;
      if (root) {
        add_items(fit, fit.items + row, stop - row, group, false, cells, stage);
        __syncthreads();
        flush_cells(cells, 0, fit.histogram(0, group));
      } else {
        const Candidate& candidate = fit.candidates[k];
        const TreeNode& node = fit.nodes[candidate.node];
        const bool counts = candidate.state == kCounts;
        const i32 built = node.left + (2 * node.best.left_h <= node.h ? 0 : 1);
        const TreeNode& source = counts ? node : fit.nodes[built];
        add_items(fit, fit.list(source.depth) + source.begin + (row - first), stop - row, group, counts, cells, stage);
        __syncthreads();
        if (counts) {
          flush_cells(cells, kCells, fit.counts + (candidate.slot * static_cast<Size>(fit.n_groups) + group) * kCells);
        } else {
          flush_cells(cells, 0, fit.histogram(built, group));
        }
      }
      __syncthreads();
      row = stop;
    }
    at += last - begin;
  }
}
