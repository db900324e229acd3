#include "committee/loss.hpp"

#include <algorithm>

#include "base/exponentials.hpp"
#include "base/fixed_weights.hpp"
#include "base/weighted_quantile.hpp"
#include "base/x86_vectors.hpp"
#include "committee/exact_sum.hpp"
#include "committee/losses/all.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// Without AVX-512 x86-64 has no conversion of 64-bit integers to doubles, and compilers leave a
// loop over logarithms scalar; elsewhere they vectorise it better than by hand.
#if defined(__x86_64__)
constexpr bool kLogsByHand = true;
#else
constexpr bool kLogsByHand = false;
#endif

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

// Gradients of n rows of one score; null hessians where all of them are one. `by_lanes`: with wide
// registers the compiler takes more exponentials at a time than are written out.
template <class Function>
COMMITTEE_INLINE inline void fill_gradients(const Function& function, const double* y,
                                            const double* f, std::size_t n, double* g, double* h,
                                            bool by_lanes) {
  if constexpr (Function::kShape.constant_hessian) {
    if (!h) {
      for (std::size_t i = 0; i < n; ++i) g[i] = function.gradients(y[i], f[i]).gradient;
      return;
    }
  }
  constexpr bool kByPower = requires { function.gradients_by_power(y[0], f[0]); };
  if constexpr (kByPower) {
    if (by_lanes) {
      for (std::size_t i = 0; i < n; ++i) g[i] = fast_exp(hold_within(-f[i], -708.0, 709.0));
    } else {
      for (std::size_t i = 0; i < n; ++i) g[i] = -f[i];
      take_fast_exps(g, n);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    GradientPair pair;
    if constexpr (kByPower) {
      pair = function.gradients_by_power(y[i], g[i]);
    } else {
      pair = function.gradients(y[i], f[i]);
    }
    g[i] = pair.gradient;
    h[i] = pair.hessian;
  }
}

template <class Function>
COMMITTEE_INLINE inline void add_losses(const Function& function, const double* y, const double* f,
                                        std::size_t n, double* values) {
  for (std::size_t i = 0; i < n; ++i) values[i] += function.value(y[i], f[i]);
}

#if defined(COMMITTEE_AVX512)
// With a copy of the function, which the loops may keep in registers.
template <class Function>
COMMITTEE_AVX512 void fill_avx512(const Function function, const double* y, const double* f,
                                  std::size_t n, double* g, double* h) {
  fill_gradients(function, y, f, n, g, h, true);
}

template <class Function>
COMMITTEE_AVX512 void add_losses_avx512(const Function function, const double* y, const double* f,
                                        std::size_t n, double* values) {
  add_losses(function, y, f, n, values);
}
#endif

template <class Function>
class ScalarLoss final : public ScoreLoss {
 public:
  ScalarLoss(std::vector<Function> functions, bool ordered)
      : ScoreLoss(Function::kShape, static_cast<u32>(functions.size()), ordered),
        functions_(std::move(functions)) {}

  void find_gradients(const ScoreView& view, std::size_t begin, std::size_t end, double* gradients,
                      double* hessians) const override {
    for (u32 k = 0; k < n_scores_; ++k) {
      const Function function = functions_[k];  // a copy that the loop may keep in registers
      const double* y = view.y + k * view.stride + begin;
      const double* f = view.scores + k * view.stride + begin;
      double* g = gradients + k * kLossBlock;
      double* h = hessians ? hessians + k * kLossBlock : nullptr;
#if defined(COMMITTEE_AVX512)
      if (may_use(Instructions::avx512)) {
        fill_avx512(function, y, f, end - begin, g, h);
        continue;
      }
#endif
      fill_gradients(function, y, f, end - begin, g, h, false);
    }
  }

  void find_values(const ScoreView& view, std::size_t begin, std::size_t end,
                   double* values) const override {
    std::fill_n(values, end - begin, 0.0);
    for (u32 k = 0; k < n_scores_; ++k) {
      const std::size_t at = k * view.stride + begin;
      std::size_t i = 0;
      if constexpr (kLogsByHand && requires(Function f) { f.value_by_log(0.0, 0.0, 0.0); }) {
        for (; i + EightDoubles::kSize <= end - begin; i += EightDoubles::kSize) {
          double logs[EightDoubles::kSize];
          log_one_plus_exp(EightDoubles(view.scores + at + i)).store(logs);
          for (std::size_t e = 0; e < EightDoubles::kSize; ++e)
            values[i + e] +=
                functions_[k].value_by_log(view.y[at + i + e], view.scores[at + i + e], logs[e]);
        }
      }
      const Function function = functions_[k];
      const double *y = view.y + at, *f = view.scores + at;
#if defined(COMMITTEE_AVX512)
      if (may_use(Instructions::avx512)) {
        add_losses_avx512(function, y + i, f + i, end - begin - i, values + i);
        continue;
      }
#endif
      add_losses(function, y + i, f + i, end - begin - i, values + i);
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
    const Function function = functions_[k];
    for (double& score : scores) score = function.mean(score);
  }
  double link(u32 k, double mean) const override { return functions_[k].link(mean); }

  std::vector<Function> functions_;  // one a score; they differ in what they adapt to, or in level
};

#if defined(COMMITTEE_AVX512)
// Gradients of n rows from their scores, one class after the other, so that the compiler takes
// eight rows at a time; each row as in MulticlassLoss::find_row_gradients.
COMMITTEE_AVX512 void fill_softmax_avx512(const SoftmaxLoss function, const ScoreView& view,
                                          std::size_t begin, std::size_t n, double* gradients,
                                          double* hessians) {
  const double* const scores = view.scores + begin;
  const double* const y = view.y + begin;
  double largest[kLossBlock], sums[kLossBlock];
  for (std::size_t i = 0; i < n; ++i) largest[i] = scores[i];
  for (u32 k = 1; k < function.n_classes; ++k) {
    const double* const f = scores + k * view.stride;
    for (std::size_t i = 0; i < n; ++i) largest[i] = take_larger(f[i], largest[i]);
  }
  for (u32 k = 0; k < function.n_classes; ++k) {
    const double* const f = scores + k * view.stride;
    double* const g = gradients + k * kLossBlock;
    for (std::size_t i = 0; i < n; ++i) g[i] = SoftmaxLoss::power(f[i] - largest[i]);
    if (k == 0) {
      for (std::size_t i = 0; i < n; ++i) sums[i] = g[i];
    } else {
      for (std::size_t i = 0; i < n; ++i) sums[i] = sums[i] + g[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) sums[i] = 1.0 / sums[i];
  for (u32 k = 0; k < function.n_classes; ++k) {
    double *const g = gradients + k * kLossBlock, *const h = hessians + k * kLossBlock;
    const auto number = static_cast<double>(k);
    for (std::size_t i = 0; i < n; ++i) {
      const GradientPair pair = function.gradients(mark_equal(y[i], number), g[i] * sums[i]);
      g[i] = pair.gradient;
      h[i] = pair.hessian;
    }
  }
}
#endif

class MulticlassLoss final : public Loss {
 public:
  explicit MulticlassLoss(u32 n_classes) : Loss(SoftmaxLoss::kShape, n_classes) {
    function_.n_classes = n_classes;
  }
  bool has_classes() const override { return true; }

  void find_gradients(const ScoreView& view, std::size_t begin, std::size_t end, double* gradients,
                      double* hessians) const override {
#if defined(COMMITTEE_AVX512)
    if (may_use(Instructions::avx512))
      return fill_softmax_avx512(function_, view, begin, end - begin, gradients, hessians);
#endif
    constexpr std::size_t kSize = EightDoubles::kSize;
    std::size_t row = begin;
    for (; row + kSize <= end; row += kSize)
      find_row_gradients<EightDoubles>(view, row, gradients + (row - begin),
                                       hessians + (row - begin));
    for (; row < end; ++row)
      find_row_gradients<double>(view, row, gradients + (row - begin), hessians + (row - begin));
  }

  void find_values(const ScoreView& view, std::size_t begin, std::size_t end,
                   double* values) const override {
    constexpr std::size_t kSize = EightDoubles::kSize;
    std::size_t row = begin;
    for (; row + kSize <= end; row += kSize)
      find_row_values<EightDoubles>(view, row, values + (row - begin));
    for (; row < end; ++row) find_row_values<double>(view, row, values + (row - begin));
  }

  void find_means(double* scores, std::size_t stride, std::size_t n) const override {
    std::vector<double> shares(std::size_t{n_scores_} * kLossBlock);
    for (std::size_t begin = 0; begin < n; begin += kLossBlock) {
      const std::size_t size = std::min(kLossBlock, n - begin);
      find_shares({nullptr, scores, stride}, begin, size, shares.data());
      for (u32 k = 0; k < n_scores_; ++k) {
        std::copy_n(shares.data() + k * kLossBlock, size, scores + k * stride + begin);
      }
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
  // Gradients of a row, or of eight: of score k at k * kLossBlock.
  template <class Number>
  void find_row_gradients(const ScoreView& view, std::size_t row, double* g, double* h) const {
    const auto power = [](const Number& x)
                           COMMITTEE_INLINE_LAMBDA { return SoftmaxLoss::power(x); };
    const Number factor = 1.0 / sum_powers<Number>(view.scores + row, view.stride, g, power);
    const Number y = load_numbers<Number>(view.y + row);
    for (u32 k = 0; k < n_scores_; ++k, g += kLossBlock, h += kLossBlock) {
      const Number share = load_numbers<Number>(g) * factor;
      const GradientPairOf<Number> pair =
          function_.gradients(mark_equal(y, static_cast<double>(k)), share);
      store_numbers(pair.gradient, g);
      store_numbers(pair.hessian, h);
    }
  }

  // Losses of a row, or of eight.
  template <class Number>
  void find_row_values(const ScoreView& view, std::size_t row, double* values) const {
    const auto load = [&](u32 k) COMMITTEE_INLINE_LAMBDA {
      return load_numbers<Number>(view.scores + k * view.stride + row);
    };
    Number largest = load(0);
    for (u32 k = 1; k < n_scores_; ++k) largest = take_larger(load(k), largest);
    Number sum = exponential(load(0) - largest);
    for (u32 k = 1; k < n_scores_; ++k) sum = sum + exponential(load(k) - largest);
    double sums[sizeof(Number) / sizeof(double)], tops[sizeof(Number) / sizeof(double)];
    store_numbers(sum, sums);
    store_numbers(largest, tops);
    for (std::size_t e = 0; e < std::size(sums); ++e) {
      const auto label = static_cast<std::size_t>(view.y[row + e]);
      values[e] = natural_log(sums[e]) + tops[e] - view.scores[label * view.stride + row + e];
    }
  }

  // Probabilities of n rows from `begin` on: shares[k * kLossBlock + i].
  void find_shares(const ScoreView& view, std::size_t begin, std::size_t n, double* shares) const {
    std::size_t i = 0;
    for (; i + EightDoubles::kSize <= n; i += EightDoubles::kSize)
      share_rows<EightDoubles>(view.scores + begin + i, view.stride, shares + i);
    for (; i < n; ++i) share_rows<double>(view.scores + begin + i, view.stride, shares + i);
  }

  template <class Number>
  void share_rows(const double* scores, std::size_t stride, double* shares) const {
    const auto power = [](const Number& x) COMMITTEE_INLINE_LAMBDA { return exponential(x); };
    const Number factor = 1.0 / sum_powers<Number>(scores, stride, shares, power);
    for (u32 k = 0; k < n_scores_; ++k) {
      double* const at = shares + k * kLossBlock;
      store_numbers(load_numbers<Number>(at) * factor, at);
    }
  }

  // Sum over the scores of e^(score - the largest), and each of these.
  template <class Number, class Power>
  Number sum_powers(const double* scores, std::size_t stride, double* powers, Power&& power) const {
    Number largest = load_numbers<Number>(scores);
    for (u32 k = 1; k < n_scores_; ++k)
      largest = take_larger(load_numbers<Number>(scores + k * stride), largest);
    Number sum = power(load_numbers<Number>(scores) - largest);
    store_numbers(sum, powers);
    for (u32 k = 1; k < n_scores_; ++k) {
      const Number share = power(load_numbers<Number>(scores + k * stride) - largest);
      store_numbers(share, powers + k * kLossBlock);
      sum = sum + share;
    }
    return sum;
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
