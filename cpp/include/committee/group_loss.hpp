// Losses of groups of rows: the gradient of a row depends on the scores of others, those of its
// query in ranking, its risk set in survival, all rows where thresholds are learnt. Such a loss is
// made for one set of rows and is asked for all gradients at once; the boosted fit takes them as it
// takes those of a loss that a user has written (Boosting::take_gradients).
//
// Row weights are applied by the fit, which counts a row of weight w as w rows: a loss gives the
// derivatives of a row divided by its weight, and zeros for rows that are absent. Results are the
// same bits for any number of threads: a group is one thread's, sums over groups are in a fixed
// order.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "types.hpp"

namespace committee {

class GroupLoss {
 public:
  virtual ~GroupLoss() = default;
  std::size_t n_rows() const { return n_rows_; }
  u32 n_scores() const { return n_scores_; }  // scores of a row
  // Estimated nanoseconds of find_gradients on one thread.
  virtual double work() const = 0;
  // Gradients and hessians (>= 0) of all rows at these scores; all arrays are [score][row]. A loss
  // with parameters of its own (thresholds) fits them to the scores first.
  virtual void find_gradients(const double* scores, int n_threads, double* gradients,
                              double* hessians) = 0;
  // The loss of all rows: a mean over groups or rows, by weight.
  virtual double measure(const double* scores, int n_threads) const = 0;

 protected:
  GroupLoss(std::size_t n_rows, u32 n_scores) : n_rows_(n_rows), n_scores_(n_scores) {}
  const std::size_t n_rows_;
  const u32 n_scores_;
};

// Rows of queries, whose order within a query is to be learnt.
struct RankInput {
  std::size_t n_rows = 0;
  std::vector<u32> rows;        // of the first query, of the second, ..; others are absent
  std::vector<u64> offsets;     // of the queries in `rows`, and its length
  std::vector<double> labels;   // [row]: the larger the better
  std::vector<double> gains;    // [row]: a label's share of a DCG, not negative
  std::vector<double> weights;  // of the queries, for the mean of their losses; empty: all one
};

struct RankParams {
  double sigmoid = 1.0;       // steepness of the logistic loss of a pair
  u32 truncation_level = 30;  // first places, one of which is in every pair; positions of the NDCG
  bool normalize = true;      // gradients of a query by the distances and the sum of its pairs
};

// "lambdarank" [Burges2010], "pairwise" [Burges2005] or "listwise" [Cao2007, Bruch2019];
// std::invalid_argument for another name.
std::unique_ptr<GroupLoss> make_rank_loss(const std::string& name, RankInput input,
                                          const RankParams& params);

// Minus the log-likelihood of "normal", "lognormal" or "negative_binomial", with two scores a row:
// location and logarithm of the spread [Duan2020]. `weights`: one a row, or empty (all one);
// std::invalid_argument for another name.
std::unique_ptr<GroupLoss> make_distribution_loss(const std::string& name,
                                                  std::vector<double> target,
                                                  std::vector<double> weights);

}  // namespace committee
