// What goes over the rows of nodes: partitioning, histograms, leaves.
#pragma once
#include "boosting.cuh"
#include "records.cuh"

namespace committee::gpu {

constexpr int kPartThreads = 256, kPartItems = 8, kPartRows = kPartThreads * kPartItems;
constexpr int kMostCandidates = 1024;  // as the host knows

__device__ inline bool goes_left(u32 bin, u32 place) {
  return bin == kMissing ? (place & kMissingLeft) != 0 : bin <= (place & 255);
}

// Whether a row is left of a split; `codes` are the levels that go left where that is by category.
__device__ inline bool goes_left(const Fit& fit, u32 row, u32 bin, u32 feature, u32 place, const u32* codes) {
  if (!kOptions || (place & kCategorical) == 0) return goes_left(bin, place);
  if (bin == kMissing) return (place & kMissingLeft) != 0;
  const u32 wide = fit.wide_of[fit.category_of[feature]];
  const u32 code = wide == kAll ? bin : fit.wide_codes[wide * static_cast<Size>(fit.n_rows) + row];
  return ((codes[code / 32] >> (code % 32)) & 1u) != 0;
}

// The last candidate whose rows begin at or before `at`; `first_of` is their common ordinate.
template <class First>
__device__ inline i32 find_candidate(i32 n, u32 at, First&& first_of) {
  i32 low = 0;
  for (i32 step = 1 << 15; step > 0; step /= 2)
    if (low + step < n && first_of(low + step) <= at) low += step;
  return low;
}

// Rows of a candidate that are partitioned. Where no side has to be checked for its rows, children that are leaves by
// their depth need none: sum_leaves finds their rows.
__device__ inline u32 count_rows_to_part(const Fit& fit, const TreeNode& node) {
  return fit.checked || node.depth + 1 < fit.max_depth ? node.count : 0;
}

// Rows from..from + n of a node, by a block of kPartThreads. Not stable between blocks, which no sum can see.
__device__ inline void partition_piece(const Fit& fit, Candidate& candidate, u32 from, u32 n) {
  __shared__ u32 counts[kPartItems * kPartThreads / kLanes], bases[2];
  const i32 id = candidate.node;
  const TreeNode& node = fit.nodes[id];
  const u32 depth = node.depth, begin = node.begin, n_rows = node.count;
  const u32 feature = node.best.feature, place = node.best.place;
  const Item* source = fit.list(depth) + begin + from;
  Item* target = fit.list(depth + 1) + begin;
  // A column stays in the cache where records do not.
  const u32 column = fit.columns ? fit.column_of[feature] : kAll;
  const u8* bins = column != kAll ? fit.columns + column * static_cast<Size>(fit.column_stride)
                                  : fit.record(feature / kLanes, 0) + feature % kLanes;
  const u32 apart = column != kAll ? 1 : kLanes;
  const u32 t = threadIdx.x, lane = lane_of(), warp = warp_of();
  const u32* codes = kOptions ? fit.codes + id * static_cast<Size>(fit.n_words) : nullptr;
  Item item[kPartItems];
  u32 lefts = 0;  // a bit for each item
#pragma unroll
  for (int j = 0; j < kPartItems; ++j) {
    const u32 i = j * kPartThreads + t;
    item[j] = Item::make(0, 0, 0);
    if (i < n) item[j] = source[i];
  }
#pragma unroll
  for (int j = 0; j < kPartItems; ++j) {
    const u32 bin = bins[static_cast<Size>(item[j].row) * apart];
    const bool left = j * kPartThreads + t < n && goes_left(fit, item[j].row, bin, feature, place, codes);
    lefts |= (left ? 1u : 0u) << j;
  }
  if (kOptions && fit.track_weights) {
    Size weight = 0;
    for (int j = 0; j < kPartItems; ++j)
      if ((lefts >> j) & 1u) weight += fit.weights[item[j].row];
    if (weight > 0) atomicAdd(&candidate.left_weight, weight);
  }
#pragma unroll
  for (int j = 0; j < kPartItems; ++j) {
    const u32 mask = __ballot_sync(kAll, ((lefts >> j) & 1u) != 0);
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
      bases[1] = n_rows - atomicAdd(&candidate.n_right, n - v) - (n - v);
    }
  }
  __syncthreads();
  const u32 left_base = bases[0], right_base = bases[1];
#pragma unroll
  for (int j = 0; j < kPartItems; ++j) {
    const bool left = ((lefts >> j) & 1u) != 0;
    const u32 rank = __popc(__ballot_sync(kAll, left) & ((1u << lane) - 1));
    const u32 i = j * kPartThreads + t, before = counts[j * (kPartThreads / kLanes) + warp] + rank;
    if (i < n) target[left ? left_base + before : right_base + (i - before)] = item[j];
  }
  __syncthreads();
}

// Four words, written at once.
struct alignas(16) FourWords {
  u32 words[4];
};
constexpr u32 kClearedWords = kPartThreads * 4;

// What a row adds to the cell at `at` of each plane.
__device__ inline void add_word(u32* cells, u32 at, const Item& item) {
  const i32 g = item.gradient();
  const u32 h = item.hessian();
  if constexpr (kLong) {
    atomicAdd(cells + at, (static_cast<u32>(g) & kPartMask) * h);
    atomicAdd(cells + kCells + at, (static_cast<u32>(g >> kPartBits) & kPartMask) * h);
    atomicAdd(cells + 2 * kCells + at, static_cast<u32>(g >> (2 * kPartBits)) * h);
  } else {
    atomicAdd(cells + at, static_cast<u32>(g));
  }
  atomicAdd(cells + (kPlanes - 1) * kCells + at, h);
}

// The gradient that the planes from `cells` on hold, `stride` apart.
__device__ inline Sum read_sum(const u32* cells, Size stride) {
  if constexpr (!kLong) return static_cast<i32>(cells[0]);
  return static_cast<Sum>(cells[0]) + (static_cast<Sum>(cells[stride]) << kPartBits) +
         (static_cast<Sum>(static_cast<i32>(cells[2 * stride])) * (1 << (2 * kPartBits)));
}

// Two items in one load from shared memory, where their size allows.
struct alignas(sizeof(Item) == 8 ? 16 : 4) ItemPair {
  Item items[2];
};

// Adds n items to the cells of a group in shared memory: a warp takes a row at a time, lane = feature. The
// cell of (bin, feature) lies at bin * 32 + feature, so every lane has a bank of its own. `ones`: rows are
// counted in the last plane instead, and their weights in the first.
__device__ inline void add_items(const Fit& fit, const Item* items, u32 n, u32 group, bool ones, u32* cells,
                                 Item* stage) {
  const u32 lane = lane_of(), warp = warp_of(), n_warps = blockDim.x / kLanes;
  const bool there = group * kLanes + lane < fit.n_features;
  const u8* records = fit.record(group, 0) + lane;
  Item* const mine = stage + warp * kLanes;
  const ItemPair* const pairs = reinterpret_cast<const ItemPair*>(mine);
  constexpr int kInFlight = 16;
  for (u32 base = warp * kLanes; base < n; base += n_warps * kLanes) {
    Item item = Item::make(0, 0, 0);  // past the end: row 0 with an empty word changes nothing
    if (base + lane < n) item = items[base + lane];
    if (ones) item = Item::make(item.row, 0, base + lane < n ? 1 : 0);
    __syncwarp();
    mine[lane] = item;
    __syncwarp();
#pragma unroll 1
    for (int r = 0; r < kLanes; r += kInFlight) {
      ItemPair pair[kInFlight / 2];
      u32 bin[kInFlight];
#pragma unroll
      for (int j = 0; j < kInFlight / 2; ++j) pair[j] = pairs[r / 2 + j];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) bin[j] = records[static_cast<Size>(pair[j / 2].items[j % 2].row) * kLanes];
      if (!there) continue;
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
        const Item own = pair[j / 2].items[j % 2];
        const u32 at = bin[j] * kLanes + lane;
        add_word(cells, at, own);
        if (kOptions && ones && fit.count_weights && own.hessian() > 0) atomicAdd(cells + at, fit.weights[own.row]);
      }
    }
  }
}

__device__ inline void clear_cells(u32* cells) {
  for (u32 i = threadIdx.x; i < kPlanes * kCells; i += blockDim.x) cells[i] = 0;
}

// Adds the block's cells first .. last - 1 to those in global memory, and clears them.
__device__ inline void flush_cells(u32* cells, u32 first, u32 last, u32* to) {
  for (u32 i = first + threadIdx.x; i < last; i += blockDim.x) {
    const u32 x = cells[i];
    if (x == 0) continue;
    cells[i] = 0;
    atomicAdd(to + (i - first), x);
  }
}

// Whether a side of a candidate's split has too few rows, or too little weight.
__device__ inline bool is_too_small(const Fit& fit, const Candidate& candidate, const TreeNode& node) {
  const u32 fewest = fit.min_leaf > 1 ? fit.min_leaf : 1, n_right = node.count - candidate.n_left;
  if (candidate.n_left < fewest || n_right < fewest) return true;
  if (!kOptions || !(fit.least_weight > 0.0)) return false;
  const Size left = fit.track_weights ? candidate.left_weight : candidate.n_left, right = node.weight - left;
  return static_cast<double>(left < right ? left : right) < fit.least_weight;
}

// Weight, random key and bounds of a node's children.
__device__ inline void set_options(const Fit& fit, const Candidate& candidate, const TreeNode& node,
                                   TreeNode* children) {
  children[0].weight = fit.track_weights ? candidate.left_weight : candidate.n_left;
  children[1].weight = node.weight - children[0].weight;
  for (int side = 0; side < 2; ++side) {
    children[side].key = child_key(node.key, side == 1);
    children[side].lower = node.lower, children[side].upper = node.upper;
  }
  const i32 direction = fit.by_values ? fit.directions[node.best.feature] : 0;
  if (direction == 0) return;
  double values[2];
  for (int side = 0; side < 2; ++side)
    values[side] = find_bounded_step(fit.limits(), static_cast<double>(children[side].g) * fit.state->gradient_unit,
                                     static_cast<double>(children[side].h) * fit.state->hessian_unit, node.lower,
                                     node.upper);
  const double middle = values[0] / 2 + values[1] / 2;
  (direction > 0 ? children[0].upper : children[0].lower) = middle;
  (direction > 0 ? children[1].lower : children[1].upper) = middle;
}

// Whether both sides of a candidate's split have enough rows; if so its children exist now. One block.
__device__ inline void check_candidates(const Fit& fit) {
  TreeState& state = *fit.state;
  const u32 n = state.n_candidates;
  u32 n_counts = 0, n_rows = 0;
  for (u32 begin = 0; begin < n; begin += blockDim.x) {
    const u32 k = begin + threadIdx.x;
    const bool there = k < n;  // others look at the first one, and change nothing
    Candidate* const candidate = fit.candidates + (there ? k : 0);
    TreeNode* const node = fit.nodes + candidate->node;
    const bool few = there && fit.checked && !node->counted && is_too_small(fit, *candidate, *node);
    u32 total, rows = 0;
    const u32 slot = n_counts + scan_block(few, &total);
    n_counts += total;
    if (there && !few) {
      TreeNode* children = fit.nodes + node->left;
      bool searched = false;
      const int built = 2 * node->best.left_h <= node->h ? 0 : 1;
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
        child.slot = side == built ? Fit::new_slot(node->left) : node->slot;
        child.searched = fit.may_split(child);
        searched = searched || child.searched;
      }
      if constexpr (kOptions) set_options(fit, *candidate, *node, children);
      candidate->state = kSplits;
      if (searched) rows = children[built].count;
    } else if (there) {
      candidate->state = slot < fit.max_counts ? kCounts : kWaits;
      candidate->slot = slot;
      if (candidate->state == kCounts) rows = node->count;
    }
    u32 sum;
    const u32 job = n_rows + scan_block(rows, &sum);
    n_rows += sum;
    if (there) candidate->job = job, candidate->rows = rows;
  }
  if (threadIdx.x == 0) state.n_rows_to_add = n_rows, state.n_counts += n_counts;
}

}  // namespace committee::gpu

// The columns of some features, one after the other.
extern "C" __global__ void __launch_bounds__(256)
    copy_columns(const Fit* __restrict__ given, const u32* features, u32 n) {
  const Fit& fit = *given;
  for (Size row = blockIdx.x * Size{256} + threadIdx.x; row < static_cast<Size>(fit.n_rows);
       row += gridDim.x * Size{256}) {
    for (u32 k = 0; k < n; ++k)
      fit.columns[k * static_cast<Size>(fit.column_stride) + row] =
          fit.record(features[k] / kLanes, row)[features[k] % kLanes];
  }
}


// Rows of the candidates to the sides of their splits; also clears what add_histograms adds to.
extern "C" __global__ void __launch_bounds__(kPartThreads, 5) partition_rows(const Fit* __restrict__ given) {
  fetch_fit(given);
  const Fit& fit = *given;
  const TreeState& state = *fit.state;
  const i32 n = state.n_candidates;
  const u32 total = state.n_rows_to_part;
  __shared__ u32 firsts[kMostCandidates];
  for (i32 i = threadIdx.x; i < n; i += kPartThreads) firsts[i] = fit.candidates[i].first;
  const u32 per_node = static_cast<u32>(fit.n_groups) * (kPlanes * kCells / kClearedWords);
  // Without rows there are no histograms either.
  for (u32 i = blockIdx.x; total > 0 && i < n * per_node; i += gridDim.x) {
    const TreeNode& node = fit.nodes[fit.candidates[i / per_node].node];
    if (node.depth + 1 >= fit.max_depth) continue;
    u32* const cells = fit.histograms + (static_cast<Size>(Fit::new_slot(node.left)) * per_node + i % per_node) *
                                            kClearedWords;
    reinterpret_cast<FourWords*>(cells)[threadIdx.x] = {};
  }
  if (fit.checked) {
    const u32 n_counts = n < fit.max_counts ? n : fit.max_counts;
    const Size per_slot = static_cast<Size>(fit.n_groups) * (fit.count_weights ? 2 : 1) * kCells;
    for (Size i = blockIdx.x * Size{kPartThreads} + threadIdx.x; i < n_counts * per_slot;
         i += gridDim.x * Size{kPartThreads})
      fit.counts[i] = 0;
  }
  __syncthreads();
  for (u32 begin = blockIdx.x * kPartRows; begin < total; begin += gridDim.x * kPartRows) {
    const u32 end = total - begin < kPartRows ? total : begin + kPartRows;
    i32 k = find_candidate(n, begin, [&](i32 i) { return firsts[i]; });
    for (u32 at = begin; at < end; ++k) {
      const u32 last = k + 1 < n ? firsts[k + 1] : total, stop = last < end ? last : end;
      if (stop > at) partition_piece(fit, fit.candidates[k], at - firsts[k], stop - at);
      at = stop;
    }
  }
  if (is_last_block(&fit.state->n_done)) check_candidates(fit);
}

// Histograms of one child of each candidate, or of the root; of rows where they have to be counted.
extern "C" __global__ void __launch_bounds__(kBlock)
    add_histograms(const Fit* __restrict__ given, int root, u32 least_rows) {
  const Fit& fit = *given;
  const TreeState& state = *fit.state;
  const i32 n = root ? 1 : state.n_candidates;
  const u32 total = root ? static_cast<u32>(fit.n_items) : state.n_rows_to_add;
  if (n == 0 || total == 0) return;
  COMMITTEE_SHARED(u32, cells);
  __shared__ u32 jobs[kMostCandidates];
  Item* stage = reinterpret_cast<Item*>(cells + kPlanes * kCells);
  const Size work = static_cast<Size>(total) * fit.n_groups;
  Size n_blocks = work / least_rows + 1;
  if (n_blocks > gridDim.x) n_blocks = gridDim.x;
  if (blockIdx.x >= n_blocks) return;
  for (i32 i = threadIdx.x; i < n; i += kBlock) jobs[i] = root ? 0 : fit.candidates[i].job;
  clear_cells(cells);
  __syncthreads();
  Size at = work * blockIdx.x / n_blocks;
  const Size end = work * (blockIdx.x + 1) / n_blocks;
  while (at < end) {
    const u32 group = at / total, begin = at % total;
    const u32 last = end - at < total - begin ? begin + static_cast<u32>(end - at) : total;
    i32 k = find_candidate(n, begin, [&](i32 i) { return jobs[i]; });
    for (u32 row = begin; row < last; ++k) {
      const u32 next = k + 1 < n ? jobs[k + 1] : total, stop = next < last ? next : last;
      if (stop <= row) continue;
      if (root) {
        add_items(fit, fit.items + row, stop - row, group, false, cells, stage);
        __syncthreads();
        flush_cells(cells, 0, kPlanes * kCells, fit.histogram(0, group));
      } else {
        const Candidate& candidate = fit.candidates[k];
        const TreeNode& node = fit.nodes[candidate.node];
        const bool counts = candidate.state == kCounts;
        const i32 built = node.left + (2 * node.best.left_h <= node.h ? 0 : 1);
        const TreeNode& source = counts ? node : fit.nodes[built];
        add_items(fit, fit.list(source.depth) + source.begin + (row - jobs[k]), stop - row, group, counts, cells,
                  stage);
        __syncthreads();
        if (counts) {
          u32* const to = fit.count_cells(candidate.slot, group);
          flush_cells(cells, (kPlanes - 1) * kCells, kPlanes * kCells, to);
          if (kOptions && fit.count_weights) flush_cells(cells, 0, kCells, to + kCells);
        } else {
          flush_cells(cells, 0, kPlanes * kCells, fit.histogram(built, group));
        }
      }
      __syncthreads();
      row = stop;
    }
    at += last - begin;
  }
}
