// Minus the log-likelihood of a distribution with two parameters, location and spread, each with a
// score of its own: boosting by natural gradients [Duan2020]. The Fisher information of these
// parameters is diagonal, so that the natural gradient by a score is the gradient divided by its
// information; a tree is fitted to it by least squares, or weighted by the information.
#include <algorithm>
#include <stdexcept>

#include "base/recompiled.hpp"
#include "committee/exact_sum.hpp"
#include "committee/group_loss.hpp"
#include "committee/parallel.hpp"
#include "gamma_functions.hpp"

namespace committee {

namespace {

constexpr double kHalfLogTwoPi = 0.91893853320467274178;
constexpr std::size_t kRowsPerTask = 4096, kRowsPerBlock = 256;

struct ScoreTerms {
  double gradient, hessian;
};
struct RowTerms {
  ScoreTerms location, spread;
};

// Scores: mean m and ln s, information 1 / s^2 and 2. The natural gradients are m - y and
// (1 - z^2) / 2, z = (y - m) / s.
struct NormalRows {
  static constexpr double kRowNs = 6.0;
  // A row further than about ten spreads away counts as one there: its share in a leaf is bounded.
  static constexpr double kLeast = -50.0, kMostLog = 300.0;
  static double prepare(double y) { return y; }
  static double find_square(double y, double m, double log_spread) {
    return (y - m) * (y - m) * exponential(-2.0 * log_spread);
  }
  static RowTerms differentiate(double y, double m, double score) {
    const double log_spread = hold_within(score, -kMostLog, kMostLog);
    const double step = 0.5 * (1.0 - find_square(y, m, log_spread));
    return {{m - y, 1.0}, {take_larger(step, kLeast), 1.0}};
  }
  static double find_value(double y, double m, double score) {
    const double log_spread = hold_within(score, -kMostLog, kMostLog);
    return log_spread + 0.5 * find_square(y, m, log_spread) + kHalfLogTwoPi;
  }
};

// The logarithm of y is normal.
struct LogNormalRows : NormalRows {
  static double prepare(double y) { return natural_log(y); }
  static double find_value(double log_y, double m, double score) {
    return NormalRows::find_value(log_y, m, score) + log_y;
  }
};

// Counts with mean m and variance m + a m^2; the scores are ln m and ln a. With r = 1 / a the
// information by ln m is m r / (r + m). That by ln a has no closed form; the product below is
// exact for large means and for small a, and too large for small means with a large a, where steps
// are smaller for it.
struct NegativeBinomialRows {
  static constexpr double kRowNs = 50.0;
  static constexpr double kMostLogMean = 40.0, kLeastLog = -18.0, kMostLog = 10.0;
  static constexpr double kLeastInformation = 1e-6;
  static double prepare(double y) { return y; }
  static RowTerms differentiate(double y, double score, double log_a) {
    const double m = exponential(hold_within(score, -kMostLogMean, kMostLogMean));
    const double r = exponential(-hold_within(log_a, kLeastLog, kMostLog));
    const double share = r / (r + m), other = m / (r + m);
    const double by_r = digamma(y + r) - digamma(r) + natural_log(share) + 1.0 - (r + y) / (r + m);
    const double information = other * other * r * (r * trigamma(r) - 1.0);
    return {{(m - y) * share, m * share}, {r * by_r, take_larger(information, kLeastInformation)}};
  }
  static double find_value(double y, double score, double log_a) {
    const double m = exponential(hold_within(score, -kMostLogMean, kMostLogMean));
    const double r = exponential(-hold_within(log_a, kLeastLog, kMostLog));
    return log_gamma(r) - log_gamma(y + r) + log_gamma(y + 1.0) - r * natural_log(r / (r + m)) -
           y * natural_log(m / (r + m));
  }
};

template <class Rows>
class DistributionLoss final : public GroupLoss {
 public:
  DistributionLoss(std::vector<double> target, std::vector<double> weights)
      : GroupLoss(target.size(), 2), target_(std::move(target)), weights_(std::move(weights)) {
    for (std::size_t i = 0; i < n_rows_; ++i)
      target_[i] = is_present(i) ? Rows::prepare(target_[i]) : 0.0;
  }

  double work() const override { return Rows::kRowNs * static_cast<double>(n_rows_); }

  void find_gradients(const double* scores, int n_threads, double* gradients,
                      double* hessians) override {
    for_blocks(n_threads, [&](std::size_t begin, std::size_t n) {
      const double *y = target_.data() + begin, *location = scores + begin;
      const double* spread = location + n_rows_;
      double terms[4][kRowsPerBlock];
      call_widened([&]() COMMITTEE_INLINE_LAMBDA {
        for (std::size_t i = 0; i < n; ++i) {
          const RowTerms own = Rows::differentiate(y[i], location[i], spread[i]);
          terms[0][i] = own.location.gradient;
          terms[1][i] = own.location.hessian;
          terms[2][i] = own.spread.gradient;
          terms[3][i] = own.spread.hessian;
        }
      });
      double* const outputs[] = {gradients, hessians, gradients + n_rows_, hessians + n_rows_};
      for (std::size_t k = 0; k < 4; ++k) {
        clear_absent(begin, n, terms[k]);
        std::copy_n(terms[k], n, outputs[k] + begin);
      }
    });
  }

  double measure(const double* scores, int n_threads) const override {
    std::vector<double> values(n_rows_);
    for_blocks(n_threads, [&](std::size_t begin, std::size_t n) {
      const double *y = target_.data() + begin, *location = scores + begin;
      const double* spread = location + n_rows_;
      double* const own = values.data() + begin;
      call_widened([&]() COMMITTEE_INLINE_LAMBDA {
        for (std::size_t i = 0; i < n; ++i) own[i] = Rows::find_value(y[i], location[i], spread[i]);
      });
      clear_absent(begin, n, own);
    });
    ExactMean mean;
    mean.add(values, weights_);
    return mean.find();
  }

 private:
  bool is_present(std::size_t i) const { return weights_.empty() || weights_[i] > 0.0; }

  void clear_absent(std::size_t begin, std::size_t n, double* values) const {
    if (weights_.empty()) return;
    for (std::size_t i = 0; i < n; ++i) values[i] = is_present(begin + i) ? values[i] : 0.0;
  }

  template <class Use>
  void for_blocks(int n_threads, Use&& use) const {
    const std::size_t n_tasks = (n_rows_ + kRowsPerTask - 1) / kRowsPerTask;
    parallel_for(n_tasks, n_threads, [&](std::size_t task) {
      const std::size_t end = std::min(n_rows_, (task + 1) * kRowsPerTask);
      for (std::size_t begin = task * kRowsPerTask; begin < end; begin += kRowsPerBlock)
        use(begin, std::min(kRowsPerBlock, end - begin));
    });
  }

  std::vector<double> target_;
  const std::vector<double> weights_;
};

}  // namespace

std::unique_ptr<GroupLoss> make_distribution_loss(const std::string& name,
                                                  std::vector<double> target,
                                                  std::vector<double> weights) {
  const auto make = [&]<class Rows>() -> std::unique_ptr<GroupLoss> {
    return std::make_unique<DistributionLoss<Rows>>(std::move(target), std::move(weights));
  };
  if (name == "normal") return make.template operator()<NormalRows>();
  if (name == "lognormal") return make.template operator()<LogNormalRows>();
  if (name == "negative_binomial") return make.template operator()<NegativeBinomialRows>();
  throw std::invalid_argument("no distribution of this name: " + name);
}

}  // namespace committee
