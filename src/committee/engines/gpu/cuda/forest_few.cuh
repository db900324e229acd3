// Nodes of up to 32 rows: a warp each, a lane a row.
#pragma once
#include "forest_children.cuh"

namespace committee::gpu {

constexpr u32 kFewWarps = 4;  // of a block

// Cells of the lanes of a warp. Two elements are a lane's own; classes are in shared memory, [element][lane].
struct LaneCells {
  Element own[2];
  Element* shared;

  __device__ Element* begin(const Forest& job) {
    if constexpr (!kClasses) {
      own[0] = own[1] = 0;
      return own;
    } else {
      Element* const at = shared + lane_of();
      for (u32 e = 0; e < job.n_elements; ++e) at[e * kLanes] = 0;
      return at;
    }
  }
  static constexpr u32 kStride = kClasses ? kLanes : 1;
};

__device__ inline SampleRow take_row(const SampleRow& row, u32 lane) {
  u64 wide = 0;
  if constexpr (kMoments || kWide) wide = __shfl_sync(kAll, row.wide(), lane);
  return SampleRow::make(0, __shfl_sync(kAll, row.pack, lane), wide);
}

// A warp at a node of up to 32 rows.
struct FewSearch {
  const Forest& job;
  const NodeFacts& facts;
  const NodeNumbers& numbers;
  SampleRow row;  // the lane's
  u32 n;
  LaneCells *left, *missing;

  // All boundaries of a feature, each by the lane of a row that is left of it. False: it is constant here.
  __device__ bool look(u32 feature, u32 place, Cut& best) const {
    const u32 lane = lane_of();
    const bool there = lane < n;
    const u32 bin = there ? job.bin(row.row, feature) : kMissing + 1;
    const u32 first = __shfl_sync(kAll, bin, 0);
    if (__ballot_sync(kAll, there && bin != first) == 0) return false;
    const bool has_missing = __ballot_sync(kAll, bin == kMissing) != 0;
    if constexpr (kRandom) {
      look_at_random(feature, place, bin, has_missing, best);
      return true;
    }
    Element* const sum = left->begin(job);
    Element* const gone = missing->begin(job);
    u32 next = kMissing;
    for (u32 k = 0; k < n; ++k) {
      const u32 other = __shfl_sync(kAll, bin, k);
      const SampleRow one = take_row(row, k);
      if (other == kMissing) {
        add_row(job, gone, LaneCells::kStride, one);
      } else if (other <= bin) {
        add_row(job, sum, LaneCells::kStride, one);
      } else if (other < next) {
        next = other;
      }
    }
    if (bin >= kMissing || (next == kMissing && !has_missing)) return true;
    Cut at = describe(feature, place, bin, next == kMissing ? ForestNode::kNoBin : next, has_missing);
    const CellView own{sum, LaneCells::kStride};
    consider(job, facts, own, at, best);
    if (has_missing && next != kMissing) {
      at.missing_left = 1;
      consider(job, facts, CellPair{own, {gone, LaneCells::kStride}}, at, best);
    }
    return true;
  }

  __device__ Cut describe(u32 feature, u32 place, u32 bin, u32 next, bool has_missing) const {
    return {kForbidden, find_priority(job, numbers, feature, place), feature, 0, bin, next, 0, has_missing ? 1u : 0u};
  }

  // One boundary, which every lane knows.
  __device__ void look_at_random(u32 feature, u32 place, u32 bin, bool has_missing, Cut& best) const {
    u32 lo = bin, hi = bin < kMissing ? bin : 0;
    for (u32 mask = kLanes / 2; mask > 0; mask /= 2) {
      const u32 a = __shfl_xor_sync(kAll, lo, mask), b = __shfl_xor_sync(kAll, hi, mask);
      lo = a < lo ? a : lo, hi = b > hi ? b : hi;
    }
    const u64 number = numbers.at(Purpose::threshold, feature);
    Cut at = describe(feature, place, lo, ForestNode::kNoBin, has_missing);
    if (lo != hi) {
      at.bin = find_random_cut(job.low + feature * Size{kBins}, job.high + feature * Size{kBins}, number, lo, hi);
      at.next = at.bin + 1;
      at.missing_left = has_missing && (number & 1) != 0 ? 1 : 0;
    }
    Element* const sum = left->begin(job);
    for (u32 k = 0; k < n; ++k) {
      const u32 other = __shfl_sync(kAll, bin, k);
      const SampleRow one = take_row(row, k);
      if (goes_left(at, other)) add_row(job, sum, LaneCells::kStride, one);
    }
    consider(job, facts, CellView{sum, LaneCells::kStride}, at, best);
  }

  // The best split; kNoFeature: the node stays a leaf.
  __device__ Cut search(const FeatureDraws& draws) const {
    const u32 n_features = job.n_features, n_wanted = job.max_features;
    // Two rows are partitioned by any feature alike: the first that varies is taken.
    const bool is_pair = n == 2 && job.draws && job.shuffles;
    Cut best = Cut::none();
    bool varies = false;
    u32 k = 0, n_drawn = 0;
    for (; k < n_features && (k < n_wanted || !varies) && !(is_pair && varies); ++k) {
      if (job.draws && k >= n_drawn) {
        n_drawn = k < n_wanted ? n_wanted : k + 1;
        __syncwarp();
        if (lane_of() == 0) draws.draw(job, numbers, k, n_drawn);
        __syncwarp();
      }
      varies = look(job.draws ? draws.order[k] : k, k, best) || varies;
    }
    __syncwarp();
    if (lane_of() == 0) draws.restore(n_drawn);
    join_cuts(best);
    return best;
  }
};

__device__ inline bool are_targets_equal(const SampleRow& row, u32 n) {
  if constexpr (kMoments) {
    const u64 first = __shfl_sync(kAll, row.wide(), 0);
    return __ballot_sync(kAll, lane_of() < n && row.wide() != first) == 0;
  }
  return false;
}

// Partitions the rows of a node and opens its children. A lane has one row.
__device__ inline void split_few(const Forest& job, const OpenNode& node, const NodeFacts& facts, const SampleRow& row,
                                 const Cut& cut, LaneCells& cells) {
  const u32 lane = lane_of(), n = node.n_rows;
  const bool there = lane < n, is_left = there && goes_left(cut, job.bin(row.row, cut.feature));
  const u32 set = __ballot_sync(kAll, is_left), n_left = __popc(set);
  Element* const sum = cells.begin(job);
  for (u32 k = 0; k < n; ++k) {
    const SampleRow one = take_row(row, k);
    if ((set >> k) & 1u) add_row(job, sum, LaneCells::kStride, one);
  }
  if (!is_enough(job, node.tree, facts, CellView{sum, LaneCells::kStride}))
    return list_leaf_rows(job, node.tree, node.depth, node.begin, n, lane, kLanes);
  u32 left = 0;
  bool taken = false;
  if (lane == 0) taken = take_nodes(job, node.tree, &left);
  left = __shfl_sync(kAll, left, 0);
  if (__ballot_sync(kAll, taken) == 0) return;
  const u32 below = __popc(set & ((1u << lane) - 1));
  if (there) job.rows_of(node.tree, node.depth + 1)[node.begin + (is_left ? below : n_left + lane - below)] = row;
  Element* const total = job.total_of(node.tree, left);
  for (u32 e = lane; e < job.n_elements; e += kLanes) {
    Element own = 0;
    if constexpr (kClasses) {
      own = cells.shared[e * kLanes];  // as every lane has it
    } else {
      own = e == 0 ? sum[0] : sum[1];
    }
    total[e] = own;
    total[job.n_elements + e] = facts.total[e] - own;
  }
  __syncwarp();
  u32 are_leaves = 0;
  if (lane == 0) are_leaves = open_children(job, node, cut, left, n_left);
  are_leaves = __shfl_sync(kAll, are_leaves, 0);
  __syncwarp();
  if (are_leaves & 1u) list_leaf_rows(job, node.tree, node.depth + 1, node.begin, n_left, lane, kLanes);
  if (are_leaves & 2u)
    list_leaf_rows(job, node.tree, node.depth + 1, node.begin + n_left, n - n_left, lane, kLanes);
}

}  // namespace committee::gpu

// Dynamic shared memory of a warp: cells of classes twice, then the list of features twice.
extern "C" __global__ void __launch_bounds__(kFewWarps * kLanes) grow_few(const Forest* given, int parity) {
  const Forest& job = *given;
  COMMITTEE_SHARED(Element, room);
  const u32 lane = lane_of(), n_cells = kClasses ? job.n_elements * kLanes : 0;
  const Size n_words = 2 * n_cells + (2 * job.n_features * sizeof(u16) + sizeof(Element) - 1) / sizeof(Element);
  Element* const own = room + warp_of() * n_words;
  LaneCells left, missing;
  left.shared = own, missing.shared = own + n_cells;
  FeatureDraws draws;
  draws.order = reinterpret_cast<u16*>(own + 2 * n_cells);
  draws.swapped = draws.order + job.n_features;
  for (u32 f = lane; f < job.n_features; f += kLanes) draws.order[f] = static_cast<u16>(f);
  __syncwarp();
  const u32 n_open = job.state->n_open[parity][kFewRows];
  for (u32 at = blockIdx.x * kFewWarps + warp_of(); at < n_open; at += gridDim.x * kFewWarps) {
    const OpenNode node = job.queue(parity, kFewRows)[at];
    const SampleRow* const rows = job.rows_of(node.tree, node.depth) + node.begin;
    const SampleRow row = lane < node.n_rows ? rows[lane] : SampleRow::make(0, 0, 0);
    const NodeFacts facts = describe_node(job, node.tree, job.total_of(node.tree, node.id));
    const NodeNumbers numbers(KeyPrefix(job.tree_keys[node.tree]), node.key);
    Cut cut = Cut::none();
    if (!are_targets_equal(row, node.n_rows))
      cut = FewSearch{job, facts, numbers, row, node.n_rows, &left, &missing}.search(draws);
    if (cut.feature == kNoFeature) {
      list_leaf_rows(job, node.tree, node.depth, node.begin, node.n_rows, lane, kLanes);
    } else {
      split_few(job, node, facts, row, cut, left);
    }
    __syncwarp();
  }
}
