// What a forest under growth has on the device, and how the rows of a node are added up.
//
// All trees of a batch grow together, level by level. A node is the work of one warp or one block: it draws features,
// adds up its rows, finds the best split, partitions its rows and queues its children. Sums are integers and random
// numbers belong to a node's path, so that the order of the nodes, and of the rows within one, does not matter.
//
// Constants of a program: COMMITTEE_KIND, COMMITTEE_CRITERION, and COMMITTEE_RANDOM where thresholds are random.
#pragma once
#include "device.cuh"
#include "committee/criteria/entropy.hpp"
#include "committee/criteria/error.hpp"
#include "committee/criteria/friedman_mse.hpp"
#include "committee/criteria/gain_ratio.hpp"
#include "committee/criteria/gini.hpp"
#include "committee/criteria/poisson.hpp"
#include "committee/criteria/squared_error.hpp"
#include "committee/forest_node.hpp"
#include "committee/random_split.hpp"

#if !defined(COMMITTEE_KIND)
#define COMMITTEE_KIND 0
#define COMMITTEE_CRITERION Gini
#endif

namespace committee::gpu {

constexpr SampleKind kKind = static_cast<SampleKind>(COMMITTEE_KIND);
constexpr bool kBinary = kKind == SampleKind::binary, kMoments = kKind == SampleKind::moments;
constexpr bool kWide = kKind == SampleKind::wide_classes, kClasses = kKind == SampleKind::classes || kWide;
using Criterion = COMMITTEE_CRITERION;
#if defined(COMMITTEE_RANDOM)
constexpr bool kRandom = true;
#else
constexpr bool kRandom = false;
#endif

template <bool kFirst, class A, class B>
struct Choose {
  using Type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using Type = B;
};
template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;

// Of a cell. Two classes: weight, and that of class 1. Classes: weights, and behind them the number of rows where limits
// need it. Numbers: weight << 28 | rows, and the weighted sum of the targets, which is signed.
using Element = Choose<kMoments || kWide, u64, u32>::Type;
constexpr int kCountBits = 28;
constexpr u32 kFew = 32;  // rows that a warp has one a lane of
constexpr double kForbidden = -1.7976931348623157e308;  // below any score

// A row of a sample: what it adds to a cell.
struct NarrowRow {
  u32 row;
  u32 pack;  // two classes: weight | weight * label << 16; classes: label | weight << 16
  __device__ static NarrowRow make(u32 row, u32 pack, u64) { return {row, pack}; }
  __device__ u64 wide() const { return 0; }
};
struct WideRow {
  u32 row;
  u32 pack;   // label, or weight
  u64 other;  // weight, or target
  __device__ static WideRow make(u32 row, u32 pack, u64 other) { return {row, pack, other}; }
  __device__ u64 wide() const { return other; }
};
using SampleRow = Choose<kMoments || kWide, WideRow, NarrowRow>::Type;

// A node that is to be searched.
struct OpenNode {
  u64 key;
  u32 tree, id, begin, n_rows, depth, spare;
};

enum QueueClass { kFewRows = 0, kSomeRows = 1, kManyRows = 2, kQueues = 3 };
enum GrowthFailure { kNoQueueRoom = 1, kNoNodeRoom = 2 };

struct GrowthState {
  u32 n_open[2][kQueues];  // by the parity of the depth
  u32 tickets[kQueues];
  u32 failure;
};

// 8 bytes a field; pointers are to device memory.
struct Forest {
  u8* columns;         // [feature][column_stride]
  u8* records;         // [group][row][kLanes]
  const u8* weights;   // [tree][row], of weight_bytes each
  const u32* labels;   // [row]
  const double* y;     // [row]
  const double* low;   // [feature][kBins]: the smallest value of a bin
  const double* high;  // the largest
  u64* tree_keys;
  const double* offsets;       // of targets, per tree, as all that follows
  const double* shifts;        // a target is taken times two to the power of it
  const double* min_weights;   // of a leaf, in units
  const double* decrease_factors;  // from a decrease in units to a share of the total
  SampleRow* items;            // [2][tree][max_items]
  u32* n_items;
  ForestNode* nodes;  // [tree][max_nodes]
  u32* n_nodes;
  Element* totals;    // [tree][max_nodes][n_elements]
  u32* leaf_rows;     // [tree][max_items]; numbers only
  OpenNode* queues;   // [2][all queues]
  GrowthState* state;
  // What the host reads: trees one after the other.
  ForestNode* packed_nodes;
  Element* packed_totals;
  u32* packed_rows;
  const u64* node_offsets;
  const u64* row_offsets;

  i64 n_rows, column_stride, n_features, n_groups, n_trees, max_items, max_nodes, n_elements, n_classes, counted,
      weight_bytes;
  i64 max_features, draws, shuffles, max_depth, min_split, min_leaf;
  i64 some_rows;                     // above it a node has many
  i64 capacity_few, capacity_some, capacity_many;  // of queues
  i64 chunk_some, chunk_many;        // features whose histograms are in shared memory together
  i64 seed, first_tree;
  double least_decrease;

  __device__ SampleRow* rows_of(u32 tree, u32 depth) const {
    return items + ((depth % 2) * n_trees + tree) * static_cast<Size>(max_items);
  }
  __device__ Element* total_of(u32 tree, u32 id) const {
    return totals + (tree * static_cast<Size>(max_nodes) + id) * n_elements;
  }
  __device__ OpenNode* queue(u32 parity, u32 which) const {
    const Size all = capacity_few + capacity_some + capacity_many;
    return queues + parity * all + (which > 0 ? capacity_few : 0) + (which > 1 ? capacity_some : 0);
  }
  __device__ Size capacity(u32 which) const {
    return which == kFewRows ? capacity_few : which == kSomeRows ? capacity_some : capacity_many;
  }
  __device__ u32 bin(u32 row, u32 feature) const {
    return records[(feature / kLanes * n_rows + row) * kLanes + feature % kLanes];
  }
};

// Cells in memory: element e is at at[e * stride].
struct CellView {
  const Element* at;
  u32 stride;
  __device__ Element operator[](u32 e) const { return at[e * stride]; }
};
// The sum of two.
struct CellPair {
  CellView a, b;
  __device__ Element operator[](u32 e) const { return a[e] + b[e]; }
};
template <class Cell>
struct CellRest {
  CellView total;
  Cell left;
  __device__ Element operator[](u32 e) const { return total[e] - left[e]; }
};

// One thread's own cell.
__device__ inline void add_row(const Forest& job, Element* cell, u32 stride, const SampleRow& row) {
  if constexpr (kBinary) {
    cell[0] += row.pack & 0xFFFFu;
    cell[stride] += row.pack >> 16;
  } else if constexpr (kMoments) {
    cell[0] += (static_cast<u64>(row.pack) << kCountBits) + 1;
    cell[stride] += row.pack * row.wide();
  } else {
    if constexpr (kWide) {
      cell[row.pack * stride] += row.wide();
    } else {
      cell[(row.pack & 0xFFFFu) * stride] += row.pack >> 16;
    }
    if (job.counted) cell[job.n_classes * stride] += 1;
  }
}

// 64 bits as two native additions of 32: a carry is seen in what the first one returns.
__device__ inline void add_shared(u64* at, u64 value) {
  u32* const halves = reinterpret_cast<u32*>(at);
  const u32 low = static_cast<u32>(value), before = atomicAdd(halves, low);
  const u32 high = static_cast<u32>(value >> 32) + (before + low < before ? 1u : 0u);
  if (high != 0) atomicAdd(halves + 1, high);
}
__device__ inline void add_shared(u32* at, u32 value) {
  atomicAdd(at, value);
}
__device__ inline void add_global(u64* at, u64 value) {
  atomicAdd(reinterpret_cast<Size*>(at), static_cast<Size>(value));
}
__device__ inline void add_global(u32* at, u32 value) {
  atomicAdd(at, value);
}

// The cell of a block.
__device__ inline void share_row(const Forest& job, Element* cell, u32 stride, const SampleRow& row) {
  if constexpr (kBinary) {
    atomicAdd(cell, row.pack & 0xFFFFu);
    if (row.pack >> 16 != 0) atomicAdd(cell + stride, row.pack >> 16);
  } else if constexpr (kMoments) {
    add_shared(cell, (static_cast<u64>(row.pack) << kCountBits) + 1);
    add_shared(cell + stride, row.pack * row.wide());
  } else {
    if constexpr (kWide) {
      add_shared(cell + row.pack * stride, row.wide());
    } else {
      atomicAdd(cell + (row.pack & 0xFFFFu) * stride, row.pack >> 16);
    }
    if (job.counted) add_shared(cell + job.n_classes * stride, Element{1});
  }
}

template <class Cell>
__device__ inline Element sum_classes(const Forest& job, const Cell& cell) {
  Element sum = 0;
  for (u32 k = 0; k < job.n_classes; ++k) sum += cell[k];
  return sum;
}
// What is zero in an empty cell, and grows with its rows.
template <class Cell>
__device__ inline Element find_fill(const Forest& job, const Cell& cell) {
  if constexpr (kClasses) return job.counted ? cell[job.n_classes] : sum_classes(job, cell);
  return cell[0];
}
template <class Cell>
__device__ inline double find_weight(const Forest& job, const Cell& cell) {
  if constexpr (kClasses) return static_cast<double>(sum_classes(job, cell));
  if constexpr (kMoments) return static_cast<double>(static_cast<i64>(cell[0]) >> kCountBits);
  return static_cast<double>(cell[0]);
}
template <class Cell>
__device__ inline u32 find_count(const Forest& job, const Cell& cell) {
  if constexpr (kClasses) return static_cast<u32>(cell[job.n_classes]);
  if constexpr (kMoments) return static_cast<u32>(cell[0] & ((u64{1} << kCountBits) - 1));
  return static_cast<u32>(cell[0]);
}
// The weighted sum of the targets, or the weight of class 1.
template <class Cell>
__device__ inline double find_second(const Cell& cell) {
  if constexpr (kMoments) return static_cast<double>(static_cast<i64>(cell[1]));
  return static_cast<double>(cell[1]);
}

template <class Cell>
__device__ inline bool is_pure(const Forest& job, const Cell& total) {
  if constexpr (kMoments) return false;  // its rows tell
  if constexpr (kBinary) return total[1] == 0 || total[1] == total[0];
  const Element weight = sum_classes(job, total);
  for (u32 k = 0; k < job.n_classes; ++k)
    if (total[k] == weight) return true;
  return false;
}

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;
