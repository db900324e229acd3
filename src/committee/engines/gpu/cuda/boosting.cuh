// The state of gradient boosting on the device.
//
// A tree: make_words (gradients to words, rows in one list), the root's histogram, then steps of
//   choose_nodes      which nodes are split next: all that are worth it, or best first and ahead of time
//   partition_rows    the rows of these
//   check_candidates  whether both sides have enough rows
//   add_histograms    of one child of each (or the numbers of rows, where there were too few)
//   search_splits     the other child is the parent less it; the best split of each group of features
// and, when nothing is left to choose, sum_leaves, set_values and update_scores. Sums are integers, and
// splits are totally ordered: the tree is that of the CPU, bit for bit.
#pragma once
#include "device.cuh"

namespace committee::gpu {

// A row of a node and its word: in two halves of 16 bits where they fit, or of 32.
#if defined(COMMITTEE_NARROW)
struct Item {
  u32 row, word;
  __device__ i32 gradient() const { return static_cast<i32>(word) >> 16; }
  __device__ u32 hessian() const { return word & 0xFFFFu; }
  __device__ static Item make(u32 row, i32 g, u32 h) { return {row, (static_cast<u32>(g) << 16) + h}; }
};
#else
struct Item {
  u32 row;
  i32 g;
  u32 h;
  __device__ i32 gradient() const { return g; }
  __device__ u32 hessian() const { return h; }
  __device__ static Item make(u32 row, i32 g, u32 h) { return {row, g, h}; }
};
#endif

// A split: bins <= bin go left.
struct Split {
  double gain;  // <= 0: none
  i32 left_g;
  u32 left_h;
  u32 feature;
  u32 place;  // bin | missing values go left << 8 | missing values occur << 9
  u32 counted, unused;
  // A total order: the lowest feature, missing values right before left, the lowest bin.
  __device__ bool beats(const Split& other) const {
    if (gain != other.gain) return gain > other.gain;
    if (feature != other.feature) return feature < other.feature;
    return (place & 511) < (other.place & 511);
  }
};
constexpr u32 kMissingLeft = 256, kHasMissing = 512;
__device__ inline Split no_split() {
  return {0.0, 0, 0, kAll, 0, 0, 0};
}

struct TreeNode {
  Split best;
  i32 g;
  u32 h;
  u32 begin, count;  // place of its items, in the list of its depth's parity
  i32 parent, left;  // the right child is left + 1; -1: not expanded
  i32 reserved;      // children that an expansion in vain has left; -1: none
  u32 depth;
  u32 counted, chosen, searched, unused;
};

enum CandidateState : u32 { kSplits, kCounts, kWaits };
struct Candidate {
  i32 node;
  u32 first;            // rows of the candidates before
  u32 n_left, n_right;  // rows partitioned so far
  u32 state;
  u32 slot;             // of kCounts: its place among these
  u32 job;              // rows of the histograms before, for one group
  u32 rows;             // of its histogram
};

// A node of the finished tree; the right child is left + 1, -1 in leaves.
struct FinalNode {
  double gain, value;
  i64 weight;
  u32 feature, place;
  i32 left;
  u32 count;
};

// Why a fit cannot be right, which only a defect of the kernels can bring about. The host knows the sentences.
enum Failure : i32 { kNoFailure, kNoRoom, kNotFinished, kTooManyNodes, kBrokenSplit, kTooManyRows };

struct TreeState {
  double gradient_unit, hessian_unit;  // of the halves of a word
  double least_gain;
  i32 n_nodes, n_candidates, finished, failed;  // failed: the first Failure of the fit
  i32 n_open, n_chosen, n_final, must;  // must: that best-first growth waits for
  u32 n_rows_to_part, n_rows_to_add;
  u32 n_counts;
  i64 n_steps, n_expanded;  // over all trees
};

// What a fit is about; 8 bytes a field. Pointers are to device memory.
struct Fit {
  u8* records;        // [group][row][32]
  const u8* columns;  // [feature][row], column_stride apart
  const u32* n_bins;  // per feature, value bins
  const double* y;
  double* scores;            // [score][row]
  FixedGradientPair* pairs;  // [score][row]
  const u32* weights;        // null: all one
  const u32* positions;      // by which rounding by chance goes; null: the row
  const u32* present;        // rows that take part; null: all
  u32* leaves;               // per row: node of the final tree
  Item *items, *other_items;
  u32* histograms;  // [node][group][gradients | hessians][bin][lane]
  u32* counts;      // [slot][group][bin][lane]
  TreeNode* nodes;
  Candidate* candidates;
  Split* found;     // [candidate][side][group]
  Split* recounts;  // [slot][estimated | counted][feature]
  u64* keys;        // scratch of choose_nodes
  i32* open;
  TreeState* state;
  Size* largest;  // bits of the largest |gradient| and |hessian| of each score
  double* units;  // [score][gradient | hessian]
  Size* sums;     // [final node][gradient | hessian | weight | rows]
  FinalNode* trees;  // [tree][max_final]
  i32* tree_sizes;   // nodes of each

  i64 n_rows, n_items, column_stride, n_features, n_groups, n_scores;
  i64 loss, constant_hessian, bounded, gradient_power, hessian_power;
  i64 gradient_shift, hessian_shift, stochastic, repeated;
  i64 max_depth, max_leaves, min_split, min_leaf, checked;  // max_leaves 0: no limit
  i64 max_nodes, max_candidates, max_counts, max_final, ahead;
  double min_child_weight, reg_lambda, reg_alpha, gamma, largest_step, weight_unit, parameter;

  __device__ u32* histogram(i32 node, u32 group) const {
    return histograms + (static_cast<Size>(node) * n_groups + group) * 2 * kCells;
  }
  __device__ const u8* record(u32 group, u32 row) const {
    return records + (static_cast<Size>(group) * n_rows + row) * kLanes;
  }
  __device__ Item* list(u32 depth) const { return depth % 2 == 0 ? items : other_items; }
  __device__ bool may_split(const TreeNode& node) const {
    const i64 count = node.count;
    return node.depth < max_depth && count >= (min_split > 2 ? min_split : 2) && count >= 2 * min_leaf &&
           static_cast<double>(node.h) * state->hessian_unit >= 2.0 * min_child_weight;
  }
  __device__ void fail(Failure why) const {
    if (state->failed == kNoFailure) state->failed = why;
  }
  __device__ bool is_worthwhile(const TreeNode& node) const { return node.best.gain > state->least_gain; }
};

}  // namespace committee::gpu
