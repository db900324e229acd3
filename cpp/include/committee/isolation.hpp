// Isolation forests [Liu2008]: trees that split a small sample at random, and whose leaves hold the
// path length that a row of theirs has.
#pragma once
#include <memory>

#include "binning.hpp"
#include "parallel.hpp"
#include "row_sampling.hpp"
#include "tree.hpp"

namespace committee {

// The values of single columns at some rows. There are no bins: a tree of 256 rows looks at some
// two thousand values, and to bin a table is to look at all of them.
class ColumnReader {
 public:
  virtual ~ColumnReader() = default;
  // out[k] = the value of the column at rows[k]; rows ascending, a row may occur again.
  virtual void read(u32 column, std::span<const u32> rows, double* out) const = 0;
  std::size_t n_rows = 0, n_cols = 0;
};
std::unique_ptr<ColumnReader> make_reader(const MatrixView& x);
// std::invalid_argument if the offsets are out of place.
std::unique_ptr<ColumnReader> make_reader(const SparseView& x);

struct IsolationPlan {
  RowSampling sampling;                     // without strata
  std::size_t first_tree = 0, n_trees = 0;  // numbers of the trees in their forest
  u32 max_depth = 0;
};

// Rows of a tree's sample, ascending, as often as they occur. Whole weights are as many places, of
// which sampling.n_draws are drawn with or without replacement, so that a weight of k is the row k
// times. Other weights are chances, and places are then drawn with replacement: what the former
// comes to where a row has very many places. Weight zero: never drawn.
std::vector<u32> draw_isolation_rows(const RowSampling& sampling, u64 seed, u64 tree,
                                     std::size_t n_rows);

// Mean path length of an unsuccessful search in a binary search tree of n rows, c(n) in [Liu2008]:
// 2 (ln(n - 1) + gamma) - 2 (n - 1) / n; 1 for two rows, 0 below.
double average_path_length(double n_rows);

// n_levels[c] > 0: column c holds codes of so many categories. A leaf's value is its depth plus the
// average path length of its rows. `done`, if given, counts the finished trees.
Trees grow_isolation_forest(const ColumnReader& x, std::span<const u32> n_levels,
                            const IsolationPlan& plan, u64 seed, int n_jobs, InterruptWatch& watch,
                            std::atomic<std::size_t>* done = nullptr);

}  // namespace committee
