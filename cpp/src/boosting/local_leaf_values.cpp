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
constexpr std::size_t kTasksPerThread = 4;
constexpr std::size_t kResidualRows = 512;

// The rows of some leaves, block by block of all rows. A leaf's rows ascend: where a block ends in
// its list the next one begins.
class LeafBlocks {
 public:
  LeafBlocks(std::size_t n_rows, int n_threads) : n_rows_(n_rows), n_threads_(n_threads) {
    const bool shared = n_threads > 1 && n_rows >= kMinParallelRows;
    size_ = shared
                ? std::max<std::size_t>(static_cast<std::size_t>(n_threads), n_rows / kRowsPerBlock)
            : n_rows >= kManyRows ? n_rows / kRowsPerBlock
                                  : 1;
  }
  void add(std::size_t leaf, std::span<const RowItem> rows) {
    if (!rows.empty()) lists_.push_back({leaf, rows.data(), rows.data() + rows.size()});
  }
  // Of visit(): some blocks each, since what a task finds of every leaf has to be put together.
  std::size_t n_tasks() const {
    return n_threads_ > 1 ? std::min(size_, kTasksPerThread * static_cast<std::size_t>(n_threads_))
                          : 1;
  }
  // visit(task, leaf, for_each_row), where for_each_row(use) goes through the leaf's rows in a
  // block.
  template <class Visit>
  void visit(Visit&& visit) const {
    parallel_for(n_tasks(), n_threads_, [&](std::size_t task) {
      const std::size_t first = size_ * task / n_tasks(), last = size_ * (task + 1) / n_tasks();
      std::vector<LeafList> lists = lists_;
      if (first > 0)
        for (LeafList& list : lists)
          list.at =
              std::lower_bound(list.at, list.end, n_rows_ * first / size_,
                               [](const RowItem& item, std::size_t row) { return item.row < row; });
      for (std::size_t block = first; block < last; ++block) {
        const auto end = static_cast<u32>(n_rows_ * (block + 1) / size_);
        for (LeafList& list : lists) {
          const RowItem* at = list.at;
          visit(task, list.leaf, [&](auto&& use) COMMITTEE_INLINE_LAMBDA {
            for (; at != list.end && at->row < end; ++at) use(at->row);
          });
          list.at = at;
        }
      }
    });
  }

 private:
  struct LeafList {
    std::size_t leaf;
    const RowItem *at, *end;
  };
  std::size_t n_rows_, size_;
  int n_threads_;
  std::vector<LeafList> lists_;
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
  LeafBlocks blocks(shared_.data->n_rows, n_threads_);
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    blocks.add(l, rows_of(leaves[l]));
    if (all) blocks.add(l, held_out_of(leaves[l]));
  }
  const std::vector<u32>& weights = shared_.weights->values;
  std::vector<FixedSums> sums(blocks.n_tasks() * leaves.size());
  blocks.visit([&](std::size_t task, std::size_t leaf, auto&& for_each_row) {
    FixedSums own = sums[task * leaves.size() + leaf];
    if (!gradients) {
      for_each_row([&](u32 row) { own.weight += weights.empty() ? 1 : i64{weights[row]}; });
    } else if (weights.empty()) {
      for_each_row([&](u32 row) {
        own.gradient += gradients[row].gradient;
        own.hessian += gradients[row].hessian;
        ++own.weight;
      });
    } else {
      for_each_row([&](u32 row) {
        const i64 w = weights[row];
        own.gradient += w * gradients[row].gradient;
        own.hessian += w * gradients[row].hessian;
        own.weight += w;
      });
    }
    sums[task * leaves.size() + leaf] = own;
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
  LeafBlocks blocks(shared_.data->n_rows, n_threads_);
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    blocks.add(l, rows_of(leaves[l]));
    blocks.add(l, held_out_of(leaves[l]));
  }
  blocks.visit([&](std::size_t, std::size_t leaf, auto&& for_each_row) {
    const double value = values[leaf];
    for_each_row([&](u32 row) { scores[row] += value; });
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
