// Trees whose leaves are vectors: one tree for all scores of a round. A split is worth what it is
// worth to all of them together, sum_k [G_Lk^2 / (H_Lk + lambda) + G_Rk^2 / (H_Rk + lambda) -
// G_k^2 / (H_k + lambda)] / 2 - gamma, and a leaf has the Newton step of each score.
//
// A histogram entry holds a word for each score, side by side, and behind them one whose lower half
// counts rows, so that min_samples_leaf is exact without a second look; its upper half is their
// weight.
#pragma once
#include "boosting/split_search.hpp"

namespace committee {

// Words of all scores, row by row.
class VectorWords {
 public:
  VectorWords() = default;
  VectorWords(std::size_t n_rows, u32 n_scores)
      : width_(n_scores + 1), words_(n_rows * (n_scores + 1)), used_(n_rows) {}
  u32 width() const { return width_; }
  const i64* data() const { return words_.data(); }
  // Of each row how many words of scores there are until the last that is not zero.
  const u32* used() const { return used_.data(); }
  const i64* row(std::size_t row) const { return words_.data() + row * width_; }
  // Words of rows begin .. end - 1.
  void write(const Gradients& gradients, u32 first_score, const RowWeights& weights,
             const WordPlan& plan, u64 key, std::size_t begin, std::size_t end);
  std::size_t bytes() const { return words_.size() * sizeof(i64) + used_.size() * sizeof(u32); }

 private:
  static constexpr std::size_t kBlock = 512;
  void write_block(const Gradients& gradients, u32 first_score, const RowWeights& weights,
                   const WordPlan& plan, u64 key, std::size_t begin, std::size_t end);

  u32 width_ = 1;
  AlignedBuffer<i64> words_;
  AlignedBuffer<u32> used_;
};

// Histogram of a column: histogram[bin * width + score].
struct VectorColumn {
  u32 feature = 0, n_bins = 0;
  bool has_missing = false, categorical = false;
  const i64* histogram = nullptr;
};

class VectorSearch {
 public:
  // `total`: sums over the node, [width].
  VectorSearch(std::span<const SearchPlan> scores, std::vector<i64> total);
  // Takes the best split of the column into `best` if it is better; best.left then counts rows.
  void scan(const VectorColumn& column, BoostSplit& best);
  const std::vector<i64>& total() const { return total_; }
  bool is_beaten(i64, const BoostSplit&) const { return false; }
  // Whether rows whose last words add up to that, and fewer of them, are too few for a side.
  bool is_too_light(i64 last) const {
    return hessian_of(last) < std::max<i64>(1, params_.min_samples_leaf);
  }

 private:
  double measure(u32 score, i64 word) const;  // what a node with that sum is worth
  double count_copies(i64 word) const;        // rows that the weight of the last word counts as
  double sum_hessians(const std::vector<i64>& sums) const;
  bool has_rows() const;    // whether both sides have rows enough
  bool has_weight() const;  // the same of hessians; asked last, because it takes longer
  double measure_gain() const;
  void add(const i64* entry);
  void scan_numeric(const VectorColumn& column, bool missing_left, BoostSplit& best);
  void scan_categories(const VectorColumn& column, BoostSplit& best);
  void scan_prefixes(const VectorColumn& column, std::span<const u32> order, BoostSplit& best);

  const std::span<const SearchPlan> scores_;
  const BoostingParams& params_;
  const std::vector<i64> total_;
  std::vector<i64> left_;  // of the split at hand
  double own_sum_ = 0.0, own_hessian_ = 0.0, extra_l2_ = 0.0;
};

}  // namespace committee
