// The state of gradient boosting on the device.
//
// A tree: make_words (gradients to words, rows in one list), the root's histogram, then steps of
//   choose_nodes      which nodes are split next: all that are worth it, or best first and ahead of time
//   partition_rows    the rows of these; the last block checks whether both sides have enough rows
//   add_histograms    of one child of each (or the numbers of rows, where there were too few)
//   search_splits     the other child is the parent less it; the best split of each group of features
// and, when nothing is left to choose, write_nodes, sum_leaves, set_values and update_scores. Sums are integers, and
// splits are totally ordered: the tree is that of the CPU, bit for bit.
//
// COMMITTEE_OPTIONS compiles what only some fits ask for: categories (search_categories.cuh), features that a node may
// not look at (features.cuh), bounded leaf values, least weights.
#pragma once
#include "device.cuh"

namespace committee::gpu {

#if defined(COMMITTEE_OPTIONS)
constexpr bool kOptions = true;
#else
constexpr bool kOptions = false;
#endif

// Sums of gradients have 32 bits, or 64 where gradients of 31 bits are kept from round to round. Histograms then have
// them in three planes of 11 bits of each gradient: the 2^18 rows that there are at most leave room for their sums.
#if defined(COMMITTEE_LONG)
constexpr bool kLong = true;
using Sum = i64;
constexpr int kPlanes = 4;
#else
constexpr bool kLong = false;
using Sum = i32;
constexpr int kPlanes = 2;
#endif
constexpr int kPartBits = 11;
constexpr u32 kPartMask = (1u << kPartBits) - 1;

// A row of a node and its word: in two halves of 16 bits where they fit, or of 32. Long gradients are those of one
// unit of weight, and the weight is the hessian.
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
  Sum left_g;
  u32 left_h;
  u32 feature;
  u32 place;  // bin | missing values go left << 8 | missing values occur << 9 | by category << 10
  u32 counted;
  // A total order: the lowest feature, missing values right before left, the lowest bin.
  __device__ bool beats(const Split& other) const {
    if (gain != other.gain) return gain > other.gain;
    if (feature != other.feature) return feature < other.feature;
    return (place & 511) < (other.place & 511);
  }
};
constexpr u32 kMissingLeft = 256, kHasMissing = 512, kCategorical = 1024;
__device__ inline Split no_split() {
  return {0.0, 0, 0, kAll, 0, 0};
}

struct TreeNode {
  Split best;
  Sum g;
  u32 h;
  u32 begin, count;  // place of its items, in the list of its depth's parity
  i32 parent, left;  // the right child is left + 1; -1: not expanded
  i32 reserved;      // children that an expansion in vain has left; -1: none
  u32 depth;
  u32 counted, chosen, searched, unused;
  u32 slot;  // of its histogram: the smaller child has a new one, the larger one its parent's
  // Of kOptions:
  Size weight;          // of its rows
  u64 key;              // of random numbers
  double lower, upper;  // bounds of leaf values below
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
  Size left_weight;     // of kOptions
};

// A node of the finished tree; the right child is left + 1, -1 in leaves.
struct FinalNode {
  double gain, value;
  i64 weight;
  u32 feature, place;
  i32 left;
  u32 count;  // of leaves; of others, and of leaves before they have their values, the node above
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
  u32 n_done;               // blocks of the kernel at hand; see is_last_block
  i64 n_steps, n_expanded;  // over all trees
  i64 bound;                // of long gradients
  i32 number, n_trees;      // of the tree at hand; trees that the host has not taken yet
};

// What the host says of a tree before it is grown.
struct TreeOrder {
  u64 key;      // of rounding by chance
  u64 tree;     // its number, for random numbers
  double rate;  // that leaf values are multiplied by
};

// What a fit is about; 8 bytes a field. Pointers are to device memory.
struct Fit {
  const u8* records;  // [group][row][32]
  u8* columns;        // [place][row], of the features that split most rows; column_stride apart
  const u32* column_of;  // per feature: its place among these; kAll: it has none
  const u32* n_bins;  // per feature, value bins
  const void* y;      // numbers of y_bytes
  double* scores;            // [score][row]
  FixedGradientPair* pairs;  // [score][row]
  const u32* weights;        // null: all one
  const u32* positions;      // by which rounding by chance goes; null: the row
  const u32* present;        // rows that take part; null: all
  u32* leaves;               // per row: node of the final tree; may lie where items are, which it comes after
  Item *items, *other_items;
  u32* histograms;  // [slot][group][gradients | hessians][bin][lane]
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
  const TreeOrder* orders;
  const u32* held_out;      // rows that do not take part, and get the tree's values
  const double* parameters; // of the loss of each score
  const double *given_gradients, *given_hessians;  // [score][row], of a loss of the caller's
  double* sizes;            // of the gradients of each row
  const double* renewed;    // values of leaves that are no Newton steps
  double* bounds;           // [final node][lower | upper]

  // Of kOptions. A set of levels has n_words words.
  u32* codes;           // [node]: levels that go left
  u32* found_codes;     // [task][category]
  u32* recount_codes;   // [slot][estimated | counted][category]
  u32* tree_codes;      // [tree][max_final]
  const u32* categories;   // features that are categories
  const u32* category_of;  // per feature: its place among these; kAll: numbers
  const u32* wide_of;      // per category: its place among those of many levels; kAll: it has bins
  const u32* wide_codes;   // [wide][row]
  const u32* wide_offsets; // [wide + 1]: where its levels begin, one more than there are for missing values
  u32* level_sums;         // [task][plane][level of all wide categories]
  u64* sort_keys;          // [block][n_sorted]
  u32* sort_places;
  const i32* directions;   // per feature
  u32* masks;              // [node][group]: features that it may look at
  u32* lists;              // [depth + 1][n_features + 1]: their number, and the features drawn; 0: of the tree
  u32* list_masks;         // [depth + 1][group]
  u32* drawn;              // [task][n_features]
  u64* open_groups;        // [node][n_sets]: groups of features that may still meet
  const u64* feature_groups;  // [feature][n_sets]

  i64 n_rows, n_items, y_bytes, n_features, n_groups, n_scores;
  i64 loss, constant_hessian, bounded, gradient_power, hessian_power;
  i64 gradient_shift, hessian_shift, stochastic, repeated;
  i64 max_depth, max_leaves, min_split, min_leaf, checked;  // max_leaves 0: no limit
  i64 max_nodes, max_candidates, max_counts, max_final, ahead;
  i64 n_held_out, level_wise, column_stride;
  i64 n_categories, n_words, n_wide, n_levels, n_sorted, min_level, by_values, masked, n_sets, list_depth, seed;
  i64 track_weights, count_weights;
  double min_child_weight, reg_lambda, reg_alpha, gamma, largest_step, weight_unit, least_gain;
  double category_smooth, category_l2, least_weight, colsample_tree, colsample_level, colsample_node;

  __device__ u32* histogram(i32 node, u32 group) const {
    return histograms + (static_cast<Size>(nodes[node].slot) * n_groups + group) * kPlanes * kCells;
  }
  // The target is kept in the fewest bytes that hold it exactly.
  __device__ double target(Size at) const {
    if (y_bytes == 1) return static_cast<const u8*>(y)[at];
    return y_bytes == 4 ? static_cast<const float*>(y)[at] : static_cast<const double*>(y)[at];
  }
  // The slot of the smaller of the children from `left` on: pairs of nodes are made one after the other.
  __device__ static u32 new_slot(i32 left) { return static_cast<u32>(left + 1) / 2; }
  // Of a slot: rows of each cell, and their weight where it is counted.
  __device__ u32* count_cells(u32 slot, u32 group) const {
    return counts + (slot * static_cast<Size>(n_groups) + group) * (count_weights ? 2 : 1) * kCells;
  }
  __device__ StepLimits limits() const { return {reg_lambda, reg_alpha, largest_step}; }
  // Places of splits that the search of a node finds.
  __device__ u32 n_found() const { return static_cast<u32>(n_groups + (kOptions ? n_categories : 0)); }
  __device__ bool sees(i32 node, u32 feature) const {
    if (!kOptions || !masked) return true;
    return ((masks[node * static_cast<Size>(n_groups) + feature / kLanes] >> (feature % kLanes)) & 1u) != 0;
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

// Starts to bring the description of a fit into the cache. Its fields are read one after the other, and many are where
// another one points to; in kernels of many blocks a multiprocessor the first look at each costs the most.
__device__ inline void fetch_fit(const Fit* fit) {
#if !defined(COMMITTEE_DEVICE_SHIM)
  const u32 at = threadIdx.x * kLanes;
  if (at < sizeof(Fit)) asm volatile("prefetch.global.L1 [%0];" ::"l"(reinterpret_cast<const char*>(fit) + at));
#else
  static_cast<void>(fit);
#endif
}

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

// Sizes of what the host allocates and reads, so that it can check its own view of them.
extern "C" __global__ void describe_sizes(Size* sizes) {
  if (threadIdx.x != 0) return;
  sizes[0] = sizeof(Fit), sizes[1] = sizeof(TreeNode), sizes[2] = sizeof(Candidate), sizes[3] = sizeof(Split);
  sizes[4] = sizeof(TreeState), sizes[5] = sizeof(FinalNode), sizes[6] = sizeof(Item);
  sizes[7] = sizeof(TreeOrder);
}
