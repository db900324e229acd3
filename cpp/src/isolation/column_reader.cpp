// Columns of dense and sparse tables, read where they are needed.
#include <algorithm>

#include "committee/isolation.hpp"

namespace committee {

namespace {

template <class T>
class DenseReader final : public ColumnReader {
 public:
  explicit DenseReader(const MatrixView& x)
      : data_(static_cast<const T*>(x.data)), row_stride_(x.row_stride), col_stride_(x.col_stride) {
    n_rows = x.n_rows;
    n_cols = x.n_cols;
  }
  void read(u32 column, std::span<const u32> rows, double* out) const override {
    const T* at = data_ + static_cast<std::ptrdiff_t>(column) * col_stride_;
    for (std::size_t k = 0; k < rows.size(); ++k)
      out[k] = static_cast<double>(at[static_cast<std::ptrdiff_t>(rows[k]) * row_stride_]);
  }

 private:
  const T* data_;
  std::ptrdiff_t row_stride_, col_stride_;
};

template <class T, class I>
class SparseReader final : public ColumnReader {
 public:
  explicit SparseReader(const SparseView& x)
      : data_(static_cast<const T*>(x.data)),
        indices_(static_cast<const I*>(x.indices)),
        indptr_(static_cast<const I*>(x.indptr)) {
    n_rows = x.n_rows;
    n_cols = x.n_cols;
    bool sound = indptr_[0] == 0 && static_cast<u64>(indptr_[n_cols]) <= x.n_entries;
    for (std::size_t c = 0; c < n_cols; ++c) sound &= indptr_[c] <= indptr_[c + 1];
    if (!sound)
      throw std::invalid_argument("indptr must start at 0, not fall, and end within the data.");
  }
  void read(u32 column, std::span<const u32> rows, double* out) const override {
    const I* at = indices_ + indptr_[column];
    const I* const end = indices_ + indptr_[column + 1];
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const I row = static_cast<I>(rows[k]);
      at = std::lower_bound(at, end, row);
      out[k] = at != end && *at == row ? static_cast<double>(data_[at - indices_]) : 0.0;
    }
  }

 private:
  const T* data_;
  const I *indices_, *indptr_;
};

}  // namespace

std::unique_ptr<ColumnReader> make_reader(const MatrixView& x) {
  if (x.is_double) return std::make_unique<DenseReader<double>>(x);
  return std::make_unique<DenseReader<float>>(x);
}

std::unique_ptr<ColumnReader> make_reader(const SparseView& x) {
  if (x.is_double && x.wide_indices) return std::make_unique<SparseReader<double, i64>>(x);
  if (x.is_double) return std::make_unique<SparseReader<double, i32>>(x);
  if (x.wide_indices) return std::make_unique<SparseReader<float, i64>>(x);
  return std::make_unique<SparseReader<float, i32>>(x);
}

}  // namespace committee
