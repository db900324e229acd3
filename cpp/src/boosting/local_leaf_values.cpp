// What the values of leaves are made of, and their way into the scores, for rows in this process.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "boosting/local_leaf_rows.hpp"
#include "boosting/renewed_values.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// From so many rows on their gradients and scores do not stay in the cache from leaf to leaf, and
// the leaves are gone through block by block.
constexpr std::size_t kManyRows = 32'768, kRowsPerBlock = 8'192;
constexpr std::size_t kResidualRows = 512;

// Without gradients the weights alone.
void add_gradients(std::span<const RowItem> rows, const FixedGradientPair* gradients,
                   const RowWeights& weights, FixedSums& sums) {
  if (!gradients) {
    sums.weight += weights.values.empty() ? static_cast<i64>(rows.size()) : 0;
    for (std::size_t i = 0; i < rows.size() && !weights.values.empty(); ++i)
      sums.weight += weights.values[rows[i].row];
    return;
  }
  if (weights.values.empty()) {
    for (const RowItem& item : rows) {
      const FixedGradientPair pair = gradients[item.row];
      sums.gradient += pair.gradient;
      sums.hessian += pair.hessian;
    }
    sums.weight += static_cast<i64>(rows.size());
    return;
  }
  for (const RowItem& item : rows) {
    const i64 w = weights.values[item.row];
    sums.gradient += w * gradients[item.row].gradient;
    sums.hessian += w * gradients[item.row].hessian;
    sums.weight += w;
  }
}

// Blocks of all rows that leaves are gone through by.
class RowBlocks {
 public:
  RowBlocks(std::size_t n_rows, int n_threads) : n_rows_(n_rows) {
    const bool shared = n_threads > 1 && n_rows >= kMinParallelRows;
    size_ = shared
                ? std::max<std::size_t>(static_cast<std::size_t>(n_threads), n_rows / kRowsPerBlock)
            : n_rows >= kManyRows ? n_rows / kRowsPerBlock
                                  : 1;
  }
  std::size_t size() const { return size_; }
  std::span<const RowItem> select(std::span<const RowItem> rows, std::size_t block) const {
    if (size_ == 1) return rows;
    return select_block(rows, n_rows_ * block / size_, n_rows_ * (block + 1) / size_);
  }

 private:
  std::size_t n_rows_, size_;
};

}  // namespace

std::span<const RowItem> select_block(std::span<const RowItem> rows, std::size_t begin,
                                      std::size_t end) {
  const auto before = [](const RowItem& item, std::size_t row) { return item.row < row; };
  const auto first = std::lower_bound(rows.begin(), rows.end(), begin, before);
  return {first, std::lower_bound(first, rows.end(), end, before)};
}

std::vector<FixedSums> LocalLeafRows::sum_leaves(std::span<const u32> leaves, u32 score, bool all) {
  // Values that are renewed take nothing of the gradients.
  const bool renewed = shared_.loss->shape().rule != LeafRule::newton;
  const FixedGradientPair* const gradients = renewed ? nullptr : shared_.gradients->pairs(score);
  const RowBlocks blocks(shared_.data->n_rows, n_threads_);
  std::vector<FixedSums> sums(blocks.size() * leaves.size());
  parallel_for(blocks.size(), n_threads_, [&](std::size_t block) {
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      FixedSums& own = sums[block * leaves.size() + l];
      const auto add = [&](std::span<const RowItem> rows) {
        add_gradients(blocks.select(rows, block), gradients, *shared_.weights, own);
      };
      add(rows_of(leaves[l]));
      if (all) add(held_out_of(leaves[l]));
    }
  });
  std::vector<FixedSums> totals(leaves.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    FixedSums& total = totals[i % leaves.size()];
    total.gradient += sums[i].gradient;
    total.hessian += sums[i].hessian;
    total.weight += sums[i].weight;
  }
  return totals;
}

std::vector<double> LocalLeafRows::find_middles(std::span<const u32> leaves, u32 score) {
  std::vector<double> middles(leaves.size());
  const std::size_t offset = score * shared_.data->n_rows;
  const ScoredRows of{shared_.loss, score, shared_.target + offset, shared_.scores + offset,
                      shared_.weights->values};
  if (residuals_.size() < n_rows_) residuals_ = AlignedBuffer<double>(n_rows_);
  parallel_for(leaves.size(), n_threads_, [&](std::size_t l) {
    const std::span<const RowItem> rows = rows_of(leaves[l]);
    middles[l] = renew_value(of, rows.size(), residuals_.data() + range_of(leaves[l]).begin,
                             [&](std::size_t i) { return rows[i].row; });
  });
  return middles;
}

void LocalLeafRows::add_values(std::span<const u32> leaves, u32 score,
                               std::span<const double> values) {
  double* const scores = shared_.scores + score * shared_.data->n_rows;
  const RowBlocks blocks(shared_.data->n_rows, n_threads_);
  parallel_for(blocks.size(), n_threads_, [&](std::size_t block) {
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      const double value = values[l];
      for (const auto& rows : {rows_of(leaves[l]), held_out_of(leaves[l])})
        for (const RowItem& item : blocks.select(rows, block)) scores[item.row] += value;
    }
  });
}

// --- residuals that are followed from tree to tree -----------------------------------------------

double LocalLeafRows::find_largest_residual() {
  const ScoreView view = shared_.view();
  double largest = 0.0;
  for (std::size_t i = 0; i < view.stride; ++i)
    if ((*shared_.weights)[i] > 0)
      largest = std::max(largest, std::abs(view.scores[i] - view.y[i]));
  return largest;
}

void LocalLeafRows::write_residuals(const ResidualWords& how) {
  const ScoreView view = shared_.view();
  const std::size_t n = view.stride;
  parallel_for((n + kResidualRows - 1) / kResidualRows, n_threads_, [&](std::size_t block) {
    i64 words[kResidualRows];
    const std::size_t begin = block * kResidualRows, end = std::min(n, begin + kResidualRows);
    for (std::size_t i = begin; i < end; ++i) {
      const double gradient = std::nearbyint((view.scores[i] - view.y[i]) * how.scale);
      words[i - begin] = static_cast<i64>(
          ((static_cast<u64>(static_cast<i64>(gradient)) << how.halves.hessian_bits) + 1) *
          (*shared_.weights)[i]);
    }
    records_.write_words(begin, end, words);
  });
}

i64 LocalLeafRows::find_largest_word(const WordHalves& halves) {
  i64 largest = 0;
  for (std::size_t i = 0; i < shared_.data->n_rows; ++i) {
    const i64 weight = std::max(1u, (*shared_.weights)[i]);
    largest = std::max(largest, std::abs(halves.gradient(records_.word(i))) / weight);
  }
  return largest;
}

i64 LocalLeafRows::sum_words(i64* histogram) {
  const std::size_t n = shared_.data->n_rows, n_blocks = static_cast<std::size_t>(n_threads_);
  std::vector<i64> totals(n_blocks, 0);
  parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
    const std::size_t begin = n * block / n_blocks, end = n * (block + 1) / n_blocks;
    if (histogram) {
      i64* const own = block == 0 ? histogram : thread_histograms_[block - 1];
      std::fill_n(own, n_entries_, i64{0});
      records_.add_rows({nullptr, begin, end - begin}, words(), own);
    }
    for (std::size_t i = begin; i < end; ++i) totals[block] += records_.word(i);
  });
  return std::accumulate(totals.begin(), totals.end(), i64{0});
}

void LocalLeafRows::settle(std::span<const u32> leaves, std::span<const double> values,
                           std::span<const i64> changes) {
  const std::size_t n = shared_.data->n_rows;
  const int n_threads = n >= kMinParallelRows ? n_threads_ : 1;
  const auto n_blocks = static_cast<std::size_t>(n_threads);
  parallel_for(n_blocks, n_threads, [&](std::size_t block) {
    const std::size_t begin = n * block / n_blocks, end = n * (block + 1) / n_blocks;
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      if (changes[l] == 0) continue;
      const auto rows =
          n_blocks == 1 ? rows_of(leaves[l]) : select_block(rows_of(leaves[l]), begin, end);
      for (const RowItem& item : rows) shared_.scores[item.row] += values[l];
      records_.change_words(rows, changes[l], shared_.weights->values);
    }
  });
}

}  // namespace committee
