// What another engine needs to grow the trees that Boosting grows, and its trees as this one has
// them.
#pragma once
#include "binning.hpp"
#include "boosting_params.hpp"
#include "loss.hpp"
#include "tree.hpp"

namespace committee {

// How words are made of the rows' gradients.
struct BoostingPlan {
  int gradient_shift = 0, hessian_shift = 0;
  bool stochastic = false;
  bool repeated = true;      // a row of weight w is the row w times
  bool incremental = false;  // gradients of squared error are kept from round to round
  bool categorical = false;  // there are columns of categories
  double weight_unit = 1.0;
  std::vector<u32> weights;    // empty: all one
  std::vector<u32> positions;  // that rounding by chance goes by; empty: the rows
  std::vector<u32> n_bins;     // value bins of each column
};
BoostingPlan plan_boosting(const BinnedMatrix& data, std::span<const double> weights,
                           const Loss& loss, const BoostingParams& params);
// What decides the rounding by chance of a tree's words.
u64 rounding_key(u64 tree);

// A node of a tree by bins, as an engine hands it over. The right child is left + 1; children come
// after their parents.
struct BinnedTreeNode {
  static constexpr u32 kMissingLeft = 256, kHasMissing = 512;
  double gain, value;
  i64 weight;  // of its rows, in units; of leaves
  u32 feature;
  u32 place;  // bin, the largest that goes left, and the flags above
  i32 left;   // -1: a leaf
  u32 count;  // rows; of leaves
};
// The arena of trees first .. last - 1; tree t has the nodes offsets[t] .. offsets[t + 1] - 1.
Trees import_trees(const BinnedMatrix& data, std::span<const BinnedTreeNode> nodes,
                   std::span<const u64> offsets, double weight_unit);
// Adds the gain of each split to its feature's, in the order in which Boosting splits nodes.
void add_gains(std::span<const BinnedTreeNode> tree, bool level_wise, std::span<double> gains,
               std::span<u64> n_splits);

}  // namespace committee
