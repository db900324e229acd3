// All that a fit does with its rows between the trees: scores, gradients, samples, losses. As with
// the rows of leaves (leaf_rows.hpp), these may lie in this process (LocalRows) or in blocks
// elsewhere.
#pragma once

#include "boosting/leaf_values.hpp"
#include "committee/function_view.hpp"

namespace committee {

class BoostingRows {
 public:
  virtual ~BoostingRows() = default;
  virtual std::size_t n_rows() const = 0;
  virtual const std::vector<ColumnBins>& bins() const = 0;
  virtual const RecordLayout& layout() const = 0;
  // Of the weights as the trees of this round see them; the same object throughout.
  virtual const WeightFacts& weights() const = 0;
  virtual const GradientFacts& gradients() const = 0;
  virtual LeafRows& leaves() = 0;
  // Rows of so many trees that can be grown at the same time, the first of them leaves(); none if
  // copies for all of them would take more bytes than this.
  virtual std::vector<LeafRows*> make_leaves_apart(std::size_t n_trees, std::size_t most_bytes) = 0;
  // Rows of the trees of a round that are grown together, in steps that all of them take at once:
  // grow(0) .. grow(n_trees - 1), of no more trees than these. None: one after the other.
  virtual std::vector<LeafRows*> leaves_together() { return {}; }
  virtual void grow_together(std::size_t n_trees, FunctionView<void(std::size_t)> grow) {
    for (std::size_t tree = 0; tree < n_trees; ++tree) grow(tree);
  }
  virtual std::size_t bytes() const = 0;

  // Scores [score][row].
  virtual const double* scores() = 0;
  virtual void set_scores(const double* scores) = 0;
  virtual void add_constant(std::span<const double> per_score) = 0;
  // factor times the leaf values of a tree, added to the scores.
  virtual void add_tree(const StoredTree& stored, double factor) = 0;

  // What the loss learns from the residuals before a round.
  virtual void adapt_loss() = 0;
  virtual void compute_gradients() = 0;
  virtual void take_gradients(const double* gradients, const double* hessians) = 0;

  // Rows of the next trees, ascending: those that grow them, and those that are only partitioned.
  virtual void choose_rows(std::vector<u32> sample, const std::vector<u32>& held_out) = 0;
  // A sample by the sizes of the gradients (gradient_sampling.hpp); returns the rows that are left
  // out. `tree`: number of the next.
  virtual std::vector<u32> draw_by_gradient(u64 tree) = 0;

  // Weighted mean loss of all rows, or of these.
  virtual double measure_loss(std::span<const u32> rows) = 0;
  // Those of all rows and of these, which ascend; some at least.
  virtual std::pair<double, double> measure_losses(std::span<const u32> held_out) {
    return {measure_loss({}), measure_loss(held_out)};
  }

  // Whether rounds may run where the rows are, which then have to find their gradients there.
  virtual bool lie_together() { return false; }
  // Runs some of so many rounds there, the first of them from tree number `n_grown` on; none where
  // the rows are no longer together. Scores and log are then as after finish_round.
  virtual std::vector<TreeOfRound> grow_elsewhere(std::size_t, u64) { return {}; }
  // The other side of it: before rounds, and the end of them.
  virtual void expect_held_out(bool) {}
  virtual void settle() {}

  // The trees of a round have been grown and added to the scores.
  virtual void finish_round(std::span<const StoredTree>) {}
};

}  // namespace committee
