#include "committee/ordered_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/recompiled.hpp"
#include "committee/elementary.hpp"
#include "committee/exact_sum.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr std::size_t kBlockRows = 512, kRowsOfTask = 8'192;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double find_exponential(double exponent) {
  double power;
  find_exponentials({&exponent, 1}, &power);
  return power;
}

double find_log(double value) {
  double log;
  find_logs({&value, 1}, &log);
  return log;
}

// 1 - exp(-gap): the rounding of the power divides out.
double find_share(double gap, double power) {
  if (gap >= 1.0) return 1.0 - power;
  return power == 1.0 ? gap : (1.0 - power) * gap / -find_log(power);
}

}  // namespace

// What all rows of a level have in common.
struct LogisticLevels::Level {
  double lower, upper;
  double kept;              // exp(lower - upper)
  double share, log_share;  // 1 - kept
};

// Of some rows of a level: from the upper threshold (a) and from the lower one (b).
struct LogisticLevels::Distances {
  using Values = std::array<double, kBlockRows>;
  std::size_t n;
  Values a, b;
  Values exp_a, exp_b;  // of minus their absolute values

  // F(a), F(-a), and F(b).
  double below(std::size_t i) const { return (a[i] > 0.0 ? 1.0 : exp_a[i]) / (1.0 + exp_a[i]); }
  double above(std::size_t i) const { return (a[i] > 0.0 ? exp_a[i] : 1.0) / (1.0 + exp_a[i]); }
  double under(std::size_t i) const { return (b[i] > 0.0 ? 1.0 : exp_b[i]) / (1.0 + exp_b[i]); }
  // The density at a threshold over the probability of the level.
  double upper_rate(std::size_t i, const Level& level) const {
    const double up = a[i] > 0.0 ? exp_a[i] + level.kept : 1.0 + exp_a[i] * level.kept;
    return up / (1.0 + exp_a[i]) / level.share;
  }
  double lower_rate(std::size_t i, const Level& level) const {
    const double down = b[i] > 0.0 ? 1.0 + exp_b[i] * level.kept : exp_b[i] + level.kept;
    return down / (1.0 + exp_b[i]) / level.share;
  }
};

LogisticLevels::LogisticLevels(std::span<const u32> levels, std::span<const double> weights,
                               u32 n_levels)
    : rows_(levels.size()), begins_(n_levels + 1, 0) {
  for (const u32 level : levels) ++begins_[level + 1];
  for (std::size_t k = 0; k < n_levels; ++k) begins_[k + 1] += begins_[k];
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (std::size_t i = 0; i < levels.size(); ++i) rows_[next[levels[i]]++] = static_cast<u32>(i);
  if (!weights.empty())
    for (const u32 row : rows_) weights_.push_back(weights[row]);
  for (std::size_t k = 0; k < n_levels; ++k)
    for (std::size_t begin = begins_[k]; begin < begins_[k + 1]; begin += kRowsOfTask)
      tasks_.push_back({k, begin, std::min(begin + kRowsOfTask, begins_[k + 1])});
}

std::vector<LogisticLevels::Level> LogisticLevels::describe(
    std::span<const double> thresholds) const {
  std::vector<Level> levels;
  for (std::size_t k = 0; k < n_levels(); ++k) {
    const double lower = k == 0 ? -kInfinity : thresholds[k - 1];
    const double upper = k + 1 == n_levels() ? kInfinity : thresholds[k];
    const double kept = find_exponential(lower - upper), share = find_share(upper - lower, kept);
    levels.push_back({lower, upper, kept, share, find_log(share)});
  }
  return levels;
}

LogisticLevels::Distances LogisticLevels::measure(const Level& level, const double* scores,
                                                  std::size_t begin, std::size_t end) const {
  Distances to;
  to.n = end - begin;
  for (std::size_t i = 0; i < to.n; ++i) {
    const double score = scores[rows_[begin + i]];
    to.a[i] = level.upper - score;
    to.b[i] = level.lower - score;
  }
  Distances::Values minus;
  const auto find = [&](double threshold, const Distances::Values& distances,
                        Distances::Values& powers) {
    if (std::isinf(threshold)) return std::fill_n(powers.data(), to.n, 0.0);
    for (std::size_t i = 0; i < to.n; ++i) minus[i] = -std::abs(distances[i]);
    find_exponentials({minus.data(), to.n}, powers.data());
    return powers.data() + to.n;
  };
  find(level.upper, to.a, to.exp_a);
  find(level.lower, to.b, to.exp_b);
  return to;
}

// use(begin, distances) for the rows of a task, from their places on.
template <class Use>
void LogisticLevels::for_blocks(const Task& task, const Level& level, const double* scores,
                                Use&& use) const {
  for (std::size_t begin = task.begin; begin < task.end; begin += kBlockRows)
    use(begin, measure(level, scores, begin, std::min(begin + kBlockRows, task.end)));
}

// Minus the logarithms of the levels' probabilities.
void LogisticLevels::find_losses(const Level& level, const Distances& to, double* losses) {
  Distances::Values above_one, logs;
  const auto beyond = [&](std::size_t i) COMMITTEE_INLINE_LAMBDA {
    return to.exp_a[i] + to.exp_b[i] + to.exp_a[i] * to.exp_b[i];
  };
  for (std::size_t i = 0; i < to.n; ++i) above_one[i] = 1.0 + beyond(i);
  find_logs({above_one.data(), to.n}, logs.data());
  call_widened([&]() COMMITTEE_INLINE_LAMBDA {
    const double log_share = level.log_share;
    for (std::size_t i = 0; i < to.n; ++i) {
      const double lost = ((above_one[i] - 1.0) - beyond(i)) / above_one[i];  // to first order
      losses[i] = (std::max(-to.a[i], 0.0) + std::max(to.b[i], 0.0)) + (logs[i] - lost - log_share);
    }
  });
}

void LogisticLevels::add(std::size_t begin, std::span<const double> values, ExactSum& sum) const {
  weights_.empty() ? sum.add(values)
                   : sum.add_products(values, std::span(weights_).subspan(begin, values.size()));
}

double LogisticLevels::sum_losses(const double* scores, std::span<const double> thresholds,
                                  int n_threads) const {
  const std::vector<Level> levels = describe(thresholds);
  std::vector<ExactSum> sums(tasks_.size());
  parallel_for(tasks_.size(), n_threads, [&](std::size_t t) {
    const Level& level = levels[tasks_[t].level];
    Distances::Values losses;
    for_blocks(tasks_[t], level, scores, [&](std::size_t begin, const Distances& to) {
      find_losses(level, to, losses.data());
      add(begin, {losses.data(), to.n}, sums[t]);
    });
  });
  ExactSum sum;
  for (const ExactSum& part : sums) sum.add(part);
  return sum.round();
}

ThresholdTerms LogisticLevels::sum_terms(const double* scores, std::span<const double> thresholds,
                                         int n_threads) const {
  // The loss, and by the upper and the lower threshold of a level the first derivatives, the second
  // ones, and that by both.
  enum Term { loss, upper, lower, upper_twice, lower_twice, mixed, n_terms };
  using Sums = std::array<ExactSum, n_terms>;
  const std::vector<Level> levels = describe(thresholds);
  std::vector<Sums> sums(tasks_.size());
  parallel_for(tasks_.size(), n_threads, [&](std::size_t t) {
    const Level& level = levels[tasks_[t].level];
    std::array<Distances::Values, n_terms> values;
    for_blocks(tasks_[t], level, scores, [&](std::size_t begin, const Distances& to) {
      find_losses(level, to, values[loss].data());
      call_widened([&]() COMMITTEE_INLINE_LAMBDA {
        for (std::size_t i = 0; i < to.n; ++i) {
          const double up = to.upper_rate(i, level), down = to.lower_rate(i, level);
          values[upper][i] = -up;
          values[lower][i] = down;
          values[upper_twice][i] = up * (up - (to.above(i) - to.below(i)));
          values[lower_twice][i] = down * (down + (1.0 - 2.0 * to.under(i)));
          values[mixed][i] = -up * down;
        }
      });
      for (std::size_t k = 0; k < n_terms; ++k) add(begin, {values[k].data(), to.n}, sums[t][k]);
    });
  });
  ExactSum total;
  std::vector<Sums> of_levels(n_levels());
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    total.add(sums[t][loss]);
    for (std::size_t k = upper; k < n_terms; ++k) of_levels[tasks_[t].level][k].add(sums[t][k]);
  }
  const std::size_t n = n_levels() - 1;
  ThresholdTerms terms{total.round(), std::vector<double>(n), std::vector<double>(n),
                       std::vector<double>(n == 0 ? 0 : n - 1)};
  for (std::size_t k = 0; k < n; ++k) {
    terms.gradient[k] = of_levels[k][upper].round() + of_levels[k + 1][lower].round();
    terms.diagonal[k] = of_levels[k][upper_twice].round() + of_levels[k + 1][lower_twice].round();
    if (k > 0) terms.beside[k - 1] = of_levels[k][mixed].round();
  }
  return terms;
}

void LogisticLevels::find_gradients(const double* scores, std::span<const double> thresholds,
                                    int n_threads, double* gradients, double* hessians) const {
  const std::vector<Level> levels = describe(thresholds);
  parallel_for(tasks_.size(), n_threads, [&](std::size_t t) {
    for_blocks(tasks_[t], levels[tasks_[t].level], scores,
               [&](std::size_t begin, const Distances& to) {
                 Distances::Values own_gradients, own_hessians;
                 call_widened([&]() COMMITTEE_INLINE_LAMBDA {
                   for (std::size_t i = 0; i < to.n; ++i) {
                     const double a = to.exp_a[i], b = to.exp_b[i];
                     own_gradients[i] = to.above(i) - to.under(i);
                     // The density is F (1 - F).
                     own_hessians[i] = a / ((1.0 + a) * (1.0 + a)) + b / ((1.0 + b) * (1.0 + b));
                   }
                 });
                 for (std::size_t i = 0; i < to.n; ++i) {
                   gradients[rows_[begin + i]] = own_gradients[i];
                   hessians[rows_[begin + i]] = own_hessians[i];
                 }
               });
  });
}

}  // namespace committee
