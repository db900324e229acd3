#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/recompiled.hpp"
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

// Of fewer rows than this, loops that are vectors of eight have more to do than those of two.
constexpr std::size_t kFewestWide = 16;
template <class Call>
void call_for_rows(std::size_t n, const Call& call) {
  n < kFewestWide ? call() : call_widened(call);
}

// In four parts that do not wait for one another; a fixed order.
double sum_in_order(const double* x, std::size_t n) {
  double sums[4] = {0.0, 0.0, 0.0, 0.0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += x[i + k];
  for (; i < n; ++i) sums[0] += x[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The sum of the logarithms of n factors from 1 to 2, with one logarithm for many of them: their
// product stays below 2^512.
double log_product(const double* x, std::size_t n) {
  double sum = 0.0;
  for (std::size_t first = 0; first < n; first += 512) {
    double products[4] = {1.0, 1.0, 1.0, 1.0};
    const std::size_t last = std::min(n, first + 512);
    std::size_t i = first;
    for (; i + 4 <= last; i += 4)
      for (std::size_t k = 0; k < 4; ++k) products[k] *= x[i + k];
    for (; i < last; ++i) products[0] *= x[i];
    sum += natural_log((products[0] * products[1]) * (products[2] * products[3]));
  }
  return sum;
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

// The logistic loss of pairs of rows with different labels, times a weight that a subclass gives.
// Pairs have a row among the first `truncation_level` by the scores so far. With `normalize`, by
// LightGBM's and XGBoost's conventions, a pair is divided by 0.01 + the distance of its scores, and
// the gradients of a query are multiplied by log2(1 + s) / s, s the sum of their sizes: steps are
// of one size whatever the number of pairs, and pairs that are far in the right order count little.
class PairLoss : public RankLoss {
 public:
  using RankLoss::RankLoss;

 protected:
  double count_pairs(std::size_t n) const override {
    return static_cast<double>(n) * static_cast<double>(count_first(n));
  }
  bool ranks_rows() const override { return true; }
  std::size_t count_first(std::size_t n) const {
    return std::min<std::size_t>(n, params_.truncation_level);
  }
  // Whether the query has pairs at all.
  virtual bool has_pairs(std::size_t q) const = 0;
  // The weights of the pairs of row i with the m rows after it; those of the same label come to
  // nothing.
  virtual void weigh_pairs(std::size_t q, std::size_t i, std::size_t m, const QueryRows& query,
                           double* weights) const = 0;

  void differentiate(std::size_t q, std::size_t n, QueryRows& query) const override {
    if (n < 2 || !has_pairs(q)) return;
    call_for_rows(n, [&]() COMMITTEE_INLINE_LAMBDA { differentiate_pairs(q, n, query); });
  }

 private:
  COMMITTEE_INLINE void differentiate_pairs(std::size_t q, std::size_t n, QueryRows& query) const {
    const double* const s = query.scores.data();
    const bool by_distance = params_.normalize && s[0] != s[n - 1];
    double sum = 0.0;
    const std::size_t n_first = std::min(count_first(n), n - 1);
    for (std::size_t i = 0; i < n_first; ++i) {
      const std::size_t m = n - i - 1;
      weigh_pairs(q, i, m, query, query.pair_lambdas.data());
      pair_up(i, m, by_distance, query);
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

  // Derivatives by the score of row i of its pairs with the m rows after it, from their weights in
  // pair_lambdas.
  COMMITTEE_INLINE void pair_up(std::size_t i, std::size_t m, bool by_distance,
                                QueryRows& query) const {
    const double* const s = query.scores.data() + i + 1;
    const double* const label = query.labels.data() + i + 1;
    double* const lambda = query.pair_lambdas.data();
    double* const hessian = query.pair_hessians.data();
    const double own = query.scores[i], own_label = query.labels[i], steepness = params_.sigmoid;
    // In loops of one task each, which GCC makes vectors of.
    for (std::size_t k = 0; k < m; ++k) {
      const double sign = own_label > label[k] ? 1.0 : -1.0;
      hessian[k] = steepness * sign * (own - s[k]);
    }
    for (std::size_t k = 0; k < m; ++k)
      hessian[k] = fast_exp(hold_within(hessian[k], -708.0, 709.0));
    if (by_distance)
      for (std::size_t k = 0; k < m; ++k) lambda[k] /= 0.01 + (own - s[k]);
    for (std::size_t k = 0; k < m; ++k) {
      const double sign = own_label > label[k] ? 1.0 : -1.0, weight = lambda[k];
      const double p = 1.0 / (1.0 + hessian[k]);
      lambda[k] = -steepness * sign * weight * p;
      hessian[k] = steepness * steepness * weight * (p * (1.0 - p));
    }
  }
};

// LambdaMART: a pair counts by the change of NDCG if its two rows changed places.
class LambdaRankLoss final : public PairLoss {
 public:
  LambdaRankLoss(RankInput given, const RankParams& params) : PairLoss(std::move(given), params) {
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
  bool has_pairs(std::size_t q) const override { return best_[q] > 0.0; }

  void weigh_pairs(std::size_t q, std::size_t i, std::size_t m, const QueryRows& query,
                   double* weights) const override {
    const double* const label = query.labels.data() + i + 1;
    const double* const gain = query.gains.data() + i + 1;
    const double* const place = discounts_.data() + i + 1;
    const double own_label = query.labels[i], own_gain = query.gains[i], own_place = discounts_[i],
                 factor = 1.0 / best_[q];
    call_for_rows(m, [=]() COMMITTEE_INLINE_LAMBDA {
      const double own = own_gain, from = own_place, by = factor, own_level = own_label;
      for (std::size_t k = 0; k < m; ++k) {
        const double same = own_level == label[k] ? 0.0 : by;
        weights[k] = std::abs(own - gain[k]) * (from - place[k]) * same;
      }
    });
  }

  // One minus the NDCG of the first places; zero where no row has a gain.
  double find_value(std::size_t q, std::size_t n, QueryRows& query) const override {
    return best_[q] > 0.0 ? 1.0 - sum_gains(query.gains.data(), n) / best_[q] : 0.0;
  }

 private:
  double sum_gains(const double* gains, std::size_t n) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < count_first(n); ++k) sum += gains[k] * discounts_[k];
    return sum;
  }

  std::vector<double> best_;  // the largest DCG of each query
};

// RankNet: pairs count alike, divided by the number of the query's other rows, so that a query
// counts in proportion to its rows and not to its pairs.
class PairwiseLoss final : public PairLoss {
 public:
  using PairLoss::PairLoss;

 protected:
  bool has_pairs(std::size_t) const override { return true; }

  void weigh_pairs(std::size_t, std::size_t i, std::size_t m, const QueryRows& query,
                   double* weights) const override {
    const double* const label = query.labels.data() + i + 1;
    const double own_label = query.labels[i], share = 1.0 / static_cast<double>(i + m);
    for (std::size_t k = 0; k < m; ++k) weights[k] = own_label == label[k] ? 0.0 : share;
  }

  // Mean over the rows. The logarithms of a row's pairs are that of a product: with the larger of
  // the scores before the smaller, ln(1 + e^x) is the distance where the order is wrong, and the
  // logarithm of a factor from 1 to 2 in any case.
  double find_value(std::size_t, std::size_t n, QueryRows& query) const override {
    if (n < 2) return 0.0;
    double* const factor = query.pair_lambdas.data();
    double* const wrong = query.pair_hessians.data();
    const double steepness = params_.sigmoid;
    double sum = 0.0;
    for (std::size_t i = 0; i < std::min(count_first(n), n - 1); ++i) {
      const std::size_t m = n - i - 1;
      const double* const s = query.scores.data() + i + 1;
      const double* const label = query.labels.data() + i + 1;
      const double own = query.scores[i], own_label = query.labels[i];
      for (std::size_t k = 0; k < m; ++k) {
        const double distance = steepness * (own - s[k]);  // not negative
        const double power = fast_exp(hold_within(-distance, -708.0, 0.0));
        factor[k] = 1.0 + (own_label == label[k] ? 0.0 : power);
        wrong[k] = own_label < label[k] ? distance : 0.0;
      }
      sum += sum_in_order(wrong, m) + log_product(factor, m);
    }
    return sum / (static_cast<double>(n - 1) * static_cast<double>(n));
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
