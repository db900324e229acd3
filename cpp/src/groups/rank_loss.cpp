#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "committee/group_loss.hpp"
#include "committee/math.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr double kPairNs = 2.5, kRowNs = 60.0;  // estimated, of one thread
constexpr std::size_t kTasksPerThread = 8;

// 1 / log2(2 + place), the weight of a place in a DCG.
double discount(std::size_t place) {
  return 1.0 / binary_log(2.0 + static_cast<double>(place));
}

// The rows of a query side by side; buffers are kept from query to query.
struct QueryRows {
  void resize(std::size_t n) {
    for (auto* own : {&scores, &labels, &gains, &lambdas, &hessians, &pair_lambdas, &pair_hessians})
      own->resize(n);
    order.resize(n);
  }
  std::vector<u32> order;  // numbers of the rows, in the order that the arrays have
  std::vector<double> scores, labels, gains, lambdas, hessians;
  std::vector<double> pair_lambdas, pair_hessians;  // of one row with each of the others
};

// In four parts that do not wait for one another; a fixed order.
double sum_in_order(const double* x, std::size_t n) {
  double sums[4] = {0.0, 0.0, 0.0, 0.0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += x[i + k];
  for (; i < n; ++i) sums[0] += x[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

class RankLoss : public GroupLoss {
 public:
  RankLoss(RankInput input, const RankParams& params)
      : GroupLoss(input.n_rows, 1), input_(std::move(input)), params_(params) {
    std::size_t longest = 0;
    for (std::size_t q = 0; q < n_queries(); ++q) longest = std::max(longest, size(q));
    discounts_.resize(longest);
    for (std::size_t k = 0; k < longest; ++k) discounts_[k] = discount(k);
  }

  double work() const override {
    double pairs = 0.0;
    for (std::size_t q = 0; q < n_queries(); ++q) pairs += count_pairs(size(q));
    return kPairNs * pairs + kRowNs * static_cast<double>(input_.rows.size());
  }

  void find_gradients(const double* scores, int n_threads, double* gradients,
                      double* hessians) override {
    std::fill_n(gradients, n_rows_, 0.0);
    std::fill_n(hessians, n_rows_, 0.0);
    for_each_query(n_threads, [&](std::size_t q, QueryRows& query) {
      gather(q, scores, query);
      const std::size_t n = size(q);
      std::fill_n(query.lambdas.begin(), n, 0.0);
      std::fill_n(query.hessians.begin(), n, 0.0);
      differentiate(q, n, query);
      for (std::size_t i = 0; i < n; ++i) {
        gradients[query.order[i]] = query.lambdas[i];
        hessians[query.order[i]] = query.hessians[i];
      }
    });
  }

  double measure(const double* scores, int n_threads) const override {
    std::vector<double> losses(n_queries());
    for_each_query(n_threads, [&](std::size_t q, QueryRows& query) {
      gather(q, scores, query);
      losses[q] = find_value(q, size(q), query);
    });
    double sum = 0.0, total = 0.0;
    for (std::size_t q = 0; q < losses.size(); ++q) {
      const double weight = input_.weights.empty() ? 1.0 : input_.weights[q];
      sum += weight * losses[q];
      total += weight;
    }
    return sum / total;
  }

 protected:
  std::size_t n_queries() const { return input_.offsets.size() - 1; }
  std::size_t size(std::size_t q) const { return input_.offsets[q + 1] - input_.offsets[q]; }
  virtual double count_pairs(std::size_t n) const = 0;
  virtual bool ranks_rows() const { return false; }  // the arrays are in the order of the scores
  // Adds to query.lambdas and query.hessians.
  virtual void differentiate(std::size_t q, std::size_t n, QueryRows& query) const = 0;
  virtual double find_value(std::size_t q, std::size_t n, QueryRows& query) const = 0;

  const RankInput input_;
  const RankParams params_;
  std::vector<double> discounts_;  // of places

 private:
  template <class Use>
  void for_each_query(int n_threads, Use&& use) const {
    const std::size_t n_tasks =
        std::min(n_queries(), kTasksPerThread * static_cast<std::size_t>(n_threads));
    parallel_for(n_tasks, n_threads, [&](std::size_t task) {
      QueryRows query;
      const std::size_t last = (task + 1) * n_queries() / n_tasks;
      for (std::size_t q = task * n_queries() / n_tasks; q < last; ++q) use(q, query);
    });
  }

  void gather(std::size_t q, const double* scores, QueryRows& query) const {
    const std::size_t n = size(q);
    query.resize(n);
    std::copy_n(input_.rows.begin() + static_cast<std::ptrdiff_t>(input_.offsets[q]), n,
                query.order.begin());
    if (ranks_rows())
      std::stable_sort(query.order.begin(), query.order.end(),
                       [&](u32 a, u32 b) { return scores[a] > scores[b]; });
    for (std::size_t i = 0; i < n; ++i) {
      const u32 row = query.order[i];
      query.scores[i] = scores[row];
      query.labels[i] = input_.labels[row];
      query.gains[i] = input_.gains[row];
    }
  }
};

// LambdaMART: the logistic loss of each pair, times the change of NDCG if the two changed places.
// By LightGBM's conventions: pairs have a row among the first `truncation_level`; with `normalize`
// a pair is divided by 0.01 + the distance of its scores, and the gradients of a query are
// multiplied by log2(1 + s) / s, s the sum of their sizes.
class LambdaRankLoss final : public RankLoss {
 public:
  LambdaRankLoss(RankInput given, const RankParams& params) : RankLoss(std::move(given), params) {
    best_.resize(n_queries());
    std::vector<double> gains;
    for (std::size_t q = 0; q < n_queries(); ++q) {
      gains.clear();
      for (u64 at = input_.offsets[q]; at < input_.offsets[q + 1]; ++at)
        gains.push_back(input_.gains[input_.rows[at]]);
      std::sort(gains.begin(), gains.end(), std::greater<>());
      best_[q] = sum_gains(gains.data(), gains.size());
    }
  }

 protected:
  double count_pairs(std::size_t n) const override {
    return static_cast<double>(n) * static_cast<double>(count_first(n));
  }
  bool ranks_rows() const override { return true; }

  void differentiate(std::size_t q, std::size_t n, QueryRows& query) const override {
    if (!(best_[q] > 0.0)) return;
    const double* const s = query.scores.data();
    const double steepness = params_.sigmoid, factor = 1.0 / best_[q];
    const bool by_distance = params_.normalize && s[0] != s[n - 1];
    double sum = 0.0;
    const std::size_t n_first = std::min(count_first(n), n - 1);
    for (std::size_t i = 0; i < n_first; ++i) {
      const std::size_t m = n - i - 1;
      pair_up(i, m, steepness, factor, by_distance, query);
      const double lambda = sum_in_order(query.pair_lambdas.data(), m);
      query.lambdas[i] += lambda;
      query.hessians[i] += sum_in_order(query.pair_hessians.data(), m);
      for (std::size_t k = 0; k < m; ++k) {
        query.lambdas[i + 1 + k] -= query.pair_lambdas[k];
        query.hessians[i + 1 + k] += query.pair_hessians[k];
        query.pair_lambdas[k] = std::abs(query.pair_lambdas[k]);
      }
      sum += 2.0 * sum_in_order(query.pair_lambdas.data(), m);
    }
    if (!params_.normalize || !(sum > 0.0)) return;
    const double scale = binary_log(1.0 + sum) / sum;
    for (std::size_t i = 0; i < n; ++i) {
      query.lambdas[i] *= scale;
      query.hessians[i] *= scale;
    }
  }

  // One minus the NDCG of the first places; zero where no row has a gain.
  double find_value(std::size_t q, std::size_t n, QueryRows& query) const override {
    return best_[q] > 0.0 ? 1.0 - sum_gains(query.gains.data(), n) / best_[q] : 0.0;
  }

 private:
  std::size_t count_first(std::size_t n) const {
    return std::min<std::size_t>(n, params_.truncation_level);
  }
  double sum_gains(const double* gains, std::size_t n) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < count_first(n); ++k) sum += gains[k] * discounts_[k];
    return sum;
  }

  // Derivatives by the score of row i of its pairs with the m rows after it.
  void pair_up(std::size_t i, std::size_t m, double steepness, double factor, bool by_distance,
               QueryRows& query) const {
    const double* const s = query.scores.data() + i + 1;
    const double* const label = query.labels.data() + i + 1;
    const double* const gain = query.gains.data() + i + 1;
    const double* const weight = discounts_.data() + i + 1;
    double* const lambda = query.pair_lambdas.data();
    double* const hessian = query.pair_hessians.data();
    const double own = query.scores[i], own_label = query.labels[i], own_gain = query.gains[i],
                 own_weight = discounts_[i];
    for (std::size_t k = 0; k < m; ++k) {
      const double distance = own - s[k];  // not negative
      const double sign = own_label > label[k] ? 1.0 : -1.0;
      const double same = own_label == label[k] ? 0.0 : factor;
      double delta = std::abs(own_gain - gain[k]) * (own_weight - weight[k]) * same;
      delta /= by_distance ? 0.01 + distance : 1.0;
      const double p =
          1.0 / (1.0 + fast_exp(hold_within(steepness * sign * distance, -708.0, 709.0)));
      lambda[k] = -steepness * sign * delta * p;
      hessian[k] = steepness * steepness * delta * (p * (1.0 - p));
    }
  }

  std::vector<double> best_;  // the largest DCG of each query
};

// RankNet: the logistic loss of all pairs of a query with different labels, divided by the number
// of the query's other rows, so that a query counts in proportion to its rows and not to its pairs.
class PairwiseLoss final : public RankLoss {
 public:
  using RankLoss::RankLoss;

 protected:
  double count_pairs(std::size_t n) const override {
    return 0.5 * static_cast<double>(n) * static_cast<double>(n);
  }

  void differentiate(std::size_t, std::size_t n, QueryRows& query) const override {
    if (n < 2) return;
    const double steepness = params_.sigmoid, share = 1.0 / static_cast<double>(n - 1);
    double* const lambda = query.pair_lambdas.data();
    double* const hessian = query.pair_hessians.data();
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const std::size_t m = n - i - 1;
      const double* const s = query.scores.data() + i + 1;
      const double* const label = query.labels.data() + i + 1;
      const double own = query.scores[i], own_label = query.labels[i];
      for (std::size_t k = 0; k < m; ++k) {
        const double sign = own_label > label[k] ? 1.0 : -1.0;
        const double weight = own_label == label[k] ? 0.0 : share;
        const double exponent = steepness * sign * (own - s[k]);
        const double p = 1.0 / (1.0 + fast_exp(hold_within(exponent, -708.0, 709.0)));
        lambda[k] = -steepness * sign * weight * p;
        hessian[k] = steepness * steepness * weight * (p * (1.0 - p));
      }
      query.lambdas[i] += sum_in_order(lambda, m);
      query.hessians[i] += sum_in_order(hessian, m);
      for (std::size_t k = 0; k < m; ++k) {
        query.lambdas[i + 1 + k] -= lambda[k];
        query.hessians[i + 1 + k] += hessian[k];
      }
    }
  }

  // Mean over the rows.
  double find_value(std::size_t, std::size_t n, QueryRows& query) const override {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) {
        if (query.labels[i] == query.labels[j]) continue;
        const double sign = query.labels[i] > query.labels[j] ? 1.0 : -1.0;
        sum += log_one_plus_exp(-params_.sigmoid * sign * (query.scores[i] - query.scores[j]));
      }
    return n < 2 ? 0.0 : sum / (static_cast<double>(n - 1) * static_cast<double>(n));
  }
};

// Cross entropy of the softmax of a query's scores with the shares of its gains: a bound on NDCG.
// Times the rows of the query, so that gradients do not vanish in long ones.
class ListwiseLoss final : public RankLoss {
 public:
  using RankLoss::RankLoss;

 protected:
  double count_pairs(std::size_t) const override { return 0.0; }

  void differentiate(std::size_t, std::size_t n, QueryRows& query) const override {
    const double total = sum_in_order(query.gains.data(), n);
    if (!(total > 0.0) || n < 2) return;
    const double largest = *std::max_element(query.scores.begin(), query.scores.end());
    double* const power = query.pair_lambdas.data();
    for (std::size_t i = 0; i < n; ++i)
      power[i] = fast_exp(hold_within(query.scores[i] - largest, -708.0, 0.0));
    const double sum = sum_in_order(power, n), scale = static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double p = power[i] / sum;
      query.lambdas[i] = scale * (p - query.gains[i] / total);
      query.hessians[i] = scale * (p * (1.0 - p));
    }
  }

  double find_value(std::size_t, std::size_t n, QueryRows& query) const override {
    const double total = sum_in_order(query.gains.data(), n);
    if (!(total > 0.0) || n < 2) return 0.0;
    const double largest = *std::max_element(query.scores.begin(), query.scores.end());
    double sum = 0.0, matched = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += exponential(query.scores[i] - largest);
      matched += query.gains[i] * (query.scores[i] - largest);
    }
    return natural_log(sum) - matched / total;
  }
};

}  // namespace

std::unique_ptr<GroupLoss> make_rank_loss(const std::string& name, RankInput input,
                                          const RankParams& params) {
  if (name == "lambdarank") return std::make_unique<LambdaRankLoss>(std::move(input), params);
  if (name == "pairwise") return std::make_unique<PairwiseLoss>(std::move(input), params);
  if (name == "listwise") return std::make_unique<ListwiseLoss>(std::move(input), params);
  throw std::invalid_argument("unknown ranking loss '" + name + "'");
}

}  // namespace committee
