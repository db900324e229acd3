// Gradients and hessians of all rows in fixed point: 30 bits below a power of two that bounds them,
// so that sums are exact and the order of additions does not matter. Leaf values are made of these;
// histograms take them rounded to what n rows of them leave room for (Words).
#pragma once
#include "base/fixed_weights.hpp"
#include "base/rng.hpp"
#include "committee/gradient_words.hpp"
#include "committee/loss.hpp"

namespace committee {

// Fewer rows are processed sooner than a thread is woken.
inline constexpr std::size_t kMinParallelRows = 8192;

// Powers of two that bound the gradients of all rows.
struct GradientPowers {
  int gradient = 0, hessian = 0;
  bool operator==(const GradientPowers&) const = default;
};

// What is true of the weights of all rows together.
struct WeightFacts {
  u64 total = 0;
  // Sums of hessians times this are what the user's regularisation is compared with: weights are
  // given in rows.
  double unit = 1.0;
  bool integral = true;
  bool weighted = false;  // otherwise all weights are one
  // Whether a row of weight w is in every respect the row w times.
  bool repeats() const;
};

// Row weights as the engine needs them: whole numbers, and what one of them is worth.
struct RowWeights : WeightFacts {
  RowWeights(std::span<const double> given, std::size_t n_rows);
  // Those of a block of rows: `positions` are what `position` says in the whole table, empty where
  // rows have no weights and the first one of the block is number `first_row`.
  RowWeights(const WeightFacts& all, std::vector<u32> block_values, std::vector<u32> positions,
             std::size_t first_row);
  // These weights times a factor for each row (zero: the row is left out), as a sample by gradients
  // gives it.
  RowWeights multiplied(std::span<const double> factors) const;
  // What these are as a whole, if all of them add up to this.
  WeightFacts describe_multiplied(u64 sum) const;
  std::vector<u32> values;    // empty: all one
  std::size_t first_row = 0;  // number of the first row in the whole table
  u32 operator[](std::size_t row) const { return values.empty() ? 1 : values[row]; }
  // The number that a row's chances of rounding are drawn by: of rows before it, had each been
  // there as often as it weighs, or once where weights do not mean repetition.
  u32 position(std::size_t row) const {
    return positions_.empty() ? static_cast<u32>(first_row + row) : positions_[row];
  }
  const std::vector<u32>& positions() const { return positions_; }

 private:
  std::vector<u32> positions_;
};

// A share of all weight that a leaf must have; one that has exactly this is kept, whatever sums are
// off by.
inline double find_least_weight(double share, u64 total) {
  return share * static_cast<double>(total) * (1.0 - 1e-9);
}

// The words of a histogram: gradient << 32 | hessian, rounded by shifts so that the sum over all
// rows stays below 2^30 in both halves.
struct WordPlan {
  int gradient_shift = 0, hessian_shift = 0;
  bool stochastic = false;        // few bits: round up by chance, in proportion to what is cut off
  bool coarse = false;            // to what fits into 16 bits each
  bool narrow = false;            // and stored in these: words of rows that have no weights
  bool constant_hessian = false;  // of the tree at hand: every row has the same
  std::size_t bytes() const { return narrow ? 4 : 8; }
};
WordPlan plan_words(const WeightFacts& weights, bool coarse);

// What is known of the gradients of all rows without looking at one.
struct GradientFacts {
  std::vector<GradientPowers> powers;  // of each score
  bool constant_hessian = false;       // the hessians of all rows are one and the same power of two
  double gradient_unit(u32 k) const;
  double hessian_unit(u32 k) const;
};
// The powers of a loss whose gradients have bounds; none where they have none.
std::vector<GradientPowers> find_fixed_powers(const Loss& loss);
// The powers that the largest gradients and hessians need: `largest` is [gradient or
// hessian][score].
std::vector<GradientPowers> find_powers(std::span<const double> largest, bool constant_hessian);

class Gradients {
 public:
  Gradients(std::size_t n_rows, u32 n_scores) : n_rows_(n_rows) {
    facts_.powers.resize(n_scores);
    pairs_ = AlignedBuffer<FixedGradientPair>(n_rows * n_scores);
  }
  void compute(const Loss& loss, const ScoreView& view, const RowWeights& weights, int n_threads);
  // Gradients and hessians [score][row] that a caller found; hessians are >= 0, all are finite.
  void take(const double* gradients, const double* hessians, const RowWeights& weights,
            int n_threads);
  // In two steps, where there are rows elsewhere: the largest of these rows, with which the powers
  // of all are found, and then the pairs. Powers that are those of the round before have pairs
  // already.
  std::vector<double> measure(const Loss& loss, const ScoreView& view, const RowWeights& weights,
                              int n_threads);
  std::vector<double> measure(const double* gradients, const double* hessians,
                              const RowWeights& weights, int n_threads);
  void fix(const Loss& loss, const ScoreView& view, const RowWeights& weights,
           std::vector<GradientPowers> powers, int n_threads);
  void fix(const double* gradients, const double* hessians, const RowWeights& weights,
           std::vector<GradientPowers> powers, int n_threads);
  const FixedGradientPair* pairs(u32 k) const { return pairs_.data() + k * n_rows_; }
  const GradientFacts& facts() const { return facts_; }

 private:
  // Pairs of all rows at the powers at hand; returns the largest numbers where they are `wanted`.
  template <class Fill>
  std::vector<double> convert(bool wanted, const RowWeights& weights, int n_threads, Fill&& fill);
  template <class Fill>
  void convert_twice(const RowWeights& weights, int n_threads, Fill&& fill);
  auto fill_by(const Loss& loss, const ScoreView& view) const;
  auto fill_with(const double* gradients, const double* hessians) const;

  std::size_t n_rows_;
  GradientFacts facts_;    // of the latest round
  bool measured_ = false;  // pairs are those of the numbers measured last, at the powers at hand
  AlignedBuffer<FixedGradientPair> pairs_;  // [score][row]
};

// Words of rows begin .. end - 1 (all of them, whether or not they take part), at most 65,536;
// returns their sum. `key` decides the chances of stochastic rounding.
i64 make_words(const FixedGradientPair* gradients, const RowWeights& weights, const WordPlan& plan,
               u64 key, std::size_t begin, std::size_t end, i64* words);

// A narrow word holds the gradient above 16 bits of hessian. Such words are made without weights.
inline i64 widen(u32 word) {
  return static_cast<i64>(static_cast<u64>(static_cast<i64>(static_cast<i32>(word) >> 16)) << 32) +
         static_cast<i64>(word & 0xFFFFu);
}
inline i64 widen(i64 word) {
  return word;
}
i64 make_narrow_words(const FixedGradientPair* gradients, const RowWeights& weights,
                      const WordPlan& plan, u64 key, std::size_t begin, std::size_t end,
                      u32* words);

}  // namespace committee
