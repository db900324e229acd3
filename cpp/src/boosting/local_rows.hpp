// The rows of a fit in the memory of this process.
#pragma once
#include <optional>

#include "boosting/boosting_rows.hpp"
#include "boosting/local_leaf_rows.hpp"
#include "committee/boosting.hpp"
#include "committee/exact_sum.hpp"

namespace committee {

class LocalRows final : public BoostingRows {
 public:
  LocalRows(const BoostingInput& input, const RowWeights& weights, Loss& loss,
            const BoostingParams& params, int n_threads);
  // Those of a block, in the layout of all blocks.
  LocalRows(const BoostingInput& input, const RowWeights& weights, Loss& loss,
            const BoostingParams& params, std::shared_ptr<const RecordLayout> layout,
            int n_threads);

  std::size_t n_rows() const override { return input_.data->n_rows; }
  const std::vector<ColumnBins>& bins() const override { return *input_.data->bins; }
  const RecordLayout& layout() const override { return records_.layout(); }
  const WeightFacts& weights() const override { return drawn_; }
  const GradientFacts& gradients() const override { return gradients_.facts(); }
  LocalLeafRows& leaves() override { return leaves_; }
  std::vector<LeafRows*> make_leaves_apart(std::size_t n_trees, std::size_t most_bytes) override;
  std::size_t bytes() const override;
  const double* scores() override { return scores_.data(); }
  void set_scores(const double* scores) override;
  void add_constant(std::span<const double> per_score) override;
  void add_tree(const StoredTree& stored, double factor) override;
  void adapt_loss() override;
  void compute_gradients() override;
  void take_gradients(const double* gradients, const double* hessians) override;
  void choose_rows(std::vector<u32> sample, const std::vector<u32>& held_out) override;
  std::vector<u32> draw_by_gradient(u64 tree) override;
  double measure_loss(std::span<const u32> rows) override;
  std::pair<double, double> measure_losses(std::span<const u32> held_out) override;

  ExactMean sum_losses(std::span<const u32> rows) const;

  // For blocks: what is done in two steps there.
  Gradients& gradient_pairs() { return gradients_; }
  // Rows of so many other trees, and of one of these.
  void add_leaves_apart(std::size_t n_trees);
  LocalLeafRows& leaves_apart(std::size_t tree) { return apart_.at(tree)->leaves; }
  const RowWeights& drawn_weights() const { return drawn_; }
  ScoreView view() const { return shared_.view(); }
  // Sizes of all rows' gradients, over the scores, by which a sample is drawn.
  std::vector<double> measure_gradients() const;
  // Draws with these factors of the weights, of which all rows, elsewhere too, have so much.
  void multiply_weights(std::span<const double> factors, u64 total);

 private:
  LocalRows(const BoostingInput& input, const RowWeights& weights, Loss& loss,
            const BoostingParams& params, Records&& records, int n_threads);
  template <class Use>
  void for_score_blocks(Use&& use);
  void sum_losses(ExactMean& all, std::span<const u32> rows, ExactMean* some) const;
  // Rows of a tree that is grown beside others.
  struct Apart {
    Apart(const SharedRows& shared, const Records& all, int n_threads)
        : records(all), leaves(shared, records, 1, n_threads) {}
    Records records;
    LocalLeafRows leaves;
  };

  const BoostingInput& input_;
  const RowWeights& weights_;
  Loss& loss_;
  const BoostingParams& params_;
  const int n_threads_;
  RowWeights drawn_;  // as the trees of this round see them
  Records records_;
  Gradients gradients_;
  AlignedBuffer<double> scores_;  // [score][row]
  SharedRows shared_;
  LocalLeafRows leaves_;
  std::vector<std::unique_ptr<Apart>> apart_;
  mutable std::optional<ExactSum> weight_total_;  // of all rows, once a loss has been measured
};

}  // namespace committee
