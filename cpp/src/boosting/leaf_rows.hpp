// The rows of the leaves of a tree in growth. The grower (tree_grower.hpp) has the queue of leaves,
// the search for splits and the tree; whatever looks at a row is done here. Rows may lie in the
// memory of this process (LocalLeafRows) or in blocks elsewhere: all that comes back is sums of
// integers, and the tree is the same.
#pragma once
#include "boosting/multi_output.hpp"

namespace committee {

enum class Side : u8 { none, left, right };

// What a tree is grown for: scores first_score .. first_score + n_scores - 1.
struct TreeStart {
  u32 first_score = 0, n_scores = 1;
  u64 tree = 0;  // its number in the ensemble, for the random keys
};

// Of all rows that a tree is grown from.
struct RootSums {
  std::size_t n_rows = 0;
  u64 weight = 0;
  i64 total = 0;  // sum of the words; of vectors the number of rows
};

// A leaf, whose rows go to two others. Leaves are numbers that the grower gives; 0 is the root.
struct LeafSplit {
  u32 leaf = 0, left = 0, right = 0;
  const BoostSplit* by = nullptr;
  Side built = Side::none;   // child whose histogram is wanted
  double built_share = 0.5;  // of the leaf's rows that it has, as the hessians tell
};

struct SplitSums {
  std::size_t n_left = 0;
  u64 left_weight = 0;
};

// A leaf that is split in a step, with others.
struct StepSplit {
  LeafSplit how;
  i64* histogram = nullptr;     // of the child that is wanted: will be written
  SplitSums sums;               // found
  std::span<i64* const> parts;  // of the histogram, which have to be added to it
};

// Leaves that are split in one step, before their time has come: no more than `most_leaves`, and
// none beyond `enough_work`, with which the step has some for all threads. The unit of work is a
// row that moves to its side.
struct StepRules {
  std::size_t most_leaves = 1;
  double enough_work = std::numeric_limits<double>::infinity();
  double work_of_built = 0.0;  // of a row that goes into a histogram as well
  bool builds = false;  // the histogram of a child is best built while the rows are partitioned
  // Counting rows is a round trip: only leaves whose time has come are counted.
  bool counts_late = false;
  double work_per_row(double built_share) const { return 1.0 + built_share * work_of_built; }
};

// Of the gradients and hessians in fixed point, and of the weights.
struct FixedSums {
  i64 gradient = 0, hessian = 0, weight = 0;
};

// Histograms of up to kMost columns, kStep entries apart.
struct ColumnSums {
  static constexpr std::size_t kMost = 8, kStep = RecordLayout::find_step(kHistogramBins);
  i64* of(std::size_t k) { return histograms + k * kStep; }
  alignas(64) i64 histograms[kMost * kStep];
};

// Words that follow the residuals of squared error (incremental_residuals.hpp): the gradient is a
// multiple of 1 / scale.
struct ResidualWords {
  WordHalves halves;
  double scale = 1.0;
};

class LeafRows {
 public:
  virtual ~LeafRows() = default;

  // Threads of the next trees, at most as many as at first. The trees are the same.
  virtual void work_with(int) {}
  // The columns that the next tree may look at, before its root is opened. Returns the layout of
  // the histograms, until the next choice.
  virtual const RecordLayout& choose_columns(const ColumnChoice& choice) = 0;
  // Makes the words of a tree; all rows that it is grown from are in the root, whose histogram is
  // written unless it is null.
  virtual RootSums open_root(const TreeStart& start, i64* histogram) = 0;
  // The same with the words as they are, and without a histogram.
  virtual RootSums reopen_root() = 0;

  virtual StepRules step_rules() const = 0;
  // Each leaf's rows go to its children; the histogram of one of them where it is wanted.
  virtual void split_leaves(std::span<StepSplit> splits) = 0;
  // The rows of the leaves that do not grow the tree go where the splits send them, now that it is
  // known where these send missing values that no row of the leaf has.
  virtual void split_held_out(std::span<const LeafSplit> splits) = 0;
  // Parts of the root's histogram written last, which have to be added to it.
  virtual std::span<i64* const> partial_histograms() const { return {}; }
  // Leaves get back the rows of their children, and of theirs.
  virtual void unsplit(std::span<const u32> leaves) = 0;

  // Adds the rows of a leaf to a histogram.
  virtual void add_rows(u32 leaf, i64* histogram) = 0;
  // Rows of a leaf in each bin of a column (missing values in the one behind the last), and their
  // weight where rows have weights.
  virtual void count_bins(u32 leaf, u32 feature, std::vector<u32>& counts,
                          std::vector<u64>& weights) = 0;
  // Histogram of a leaf over the levels of a column that has no bins.
  virtual void sum_levels(u32 leaf, u32 feature, std::vector<i64>& histogram) = 0;
  // Sums of the words of a leaf, where these are vectors.
  virtual void sum_vectors(u32 leaf, std::vector<i64>& totals) = 0;

  // Whether columns of a leaf can be summed up alone: words of its rows, which are one number each,
  // and histograms of these columns, none of them wide.
  virtual bool sums_columns() const { return false; }
  virtual void copy_words(u32, std::vector<i64>&) const {}
  virtual void sum_columns(u32, const i64*, std::span<const u32>, ColumnSums&) const {}

  // After the tree has grown: what the values of its leaves are made of, and their way into the
  // scores. `all`: of the rows that do not grow it, too.
  virtual std::vector<FixedSums> sum_leaves(std::span<const u32> leaves, u32 score, bool all) = 0;
  // The quantile of the residuals of each leaf, or Huber's centre of them.
  virtual std::vector<double> find_middles(std::span<const u32> leaves, u32 score) = 0;
  virtual void add_values(std::span<const u32> leaves, u32 score,
                          std::span<const double> values) = 0;

  // Residuals that are followed from tree to tree: the largest, words of them, the largest
  // gradient that a word has, and the root's histogram and total.
  virtual double find_largest_residual() = 0;
  virtual void write_residuals(const ResidualWords& words) = 0;
  virtual i64 find_largest_word(const WordHalves& halves) = 0;
  virtual i64 sum_words(i64* histogram) = 0;
  // Adds values to the scores of the leaves' rows, and changes to their words.
  virtual void settle(std::span<const u32> leaves, std::span<const double> values,
                      std::span<const i64> changes) = 0;
};

}  // namespace committee
