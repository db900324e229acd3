// The end of a node's work: its split is written, its children become leaves or are queued.
#pragma once
#include "forest_score.cuh"

namespace committee::gpu {

__device__ inline bool stays_leaf(const Forest& job, u32 tree, u32 n_rows, u32 depth, const Element* total) {
  const CellView cell{total, 1};
  return depth >= job.max_depth || n_rows < job.min_split ||
         find_weight(job, cell) < 2.0 * job.min_weights[tree] || is_pure(job, cell);
}

__device__ inline u32 find_class(const Forest& job, u32 n_rows) {
  return n_rows <= kFew ? kFewRows : n_rows <= job.some_rows ? kSomeRows : kManyRows;
}

// One thread. Nodes of a depth have its parity.
__device__ inline void push_node(const Forest& job, const OpenNode& node) {
  const u32 which = find_class(job, node.n_rows), parity = node.depth % 2;
  const u32 place = atomicAdd(&job.state->n_open[parity][which], 1u);
  if (place >= job.capacity(which)) {
    atomicMax(&job.state->failure, static_cast<u32>(kNoQueueRoom));
    return;
  }
  job.queue(parity, which)[place] = node;
}

// What the threads of a node agree on after the split.
struct Children {
  u32 n_left;
  u32 are_leaves;  // a bit each
};

// One thread. The totals of both children are written already, at the nodes `left` and `left + 1`.
__device__ inline u32 open_children(const Forest& job, const OpenNode& node, const Cut& cut, u32 left, u32 n_left) {
  ForestNode* const nodes = job.nodes + node.tree * static_cast<Size>(job.max_nodes);
  const Element* const total = job.total_of(node.tree, left);
  bool goes_left = cut.missing_left != 0;
  if (!cut.has_missing)
    goes_left = 2.0 * find_weight(job, CellView{total, 1}) >
                find_weight(job, CellView{job.total_of(node.tree, node.id), 1});
  ForestNode& own = nodes[node.id];
  own.left = left;
  own.split = cut.feature | (goes_left ? ForestNode::kMissingLeft : 0u);
  own.bins = cut.bin | cut.next << 16;
  u32 are_leaves = 0;
  for (u32 side = 0; side < 2; ++side) {
    const u32 n = side == 0 ? n_left : node.n_rows - n_left, begin = node.begin + (side == 0 ? 0 : n_left);
    nodes[left + side] = {0, 0, 0, n, begin};
    if (stays_leaf(job, node.tree, n, node.depth + 1, total + side * job.n_elements)) {
      are_leaves |= 1u << side;
    } else {
      push_node(job, {child_key(node.key, side == 1), node.tree, left + side, begin, n, node.depth + 1, 0});
    }
  }
  return are_leaves;
}

// One thread. Room for two nodes; false: there is none.
__device__ inline bool take_nodes(const Forest& job, u32 tree, u32* left) {
  *left = atomicAdd(&job.n_nodes[tree], 2u);
  if (*left + 2 <= job.max_nodes) return true;
  atomicMax(&job.state->failure, static_cast<u32>(kNoNodeRoom));
  return false;
}

__device__ inline bool goes_left(const Cut& cut, u32 bin) {
  return bin == kMissing ? cut.missing_left != 0 : bin <= cut.bin;
}

// The threads of a group list the rows of a leaf, where leaves hold numbers.
__device__ inline void list_leaf_rows(const Forest& job, u32 tree, u32 depth, u32 begin, u32 n, u32 thread, u32 n_threads) {
  if constexpr (kMoments) {
    const SampleRow* const rows = job.rows_of(tree, depth) + begin;
    u32* const to = job.leaf_rows + tree * static_cast<Size>(job.max_items) + begin;
    for (u32 i = thread; i < n; i += n_threads) to[i] = rows[i].row;
  }
}

}  // namespace committee::gpu
