// What the path-dependent Shapley values need of the trees, made once and shared by all rows.
#pragma once
#include "explain/weighted_tree.hpp"

namespace committee {

// Gauss-Legendre quadrature on [0, 1]: exact for polynomials of degree 2 * size - 1.
struct GaussPoints {
  std::vector<double> at, weight;
};
GaussPoints find_gauss_points(std::size_t size);

// A split as the walk meets it.
struct PlannedSplit {
  static constexpr u32 kNone = 0xFFFFFFFFu;
  u32 node = 0;                  // in the WeightedTree
  u32 slot = 0;                  // of the feature among those that any tree uses
  u32 level = 0;                 // depth of the node
  u32 above = kNone;             // level of the last split on the same feature above it
  double share = 0.5;            // of the training weight that goes left
  double share_above = 1.0;      // product of the shares of the feature's splits above
  u32 leaf[2] = {kNone, kNone};  // left, right; kNone: a split
  bool is_right = false;         // child of its parent
};

// A tree as a list of steps. A split is entered on its left side, entered on its right side, and
// left; a side that is a leaf is not entered.
struct ShapPlan {
  enum class Move : u8 { look, go_left, go_right, leave };
  struct Step {
    u32 split;
    Move move;
  };
  ShapPlan(const TreeSum& sum, std::size_t tree_number, std::span<const u32> slot_of_feature,
           std::span<const u32> columns);

  WeightedTree tree;
  std::vector<PlannedSplit> splits;
  std::vector<Step> steps;
  std::vector<double> values;    // [leaf][column]
  std::vector<double> expected;  // [column]: mean over the training weights
  std::vector<u32> slots;        // of the features that this tree uses, ascending
  std::size_t n_columns;
  std::size_t first_column;  // of the sum
  std::size_t n_levels = 0;  // longest path, in splits
  std::size_t n_points = 0;  // of the quadrature
};

// The columns of a leaf that are looked at. Class shares (and votes) of an output have a constant
// sum, so that the last class follows from the others.
std::vector<u32> choose_columns(const TreeSum& sum);
// Sets the last class of each output in [n][out_width] to minus the sum of the others (`whole`: to
// the tree weights' total minus it).
void complete_columns(const TreeSum& sum, double whole, double* at);

// Features that any tree splits on, ascending.
std::vector<u32> list_used_features(const Trees& trees);

}  // namespace committee
