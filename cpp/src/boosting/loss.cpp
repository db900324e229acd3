#include "committee/loss.hpp"

#include <algorithm>

#include "base/fixed_weights.hpp"
#include "base/recompiled.hpp"
#include "base/weighted_quantile.hpp"
#include "committee/exact_sum.hpp"
#include "committee/losses/all.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// One function of a target and a score, for each score: what does not depend on the function.
class ScoreLoss : public Loss {
 public:
  ScoreLoss(const LossShape& shape, u32 n_scores, bool ordered)
      : Loss(shape, n_scores), ordered_(ordered) {}

  void find_means(double* scores, std::size_t stride, std::size_t n) const override {
    for (u32 k = 0; k < n_scores_; ++k) take_means(k, {scores + k * stride, n});
    if (!ordered_) return;
    // Quantiles that cross are put in order, which brings each nearer to the true one
    // [Chernozhukov2010].
    std::vector<double> row(n_scores_);
    for (std::size_t i = 0; i < n; ++i) {
      for (u32 k = 0; k < n_scores_; ++k) row[k] = scores[k * stride + i];
      std::sort(row.begin(), row.end());
      for (u32 k = 0; k < n_scores_; ++k) scores[k * stride + i] = row[k];
    }
  }

  std::vector<double> find_baseline(const ScoreView& view, std::size_t n,
                                    std::span<const double> weights, int n_threads) const override {
    std::vector<double> baseline;
    std::vector<u64> whole;
    if (shape_.rule != LeafRule::newton && !weights.empty())
      whole = fix_weights(weights, {52, 52, 52}).weights;  // sums in a double without rounding
    for (u32 k = 0; k < n_scores_; ++k) {
      const std::span<const double> y(view.y + k * view.stride, n);
      baseline.push_back(shape_.rule == LeafRule::newton ? link_mean(k, y, weights, n_threads)
                                                         : find_quantile<u64>(y, whole, level(k)));
    }
    return baseline;
  }

  void adapt(const ScoreView& view, std::size_t n, std::span<const u32> weights) override {
    if (!adapts()) return;
    distances_.resize(n);
    for (u32 k = 0; k < n_scores_; ++k) {
      for (std::size_t i = 0; i < n; ++i)
        distances_[i] = std::abs(view.y[k * view.stride + i] - view.scores[k * view.stride + i]);
      set_delta(k, find_quantile<u32>(distances_, weights, adapted_level(k)));
    }
  }

 private:
  virtual void take_means(u32 k, std::span<double> scores) const = 0;
  virtual double link(u32 k, double mean) const = 0;

  template <class Whole>
  static double find_quantile(std::span<const double> y, std::span<const Whole> weights,
                              double level) {
    if (weights.empty()) return find_weighted_quantile(y, level);
    std::vector<WeightedValue> values;
    values.reserve(y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      if (weights[i] > 0) values.push_back({y[i], static_cast<double>(weights[i])});
    return find_weighted_quantile(values, level);
  }

  // Sums are exact, so they do not depend on the blocks.
  double link_mean(u32 k, std::span<const double> y, std::span<const double> weights,
                   int n_threads) const {
    constexpr std::size_t kRows = std::size_t{1} << 16;
    std::vector<ExactMean> means((y.size() + kRows - 1) / kRows);
    parallel_for(means.size(), n_threads, [&](std::size_t block) {
      const std::size_t begin = block * kRows, size = std::min(kRows, y.size() - begin);
      means[block].add(y.subspan(begin, size),
                       weights.empty() ? weights : weights.subspan(begin, size));
    });
    ExactMean mean;
    for (const ExactMean& block : means) mean.add(block);
    return link(k, std::clamp(mean.find(), shape_.mean_bounds.lower, shape_.mean_bounds.upper));
  }

  std::vector<double> distances_;  // kept from round to round
  const bool ordered_;             // scores of a row are quantiles, ascending
};

// Gradients of n rows of one score; null hessians where all of them are one.
template <class Function>
COMMITTEE_INLINE inline void fill_gradients(const Function& function, const double* y,
                                            const double* f, std::size_t n, double* g, double* h) {
  if constexpr (Function::kShape.constant_hessian) {
    if (!h) {
      for (std::size_t i = 0; i < n; ++i) g[i] = function.gradients(y[i], f[i]).gradient;
      return;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const GradientPair pair = find_gradient_pair(function, y[i], f[i]);
    g[i] = pair.gradient;
    h[i] = pair.hessian;
  }
}

template <class Function>
class ScalarLoss final : public ScoreLoss {
 public:
  ScalarLoss(std::vector<Function> functions, bool ordered)
      : ScoreLoss(Function::kShape, static_cast<u32>(functions.size()), ordered),
        functions_(std::move(functions)) {}

  void find_gradients(const ScoreView& view, std::size_t begin, std::size_t end, double* gradients,
                      double* hessians) const override {
    for (u32 k = 0; k < n_scores_; ++k) {
      const double* y = view.y + k * view.stride + begin;
      const double* f = view.scores + k * view.stride + begin;
      double* g = gradients + k * kLossBlock;
      double* h = hessians ? hessians + k * kLossBlock : nullptr;
      call_widened([&]() COMMITTEE_INLINE_LAMBDA {
        const Function function = functions_[k];  // a copy that the loop may keep in registers
        fill_gradients(function, y, f, end - begin, g, h);
      });
    }
  }

  void find_values(const ScoreView& view, std::size_t begin, std::size_t end,
                   double* values) const override {
    const std::size_t n = end - begin;
    std::fill_n(values, n, 0.0);
    for (u32 k = 0; k < n_scores_; ++k) {
      const double* y = view.y + k * view.stride + begin;
      const double* f = view.scores + k * view.stride + begin;
      call_widened([&]() COMMITTEE_INLINE_LAMBDA {
        const Function function = functions_[k];
        for (std::size_t i = 0; i < n; ++i) values[i] += function.value(y[i], f[i]);
      });
    }
  }

  bool adapts() const override {
    return requires(Function f) { f.delta; };
  }

  double adapted_level(u32 k) const override {
    if constexpr (requires(Function f) { f.delta; }) return functions_[k].parameter;
    return Loss::adapted_level(k);
  }

  void set_delta(u32 k, double delta) override {
    if constexpr (requires(Function f) { f.delta; }) functions_[k].delta = delta;
  }

  double level(u32 k) const override {
    if constexpr (requires(Function f) { f.level(); }) return functions_[k].level();
    return Loss::level(k);
  }

  double delta(u32 k) const override {
    if constexpr (requires(Function f) { f.delta; }) return functions_[k].delta;
    return Loss::delta(k);
  }

 private:
  void take_means(u32 k, std::span<double> scores) const override {
    call_widened([&]() COMMITTEE_INLINE_LAMBDA {
      const Function function = functions_[k];
      for (double& score : scores) score = function.mean(score);
    });
  }
  double link(u32 k, double mean) const override { return functions_[k].link(mean); }

  std::vector<Function> functions_;  // one a score; they differ in what they adapt to, or in level
};

class MulticlassLoss final : public Loss {
 public:
  explicit MulticlassLoss(u32 n_classes) : Loss(SoftmaxLoss::kShape, n_classes) {
    function_.n_classes = n_classes;
  }
  bool has_classes() const override { return true; }

  void find_gradients(const ScoreView& view, std::size_t begin, std::size_t end, double* gradients,
                      double* hessians) const override {
    const std::size_t n = end - begin;
    const double *y = view.y + begin, *scores = view.scores + begin;
    call_widened([&]() COMMITTEE_INLINE_LAMBDA {
      const SoftmaxLoss function = function_;
      double factors[kLossBlock];
      share_rows(scores, view.stride, n, gradients, factors,
                 [](double x) COMMITTEE_INLINE_LAMBDA { return SoftmaxLoss::power(x); });
      for (u32 k = 0; k < n_scores_; ++k) {
        double *g = gradients + k * kLossBlock, *h = hessians + k * kLossBlock;
        const auto label = static_cast<double>(k);
        for (std::size_t i = 0; i < n; ++i) {
          const GradientPair pair =
              function.gradients(y[i] == label ? 1.0 : 0.0, g[i] * factors[i]);
          g[i] = pair.gradient;
          h[i] = pair.hessian;
        }
      }
    });
  }

  void find_values(const ScoreView& view, std::size_t begin, std::size_t end,
                   double* values) const override {
    for (std::size_t row = begin; row < end; row += kLossBlock) {
      const std::size_t n = std::min(kLossBlock, end - row);
      double* const own = values + (row - begin);
      find_log_sums(view.scores + row, view.stride, n, own);
      for (std::size_t i = 0; i < n; ++i)
        own[i] -= view.scores[static_cast<std::size_t>(view.y[row + i]) * view.stride + row + i];
    }
  }

  void find_means(double* scores, std::size_t stride, std::size_t n) const override {
    std::vector<double> powers(std::size_t{n_scores_} * kLossBlock);
    for (std::size_t begin = 0; begin < n; begin += kLossBlock) {
      const std::size_t size = std::min(kLossBlock, n - begin);
      call_widened([&]() COMMITTEE_INLINE_LAMBDA {
        double factors[kLossBlock];
        share_rows(scores + begin, stride, size, powers.data(), factors,
                   [](double x) COMMITTEE_INLINE_LAMBDA { return exponential(x); });
        for (u32 k = 0; k < n_scores_; ++k) {
          const double* const from = powers.data() + k * kLossBlock;
          double* const to = scores + k * stride + begin;
          for (std::size_t i = 0; i < size; ++i) to[i] = from[i] * factors[i];
        }
      });
    }
  }

  std::vector<double> find_baseline(const ScoreView& view, std::size_t n,
                                    std::span<const double> weights, int) const override {
    std::vector<ExactSum> sums(n_scores_);
    ExactSum total;
    if (weights.empty()) {
      std::vector<u64> counts(n_scores_, 0);
      for (std::size_t i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(view.y[i])];
      for (u32 k = 0; k < n_scores_; ++k) sums[k].add_whole(counts[k]);
    } else {
      for (std::size_t i = 0; i < n; ++i) sums[static_cast<std::size_t>(view.y[i])].add(weights[i]);
    }
    for (const ExactSum& sum : sums) total.add(sum);
    std::vector<double> baseline;
    for (const ExactSum& sum : sums) {
      baseline.push_back(
          natural_log(std::max(divide(sum, total), SoftmaxLoss::kShape.mean_bounds.lower)));
    }
    return baseline;
  }

 private:
  // Of the rows of a block, row by row in the inner loops: they become vectors.
  COMMITTEE_INLINE void find_largest(const double* scores, std::size_t stride, std::size_t n,
                                     double* largest) const {
    std::copy_n(scores, n, largest);
    for (u32 k = 1; k < n_scores_; ++k) {
      const double* const own = scores + k * stride;
      for (std::size_t i = 0; i < n; ++i) largest[i] = take_larger(own[i], largest[i]);
    }
  }

  // e^(score - the largest) of each score at powers[k * kLossBlock + i], and the factors that make
  // them probabilities.
  template <class Power>
  COMMITTEE_INLINE void share_rows(const double* scores, std::size_t stride, std::size_t n,
                                   double* powers, double* factors, Power&& power) const {
    double largest[kLossBlock], sums[kLossBlock] = {};
    find_largest(scores, stride, n, largest);
    for (u32 k = 0; k < n_scores_; ++k) {
      const double* const own = scores + k * stride;
      double* const to = powers + k * kLossBlock;
      for (std::size_t i = 0; i < n; ++i) {
        to[i] = power(own[i] - largest[i]);
        sums[i] += to[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) factors[i] = 1.0 / sums[i];
  }

  // The logarithm of the sum of e^score.
  void find_log_sums(const double* scores, std::size_t stride, std::size_t n, double* logs) const {
    call_widened([&]() COMMITTEE_INLINE_LAMBDA {
      double largest[kLossBlock], sums[kLossBlock] = {};
      find_largest(scores, stride, n, largest);
      for (u32 k = 0; k < n_scores_; ++k) {
        const double* const own = scores + k * stride;
        for (std::size_t i = 0; i < n; ++i) sums[i] += exponential(own[i] - largest[i]);
      }
      for (std::size_t i = 0; i < n; ++i) logs[i] = natural_log(sums[i]) + largest[i];
    });
  }

  SoftmaxLoss function_;
};

template <class Use>
void for_each_loss(Use&& use) {
  std::apply([&](auto... functions) { (use(functions), ...); }, ScalarLosses{});
}

}  // namespace

std::unique_ptr<Loss> make_loss(const std::string& name, double parameter, u32 n_scores,
                                std::span<const double> levels) {
  std::unique_ptr<Loss> made;
  if (!levels.empty() && (name != QuantileLoss::kName || levels.size() != n_scores))
    throw std::invalid_argument("levels are for 'quantile', one a score");
  if (name == SoftmaxLoss::kName) return std::make_unique<MulticlassLoss>(n_scores);
  for_each_loss([&](auto function) {
    if (name != function.kName) return;
    std::vector<decltype(function)> functions(n_scores, function);
    if constexpr (requires { function.parameter; }) {
      for (u32 k = 0; k < n_scores; ++k) {
        if (!std::isnan(parameter)) functions[k].parameter = parameter;
        if (!levels.empty()) functions[k].parameter = levels[k];
      }
    }
    made = std::make_unique<ScalarLoss<decltype(function)>>(std::move(functions), !levels.empty());
  });
  if (!made) throw std::invalid_argument("unknown loss '" + name + "'");
  return made;
}

std::vector<LossInfo> describe_losses() {
  std::vector<LossInfo> losses;
  for_each_loss([&](auto function) { losses.push_back({function.kName, function.kShape}); });
  losses.push_back({SoftmaxLoss::kName, SoftmaxLoss::kShape});
  return losses;
}

const char* name_link(Link link) {
  constexpr const char* kNames[] = {"identity", "log", "logit", "half_logit", "softmax"};
  return kNames[static_cast<int>(link)];
}

const char* name_target_range(TargetRange range) {
  constexpr const char* kNames[] = {"real", "non_negative", "positive", "binary", "classes"};
  return kNames[static_cast<int>(range)];
}

}  // namespace committee
