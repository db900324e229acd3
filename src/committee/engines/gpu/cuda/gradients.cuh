// Gradients of the loss at the scores, and the words of a tree.
#pragma once
#include "boosting.cuh"
#include "committee/losses/absolute.hpp"
#include "committee/losses/exponential.hpp"
#include "committee/losses/gamma.hpp"
#include "committee/losses/huber.hpp"
#include "committee/losses/logistic.hpp"
#include "committee/losses/poisson.hpp"
#include "committee/losses/quantile.hpp"
#include "committee/losses/softmax.hpp"
#include "committee/losses/squared.hpp"
#include "committee/losses/tweedie.hpp"

namespace committee::gpu {

enum LossNumber : int {
  kSquared,
  kPoisson,
  kGamma,
  kTweedie,
  kLogistic,
  kExponential,
  kSoftmax,
  kAbsolute,
  kQuantile,
  kHuber,
  kGiven
};

__device__ inline GradientPair find_pair(const Fit& fit, u32 score, double y, double f) {
#if defined(COMMITTEE_FRESH_LOSS)
  constexpr int loss_number = COMMITTEE_FRESH_LOSS;
#else
  const i64 loss_number = fit.loss;
#endif
  switch (loss_number) {
    case kSquared: return find_gradient_pair(SquaredLoss{}, y, f);
    case kPoisson: return find_gradient_pair(PoissonLoss{}, y, f);
    case kGamma: return find_gradient_pair(GammaLoss{}, y, f);
    case kTweedie: {
      TweedieLoss loss;
      loss.parameter = fit.parameters[score];
      return find_gradient_pair(loss, y, f);
    }
    case kAbsolute: return find_gradient_pair(AbsoluteLoss{}, y, f);
    case kQuantile: {
      QuantileLoss loss;
      loss.parameter = fit.parameters[score];
      return find_gradient_pair(loss, y, f);
    }
    case kHuber: {
      HuberLoss loss;
      loss.delta = fit.parameters[score];
      return find_gradient_pair(loss, y, f);
    }
    case kLogistic: return find_gradient_pair(LogisticLoss{}, y, f);
    default: return find_gradient_pair(ExponentialLoss{}, y, f);
  }
}

__device__ inline void add_sum(i32* to, i32 value) {
  atomicAdd(to, value);
}
__device__ inline void add_sum(i64* to, i64 value) {
  atomicAdd(reinterpret_cast<Size*>(to), static_cast<Size>(value));
}

// Calls use(score, pair) for every score of a row.
template <class Use>
__device__ inline void visit_pairs(const Fit& fit, u32 row, Use&& use) {
  const Size n = fit.n_rows;
  const u32 n_scores = fit.n_scores;
  if (fit.loss == kGiven) {
    for (u32 k = 0; k < n_scores; ++k)
      use(k, GradientPair{fit.given_gradients[k * n + row], fit.given_hessians[k * n + row]});
    return;
  }
  if (fit.loss != kSoftmax) {
    for (u32 k = 0; k < n_scores; ++k) use(k, find_pair(fit, k, fit.target(k * n + row), fit.scores[k * n + row]));
    return;
  }
  SoftmaxLoss loss;
  loss.n_classes = n_scores;
  double largest = fit.scores[row];
  for (u32 k = 1; k < n_scores; ++k) largest = take_larger(fit.scores[k * n + row], largest);
  double sum = SoftmaxLoss::power(fit.scores[row] - largest);
  for (u32 k = 1; k < n_scores; ++k) sum = sum + SoftmaxLoss::power(fit.scores[k * n + row] - largest);
  const double factor = 1.0 / sum, y = fit.target(row);
  for (u32 k = 0; k < n_scores; ++k) {
    const double share = SoftmaxLoss::power(fit.scores[k * n + row] - largest) * factor;
    use(k, loss.gradients(y == static_cast<double>(k) ? 1.0 : 0.0, share));
  }
}

// Powers of two that bound the gradients and hessians of a score.
struct GradientPowers {
  int gradient, hessian;
  __device__ GradientPowers(const Fit& fit, u32 score)
      : gradient(static_cast<int>(fit.gradient_power)), hessian(static_cast<int>(fit.hessian_power)) {
    if (fit.bounded) return;
    gradient = find_power(from_bits(fit.largest[2 * score]));
    hessian = fit.constant_hessian ? 0 : find_power(from_bits(fit.largest[2 * score + 1]));
  }
  __device__ void write_units(const Fit& fit, u32 score) const {
    fit.units[2 * score] = power_of_two(gradient - kFixedBits);
    fit.units[2 * score + 1] = power_of_two(hessian - kFixedBits);
  }
};

// A row's gradients in fixed point; rows without weight have none.
__device__ inline FixedGradientPair fix_pair(const Fit& fit, const GradientPair& pair, double g_scale, double h_scale,
                                             u32 row) {
  if (fit.weights && fit.weights[row] == 0) return {0, 0};
  return {round_fixed(pair.gradient * g_scale), round_fixed(fit.constant_hessian ? h_scale : pair.hessian * h_scale)};
}

// The gradients of a score in fixed point: those that find_gradients has kept, or, with COMMITTEE_FRESH_LOSS, found from
// the scores each time, which takes no memory and no more time than reading them.
struct FixedPairs {
#if defined(COMMITTEE_FRESH_LOSS)
  __device__ FixedPairs(const Fit& fit, u32 score) : fit(fit) {
    const GradientPowers powers(fit, score);
    g_scale = power_of_two(kFixedBits - powers.gradient), h_scale = power_of_two(kFixedBits - powers.hessian);
  }
  __device__ FixedGradientPair read(u32 row) const {
    return fix_pair(fit, find_pair(fit, 0, fit.target(row), fit.scores[row]), g_scale, h_scale, row);
  }
  const Fit& fit;
  double g_scale, h_scale;
#else
  __device__ FixedPairs(const Fit& fit, u32 score) : pairs(fit.pairs + score * static_cast<Size>(fit.n_rows)) {}
  __device__ FixedGradientPair read(u32 row) const { return pairs[row]; }
  const FixedGradientPair* pairs;
#endif
};

// Called, since the rounding of several rows in place is most of what there would be to compile.
__device__ COMMITTEE_CALLED WordHalvesPair make_word(WordRounding by, FixedGradientPair pair, u32 weight, u32 position,
                                                     bool repeated) {
  return round_weighted(by, pair, weight, position, repeated);
}

__device__ inline Size size_bits(double x) {
  return bits_of(x) & 0x7FFFFFFFFFFFFFFFull;
}

}  // namespace committee::gpu

// The largest |gradient| and |hessian| of each score, where the loss does not bound them.
extern "C" __global__ void __launch_bounds__(256) find_largest(const Fit* __restrict__ given) {
  const Fit& fit = *given;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < static_cast<Size>(fit.n_rows); i += gridDim.x * Size{256}) {
    const u32 row = i;
    if (fit.weights && fit.weights[row] == 0) continue;
    visit_pairs(fit, row, [&](u32 k, const GradientPair& pair) {
      // Most rows are not the largest: a look before the atomic.
      const Size g = size_bits(pair.gradient), h = size_bits(pair.hessian);
      if (g > fit.largest[2 * k]) atomicMax(fit.largest + 2 * k, g);
      if (h > fit.largest[2 * k + 1]) atomicMax(fit.largest + 2 * k + 1, h);
    });
  }
}

// Gradients in fixed point, and their units.
extern "C" __global__ void __launch_bounds__(256) find_gradients(const Fit* __restrict__ given) {
  const Fit& fit = *given;
  const Size n = fit.n_rows;
  if (blockIdx.x == 0) {
    for (u32 k = threadIdx.x; k < fit.n_scores; k += 256) GradientPowers(fit, k).write_units(fit, k);
  }
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    const u32 row = i;
    visit_pairs(fit, row, [&](u32 k, const GradientPair& pair) {
      const GradientPowers powers(fit, k);
      fit.pairs[k * n + row] =
          fix_pair(fit, pair, power_of_two(kFixedBits - powers.gradient), power_of_two(kFixedBits - powers.hessian), row);
    });
  }
}

// Sizes of the gradients over all scores, by which rows are drawn.
extern "C" __global__ void __launch_bounds__(256) measure_gradients(const Fit* __restrict__ given) {
  const Fit& fit = *given;
  const Size n = fit.n_rows;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    const double weight = fit.weights ? fit.weights[i] : 1;
    double sum = 0.0;
    for (u32 k = 0; weight > 0.0 && k < fit.n_scores; ++k) {
      const double g = fit.pairs[k * n + i].gradient;
      sum += (g < 0.0 ? -g : g) * fit.units[2 * k] * weight;
    }
    fit.sizes[i] = sum;
  }
}

// The largest |score - target| of rows that take part, as bits; and the largest |gradient| kept.
extern "C" __global__ void __launch_bounds__(256) find_largest_residual(const Fit* __restrict__ given, int kept) {
  const Fit& fit = *given;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < static_cast<Size>(fit.n_rows); i += gridDim.x * Size{256}) {
    if (fit.weights && fit.weights[i] == 0) continue;
    const i32 g = kept ? fit.pairs[i].gradient : 0;
    const Size size = kept ? static_cast<Size>(g < 0 ? -static_cast<i64>(g) : g) : size_bits(fit.scores[i] - fit.target(i));
    if (size > fit.largest[0]) atomicMax(fit.largest, size);
  }
}

// Gradients of squared error in steps of a unit, which trees change from now on; their hessian is one.
extern "C" __global__ void __launch_bounds__(256) keep_residuals(const Fit* __restrict__ given, double scale, double unit) {
  const Fit& fit = *given;
  if (blockIdx.x == 0 && threadIdx.x == 0) fit.units[0] = unit, fit.units[1] = 1.0;
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < static_cast<Size>(fit.n_rows); i += gridDim.x * Size{256})
    fit.pairs[i] = {round_fixed((fit.scores[i] - fit.target(i)) * scale), 1};
}

// Before a tree: nothing is known, and the sums are zero.
extern "C" __global__ void __launch_bounds__(256) start_tree(const Fit* __restrict__ given, int score) {
  const Fit& fit = *given;
  const Size first = blockIdx.x * Size{256} + threadIdx.x, step = gridDim.x * Size{256};
  for (Size i = first; i < fit.n_groups * Size{kPlanes * kCells}; i += step) fit.histograms[i] = 0;
  for (Size i = first; i < static_cast<Size>(fit.max_final) * 4; i += step) fit.sums[i] = 0;
  if (first != 0) return;
  TreeState& state = *fit.state;
#if defined(COMMITTEE_FRESH_LOSS)
  GradientPowers(fit, score).write_units(fit, score);
#endif
  state.gradient_unit = fit.units[2 * score] * power_of_two(fit.gradient_shift) * fit.weight_unit;
  state.hessian_unit = fit.units[2 * score + 1] * power_of_two(fit.hessian_shift) * fit.weight_unit;
  // A gain that rounding alone can make is none.
  state.least_gain = fit.least_gain * (state.gradient_unit * state.gradient_unit / state.hessian_unit);
  state.n_nodes = 1;
  state.n_candidates = state.finished = state.n_chosen = state.n_final = 0;
  state.n_open = 1;
  fit.open[0] = 0;
  TreeNode& root = fit.nodes[0];
  root = TreeNode{};
  root.best = no_split();
  root.count = fit.n_items;
  root.parent = root.left = root.reserved = -1;
  root.weight = fit.track_weights ? 0 : fit.n_items;
  root.key = kRootKey;
  root.lower = -kNoBound, root.upper = kNoBound;
  for (i64 k = 0; kOptions && k < fit.n_sets; ++k) fit.open_groups[k] = ~u64{0};
  state.number = state.n_trees;
  state.n_trees += 1;
}

// Rows and words in one list, and their sum.
extern "C" __global__ void __launch_bounds__(kBlock) make_words(const Fit* __restrict__ given, int score) {
  const Fit& fit = *given;
  __shared__ Sum g_sums[kLanes];
  __shared__ u32 h_sums[kLanes];
  __shared__ Size w_sum;
  const WordRounding by{static_cast<int>(fit.gradient_shift), static_cast<int>(fit.hessian_shift),
                        fit.stochastic != 0, fit.orders[fit.state->number].key};
  const FixedPairs pairs(fit, score);
  Sum g_sum = 0;
  u32 h_sum = 0;
  Size own_weight = 0;
  if (threadIdx.x == 0) w_sum = 0;
  constexpr u32 kBatch = 4;  // rows of a thread that are read before any is written
  const Size n = fit.n_items, stride = gridDim.x * Size{kBlock};
  for (Size first = blockIdx.x * Size{kBlock} + threadIdx.x; first < n; first += kBatch * stride) {
    u32 rows[kBatch];
    FixedGradientPair found[kBatch];
#pragma unroll
    for (u32 j = 0; j < kBatch; ++j) {
      const Size i = first + j * stride < n ? first + j * stride : first;
      rows[j] = fit.present ? fit.present[i] : static_cast<u32>(i);
    }
#pragma unroll
    for (u32 j = 0; j < kBatch; ++j) found[j] = pairs.read(rows[j]);
#pragma unroll
    for (u32 j = 0; j < kBatch; ++j) {
      const Size i = first + j * stride;
      if (i >= n) continue;
      const u32 row = rows[j], weight = fit.weights ? fit.weights[row] : 1;
      const u32 position = fit.positions ? fit.positions[row] : row;
      own_weight += weight;
      if constexpr (kLong) {
        fit.items[i] = Item::make(row, found[j].gradient, weight);
        g_sum += static_cast<Sum>(found[j].gradient) * weight;
        h_sum += weight;
      } else {
        const WordHalvesPair word = make_word(by, found[j], weight, position, fit.repeated != 0);
        fit.items[i] = Item::make(row, static_cast<i32>(word.gradient), static_cast<u32>(word.hessian));
        g_sum += static_cast<Sum>(word.gradient);
        h_sum += static_cast<u32>(word.hessian);
      }
    }
  }
  for (u32 d = kLanes / 2; d > 0; d /= 2) {
    g_sum += __shfl_xor_sync(kAll, g_sum, d);
    h_sum += __shfl_xor_sync(kAll, h_sum, d);
  }
  if (lane_of() == 0) g_sums[warp_of()] = g_sum, h_sums[warp_of()] = h_sum;
  __syncthreads();
  if (kOptions && fit.track_weights) {
    if (own_weight > 0) atomicAdd(&w_sum, own_weight);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&fit.nodes[0].weight, w_sum);
  }
  if (threadIdx.x != 0) return;
  for (u32 w = 1; w < kBlock / kLanes; ++w) g_sum += g_sums[w], h_sum += h_sums[w];
  add_sum(&fit.nodes[0].g, g_sum);
  atomicAdd(&fit.nodes[0].h, h_sum);
}
