// The rows of a fit in blocks elsewhere: what LocalRows does with rows is here a command to all
// blocks.
#pragma once
#include <map>

#include "boosting/block_link.hpp"
#include "boosting/boosting_rows.hpp"
#include "boosting/gradient_sampling.hpp"
#include "boosting/tree_steps.hpp"
#include "committee/function_view.hpp"
#include "committee/quantile_counts.hpp"

namespace committee {

// Quantiles of groups of values that the blocks count; `count` names the command that does.
std::vector<double> find_quantiles(BlockChannel& link, std::span<const double> levels,
                                   FunctionView<BlockCommand(const DigitStep&)> count);

// The facts that blocks and their driver share.
struct RemoteFacts {
  std::vector<ColumnBins> bins;
  std::vector<std::size_t> offsets;
  std::size_t leaves_per_step = 4;
  bool held_out = false;  // some rows do not grow the trees of this round
  std::size_t n_rows() const { return offsets.back(); }
  std::size_t n_blocks() const { return offsets.size() - 1; }
};

class RemoteLeafRows final : public LeafRows {
 public:
  RemoteLeafRows(BlockChannel& link, const RemoteFacts& facts, const RecordLayout& layout,
                 const Loss& loss, u32 width);
  const RecordLayout& choose_columns(const ColumnChoice& choice) override;
  RootSums open_root(const TreeStart& start, i64* histogram) override;
  RootSums reopen_root() override;
  StepRules step_rules() const override {
    return {.most_leaves = facts_.leaves_per_step, .builds = true, .counts_late = true};
  }
  void split_leaves(std::span<StepSplit> splits) override;
  void split_held_out(std::span<const LeafSplit> splits) override;
  void unsplit(std::span<const u32> leaves) override;
  void add_rows(u32 leaf, i64* histogram) override;
  void count_bins(u32 leaf, u32 feature, std::vector<u32>& counts,
                  std::vector<u64>& weights) override;
  void sum_levels(u32 leaf, u32 feature, std::vector<i64>& histogram) override;
  void sum_vectors(u32 leaf, std::vector<i64>& totals) override;
  std::vector<FixedSums> sum_leaves(std::span<const u32> leaves, u32 score, bool all) override;
  std::vector<double> find_middles(std::span<const u32> leaves, u32 score) override;
  void add_values(std::span<const u32> leaves, u32 score, std::span<const double> values) override;
  double find_largest_residual() override;
  void write_residuals(const ResidualWords& words) override;
  i64 find_largest_word(const WordHalves& halves) override;
  i64 sum_words(i64* histogram) override;
  void settle(std::span<const u32> leaves, std::span<const double> values,
              std::span<const i64> changes) override;
  bool follows_residuals() const { return follows_residuals_; }
  // What columns the blocks have is not known.
  void forget_columns() { all_known_ = false; }

 private:
  RootSums take_root(const BlockValues& answer);
  void take_levels(const LeafSplit& split, std::span<const i64> built);

  BlockChannel& link_;
  const RemoteFacts& facts_;
  const Loss& loss_;
  const RecordLayout& layout_;
  const u32 width_;
  std::shared_ptr<const RecordLayout> chosen_;  // null: all columns
  bool all_known_ = false;                      // the blocks have all columns
  std::size_t n_entries_;
  // Where the levels of each wide column begin in a row of level sums, and the number of all.
  std::vector<std::size_t> level_offsets_;
  std::size_t n_levels_ = 0;
  std::map<u32, std::vector<i64>> levels_;  // sums of leaves over the levels of wide columns
  bool follows_residuals_ = false;          // in the tree at hand
};

class RemoteRows final : public BoostingRows {
 public:
  RemoteRows(const BlockedRows& blocks, const BoostingInput& input, const RowWeights& weights,
             Loss& loss, const BoostingParams& params);
  std::size_t n_rows() const override { return facts_.n_rows(); }
  const std::vector<ColumnBins>& bins() const override { return facts_.bins; }
  const RecordLayout& layout() const override { return *layout_; }
  const WeightFacts& weights() const override { return drawn_; }
  const GradientFacts& gradients() const override { return gradients_; }
  LeafRows& leaves() override { return *leaves_; }
  std::vector<LeafRows*> make_leaves_apart(std::size_t, std::size_t) override { return {}; }
  std::vector<LeafRows*> leaves_together() override;
  void grow_together(std::size_t n_trees, FunctionView<void(std::size_t)> grow) override {
    steps_->run(n_trees, grow);
  }
  std::size_t bytes() const override { return scores_.size() * sizeof(double); }
  const double* scores() override;
  void set_scores(const double* scores) override;
  void add_constant(std::span<const double> per_score) override;
  void add_tree(const StoredTree& stored, double factor) override;
  void adapt_loss() override;
  void compute_gradients() override;
  void take_gradients(const double* gradients, const double* hessians) override;
  void choose_rows(std::vector<u32> sample, const std::vector<u32>& held_out) override;
  std::vector<u32> draw_by_gradient(u64 tree) override;
  double measure_loss(std::span<const u32> rows) override;
  void finish_round(std::span<const StoredTree> trees) override;
  bool lie_together() override { return link_.lie_together(); }
  std::vector<TreeOfRound> grow_elsewhere(std::size_t most_rounds, u64 n_grown) override;
  void expect_held_out(bool any) override {
    facts_.held_out = any;
    forget_columns();
  }
  void settle() override { link_.settle_round(); }

 private:
  // Another Boosting may have chosen columns in the blocks.
  void forget_columns();
  void keep_trees(std::span<const StoredTree> trees, bool follows_residuals);
  void send_targets(const BoostingInput& input);
  bool try_join(JointColumns& joint, u32 column, u32 most_codes);
  std::size_t count_together(const BlockedRows& blocks) const;
  void start(std::size_t n_together);
  // The part of values[column][row] that a block has.
  std::vector<double> cut_columns(const double* values, std::size_t n_columns,
                                  std::size_t block) const;
  std::vector<GradientBorder> find_borders(std::size_t n_top, std::size_t n_present);
  void fix_powers(const char* measure, const char* fix, std::vector<GradientPowers> known);

  RemoteFacts facts_;
  const RowWeights& weights_;
  Loss& loss_;
  const BoostingParams& params_;
  BlockLink link_;
  WeightFacts drawn_;
  GradientFacts gradients_;
  std::shared_ptr<const RecordLayout> layout_;
  std::unique_ptr<RemoteLeafRows> leaves_;
  std::unique_ptr<TreeSteps> steps_;  // of trees that are grown together, and their rows
  std::vector<std::unique_ptr<RemoteLeafRows>> leaves_together_;
  std::vector<double> scores_;                  // as they were when somebody asked
  std::vector<BlockCommand> choice_, adapted_;  // the latest of their kind
  BlockValues loss_message_;                    // as blocks read it
  std::size_t rounds_at_once_ = 1;              // that run elsewhere in one call
};

// A tree as a message, and back.
BlockValues write_tree(const StoredTree& stored);
StoredTree read_tree(const BlockValues& values, std::size_t first);

// Rounds that run beside the blocks: what is asked, and the trees, with all that the model keeps.
struct RoundsRequest {
  std::size_t n_rounds = 1;
  u64 n_grown = 0;  // trees of the fit before these
  bool held_out = false;
  BoostingParams params;
  WeightFacts weights;
  BlockValues loss;  // name, parameter, number of scores, levels
};
BlockValues write_request(const RoundsRequest& request);
RoundsRequest read_request(const BlockValues& values);
std::unique_ptr<Loss> read_loss(const BlockValues& values, std::size_t first);
BlockValues write_trees(std::span<const TreeOfRound> trees, std::span<const double> deltas);
std::vector<TreeOfRound> read_trees(const BlockValues& values);

}  // namespace committee
