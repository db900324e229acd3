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
  double row_weight = 0.0;  // that counts as a row of a category; 0: the unit of the weights
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
// that the rounds multiply. For the sums that decide it is rounded to an integer, in a scale that
// keeps the total between 2^50 and 2^61, so that no sum depends on an order: histograms are kept
// from round to round, and a row whose factor is the common one is never touched. Exact splits look
// into a bin only if its corners say that a better split may hide there: criteria are convex in the
// class weights left of the boundary, so that no boundary within a bin is better than the best
// corner of the box that its entry spans.
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
  class Rounds;
  std::unique_ptr<Rounds> rounds_;
};

}  // namespace committee
