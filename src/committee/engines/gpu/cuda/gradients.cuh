// Gradients of the loss at the scores, and the words of a tree.
#pragma once
#include "boosting.cuh"
#include "committee/losses/exponential.hpp"
#include "committee/losses/gamma.hpp"
#include "committee/losses/logistic.hpp"
#include "committee/losses/poisson.hpp"
#include "committee/losses/softmax.hpp"
#include "committee/losses/squared.hpp"
#include "committee/losses/tweedie.hpp"

namespace committee::gpu {

enum LossNumber : int { kSquared, kPoisson, kGamma, kTweedie, kLogistic, kExponential, kSoftmax };

__device__ inline GradientPair find_pair(const Fit& fit, double y, double f) {
  switch (fit.loss) {
    case kSquared: return find_gradient_pair(SquaredLoss{}, y, f);
    case kPoisson: return find_gradient_pair(PoissonLoss{}, y, f);
    case kGamma: return find_gradient_pair(GammaLoss{}, y, f);
    case kTweedie: {
      TweedieLoss loss;
      loss.parameter = fit.parameter;
      return find_gradient_pair(loss, y, f);
    }
    case kLogistic: return find_gradient_pair(LogisticLoss{}, y, f);
    default: return find_gradient_pair(ExponentialLoss{}, y, f);
  }
}

// Calls use(score, pair) for every score of a row.
template <class Use>
__device__ inline void visit_pairs(const Fit& fit, u32 row, Use&& use) {
  const Size n = fit.n_rows;
  const u32 n_scores = fit.n_scores;
  if (fit.loss != kSoftmax) {
    for (u32 k = 0; k < n_scores; ++k) use(k, find_pair(fit, fit.y[k * n + row], fit.scores[k * n + row]));
    return;
  }
  SoftmaxLoss loss;
  loss.n_classes = n_scores;
  double largest = fit.scores[row];
  for (u32 k = 1; k < n_scores; ++k) largest = take_larger(fit.scores[k * n + row], largest);
  double sum = SoftmaxLoss::power(fit.scores[row] - largest);
  for (u32 k = 1; k < n_scores; ++k) sum = sum + SoftmaxLoss::power(fit.scores[k * n + row] - largest);
  const double factor = 1.0 / sum, y = fit.y[row];
  for (u32 k = 0; k < n_scores; ++k) {
    const double share = SoftmaxLoss::power(fit.scores[k * n + row] - largest) * factor;
    use(k, loss.gradients(y == static_cast<double>(k) ? 1.0 : 0.0, share));
  }
}

__device__ inline Size size_bits(double x) {
  return bits_of(x) & 0x7FFFFFFFFFFFFFFFull;
}

}  // namespace committee::gpu

using namespace committee;
using namespace committee::gpu;

// The largest |gradient| and |hessian| of each score, where the loss does not bound them.
extern "C" __global__ void __launch_bounds__(256) find_largest(const Fit* given) {
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
extern "C" __global__ void __launch_bounds__(256) find_gradients(const Fit* given) {
  const Fit& fit = *given;
  const Size n = fit.n_rows;
  const auto powers = [&](u32 k, int& g, int& h) {
    g = fit.gradient_power, h = fit.hessian_power;
    if (fit.bounded) return;
    g = find_power(from_bits(fit.largest[2 * k]));
    h = fit.constant_hessian ? 0 : find_power(from_bits(fit.largest[2 * k + 1]));
  };
  if (blockIdx.x == 0 && threadIdx.x < fit.n_scores) {
    for (u32 k = threadIdx.x; k < fit.n_scores; k += 256) {
      int g, h;
      powers(k, g, h);
      fit.units[2 * k] = power_of_two(g - kFixedBits);
      fit.units[2 * k + 1] = power_of_two(h - kFixedBits);
    }
  }
  for (Size i = blockIdx.x * Size{256} + threadIdx.x; i < n; i += gridDim.x * Size{256}) {
    const u32 row = i;
    const bool absent = fit.weights && fit.weights[row] == 0;
    visit_pairs(fit, row, [&](u32 k, const GradientPair& pair) {
      int g, h;
      powers(k, g, h);
      const double h_scale = power_of_two(kFixedBits - h);
      FixedGradientPair fixed{round_fixed(pair.gradient * power_of_two(kFixedBits - g)),
                              round_fixed(fit.constant_hessian ? h_scale : pair.hessian * h_scale)};
      if (absent) fixed = {0, 0};
      fit.pairs[k * n + row] = fixed;
    });
  }
}

// Before a tree: nothing is known, and the sums are zero.
extern "C" __global__ void __launch_bounds__(256) start_tree(const Fit* given, int score) {
  const Fit& fit = *given;
  const Size first = blockIdx.x * Size{256} + threadIdx.x, step = gridDim.x * Size{256};
  for (Size i = first; i < fit.n_groups * Size{2 * kCells}; i += step) fit.histograms[i] = 0;
  for (Size i = first; i < static_cast<Size>(fit.max_final) * 4; i += step) fit.sums[i] = 0;
  if (first != 0) return;
  TreeState& state = *fit.state;
  state.gradient_unit = fit.units[2 * score] * power_of_two(fit.gradient_shift) * fit.weight_unit;
  state.hessian_unit = fit.units[2 * score + 1] * power_of_two(fit.hessian_shift) * fit.weight_unit;
  // A gain that rounding alone can make is none.
  state.least_gain = 1e-12 * (state.gradient_unit * state.gradient_unit / state.hessian_unit);
  state.n_nodes = 1;
  state.n_candidates = state.finished = state.n_chosen = state.n_final = 0;
  state.n_open = 1;
  fit.open[0] = 0;
  TreeNode& root = fit.nodes[0];
  root = TreeNode{};
  root.best = no_split();
  root.count = fit.n_items;
  root.parent = root.left = root.reserved = -1;
}

// Rows and words in one list, and their sum.
extern "C" __global__ void __launch_bounds__(kBlock) make_words(const Fit* given, int score, Size key) {
  const Fit& fit = *given;
  __shared__ i32 g_sums[kLanes];
  __shared__ u32 h_sums[kLanes];
  const WordRounding by{static_cast<int>(fit.gradient_shift), static_cast<int>(fit.hessian_shift),
                        fit.stochastic != 0, key};
  const FixedGradientPair* pairs = fit.pairs + score * static_cast<Size>(fit.n_rows);
  i32 g_sum = 0;
  u32 h_sum = 0;
  for (Size i = blockIdx.x * Size{kBlock} + threadIdx.x; i < static_cast<Size>(fit.n_items);
       i += gridDim.x * Size{kBlock}) {
    const u32 row = fit.present ? fit.present[i] : static_cast<u32>(i);
    const u32 weight = fit.weights ? fit.weights[row] : 1, position = fit.positions ? fit.positions[row] : row;
    const WordHalvesPair word = round_weighted(by, pairs[row], weight, position, fit.repeated != 0);
    fit.items[i] = Item::make(row, static_cast<i32>(word.gradient), static_cast<u32>(word.hessian));
    g_sum += static_cast<i32>(word.gradient);
    h_sum += static_cast<u32>(word.hessian);
  }
  for (u32 d = kLanes / 2; d > 0; d /= 2) {
    g_sum += __shfl_xor_sync(kAll, g_sum, d);
    h_sum += __shfl_xor_sync(kAll, h_sum, d);
  }
  if (lane_of() == 0) g_sums[warp_of()] = g_sum, h_sums[warp_of()] = h_sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (u32 w = 1; w < kBlock / kLanes; ++w) g_sum += g_sums[w], h_sum += h_sums[w];
  atomicAdd(&fit.nodes[0].g, g_sum);
  atomicAdd(&fit.nodes[0].h, h_sum);
}
