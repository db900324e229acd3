// What a block of rows holds and does. The commands that call it are in block_commands.cpp.
#pragma once
#include <map>

#include "boosting/block_messages.hpp"
#include "boosting/gradient_sampling.hpp"
#include "boosting/local_rows.hpp"
#include "boosting/remote_rows.hpp"

namespace committee {

struct BoostingBlock::State {
  State(std::shared_ptr<const BinnedMatrix> table, int n_jobs)
      : data(std::move(table)), n_threads(choose_threads(n_jobs, 0.0, 1.0)) {}

  using Commands = std::map<std::string, BlockValues (*)(State&, const BlockValues&)>;
  static void list_growth(Commands& commands);
  static void list_values(Commands& commands);
  static void list_scores(Commands& commands);
  static void list_gradients(Commands& commands);

  // Those of the tree that commands are for.
  LocalLeafRows& leaves() const {
    return tree == 0 ? rows->leaves() : rows->leaves_apart(tree - 1);
  }
  std::size_t n_entries() const { return leaves().n_entries(); }
  void take(const BlockValues& args);
  BlockValues list_combinations(const BlockValues& args) const;
  void start(const BlockValues& args);
  std::vector<i64> sum_levels(u32 leaf) const;
  void choose_columns(const BlockValues& args);
  BlockValues open_root(const BlockValues& args);
  BlockValues reopen_root();
  BlockValues split(const BlockValues& args);
  BlockValues count_bins(const BlockValues& args);
  BlockValues sum_leaves(const BlockValues& args);
  // Residuals of the rows of a leaf, and their weights (none: all one).
  void list_residuals(u32 leaf, u32 score, std::vector<double>& residuals,
                      std::vector<u32>& own_weights) const;
  BlockValues count_residuals(const BlockValues& args) const;
  BlockValues sum_distances(const BlockValues& args) const;
  BlockValues count_distances(const BlockValues& args) const;
  BlockValues sum_words();
  void settle_tree(const BlockValues& args);
  void choose_rows(const BlockValues& args);
  BlockValues count_sizes(const BlockValues& args) const;
  BlockValues compare_sizes(const BlockValues& args) const;
  BlockValues draw_by_gradient(const BlockValues& args);
  BlockValues sum_losses(const BlockValues& args) const;
  std::vector<GradientPowers> read_powers(const BlockValues& args) const;

  std::shared_ptr<const BinnedMatrix> data;
  int n_threads;
  BoostingInput input;
  std::vector<double> target;
  std::unique_ptr<RowWeights> weights;
  std::unique_ptr<Loss> loss;
  BoostingParams params;
  u32 width = 1;  // words of a histogram's entry
  std::unique_ptr<LocalRows> rows;
  u32 tree = 0;  // of those that are grown together
  std::vector<double> taken_gradients, taken_hessians;
  std::vector<u32> held_out;
  std::vector<double> sizes, factors;  // of the gradients, and of the weights of rows drawn by them
  ResidualWords residual_words;
};

inline u32 read_u32(const BlockValues& args, std::size_t at) {
  return static_cast<u32>(take_value<i64>(args, at));
}

}  // namespace committee
