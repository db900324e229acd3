// Everything of forests and extra-trees, as one program.
#include "forest.cuh"
#include "forest_score.cuh"
#include "forest_children.cuh"

#include "forest_few.cuh"
#include "forest_nodes.cuh"

// Columns become records.
extern "C" __global__ void __launch_bounds__(256) make_forest_records(const Forest* given) {
  const Forest& job = *given;
  const Size n = job.n_groups * job.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    const u32 first = i / job.n_rows * kLanes;
    const Size row = i % job.n_rows;
    u32 words[kLanes / 4];
    for (u32 w = 0; w < kLanes / 4; ++w) {
      words[w] = 0;
      for (u32 b = 0; b < 4 && first + 4 * w + b < job.n_features; ++b)
        words[w] |= static_cast<u32>(job.columns[(first + 4 * w + b) * job.column_stride + row]) << (8 * b);
    }
    for (u32 w = 0; w < kLanes / 4; ++w) reinterpret_cast<u32*>(job.records)[i * (kLanes / 4) + w] = words[w];
  }
}

// Records become columns.
extern "C" __global__ void __launch_bounds__(256) make_forest_columns(const Forest* given) {
  const Forest& job = *given;
  for (Size row = blockIdx.x * Size{256} + threadIdx.x; row < static_cast<Size>(job.n_rows);
       row += gridDim.x * Size{256}) {
    for (u32 feature = 0; feature < job.n_features; ++feature)
      job.columns[feature * static_cast<Size>(job.column_stride) + row] =
          job.records[(feature / kLanes * static_cast<Size>(job.n_rows) + row) * kLanes + feature % kLanes];
  }
}

namespace committee::gpu {

__device__ inline u64 read_weight(const Forest& job, u32 tree, Size row) {
  const Size at = tree * static_cast<Size>(job.n_rows) + row;
  if (job.weight_bytes == 1) return job.weights[at];
  if (job.weight_bytes == 4) return reinterpret_cast<const u32*>(job.weights)[at];
  if (job.weight_bytes == 8) return reinterpret_cast<const u64*>(job.weights)[at];
  return 1;
}

__device__ inline SampleRow sample_row(const Forest& job, u32 tree, Size row, u64 weight) {
  if constexpr (kMoments) {
    const double scaled = ldexp(job.y[row] - job.offsets[tree], static_cast<int>(job.shifts[tree]));
    return SampleRow::make(row, static_cast<u32>(weight), static_cast<u64>(static_cast<i64>(rint(scaled))));
  } else {
    const u32 label = job.labels[row], w = static_cast<u32>(weight);
    if constexpr (kBinary) return SampleRow::make(row, w | (w * label) << 16, 0);
    if constexpr (kWide) return SampleRow::make(row, label, weight);
    return SampleRow::make(row, label | w << 16, 0);
  }
}

}  // namespace committee::gpu

// Rows of positive weight of each tree, in any order, and the totals of the roots; n_items and totals are zero before.
// Dynamic shared memory: a cell.
extern "C" __global__ void __launch_bounds__(256) make_sample(const Forest* given) {
  const Forest& job = *given;
  COMMITTEE_SHARED(Element, cell);
  const u32 lane = lane_of(), n_parts = gridDim.x / job.n_trees, tree = blockIdx.x / n_parts, part = blockIdx.x % n_parts;
  if (tree >= job.n_trees) return;
  for (u32 e = threadIdx.x; e < job.n_elements; e += 256) cell[e] = 0;
  __syncthreads();
  SampleRow* const items = job.rows_of(tree, 0);
  const Size n_rows = job.n_rows;
  Element own[2] = {0, 0};
  for (Size first = part * Size{256} + warp_of() * kLanes; first < n_rows; first += n_parts * Size{256}) {
    const Size at = first + lane;
    const u64 weight = at < n_rows ? read_weight(job, tree, at) : 0;
    const u32 set = __ballot_sync(kAll, weight > 0);
    u32 place = 0;
    if (lane == 0) place = atomicAdd(&job.n_items[tree], static_cast<u32>(__popc(set)));
    place = __shfl_sync(kAll, place, 0) + __popc(set & ((1u << lane) - 1));
    if (weight == 0) continue;
    const SampleRow row = sample_row(job, tree, at, weight);
    items[place] = row;
    if constexpr (kClasses) {
      share_row(job, cell, 1, row);
    } else {
      add_row(job, own, 1, row);
    }
  }
  if constexpr (!kClasses) {
    add_shared(cell, own[0]);
    add_shared(cell + 1, own[1]);
  }
  __syncthreads();
  for (u32 e = threadIdx.x; e < job.n_elements; e += 256) add_global(job.total_of(tree, 0) + e, cell[e]);
}

extern "C" __global__ void __launch_bounds__(32) open_roots(const Forest* given) {
  const Forest& job = *given;
  for (u32 tree = blockIdx.x * 32 + threadIdx.x; tree < job.n_trees; tree += gridDim.x * 32) {
    const u32 n = job.n_items[tree];
    job.nodes[tree * static_cast<Size>(job.max_nodes)] = {0, 0, 0, n, 0};
    job.n_nodes[tree] = 1;
    job.tree_keys[tree] = combine_keys(static_cast<u64>(job.seed), static_cast<u64>(job.first_tree + tree));
    if (!stays_leaf(job, tree, n, 0, job.total_of(tree, 0))) {
      push_node(job, {kRootKey, tree, 0, 0, n, 0, 0});
    } else {
      list_leaf_rows(job, tree, 0, 0, n, 0, 1);
    }
  }
}

// After a level: its queues are empty.
extern "C" __global__ void __launch_bounds__(32) end_level(const Forest* given, int parity) {
  if (threadIdx.x >= kQueues) return;
  given->state->n_open[parity][threadIdx.x] = 0;
  given->state->tickets[threadIdx.x] = 0;
}

// Gathers what the host reads.
extern "C" __global__ void __launch_bounds__(256) pack_forest(const Forest* given) {
  const Forest& job = *given;
  const u32 n_parts = gridDim.x / job.n_trees, tree = blockIdx.x / n_parts, part = blockIdx.x % n_parts;
  if (tree >= job.n_trees) return;
  const Size first = part * Size{256} + threadIdx.x, step = n_parts * Size{256};
  const u64 to = job.node_offsets[tree], n = job.node_offsets[tree + 1] - to;
  const ForestNode* const nodes = job.nodes + tree * static_cast<Size>(job.max_nodes);
  for (Size i = first; i < n; i += step) job.packed_nodes[to + i] = nodes[i];
  if constexpr (kMoments) {
    const u64 row = job.row_offsets[tree], n_rows = job.row_offsets[tree + 1] - row;
    const u32* const rows = job.leaf_rows + tree * static_cast<Size>(job.max_items);
    for (Size i = first; i < n_rows; i += step) job.packed_rows[row + i] = rows[i];
  } else {
    const Element* const totals = job.total_of(tree, 0);
    for (Size i = first; i < n * job.n_elements; i += step) job.packed_totals[to * job.n_elements + i] = totals[i];
  }
}

extern "C" __global__ void describe_forest(Size* sizes) {
  if (threadIdx.x != 0) return;
  sizes[0] = sizeof(Forest), sizes[1] = sizeof(SampleRow), sizes[2] = sizeof(ForestNode), sizes[3] = sizeof(OpenNode);
  sizes[4] = sizeof(GrowthState), sizes[5] = sizeof(Element);
}
