// Gradient boosting of trees over one set of bins: the private state of a fit, and the steps of a
// round, for a loop that reads like the lecture.
//
//   set_scores(baseline)                        f_0
//   for each round:
//     draw_rows                                 the rows that grow this round's trees
//     compute_gradients (or take_gradients)     g, h at f_{m-1}
//     grow_trees                                one tree a score, or one for all; f_m = f_{m-1} + T
//   finish                                      all trees in one arena
//
// Everything that decides is a sum of integers: the same bytes for any number of threads.
#pragma once
#include "block_calls.hpp"
#include "boosting_params.hpp"
#include "loss.hpp"
#include "parallel.hpp"
#include "tree.hpp"

namespace committee {

struct BinnedMatrix;
struct BlockedRows;

struct BoostingInput {
  const BinnedMatrix* data = nullptr;  // outlives the Boosting
  // [row], or [output][row] where there are several outputs; classes as 0, 1, .. Empty: gradients
  // are always given.
  std::span<const double> target;
  std::shared_ptr<const void> target_owner;  // keeps it alive
  std::vector<double> weights;               // per row, none negative, not all zero; empty: all one
};

class Boosting {
 public:
  Boosting(BoostingInput input, std::unique_ptr<Loss> loss, const BoostingParams& params);
  // Over rows that lie in blocks elsewhere (block_boosting.hpp): the same trees.
  Boosting(BoostingInput input, std::unique_ptr<Loss> loss, const BoostingParams& params,
           const BlockedRows& blocks);
  ~Boosting();
  Boosting(const Boosting&) = delete;
  Boosting& operator=(const Boosting&) = delete;

  std::size_t n_rows() const;
  std::size_t n_features() const;
  bool has_target() const;  // otherwise gradients are given, and losses and baseline unknown
  u32 n_scores() const;
  std::size_t n_trees() const;
  int n_threads() const;
  BoostingParams& params();  // those of the leaves' values and of drawing may change between rounds
  const Loss& loss() const;

  // Scores [score][row].
  std::vector<double> find_baseline() const;
  const double* scores() const;
  void set_scores(const double* scores);
  void add_constant(std::span<const double> per_score);

  // Random keys of the next trees are those that follow so many trees grown before, by another
  // Boosting whose fit is continued.
  void skip_trees(u64 n_trees);

  // From now on draw_rows takes groups of rows as a whole, each with the same chance, or leaves
  // them out: groups[row] is the number of a row's group. Empty: every row by itself.
  void draw_groups(std::vector<u32> groups);

  // A round.
  void draw_rows();
  void compute_gradients();
  void take_gradients(const double* gradients, const double* hessians);
  // Grows this round's trees from the gradients at hand and adds them to the scores.
  void grow_trees(InterruptWatch& watch);
  // So many times all three. Rounds whose rows lie together elsewhere run there, several at a time.
  void run_rounds(std::size_t n_rounds, InterruptWatch& watch);
  // The other side of it: the rounds that a Boosting elsewhere has asked for, as it reads them.
  BlockValues grow_for(const BlockValues& request, InterruptWatch& watch);

  // Weighted mean loss of all rows, and of the rows that the last draw held out (NaN without any).
  double measure_loss() const;
  double measure_held_out_loss() const;
  std::pair<double, double> measure_losses() const;  // both, in one pass over the rows
  // Rows that the last draw held out, ascending.
  std::span<const u32> held_out_rows() const;

  // Trees first .. last - 1, times factor, added to scores[score][row] of a table in the same bins.
  void add_trees(const BinnedMatrix& data, std::size_t first, std::size_t last, double factor,
                 double* scores) const;
  // The same to the scores of the fit (minus one takes a tree out, as DART does).
  void readd_trees(std::size_t first, std::size_t last, double factor);
  // Multiplies the leaf values of a tree.
  void scale_tree(std::size_t tree, double factor);
  // Forgets all trees from this one on; the scores stay as they are.
  void truncate(std::size_t n_trees);

  // Lends its trees meanwhile.
  Trees finish(std::size_t first, std::size_t last);
  // Score that a tree's values belong to (0 where leaves are vectors).
  std::vector<u32> slots() const;
  // Sum of gains, and number of splits, of each feature over all trees ever grown.
  std::vector<double> gains() const;
  std::vector<u64> split_counts() const;
  std::size_t bytes() const;

 private:
  std::size_t grow_rounds(std::size_t most_rounds, InterruptWatch& watch);
  struct Round;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace committee
