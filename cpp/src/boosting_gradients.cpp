#include "boosting_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "committee/parallel.hpp"

namespace committee {

namespace {

// Whole weights may sum up to this many bits; beyond, gradients would be left with too few.
constexpr int kWholeBits = 20;
constexpr int kMostWeightBits = 31;
// With fewer bits than this a gradient is rounded by chance, which keeps sums right on average.
constexpr int kEnoughBits = 16;
constexpr std::size_t kTaskRows = 16 * kLossBlock;
// Slopes that cost no exponential are found sooner than a thread is woken, up to so many rows.
constexpr std::size_t kSharedRows = 32768;

int count_bits(u64 total) {
  int bits = 0;
  while ((u64{1} << bits) < total) ++bits;
  return bits;
}

// The least power of two that no |x| <= largest exceeds.
int find_power(double largest) {
  if (!(largest > 0.0)) return 0;
  int power;
  const double part = std::frexp(largest, &power);
  return part == 0.5 ? power - 1 : power;
}

i32 round_fixed(double x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number, kept in the last bits
  return static_cast<i32>(static_cast<u32>(std::bit_cast<u64>(x + kShift)));
}

}  // namespace

RowWeights::RowWeights(std::span<const double> given, std::size_t n_rows) {
  if (given.empty()) {
    total = n_rows;
    return;
  }
  const FixedWeights fixed = fix_weights(given, {kMostWeightBits, kMostWeightBits, 31});
  total = fixed.total;
  integral = fixed.integral;
  values.assign(fixed.weights.begin(), fixed.weights.end());
  if (fixed.weights.empty()) total = n_rows;
  if (!integral) {
    const auto n_present =
        std::count_if(given.begin(), given.end(), [](double w) { return w > 0; });
    unit = static_cast<double>(n_present) / static_cast<double>(total);
  }
}

RowWeights RowWeights::multiplied(std::span<const double> factors) const {
  // Eight bits of fraction: a factor is (1 - a) / b of some shares, which a user gives with two or
  // three digits.
  constexpr double kParts = 256.0;
  RowWeights scaled = *this;
  const int excess = std::max(0, count_bits(total) + 12 - kMostWeightBits);
  scaled.values.resize(factors.size());
  scaled.total = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double weight =
        std::ldexp(factors[i] * kParts * static_cast<double>((*this)[i]), -excess);
    scaled.values[i] = static_cast<u32>(weight > 0.0 ? std::max(1.0, std::nearbyint(weight)) : 0.0);
    scaled.total += scaled.values[i];
  }
  scaled.integral = false;
  scaled.unit = std::ldexp(unit / kParts, excess);
  return scaled;
}

WordPlan plan_words(const RowWeights& weights, bool narrow) {
  WordPlan plan;
  const int total_bits = count_bits(weights.total);
  plan.narrow = narrow;
  plan.gradient_shift = std::max(total_bits, narrow ? kFixedBits - 14 : 0);
  plan.hessian_shift = std::max(total_bits, narrow ? kFixedBits - 15 : 0);
  plan.stochastic = kFixedBits - plan.gradient_shift < kEnoughBits;
  return plan;
}

template <class Fill>
void Gradients::convert(u32 n_scores, bool bounded, const RowWeights& weights, int n_threads,
                        Fill&& fill) {
  const std::size_t n_tasks = (n_rows_ + kTaskRows - 1) / kTaskRows;
  const bool weighted = !weights.values.empty();
  if (!bounded) {
    std::vector<double> largest(2 * n_scores, 0.0);
    std::mutex mutex;
    parallel_for(n_tasks, n_threads, [&](std::size_t task) {
      std::vector<double> block(2 * n_scores * kLossBlock), found(2 * n_scores, 0.0);
      const std::size_t last = std::min(n_rows_, (task + 1) * kTaskRows);
      for (std::size_t begin = task * kTaskRows; begin < last; begin += kLossBlock) {
        const std::size_t end = std::min(last, begin + kLossBlock);
        fill(begin, end, block.data(), block.data() + n_scores * kLossBlock);
        for (u32 k = 0; k < 2 * n_scores; ++k) {
          for (std::size_t i = 0; i < end - begin; ++i) {
            const double size = std::abs(block[k * kLossBlock + i]);
            if (size > found[k] && (!weighted || weights.values[begin + i] > 0)) found[k] = size;
          }
        }
      }
      const std::lock_guard lock(mutex);
      for (u32 k = 0; k < 2 * n_scores; ++k) largest[k] = std::max(largest[k], found[k]);
    });
    for (u32 k = 0; k < n_scores; ++k)
      powers_[k] = {find_power(largest[k]), find_power(largest[n_scores + k])};
  }
  parallel_for(n_tasks, n_threads, [&](std::size_t task) {
    std::vector<double> block(2 * n_scores * kLossBlock);
    const std::size_t last = std::min(n_rows_, (task + 1) * kTaskRows);
    for (std::size_t begin = task * kTaskRows; begin < last; begin += kLossBlock) {
      const std::size_t end = std::min(last, begin + kLossBlock);
      fill(begin, end, block.data(), block.data() + n_scores * kLossBlock);
      for (u32 k = 0; k < n_scores; ++k) {
        const double* g = block.data() + k * kLossBlock;
        const double* h = block.data() + (n_scores + k) * kLossBlock;
        const double g_scale = std::ldexp(1.0, kFixedBits - powers_[k].gradient);
        const double h_scale = std::ldexp(1.0, kFixedBits - powers_[k].hessian);
        FixedSlope* out = slopes_.data() + k * n_rows_ + begin;
        for (std::size_t i = 0; i < end - begin; ++i)
          out[i] = {round_fixed(g[i] * g_scale), round_fixed(h[i] * h_scale)};
        for (std::size_t i = 0; weighted && i < end - begin; ++i)
          if (weights.values[begin + i] == 0) out[i] = {0, 0};
      }
    }
  });
}

void Gradients::compute(const Loss& loss, const ScoreView& view, const RowWeights& weights,
                        int n_threads) {
  const LossShape& shape = loss.shape();
  const bool bounded =
      shape.gradient_power != LossShape::kUnbounded && shape.hessian_power != LossShape::kUnbounded;
  for (Powers& powers : powers_) powers = {shape.gradient_power, shape.hessian_power};
  if (shape.constant_hessian && n_rows_ * loss.n_scores() < kSharedRows) n_threads = 1;
  convert(loss.n_scores(), bounded, weights, n_threads,
          [&](std::size_t begin, std::size_t end, double* g, double* h) {
            loss.find_slopes(view, begin, end, g, h);
          });
}

void Gradients::take(const double* gradients, const double* hessians, const RowWeights& weights,
                     int n_threads) {
  const u32 n_scores = static_cast<u32>(powers_.size());
  convert(n_scores, false, weights, n_threads,
          [&](std::size_t begin, std::size_t end, double* g, double* h) {
            for (u32 k = 0; k < n_scores; ++k) {
              std::copy_n(gradients + k * n_rows_ + begin, end - begin, g + k * kLossBlock);
              std::copy_n(hessians + k * n_rows_ + begin, end - begin, h + k * kLossBlock);
            }
          });
}

double Gradients::gradient_unit(u32 k) const {
  return std::ldexp(1.0, powers_[k].gradient - kFixedBits);
}

double Gradients::hessian_unit(u32 k) const {
  return std::ldexp(1.0, powers_[k].hessian - kFixedBits);
}

namespace {

inline i64 pack(i64 gradient, i64 hessian) {
  return static_cast<i64>(static_cast<u64>(gradient) << 32) + hessian;
}

// Two numbers below 2^32 that nothing but the row and the key decide, in 32-bit steps.
inline u32 scramble(u32 row, u32 key) {
  u32 x = (row ^ key) * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  x ^= x >> 13;
  x *= 0xC2B2AE3Du;
  return x ^ (x >> 16);
}

}  // namespace

void make_words(const FixedSlope* slopes, const RowWeights& weights, const WordPlan& plan, u64 key,
                std::size_t begin, std::size_t end, i64* words) {
  const int gs = plan.gradient_shift, hs = plan.hessian_shift;
  const i64 g_half = gs > 0 ? i64{1} << (gs - 1) : 0, h_half = hs > 0 ? i64{1} << (hs - 1) : 0;
  const std::size_t n = end - begin;
  slopes += begin;
  if (weights.values.empty() && plan.stochastic) {
    const u32 g_mask = (u32{1} << gs) - 1, h_mask = (u32{1} << hs) - 1;
    const u32 first = static_cast<u32>(begin), low = static_cast<u32>(key),
              high = static_cast<u32>(key >> 32);
    for (std::size_t i = 0; i < n; ++i) {
      const u32 a = scramble(first + static_cast<u32>(i), low),
                b = scramble(first + static_cast<u32>(i), high);
      const i32 g = (slopes[i].gradient + static_cast<i32>(a & g_mask)) >> gs;
      const i32 h = (slopes[i].hessian + static_cast<i32>(b & h_mask)) >> hs;
      words[i] = pack(g, h);
    }
    return;
  }
  const bool whole = weights.integral && weights.total <= (u64{1} << kWholeBits);
  for (std::size_t i = 0; i < n; ++i) {
    const i64 w = weights[begin + i];
    const i64 g = slopes[i].gradient, h = slopes[i].hessian;
    if (whole && !plan.stochastic) {
      words[i] = pack(w * ((g + g_half) >> gs), w * ((h + h_half) >> hs));
    } else {
      const Rng chance_key(key, begin + i, 0, Purpose::rounding);
      Rng chance = chance_key;
      const i64 a =
          plan.stochastic ? static_cast<i64>(chance.next() & ((u64{1} << gs) - 1)) : g_half;
      const i64 b =
          plan.stochastic ? static_cast<i64>(chance.next() & ((u64{1} << hs) - 1)) : h_half;
      words[i] = pack((w * g + a) >> gs, (w * h + b) >> hs);
    }
  }
}

}  // namespace committee
