// Ordered levels behind a score with logistic noise: P(level <= k) = F(threshold k - score).
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
// nothing cancels and whose last factor is the same for all rows of a level. Sums are exact: they
// depend neither on the order of the rows nor on the threads.
class LogisticLevels {
 public:
  // `weights`: of the rows, or none; every level needs a row.
  LogisticLevels(std::span<const u32> levels, std::span<const double> weights, u32 n_levels);
  std::size_t n_rows() const { return rows_.size(); }
  std::size_t n_levels() const { return begins_.size() - 1; }
  // Thresholds ascend, one less than there are levels.
  double sum_losses(const double* scores, std::span<const double> thresholds, int n_threads) const;
  ThresholdTerms sum_terms(const double* scores, std::span<const double> thresholds,
                           int n_threads) const;
  // By the score of each row.
  void find_gradients(const double* scores, std::span<const double> thresholds, int n_threads,
                      double* gradients, double* hessians) const;

 private:
  struct Level;
  struct Distances;
  struct Task {
    std::size_t level, begin, end;  // places in rows_
  };
  std::vector<Level> describe(std::span<const double> thresholds) const;
  Distances measure(const Level& level, const double* scores, std::size_t begin,
                    std::size_t end) const;
  static void find_losses(const Level& level, const Distances& to, double* losses);
  void add(std::size_t begin, std::span<const double> values, ExactSum& sum) const;
  template <class Use>
  void for_blocks(const Task& task, const Level& level, const double* scores, Use&& use) const;

  std::vector<u32> rows_;        // by their levels
  std::vector<double> weights_;  // as rows_
  std::vector<std::size_t> begins_;
  std::vector<Task> tasks_;
};

}  // namespace committee
