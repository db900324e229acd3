// Values of leaves that are no Newton steps: quantiles of the residuals, or Huber's rule.
#pragma once
#include <algorithm>
#include <type_traits>

#include "base/weighted_quantile.hpp"
#include "committee/exact_sum.hpp"
#include "committee/loss.hpp"

namespace committee {

// The quantile of the residuals, or Huber's: the median, moved by the mean of the distances from
// it, held within delta.
template <class Residual>
double find_middle(const Loss& loss, u32 score, std::span<const Residual> residuals) {
  const double middle = find_weighted_quantile(residuals, loss.level(score));
  if (loss.shape().rule == LeafRule::quantile) return middle;
  const double delta = loss.delta(score);
  constexpr std::size_t kHeld = 256;
  double held[kHeld], weights[kHeld];
  constexpr bool kEqual = std::is_same_v<Residual, double>;
  ExactMean mean;
  u64 total = kEqual ? residuals.size() : 0;  // weights are whole
  for (std::size_t begin = 0; begin < residuals.size(); begin += kHeld) {
    const std::size_t n = std::min(kHeld, residuals.size() - begin);
    for (std::size_t i = 0; i < n; ++i) {
      held[i] = std::clamp(value_of(residuals[begin + i]) - middle, -delta, delta);
      if constexpr (!kEqual)
        total += static_cast<u64>(weights[i] = weight_of(residuals[begin + i]));
    }
    mean.add_terms({held, n},
                   kEqual ? std::span<const double>() : std::span<const double>(weights, n));
  }
  mean.total.add_whole(total);
  return middle + mean.find();
}

// Targets and scores of all rows for one score, and their weights; empty: all one.
struct ScoredRows {
  const Loss* loss;
  u32 score;
  const double *y, *scores;
  std::span<const u32> weights;
};

// The value of a leaf of n rows; row_at(i) is the i-th of them. `room`: for n numbers.
template <class RowAt>
double renew_value(const ScoredRows& of, std::size_t n, double* room, RowAt&& row_at) {
  if (of.weights.empty()) {
    for (std::size_t i = 0; i < n; ++i) room[i] = of.y[row_at(i)] - of.scores[row_at(i)];
    return find_middle<double>(*of.loss, of.score, {room, n});
  }
  std::vector<WeightedValue> residuals(n);
  for (std::size_t i = 0; i < n; ++i) {
    const u32 row = row_at(i);
    residuals[i] = {of.y[row] - of.scores[row], static_cast<double>(of.weights[row])};
  }
  return find_middle<WeightedValue>(*of.loss, of.score, residuals);
}

}  // namespace committee
