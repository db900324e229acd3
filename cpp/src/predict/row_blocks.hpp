// What every way through the trees needs: rows in blocks, and threads for them.
#pragma once
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "committee/parallel.hpp"
#include "predict/split_sequence.hpp"
#include "predict/tree_walk.hpp"

namespace committee {

// Estimated nanoseconds of one row through one tree, to decide on threads.
inline constexpr double kWalkCost = 15.0;
// Trees that pay for looking whether a block has missing values at all.
inline constexpr std::size_t kTreesToCheckMissing = 8;
// Rows whose leaves are known before their values are added.
inline constexpr std::size_t kEnds = kMostEnds;

inline void check_width(const Trees& trees, const MatrixView& x) {
  if (x.n_cols != trees.n_features) {
    throw std::invalid_argument("X must have " + std::to_string(trees.n_features) +
                                " columns; got " + std::to_string(x.n_cols) + ".");
  }
}

// Rows whose columns are neighbours: the caller's own memory where it is so, else a copy.
template <class X>
class RowBlock {
 public:
  RowBlock(const MatrixView& x, std::size_t first_row, std::size_t n_rows)
      : n_rows_(n_rows), n_cols_(x.n_cols) {
    const X* const from =
        static_cast<const X*>(x.data) + static_cast<std::ptrdiff_t>(first_row) * x.row_stride;
    if (x.col_stride == 1 || x.n_cols == 1) {
      rows_ = from;
      stride_ = x.row_stride;
      return;
    }
    X* to = near_.data();
    if (n_rows * x.n_cols > near_.size()) {
      far_.resize(n_rows * x.n_cols);
      to = far_.data();
    }
    rows_ = to;
    stride_ = static_cast<std::ptrdiff_t>(x.n_cols);
    constexpr std::size_t kTile = 16;  // rows, so that both sides stay in the first-level cache
    for (std::size_t r = 0; r < n_rows; r += kTile) {
      const std::size_t end = std::min(n_rows, r + kTile);
      for (std::size_t c = 0; c < x.n_cols; ++c) {
        const X* const column = from + static_cast<std::ptrdiff_t>(c) * x.col_stride;
        for (std::size_t i = r; i < end; ++i)
          to[i * x.n_cols + c] = column[static_cast<std::ptrdiff_t>(i) * x.row_stride];
      }
    }
  }
  const X* row(std::size_t r) const { return rows_ + static_cast<std::ptrdiff_t>(r) * stride_; }
  RowSpan<X> rows(std::size_t first) const { return {row(first), stride_}; }
  // Costs one look at every value, which pays if many trees are to follow.
  bool has_missing() const {
    bool missing = false;
    for (std::size_t r = 0; r < n_rows_ && !missing; ++r) {
      const X* const at = row(r);
      for (std::size_t c = 0; c < n_cols_; ++c) missing |= at[c] != at[c];
    }
    return missing;
  }

 private:
  const X* rows_;
  std::ptrdiff_t stride_;
  std::size_t n_rows_, n_cols_;
  std::array<X, 256> near_;  // a single row needs no allocation
  std::vector<X> far_;
};

inline std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Blocks for each thread, where there are several: one that comes late, or is slow, leaves some of
// its share to the others. Each block reads all trees, so that they are not made smaller still.
inline constexpr std::size_t kBlocksPerThread = 3;

// Blocks of about `most` rows, as many for each thread; multiples of the sequence's groups. For the
// sake of kBlocksPerThread there are none of fewer than about `least` rows.
template <class Task>
void for_row_blocks(std::size_t n_rows, std::size_t most, int n_threads, Task&& task,
                    std::size_t least = 1) {
  const auto threads = static_cast<std::size_t>(n_threads);
  const std::size_t share = most * threads;
  const std::size_t wanted =
      n_threads > 1 ? std::clamp<std::size_t>(n_rows / (least * threads), 1, kBlocksPerThread) : 1;
  const std::size_t n_blocks =
      std::max<std::size_t>((n_rows + share - 1) / std::max<std::size_t>(share, 1), wanted) *
      threads;
  const std::size_t block =
      round_up(std::max<std::size_t>((n_rows + n_blocks - 1) / n_blocks, 1), SplitSequence::kRows);
  parallel_for((n_rows + block - 1) / block, n_threads,
               [&](std::size_t b) { task(b * block, std::min(block, n_rows - b * block)); });
}

inline int threads_for(const MatrixView& x, std::size_t n_trees, int n_jobs) {
  const double work = kWalkCost * static_cast<double>(x.n_rows) * static_cast<double>(n_trees);
  return choose_threads(n_jobs, work, kThreadCost);
}

}  // namespace committee
