#include "boosting/gradients.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/x86_vectors.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// Whole weights may sum up to this many bits; beyond, gradients would be left with too few.
constexpr int kWholeBits = 20;
constexpr int kMostWeightBits = 31;
// With fewer bits than this a gradient is rounded by chance, which keeps sums right on average.
constexpr int kEnoughBits = 16;
constexpr std::size_t kTaskRows = 8 * kLossBlock;

// The least b with 2^b >= total.
int count_bits(u64 total) {
  return total <= 1 ? 0 : static_cast<int>(std::bit_width(total - 1));
}

COMMITTEE_INLINE inline void fix_rows(const double* g, const double* h, std::size_t n,
                                      const GradientPowers& powers, FixedGradientPair* out) {
  const double g_scale = std::ldexp(1.0, kFixedBits - powers.gradient),
               h_scale = std::ldexp(1.0, kFixedBits - powers.hessian);
  if (!h) {
    const i32 one = round_fixed(h_scale);
    for (std::size_t i = 0; i < n; ++i) out[i] = {round_fixed(g[i] * g_scale), one};
    return;
  }
  for (std::size_t i = 0; i < n; ++i)
    out[i] = {round_fixed(g[i] * g_scale), round_fixed(h[i] * h_scale)};
}

#if defined(COMMITTEE_AVX512)
COMMITTEE_AVX512 void fix_avx512(const double* g, const double* h, std::size_t n,
                                 const GradientPowers& powers, FixedGradientPair* out) {
  fix_rows(g, h, n, powers, out);
}

COMMITTEE_AVX512 double find_largest_avx512(const double* x, std::size_t n, double found) {
  const __m512i no_sign = _mm512_set1_epi64(std::numeric_limits<i64>::max());
  __m512i most = _mm512_set1_epi64(std::bit_cast<i64>(found));
  for (std::size_t i = 0; i < n; i += 8) {
    const auto present = static_cast<__mmask8>((1u << std::min<std::size_t>(8, n - i)) - 1);
    const __m512i sizes = _mm512_and_si512(_mm512_maskz_loadu_epi64(present, x + i), no_sign);
    most = _mm512_max_epi64(most, sizes);
  }
  return std::bit_cast<double>(static_cast<i64>(_mm512_reduce_max_epi64(most)));
}
#endif

// Without hessians: each is one.
void fix_block(const double* g, const double* h, std::size_t n, const GradientPowers& powers,
               FixedGradientPair* out) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) return fix_avx512(g, h, n, powers, out);
#endif
  fix_rows(g, h, n, powers, out);
}

// The largest |x|, or what was found before; in lanes, each by itself. Numbers without a sign are
// in the order of their bits.
double find_largest(const double* x, std::size_t n, double found) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) return find_largest_avx512(x, n, found);
#endif
  using Bits COMMITTEE_VECTOR(16) = i64;
  constexpr i64 kNoSign = std::numeric_limits<i64>::max();
  const i64 least = std::bit_cast<i64>(found);
  Bits most[4];
  for (Bits& lanes : most) lanes = Bits{least, least};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t pair = 0; pair < 4; ++pair) {
      Bits size;
      std::memcpy(&size, x + i + 2 * pair, sizeof size);
      size &= kNoSign;
      most[pair] = size > most[pair] ? size : most[pair];
    }
  }
  for (; i < n; ++i) found = std::max(found, std::abs(x[i]));
  for (const Bits& lanes : most)
    for (int lane = 0; lane < 2; ++lane)
      found = std::max(found, std::bit_cast<double>(lanes[lane]));
  return found;
}

// Rows of weight zero have no gradients: a block holds those of each score, and then the hessians.
void clear_absent(const RowWeights& weights, std::size_t begin, std::size_t end,
                  AlignedBuffer<double>& block) {
  for (std::size_t i = begin; i < end; ++i) {
    if (weights.values[i] > 0) continue;
    for (std::size_t at = i - begin; at < block.size(); at += kLossBlock) block.data()[at] = 0.0;
  }
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
  unit = fixed.unit;
  weighted = !values.empty();
  positions_.resize(values.size());
  const bool repeated = repeats();
  u32 position = 0;
  for (std::size_t row = 0; row < values.size(); ++row) {
    positions_[row] = position;
    position += repeated ? values[row] : std::min(1u, values[row]);
  }
}

RowWeights::RowWeights(const WeightFacts& all, std::vector<u32> block_values,
                       std::vector<u32> positions, std::size_t first)
    : WeightFacts(all),
      values(std::move(block_values)),
      first_row(first),
      positions_(std::move(positions)) {}

bool WeightFacts::repeats() const {
  return !weighted || (integral && unit == 1.0 && total <= (u64{1} << kWholeBits));
}

namespace {

// Eight bits of fraction: a factor is (1 - a) / b of some shares, which a user gives with two or
// three digits.
constexpr double kParts = 256.0;

int count_excess(u64 total) {
  return std::max(0, count_bits(total) + 12 - kMostWeightBits);
}

}  // namespace

WeightFacts RowWeights::describe_multiplied(u64 sum) const {
  WeightFacts scaled = *this;
  scaled.total = sum;
  scaled.integral = false;
  scaled.weighted = true;
  scaled.unit = std::ldexp(unit / kParts, count_excess(total));
  return scaled;
}

RowWeights RowWeights::multiplied(std::span<const double> factors) const {
  RowWeights scaled = *this;
  const int excess = count_excess(total);
  scaled.values.resize(factors.size());
  u64 sum = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double weight =
        std::ldexp(factors[i] * kParts * static_cast<double>((*this)[i]), -excess);
    scaled.values[i] = static_cast<u32>(weight > 0.0 ? std::max(1.0, std::nearbyint(weight)) : 0.0);
    sum += scaled.values[i];
  }
  static_cast<WeightFacts&>(scaled) = describe_multiplied(sum);
  return scaled;
}

WordPlan plan_words(const WeightFacts& weights, bool coarse) {
  WordPlan plan;
  const int total_bits = count_bits(weights.total);
  plan.coarse = coarse;
  plan.narrow = coarse && !weights.weighted;
  plan.gradient_shift = std::max(total_bits, coarse ? kFixedBits - 14 : 0);
  plan.hessian_shift = std::max(total_bits, coarse ? kFixedBits - 15 : 0);
  plan.stochastic = kFixedBits - plan.gradient_shift < kEnoughBits;
  return plan;
}

std::vector<GradientPowers> find_fixed_powers(const Loss& loss) {
  const LossShape& shape = loss.shape();
  if (shape.gradient_power == LossShape::kUnbounded || shape.hessian_power == LossShape::kUnbounded)
    return {};
  return {loss.n_scores(), {shape.gradient_power, shape.hessian_power}};
}

std::vector<GradientPowers> find_powers(std::span<const double> largest, bool constant_hessian) {
  const std::size_t n_scores = largest.size() / 2;
  std::vector<GradientPowers> powers;
  for (std::size_t k = 0; k < n_scores; ++k)
    powers.push_back(
        {find_power(largest[k]), constant_hessian ? 0 : find_power(largest[n_scores + k])});
  return powers;
}

template <class Fill>
std::vector<double> Gradients::convert(bool wanted, const RowWeights& weights, int n_threads,
                                       Fill&& fill) {
  const u32 n_scores = static_cast<u32>(facts_.powers.size());
  const bool constant = facts_.constant_hessian;
  const std::size_t n_tasks = (n_rows_ + kTaskRows - 1) / kTaskRows;
  std::vector<double> largest(2 * n_scores, 0.0);
  std::mutex mutex;
  parallel_for(n_tasks, n_threads, [&](std::size_t task) {
    AlignedBuffer<double> block(2 * n_scores * kLossBlock);
    std::vector<double> found(2 * n_scores, 0.0);
    double* const g = block.data();
    double* const h = constant ? nullptr : g + n_scores * kLossBlock;
    const std::size_t last = std::min(n_rows_, (task + 1) * kTaskRows);
    for (std::size_t begin = task * kTaskRows; begin < last; begin += kLossBlock) {
      const std::size_t end = std::min(last, begin + kLossBlock);
      fill(begin, end, g, h);
      if (!weights.values.empty()) clear_absent(weights, begin, end, block);
      for (u32 k = 0; k < n_scores; ++k)
        fix_block(g + k * kLossBlock, h ? h + k * kLossBlock : nullptr, end - begin,
                  facts_.powers[k], pairs_.data() + k * n_rows_ + begin);
      for (u32 k = 0; wanted && k < (constant ? n_scores : 2 * n_scores); ++k)
        found[k] = find_largest(g + k * kLossBlock, end - begin, found[k]);
    }
    const std::lock_guard lock(mutex);
    for (u32 k = 0; k < 2 * n_scores; ++k) largest[k] = std::max(largest[k], found[k]);
  });
  return largest;
}

// Sizes are taken to be those of the round before; where they have passed a power of two, once
// more.
template <class Fill>
void Gradients::convert_twice(const RowWeights& weights, int n_threads, Fill&& fill) {
  const std::vector<double> largest = convert(true, weights, n_threads, fill);
  std::vector<GradientPowers> needed = find_powers(largest, facts_.constant_hessian);
  if (needed == facts_.powers) return;
  facts_.powers = std::move(needed);
  convert(false, weights, n_threads, fill);
}

auto Gradients::fill_by(const Loss& loss, const ScoreView& view) const {
  return [&](std::size_t begin, std::size_t end, double* g, double* h) {
    loss.find_gradients(view, begin, end, g, h);
  };
}

auto Gradients::fill_with(const double* gradients, const double* hessians) const {
  return [=, this](std::size_t begin, std::size_t end, double* g, double* h) {
    for (u32 k = 0; k < facts_.powers.size(); ++k) {
      std::copy_n(gradients + k * n_rows_ + begin, end - begin, g + k * kLossBlock);
      std::copy_n(hessians + k * n_rows_ + begin, end - begin, h + k * kLossBlock);
    }
  };
}

void Gradients::compute(const Loss& loss, const ScoreView& view, const RowWeights& weights,
                        int n_threads) {
  const LossShape& shape = loss.shape();
  std::vector<GradientPowers> fixed = find_fixed_powers(loss);
  facts_.constant_hessian = shape.constant_hessian && !weights.weighted;
  if (shape.constant_hessian && n_rows_ * loss.n_scores() < kMinParallelRows) n_threads = 1;
  if (fixed.empty()) {
    convert_twice(weights, n_threads, fill_by(loss, view));
  } else {
    facts_.powers = std::move(fixed);
    convert(false, weights, n_threads, fill_by(loss, view));
  }
}

void Gradients::take(const double* gradients, const double* hessians, const RowWeights& weights,
                     int n_threads) {
  facts_.constant_hessian = false;
  convert_twice(weights, n_threads, fill_with(gradients, hessians));
}

std::vector<double> Gradients::measure(const Loss& loss, const ScoreView& view,
                                       const RowWeights& weights, int n_threads) {
  facts_.constant_hessian = loss.shape().constant_hessian && !weights.weighted;
  measured_ = true;
  return convert(true, weights, n_threads, fill_by(loss, view));
}

std::vector<double> Gradients::measure(const double* gradients, const double* hessians,
                                       const RowWeights& weights, int n_threads) {
  facts_.constant_hessian = false;
  measured_ = true;
  return convert(true, weights, n_threads, fill_with(gradients, hessians));
}

void Gradients::fix(const Loss& loss, const ScoreView& view, const RowWeights& weights,
                    std::vector<GradientPowers> powers, int n_threads) {
  facts_.constant_hessian = loss.shape().constant_hessian && !weights.weighted;
  if (std::exchange(measured_, false) && powers == facts_.powers) return;
  facts_.powers = std::move(powers);
  convert(false, weights, n_threads, fill_by(loss, view));
}

void Gradients::fix(const double* gradients, const double* hessians, const RowWeights& weights,
                    std::vector<GradientPowers> powers, int n_threads) {
  facts_.constant_hessian = false;
  if (std::exchange(measured_, false) && powers == facts_.powers) return;
  facts_.powers = std::move(powers);
  convert(false, weights, n_threads, fill_with(gradients, hessians));
}

double GradientFacts::gradient_unit(u32 k) const {
  return std::ldexp(1.0, powers[k].gradient - kFixedBits);
}

double GradientFacts::hessian_unit(u32 k) const {
  return std::ldexp(1.0, powers[k].hessian - kFixedBits);
}

namespace {

inline i64 pack(i64 gradient, i64 hessian) {
  return static_cast<i64>(static_cast<u64>(gradient) << 32) + hessian;
}

using Lanes COMMITTEE_VECTOR(16) = u32;
using Halves COMMITTEE_VECTOR(16) = i32;

#if defined(COMMITTEE_AVX512)
// As make_plain_words, eight rows at a time: gradients and hessians side by side as they lie there,
// each with the key, the bits and the shift of its own.
template <bool kConstant, class Word>
COMMITTEE_AVX512 i64 make_words_avx512(const FixedGradientPair* gradients, const WordPlan& plan,
                                       u64 key, std::size_t begin, std::size_t n, Word* words) {
  constexpr std::size_t kRows = 8;
  const auto spread = [](u32 gradient, u32 hessian) {
    return static_cast<long long>(u64{hessian} << 32 | gradient);
  };
  const u32 gs = static_cast<u32>(plan.gradient_shift), hs = static_cast<u32>(plan.hessian_shift);
  const __m512i keys = _mm512_set1_epi64(static_cast<long long>(key));
  // One and the same number in all rows is a power of two, of which nothing is cut off.
  const __m512i cut =
      _mm512_set1_epi64(spread((u32{1} << gs) - 1, kConstant ? 0 : (u32{1} << hs) - 1));
  const __m512i shifts = _mm512_set1_epi64(spread(gs, hs));
  const __m512i first = _mm512_set1_epi32(static_cast<int>(0x9E3779B1u)),
                second = _mm512_set1_epi32(static_cast<int>(0x85EBCA77u)),
                third = _mm512_set1_epi32(static_cast<int>(0xC2B2AE3Du));
  __m512i row = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(static_cast<u32>(begin))),
                                 _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7));
  __m512i sums = _mm512_setzero_si512();
  for (std::size_t i = 0; i < n; i += kRows) {
    // Zeros for rows beyond the last: they stay zeros.
    const auto present = static_cast<__mmask8>((1u << std::min(kRows, n - i)) - 1);
    __m512i pairs = _mm512_maskz_loadu_epi64(present, gradients + i);
    __m512i x = _mm512_mullo_epi32(_mm512_xor_si512(row, keys), first);  // scramble
    x = _mm512_mullo_epi32(_mm512_xor_si512(x, _mm512_srli_epi32(x, 15)), second);
    x = _mm512_mullo_epi32(_mm512_xor_si512(x, _mm512_srli_epi32(x, 13)), third);
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
    pairs = _mm512_srav_epi32(_mm512_add_epi32(pairs, _mm512_and_si512(x, cut)), shifts);
    sums = _mm512_add_epi32(sums, pairs);
    if constexpr (sizeof(Word) == 4) {
      const __m512i packed =
          _mm512_add_epi32(_mm512_slli_epi32(pairs, 16), _mm512_srli_epi64(pairs, 32));
      // A store of some of them takes longer.
      const __m256i eight = _mm512_cvtepi64_epi32(packed);
      if (n - i >= kRows) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + i), eight);
      } else {
        _mm256_mask_storeu_epi32(words + i, present, eight);
      }
    } else {
      _mm512_mask_storeu_epi64(words + i, present, _mm512_shuffle_epi32(pairs, _MM_PERM_CDAB));
    }
    row = _mm512_add_epi32(row, _mm512_set1_epi32(kRows));
  }
  i32 parts[2 * kRows];
  std::memcpy(parts, &sums, sizeof parts);
  i64 g_sum = 0, h_sum = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    g_sum += parts[2 * i];
    h_sum += parts[2 * i + 1];
  }
  return pack(g_sum, h_sum);
}
#endif

// Rounds by chance, four rows at a time. Without weights a word is just two halves side by side:
// the hessian is never negative. Returns the sum of the words.
template <bool kConstant, class Word>
i64 make_plain_words(const FixedGradientPair* gradients, const WordPlan& plan, u64 key,
                     std::size_t begin, std::size_t n, Word* words) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512))
    return make_words_avx512<kConstant>(gradients, plan, key, begin, n, words);
#endif
  const int gs = plan.gradient_shift, hs = plan.hessian_shift;
  const u32 g_mask = (u32{1} << gs) - 1, h_mask = (u32{1} << hs) - 1;
  const u32 low = static_cast<u32>(key), high = static_cast<u32>(key >> 32);
  Lanes row = {0, 1, 2, 3};
  row += static_cast<u32>(begin);
  Halves g_sum = {}, h_sum = {};
  const auto make_four = [&](const FixedGradientPair* from, Word* to) {
    Halves first, second;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&second, from + 2, sizeof second);
    Halves g = shuffle_lanes<0, 2, 4, 6>(first, second),
           h = shuffle_lanes<1, 3, 5, 7>(first, second);
    g = (g + (Halves)(scramble(row, low) & g_mask)) >> gs;
    // One and the same number in all rows is a power of two, of which nothing is cut off.
    if constexpr (!kConstant) h += (Halves)(scramble(row, high) & h_mask);
    h >>= hs;
    g_sum += g;
    h_sum += h;
    if constexpr (sizeof(Word) == 4) {
      const Lanes packed = ((Lanes)g << 16) + (Lanes)h;
      std::memcpy(to, &packed, sizeof packed);
    } else {
      first = shuffle_lanes<0, 4, 1, 5>(h, g);
      second = shuffle_lanes<2, 6, 3, 7>(h, g);
      std::memcpy(to, &first, sizeof first);
      std::memcpy(to + 2, &second, sizeof second);
    }
  };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4, row += 4) make_four(gradients + i, words + i);
  i64 total = pack(i64{g_sum[0]} + g_sum[1] + g_sum[2] + g_sum[3],
                   i64{h_sum[0]} + h_sum[1] + h_sum[2] + h_sum[3]);
  if (i == n) return total;
  FixedGradientPair last[4] = {};
  Word made[4];
  std::copy_n(gradients + i, n - i, last);
  make_four(last, made);
  std::copy_n(made, n - i, words + i);
  for (const Word word : std::span(made, n - i)) total += widen(word);
  return total;
}

}  // namespace

i64 make_narrow_words(const FixedGradientPair* gradients, const RowWeights& weights,
                      const WordPlan& plan, u64 key, std::size_t begin, std::size_t end,
                      u32* words) {
  const auto make =
      plan.constant_hessian ? make_plain_words<true, u32> : make_plain_words<false, u32>;
  return make(gradients + begin, plan, key, weights.first_row + begin, end - begin, words);
}

i64 make_words(const FixedGradientPair* gradients, const RowWeights& weights, const WordPlan& plan,
               u64 key, std::size_t begin, std::size_t end, i64* words) {
  const std::size_t n = end - begin;
  if (weights.values.empty() && plan.stochastic) {
    const auto make =
        plan.constant_hessian ? make_plain_words<true, i64> : make_plain_words<false, i64>;
    return make(gradients + begin, plan, key, weights.first_row + begin, n, words);
  }
  gradients += begin;
  const WordRounding by{plan.gradient_shift, plan.hessian_shift, plan.stochastic, key};
  const bool repeated = weights.repeats();
  for (std::size_t i = 0; i < n; ++i) {
    const u32 w = weights[begin + i], position = weights.position(begin + i);
    const WordHalvesPair word = round_weighted(by, gradients[i], w, position, repeated);
    words[i] = pack(word.gradient, word.hessian);
  }
  return std::accumulate(words, words + n, i64{0});
}

}  // namespace committee
