// Many trees over one set of bins: one tree a thread, each with rows and features of its own.
#pragma once
#include "grower.hpp"
#include "row_sampling.hpp"

namespace committee {

struct ForestPlan {
  RowSampling sampling;
  std::size_t first_tree = 0, n_trees = 0;  // numbers of the trees in their ensemble
  bool balance_classes = false;             // weights of the classes from each tree's own sample
  // Rows that x holds where it is a part of the table (out-of-bag); 0 rows in all: x is the table.
  std::size_t first_row = 0, n_table_rows = 0;
};

struct ForestResult {
  Trees trees;
  std::vector<double> importances;  // [tree][feature], as GrowResult's
  RouteCounts nodes_by_route{};     // of all trees
};

// `done`, if given, counts the finished trees.
ForestResult grow_forest(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                         InterruptWatch& watch, std::atomic<std::size_t>* done = nullptr);

// Out-of-bag votes: for every row, trees whose sample does not hold it add the value of
// their leaf (class probabilities, or values), in tree order. Adds to sums [row][width] and n_votes
// [row], so that a forest can be gone through in parts.
void add_out_of_bag(const Trees& trees, const MatrixView& x, const ForestPlan& plan, u64 seed,
                    int n_jobs, double* sums, u32* n_votes);

}  // namespace committee
