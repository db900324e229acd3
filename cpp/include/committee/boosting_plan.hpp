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
  double weight_unit = 1.0;
  u64 total_weight = 0;        // of all rows
  std::vector<u32> weights;    // empty: all one
  std::vector<u32> positions;  // that rounding by chance goes by; empty: the rows
  std::vector<u32> n_bins;     // value bins of each column, or levels of a category
  std::vector<u32> kinds;      // of each column: 0 numbers, 1 a category, 2 one of many levels
};
BoostingPlan plan_boosting(const BinnedMatrix& data, std::span<const double> weights,
                           const Loss& loss, const BoostingParams& params);
// Row weights in units, as a fit counts them; none of them zero that is positive.
std::vector<u32> fix_row_weights(std::span<const double> weights);
// The rows of a round, and how its words are made where their weights are those of the draw.
struct RoundRows {
  std::vector<u32> sample, held_out;
  std::vector<u32> weights;  // empty: those of the fit
  double weight_unit = 1.0;
  int gradient_shift = 0, hessian_shift = 0;
  bool stochastic = false, repeated = false;
};
class RowDraws {
 public:
  RowDraws(std::span<const double> weights, std::size_t n_rows, std::vector<u32> groups);
  ~RowDraws();
  // As Boosting draws them, before tree number `tree`: a share of all rows, or of their groups; by
  // the sizes of their gradients.
  RoundRows draw(const BoostingParams& params, u64 tree) const;
  RoundRows draw_by_gradient(std::span<const double> sizes, const BoostingParams& params,
                             u64 tree) const;
  std::size_t n_rows() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The values, before shrinkage, of leaves that are no Newton steps: leaves[row] is the node that a
// row of `rows` (empty: every row) is in. Targets and scores are those of one score.
struct LeafResiduals {
  u32 score = 0;
  std::span<const double> y, scores;
  std::span<const u32> weights, rows, leaves;  // weights empty: all one
};
std::vector<double> renew_leaf_values(const Loss& loss, const LeafResiduals& of,
                                      std::size_t n_nodes, int n_jobs);

// What decides the rounding by chance of a tree's words.
u64 rounding_key(u64 tree);

// A node of a tree by bins, as an engine hands it over. The right child is left + 1; children come
// after their parents.
struct BinnedTreeNode {
  static constexpr u32 kMissingLeft = 256, kHasMissing = 512, kCategorical = 1024;
  double gain, value;
  i64 weight;  // of its rows, in units; of leaves
  u32 feature;
  u32 place;  // bin, the largest that goes left, and the flags above
  i32 left;   // -1: a leaf
  u32 count;  // rows; of leaves
};
// Nodes, and of those that split by a category a set of the levels that go left, n_words each.
struct BinnedTrees {
  std::span<const BinnedTreeNode> nodes;
  std::span<const u32> codes;
  std::size_t n_words = 0;
};
// The arena of trees first .. last - 1; tree t has the nodes offsets[t] .. offsets[t + 1] - 1.
Trees import_trees(const BinnedMatrix& data, const BinnedTrees& trees, std::span<const u64> offsets,
                   double weight_unit);
// Adds the gain of each split to its feature's, in the order in which Boosting splits nodes.
void add_gains(std::span<const BinnedTreeNode> tree, bool level_wise, std::span<double> gains,
               std::span<u64> n_splits);

}  // namespace committee
