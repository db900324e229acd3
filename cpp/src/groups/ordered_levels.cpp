#include "committee/ordered_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/recompiled.hpp"
#include "committee/elementary.hpp"
#include "committee/exact_sum.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr std::size_t kBlockRows = 512, kRowsOfTask = 8'192;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Of logarithms of spreads, and of distances that a product takes.
constexpr double kMostLogSpread = 4.0, kFurthest = 700.0;
// A row counts as at most ten spreads away from its level.
constexpr double kLeastGradient = -10.0;
constexpr double kLeastProbability = 1e-15;

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

// 1 - exp(-gap): the rounding of the power, whose logarithm is given, divides out.
double find_share(double gap, double power, double log_power) {
  if (gap >= 1.0) return 1.0 - power;
  return power == 1.0 ? gap : (1.0 - power) * gap / -log_power;
}

}  // namespace

// What all rows of a level have in common.
struct LogisticLevels::Level {
  double lower, upper;
  double kept;              // exp(lower - upper)
  double share, log_share;  // 1 - kept
};

// The same for the rows of a block, whose spread is the same.
struct LogisticLevels::LevelShares {
  const Level& level;
  double kept(std::size_t) const { return level.kept; }
  double share(std::size_t) const { return level.share; }
  double log_share(std::size_t) const { return level.log_share; }
  double factor(std::size_t) const { return 1.0; }
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
  template <class Shares>
  double upper_rate(std::size_t i, const Shares& of) const {
    const double up = a[i] > 0.0 ? exp_a[i] + of.kept(i) : 1.0 + exp_a[i] * of.kept(i);
    return up / (1.0 + exp_a[i]) / of.share(i);
  }
  template <class Shares>
  double lower_rate(std::size_t i, const Shares& of) const {
    const double down = b[i] > 0.0 ? 1.0 + exp_b[i] * of.kept(i) : exp_b[i] + of.kept(i);
    return down / (1.0 + exp_b[i]) / of.share(i);
  }
};

// Where every row has a spread of its own.
struct LogisticLevels::RowShares {
  Distances::Values gaps, powers, shares, log_shares, factors;
  double kept(std::size_t i) const { return powers[i]; }
  double share(std::size_t i) const { return shares[i]; }
  double log_share(std::size_t i) const { return log_shares[i]; }
  double factor(std::size_t i) const { return factors[i]; }
};

LogisticLevels::LogisticLevels(std::span<const u32> levels, std::span<const double> weights,
                               u32 n_levels, u32 n_scores)
    : n_scores_(n_scores), rows_(levels.size()), begins_(n_levels + 1, 0) {
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
    const double kept = find_exponential(lower - upper);
    const double share = find_share(upper - lower, kept, find_log(kept));
    levels.push_back({lower, upper, kept, share, find_log(share)});
  }
  return levels;
}

LogisticLevels::Distances LogisticLevels::measure(const Level& level, const double* scores,
                                                  const double* factors, std::size_t begin,
                                                  std::size_t end) const {
  Distances to;
  to.n = end - begin;
  for (std::size_t i = 0; i < to.n; ++i) {
    const double score = scores[rows_[begin + i]];
    to.a[i] = level.upper - score;
    to.b[i] = level.lower - score;
  }
  if (factors)
    for (std::size_t i = 0; i < to.n; ++i) {
      to.a[i] *= factors[i];
      to.b[i] *= factors[i];
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

LogisticLevels::RowShares LogisticLevels::share(const Level& level, const double* scores,
                                                std::size_t begin, std::size_t end) const {
  RowShares of;
  Distances::Values minus;
  const std::size_t n = end - begin;
  for (std::size_t i = 0; i < n; ++i)
    minus[i] = -std::clamp(scores[n_rows() + rows_[begin + i]], -kMostLogSpread, kMostLogSpread);
  find_exponentials({minus.data(), n}, of.factors.data());
  for (std::size_t i = 0; i < n; ++i) {
    of.gaps[i] = (level.upper - level.lower) * of.factors[i];
    minus[i] = -of.gaps[i];
  }
  find_exponentials({minus.data(), n}, of.powers.data());
  find_logs({of.powers.data(), n}, minus.data());
  for (std::size_t i = 0; i < n; ++i) of.shares[i] = find_share(of.gaps[i], of.powers[i], minus[i]);
  find_logs({of.shares.data(), n}, of.log_shares.data());
  return of;
}

// use(begin, distances, shares) for the rows of a task, from their places on.
template <class Use>
void LogisticLevels::for_blocks(const Task& task, const Level& level, const double* scores,
                                Use&& use) const {
  for (std::size_t begin = task.begin; begin < task.end; begin += kBlockRows) {
    const std::size_t end = std::min(begin + kBlockRows, task.end);
    if (n_scores_ == 1) {
      use(begin, measure(level, scores, nullptr, begin, end), LevelShares{level});
    } else {
      const RowShares shares = share(level, scores, begin, end);
      use(begin, measure(level, scores, shares.factors.data(), begin, end), shares);
    }
  }
}

// Minus the logarithms of the levels' probabilities.
template <class Shares>
void LogisticLevels::find_losses(const Shares& shares, const Distances& to, double* losses) {
  Distances::Values above_one, logs;
  const auto beyond = [&](std::size_t i) COMMITTEE_INLINE_LAMBDA {
    return to.exp_a[i] + to.exp_b[i] + to.exp_a[i] * to.exp_b[i];
  };
  for (std::size_t i = 0; i < to.n; ++i) above_one[i] = 1.0 + beyond(i);
  find_logs({above_one.data(), to.n}, logs.data());
  call_widened([&]() COMMITTEE_INLINE_LAMBDA {
    for (std::size_t i = 0; i < to.n; ++i) {
      const double lost = ((above_one[i] - 1.0) - beyond(i)) / above_one[i];  // to first order
      losses[i] = (std::max(-to.a[i], 0.0) + std::max(to.b[i], 0.0)) +
                  (logs[i] - lost - shares.log_share(i));
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
    for_blocks(tasks_[t], level, scores, [&](auto begin, const auto& to, const auto& shares) {
      find_losses(shares, to, losses.data());
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
    for_blocks(tasks_[t], level, scores, [&](auto begin, const auto& to, const auto& shares) {
      find_losses(shares, to, values[loss].data());
      call_widened([&]() COMMITTEE_INLINE_LAMBDA {
        for (std::size_t i = 0; i < to.n; ++i) {
          const double up = to.upper_rate(i, shares), down = to.lower_rate(i, shares);
          const double factor = shares.factor(i), square = factor * factor;
          values[upper][i] = -up * factor;
          values[lower][i] = down * factor;
          values[upper_twice][i] = up * (up - (to.above(i) - to.below(i))) * square;
          values[lower_twice][i] = down * (down + (1.0 - 2.0 * to.under(i))) * square;
          values[mixed][i] = -up * down * square;
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

// The Fisher information of the logarithm of the spread: with z the distances from all thresholds,
// the sum over the levels of the squared change of z F'(z), over their probabilities.
void LogisticLevels::find_information(std::span<const double> thresholds, const double* scores,
                                      const RowShares& shares, std::size_t begin, std::size_t n,
                                      double* information) const {
  Distances::Values z, minus, powers, below, products;
  below.fill(0.0);
  products.fill(0.0);
  std::fill_n(information, n, 0.0);
  const auto add_level = [&](std::size_t i, double next_below, double next_product) {
    const double change = next_product - products[i];
    information[i] += change * change / std::max(next_below - below[i], kLeastProbability);
    below[i] = next_below;
    products[i] = next_product;
  };
  for (const double threshold : thresholds) {
    for (std::size_t i = 0; i < n; ++i) {
      z[i] = std::clamp((threshold - scores[rows_[begin + i]]) * shares.factors[i], -kFurthest,
                        kFurthest);
      minus[i] = -std::abs(z[i]);
    }
    find_exponentials({minus.data(), n}, powers.data());
    for (std::size_t i = 0; i < n; ++i) {
      const double power = powers[i], over = 1.0 + power;
      add_level(i, (z[i] > 0.0 ? 1.0 : power) / over, z[i] * power / (over * over));
    }
  }
  for (std::size_t i = 0; i < n; ++i) add_level(i, 1.0, 0.0);
}

void LogisticLevels::find_gradients(const double* scores, std::span<const double> thresholds,
                                    int n_threads, double* gradients, double* hessians) const {
  const std::vector<Level> levels = describe(thresholds);
  const auto find_spread_gradient = [](const Distances& to, const RowShares& of,
                                       std::size_t i) COMMITTEE_INLINE_LAMBDA {
    const double up = std::clamp(to.a[i], -kFurthest, kFurthest) * to.above(i);
    const double down = std::clamp(to.b[i], -kFurthest, kFurthest) * to.under(i);
    const double between = std::min(of.gaps[i], kFurthest) * of.kept(i) / of.share(i);
    return std::max(up - down + between, kLeastGradient);
  };
  parallel_for(tasks_.size(), n_threads, [&](std::size_t t) {
    for_blocks(tasks_[t], levels[tasks_[t].level], scores,
               [&](std::size_t begin, const Distances& to, const auto& shares) {
                 constexpr bool is_by_row =
                     std::is_same_v<std::decay_t<decltype(shares)>, RowShares>;
                 Distances::Values own_gradients, own_hessians, by_spread, information;
                 call_widened([&]() COMMITTEE_INLINE_LAMBDA {
                   for (std::size_t i = 0; i < to.n; ++i) {
                     const double a = to.exp_a[i], b = to.exp_b[i], factor = shares.factor(i);
                     own_gradients[i] = (to.above(i) - to.under(i)) * factor;
                     // The density is F (1 - F).
                     own_hessians[i] = (a / ((1.0 + a) * (1.0 + a)) + b / ((1.0 + b) * (1.0 + b))) *
                                       (factor * factor);
                   }
                   if constexpr (is_by_row)
                     for (std::size_t i = 0; i < to.n; ++i)
                       by_spread[i] = find_spread_gradient(to, shares, i);
                 });
                 if constexpr (is_by_row)
                   find_information(thresholds, scores, shares, begin, to.n, information.data());
                 for (std::size_t i = 0; i < to.n; ++i) {
                   const std::size_t row = rows_[begin + i];
                   gradients[row] = own_gradients[i];
                   hessians[row] = own_hessians[i];
                   if constexpr (is_by_row) {
                     gradients[n_rows() + row] = by_spread[i];
                     hessians[n_rows() + row] = information[i];
                   }
                 }
               });
  });
}

}  // namespace committee
