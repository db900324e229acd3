// Tables to bytes: blocks of rows, each read once.
#include "binning/bin_lookup.hpp"
#include "binning/training_rows.hpp"
#include "committee/binning.hpp"

namespace committee {

std::size_t BinnedMatrix::bytes() const {
  std::size_t total = columns.size();
  for (const RecordGroup& group : groups) total += group.bytes.size();
  for (const AlignedBuffer<u32>& codes : wide) total += codes.size() * sizeof(u32);
  return total;
}

void BinnedMatrix::make_records(int n_jobs) const {
  std::call_once(recorded_, [&] {
    for (RecordGroup& group : groups) {
      group.bytes = AlignedBuffer<u8>(n_rows * group.stride + 64);
      std::fill_n(group.bytes.data() + n_rows * group.stride, 64, u8{0});
    }
    const double work = static_cast<double>(n_rows) * static_cast<double>(n_cols);
    const int n_threads = choose_threads(n_jobs, work, kMinValuesPerTransformThread);
    parallel_for((n_rows + kTaskRows - 1) / kTaskRows, n_threads, [&](std::size_t task) {
      const std::size_t first = task * kTaskRows, last = std::min(n_rows, first + kTaskRows);
      for (RecordGroup& group : groups) write_records(*this, group, first, last);
    });
  });
}

namespace {

template <class T>
class DenseTransform {
 public:
  DenseTransform(const MatrixView& x, BinnedMatrix& out, InterruptWatch& watch)
      : x_(x), out_(out), watch_(watch), tables_(x.n_cols) {
    for (std::size_t c = 0; c < x.n_cols; ++c) {
      if (!bins_of(c).categorical) tables_[c] = BinTable<T>(bins_of(c));
    }
  }

  void transform_rows(std::size_t first, std::size_t last) {
    watch_.poll();
    for (std::size_t row = first; row < last; row += kTileRows) {
      const std::size_t count = std::min(kTileRows, last - row);
      for (std::size_t c = 0; c < out_.n_cols; ++c) {
        if (c % kPollColumns == kPollColumns - 1) watch_.poll();
        transform_tile(row, count, c);
      }
    }
  }

 private:
  // Rows of many columns take long: within them, a look for Ctrl-C once in this many tiles.
  static constexpr std::size_t kPollColumns = 64;

  const ColumnBins& bins_of(std::size_t col) const { return (*out_.bins)[col]; }

  void transform_tile(std::size_t row, std::size_t count, std::size_t col) {
    T tile[kTileRows];
    const T* values = tile;
    if (x_.row_stride == 1) {
      values = static_cast<const T*>(x_.data) + static_cast<std::ptrdiff_t>(row) +
               static_cast<std::ptrdiff_t>(col) * x_.col_stride;
    } else {
      gather_values(x_, RowSet{}, row, count, col, tile);
    }
    u8* to = out_.columns.data() + col * out_.column_stride + row;
    const ColumnBins& bins = bins_of(col);
    if (bins.wide) {
      write_wide_codes(values, count, bins.n_bins, to, out_.wide[col].data() + row);
    } else if (bins.categorical) {
      write_codes(values, count, bins.n_bins, to);
    } else {
      tables_[col].find_bins(values, count, to);
    }
  }

  const MatrixView& x_;
  BinnedMatrix& out_;
  InterruptWatch& watch_;
  std::vector<BinTable<T>> tables_;
};

}  // namespace

void BinMapper::check_column_count(std::size_t n_cols) const {
  if (n_cols == columns_->size()) return;
  throw std::invalid_argument("X has " + std::to_string(n_cols) + " columns, but bins were " +
                              "learnt for " + std::to_string(columns_->size()) + ".");
}

std::shared_ptr<const BinnedMatrix> BinMapper::transform(const MatrixView& x, int n_jobs,
                                                         InterruptWatch& watch) const {
  check_column_count(x.n_cols);
  auto matrix = allocate_binned(x.n_rows, x.n_cols, columns_);
  const double work = static_cast<double>(x.n_rows) * static_cast<double>(x.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinValuesPerTransformThread);
  const auto run = [&]<class T>(T) {
    DenseTransform<T> dense(x, *matrix, watch);
    parallel_for((x.n_rows + kTaskRows - 1) / kTaskRows, n_threads, [&](std::size_t task) {
      const std::size_t first = task * kTaskRows;
      dense.transform_rows(first, std::min(x.n_rows, first + kTaskRows));
    });
  };
  x.is_double ? run(double()) : run(float());
  return matrix;
}

}  // namespace committee
