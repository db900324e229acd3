// Forests that another engine grows: the samples of their trees in fixed point, and the way back
// from nodes by bins to the arena that grow_forest makes.
#pragma once
#include "forest.hpp"
#include "forest_node.hpp"

namespace committee {

// Weights and targets of the planned trees as grow_forest has them.
struct ForestSample {
  std::size_t n_rows = 0;
  bool counted = false;             // limits need the number of rows of a node
  std::vector<SampleKind> kinds;    // of each tree, as all that follows
  std::vector<u64> n_items;         // rows of positive weight
  std::vector<double> weight_unit;  // original weight = integer * unit
  std::vector<double> offset;       // of targets: target = integer * target_unit + offset
  std::vector<double> target_unit;  // a power of two
  std::vector<double> total_weight, min_weight_leaf, decrease_unit;  // as GrowthPlan has them
  u32 weight_bytes = 0;       // of a weight: 1, 4 or 8; 0: all rows weigh one
  AlignedBuffer<u8> weights;  // [tree][row], as integers
};
// One output. Throws as grow_forest does.
ForestSample sample_forest(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                           InterruptWatch& watch);

// The planned trees, one after the other.
struct ForestNodes {
  SampleKind kind = SampleKind::binary;
  std::span<const ForestNode> nodes;
  std::span<const u64> node_offsets;  // n_trees + 1
  // Classes: [node][n_elements] integers of 4 bytes (wide: 8). Binary: weight, and that of class 1.
  const void* totals = nullptr;
  u32 n_elements = 0;
  // Moments: rows of each tree, those of a leaf side by side in any order.
  std::span<const u32> rows;
  std::span<const u64> row_offsets;  // n_trees + 1
  std::span<const double> weight_unit, offset;
};
// The trees that grow_forest grows, an arena each: a forest of several plans is joined once.
struct AssembledForest {
  std::vector<Trees> members;
  std::vector<double> importances;  // [tree][feature]
};
// std::invalid_argument if a node is out of place.
AssembledForest assemble_forest(const GrowInput& input, const GrowParams& params,
                                const ForestPlan& plan, const ForestNodes& grown,
                                InterruptWatch& watch);

}  // namespace committee
