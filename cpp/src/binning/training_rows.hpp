// Which rows count, and the values of some columns in those rows.
#pragma once
#include "committee/parallel.hpp"

namespace committee {

// Ascending row numbers; an empty list stands for 0 .. size - 1.
struct RowSet {
  std::size_t size = 0;
  std::vector<u64> rows;
  std::size_t operator[](std::size_t k) const {
    return rows.empty() ? k : static_cast<std::size_t>(rows[k]);
  }
};

// Rows of positive weight, and the part of them that quantiles are taken from.
struct TrainingRows {
  RowSet all, sample;
  // Of the sample, in fixed point: integers whose sums are exact (below 2^53) and so do not depend
  // on the order of the rows. Empty: all the same.
  std::vector<u64> weights;
  u64 total_weight = 0;  // of the sample
  bool is_complete() const { return sample.size == all.size; }
};
TrainingRows choose_training_rows(std::size_t n_rows, std::span<const double> weights);

// Rows are read in tiles, so that a row's neighbouring columns are found in the cache.
inline constexpr std::size_t kTileRows = 256;
// Long passes over the rows look for Ctrl-C once in this many: a look costs as much as some values.
inline constexpr std::size_t kPollTableRows = 64 * kTileRows;

// out[k] = x(rows[first + k], col)
template <class T>
inline void gather_values(const MatrixView& x, const RowSet& rows, std::size_t first,
                          std::size_t count, std::size_t col, T* out) {
  const T* base = static_cast<const T*>(x.data) + static_cast<std::ptrdiff_t>(col) * x.col_stride;
  if (rows.rows.empty()) {
    const T* from = base + static_cast<std::ptrdiff_t>(first) * x.row_stride;
    for (std::size_t k = 0; k < count; ++k) {
      out[k] = from[static_cast<std::ptrdiff_t>(k) * x.row_stride];
    }
  } else {
    for (std::size_t k = 0; k < count; ++k) {
      out[k] = base[static_cast<std::ptrdiff_t>(rows.rows[first + k]) * x.row_stride];
    }
  }
}

// out[c * rows.size + k] = x(rows[k], first_col + c), for n_cols columns.
template <class T>
void gather_columns(const MatrixView& x, const RowSet& rows, std::size_t first_col,
                    std::size_t n_cols, T* out, InterruptWatch& watch) {
  for (std::size_t first = 0; first < rows.size; first += kTileRows) {
    if (first % kPollTableRows == 0) watch.poll();
    const std::size_t count = std::min(kTileRows, rows.size - first);
    for (std::size_t c = 0; c < n_cols; ++c) {
      gather_values(x, rows, first, count, first_col + c, out + c * rows.size + first);
    }
  }
}

// Columns that one task reads together: neighbours share cache lines where rows are contiguous.
// Depends on the number of threads, which is why nothing that is learnt may depend on it.
inline std::size_t choose_block_columns(const MatrixView& x, int n_threads) {
  // A line of the cache, as long as the values that are read stay in the second one.
  const std::size_t kMostColumns = x.n_rows > 16'384 || x.is_double ? 8 : 16;
  if (x.row_stride == 1) return 1;
  const std::size_t share = x.n_cols / (2 * static_cast<std::size_t>(n_threads));
  return share < 1 ? 1 : share < kMostColumns ? share : kMostColumns;
}

}  // namespace committee
