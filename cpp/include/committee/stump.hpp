// One stump a round, on weights that change from round to round: what AdaBoost asks of its weak
// learner, in time that grows with the rows whose weight changed instead of with all of them.
#pragma once
#include <memory>

#include "binning.hpp"
#include "tree.hpp"

namespace committee {

// What is learnt from. Nothing is copied but the labels: table and order must outlive the trainer.
struct StumpInput {
  const BinnedMatrix* data = nullptr;
  const Presort* presort = nullptr;  // exact splits; null: on the bins
  std::span<const u32> labels;       // one a row, below n_classes
  u32 n_classes = 0;
  std::span<const double> weights;  // >= 0, not all zero; empty: all equal. Zero: the row is absent
};

struct StumpOptions {
  std::string criterion = "gini";  // name in ClassCriteria
  int n_jobs = 0;
  // Rows that all weights stand for: by these the rows of a category are counted. 0: as many as the
  // weights have units.
  double n_counted = 0.0;
};

struct GrownStump {
  GrownTree tree;                   // a root alone where no question can be asked
  std::vector<double> importances;  // per feature: decrease of impurity
  std::vector<double> leaf_shares;  // [leaf][class]: share of the whole weight; left before right
};

// The life of a trainer: make it once for a fit, then, round by round, grow() a stump on the
// weights as they are and multiply() them as the algorithm wants.
//
// The weight of a row is a whole number of units (a weight of k is the row k times) times a double
// that the rounds multiply, and a scale of its class. For the sums that decide the double is
// rounded to an integer, at most 2^-50 of the whole, so that no sum depends on an order: histograms
// are kept from round to round, and a row whose factor is the common one of its class is never
// touched. Exact splits look into a bin only if its corners say that a better split may hide there:
// criteria are convex in the class weights left of the boundary, so that no boundary within a bin
// is better than the best corner of the box that its entry spans.
class StumpTrainer {
 public:
  StumpTrainer(const StumpInput& input, const StumpOptions& options);  // std::invalid_argument
  ~StumpTrainer();
  StumpTrainer(const StumpTrainer&) = delete;
  StumpTrainer& operator=(const StumpTrainer&) = delete;

  // Equal stumps: the lowest feature, then the lowest threshold.
  GrownStump grow();
  // Multiplies the weight of every row by factors[leaf][class], leaf that of the stump grown last;
  // finite and > 0.
  void multiply(std::span<const double> factors);
  std::vector<double> weights() const;  // of all rows; their sum is 1

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The trainer over blocks of rows: each block keeps weights and histograms of its rows, the driver
// searches the sum of their histograms. Everything that is added up is an integer, so that the
// stumps are those of one trainer over all rows, whatever the blocks.
//
// A round: the driver finds the split of the summed histograms, blocks assign their rows to its
// leaves, the driver describes the stump from the summed leaves and plans the step, blocks multiply
// their weights.

// weight of a row = units * level.
struct StumpWeights {
  std::vector<u64> units;      // empty: all one
  std::vector<double> levels;  // empty: all one
  double total = 0.0;          // of the rows of all blocks, in units times levels
};
// Of all rows; a block has its part of units and levels, and the same total.
StumpWeights start_stump_weights(std::span<const double> weights, std::size_t n_rows);

struct StumpSplit {
  u32 feature = ~0u;  // ~0: none
  u32 bin = 0;        // the last that goes left
  bool missing_left = false;
  std::vector<u32> left_codes;  // of a category
};

struct StumpLeaves {
  u32 n_leaves = 0;
  std::vector<u64> rows, units;  // [leaf][class]: rows, and rows as often as they weigh
};

struct StumpStep {
  std::vector<double> common;  // by class: the factor that stands for no change
  std::vector<double> scales;  // by class, after the step: what all its weights are multiplied by
};

class StumpBlock {
 public:
  // As StumpTrainer, but for the weights; without a presort.
  StumpBlock(const StumpInput& input, StumpWeights weights, int n_jobs);
  ~StumpBlock();
  std::span<const u64> histograms() const;
  StumpLeaves assign(const StumpSplit& split);
  void multiply(std::span<const double> factors, const StumpStep& step);
  std::vector<double> weights() const;  // units times levels; they sum to anything

 private:
  struct State;
  std::unique_ptr<State> state_;
  StumpLeaves leaves_;
};

class StumpDriver {
 public:
  StumpDriver(std::vector<ColumnBins> bins, u32 n_classes, const StumpOptions& options);
  ~StumpDriver();
  StumpSplit find(std::span<const u64> histograms);
  GrownStump describe(const StumpLeaves& leaves) const;
  // For the next round; once a round.
  StumpStep plan(std::span<const double> factors, const StumpLeaves& leaves);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace committee
