// Ordered levels behind a score with logistic noise: P(level <= k) = F(threshold k - score), where
// a second score of each row may be the logarithm of the noise's spread, which divides the
// distance.
#pragma once
#include <span>
#include <vector>

#include "exact_sum.hpp"
#include "types.hpp"

namespace committee {

// The loss, and its derivatives by the thresholds; the hessian has three diagonals.
struct ThresholdTerms {
  double loss = 0.0;
  std::vector<double> gradient = {}, diagonal = {}, beside = {};
};

// Minus the log-likelihood of rows whose levels are known. With a and b the distances of a row's
// score from its upper and its lower threshold, F(a) - F(b) = F(a) F(-b) (1 - exp(b - a)), in which
// nothing cancels and whose last factor is the same for all rows of a level if their spread is.
// Sums are exact: they depend neither on the order of the rows nor on the threads.
class LogisticLevels {
 public:
  // `weights`: of the rows, or none; every level needs a row. `n_scores`: one, or two with spreads.
  LogisticLevels(std::span<const u32> levels, std::span<const double> weights, u32 n_levels,
                 u32 n_scores);
  std::size_t n_rows() const { return rows_.size(); }
  std::size_t n_levels() const { return begins_.size() - 1; }
  u32 n_scores() const { return n_scores_; }
  // Scores, gradients and hessians are [score][row]. Thresholds ascend, one less than
  // there are levels.
  double sum_losses(const double* scores, std::span<const double> thresholds, int n_threads) const;
  ThresholdTerms sum_terms(const double* scores, std::span<const double> thresholds,
                           int n_threads) const;
  // By the scores of each row. By the logarithm of a spread the gradient is bounded below, and the
  // hessian is its expectation, the Fisher information.
  void find_gradients(const double* scores, std::span<const double> thresholds, int n_threads,
                      double* gradients, double* hessians) const;

 private:
  struct Level;
  struct Distances;
  struct LevelShares;
  struct RowShares;
  struct Task {
    std::size_t level, begin, end;  // places in rows_
  };
  std::vector<Level> describe(std::span<const double> thresholds) const;
  // `factors`: what distances are multiplied by, or nullptr.
  Distances measure(const Level& level, const double* scores, const double* factors,
                    std::size_t begin, std::size_t end) const;
  RowShares share(const Level& level, const double* scores, std::size_t begin,
                  std::size_t end) const;
  template <class Shares>
  static void find_losses(const Shares& shares, const Distances& to, double* losses);
  void find_information(std::span<const double> thresholds, const double* scores,
                        const RowShares& shares, std::size_t begin, std::size_t n,
                        double* information) const;
  void add(std::size_t begin, std::span<const double> values, ExactSum& sum) const;
  template <class Use>
  void for_blocks(const Task& task, const Level& level, const double* scores, Use&& use) const;

  const u32 n_scores_;
  std::vector<u32> rows_;        // by their levels
  std::vector<double> weights_;  // as rows_
  std::vector<std::size_t> begins_;
  std::vector<Task> tasks_;
};

}  // namespace committee
