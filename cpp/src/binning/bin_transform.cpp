// Tables to bytes: blocks of rows, each read once.
#include <algorithm>

#include "binning/bin_lookup.hpp"
#include "binning/training_rows.hpp"
#include "committee/block_binning.hpp"

namespace committee {

std::size_t BinnedMatrix::bytes() const {
  std::size_t total = columns.size();
  for (const RecordGroup& group : groups) total += group.bytes.size();
  for (const AlignedBuffer<u32>& codes : wide) total += codes.size() * sizeof(u32);
  if (entries) {
    total += entries->starts.size() * sizeof(u64) + entries->rest.size() + entries->bins.size() +
             (entries->rows.size() + entries->places.size()) * sizeof(u32);
  }
  return total;
}

void ColumnEntries::find_occupied() {
  occupied.assign((places.size() + 63) / 64, 0);
  for (std::size_t c = 0; c < places.size(); ++c)
    if (starts[c] < starts[c + 1] || has_bytes(c)) occupied[c / 64] |= u64{1} << (c % 64);
}

const ColumnEntries::RowColumns& ColumnEntries::list_by_row(std::size_t n_rows) const {
  std::call_once(listed_, [&] {
    by_row_.starts = AlignedBuffer<u64>(n_rows + 1, 0);
    for (const u32 row : std::span(rows.data(), rows.size())) ++by_row_.starts[row + 1];
    for (std::size_t row = 0; row < n_rows; ++row) by_row_.starts[row + 1] += by_row_.starts[row];
    by_row_.columns = AlignedBuffer<u32>(rows.size());
    std::vector<u64> next(by_row_.starts.data(), by_row_.starts.data() + n_rows);
    for (std::size_t c = 0; c + 1 < starts.size(); ++c)
      for (const u32 row : column(c).rows) by_row_.columns[next[row]++] = static_cast<u32>(c);
  });
  return by_row_;
}

const u8* BinnedMatrix::read_column(std::size_t col, std::vector<u8>& room) const {
  if (has_bytes(col)) return column(col);
  const ColumnEntries::View listed = entries->column(col);
  room.assign(column_stride, listed.rest);
  for (std::size_t e = 0; e < listed.rows.size(); ++e) room[listed.rows[e]] = listed.bins[e];
  return room.data();
}

u8 BinnedMatrix::bin(std::size_t row, std::size_t col) const {
  if (has_bytes(col)) return column(col)[row];
  const ColumnEntries::View listed = entries->column(col);
  const auto at = std::lower_bound(listed.rows.begin(), listed.rows.end(), row);
  return at == listed.rows.end() || *at != row ? listed.rest
                                               : listed.bins[at - listed.rows.begin()];
}

void BinnedMatrix::make_records(int n_jobs) const {
  if (entries) return;
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
  // Row 0 of x is row `offset` of the output.
  DenseTransform(const MatrixView& x, BinnedMatrix& out, std::size_t offset, InterruptWatch& watch)
      : x_(x), out_(out), offset_(offset), watch_(watch), tables_(x.n_cols) {
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
    u8* to = out_.columns.data() + col * out_.column_stride + offset_ + row;
    const ColumnBins& bins = bins_of(col);
    if (bins.wide) {
      write_wide_codes(values, count, bins.n_bins, to, out_.wide[col].data() + offset_ + row);
    } else if (bins.categorical) {
      write_codes(values, count, bins.n_bins, to);
    } else {
      tables_[col].find_bins(values, count, to);
    }
  }

  const MatrixView& x_;
  BinnedMatrix& out_;
  std::size_t offset_;
  InterruptWatch& watch_;
  std::vector<BinTable<T>> tables_;
};

void transform_block(const MatrixView& x, BinnedMatrix& out, std::size_t offset, int n_jobs,
                     InterruptWatch& watch) {
  const double work = static_cast<double>(x.n_rows) * static_cast<double>(x.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinValuesPerTransformThread);
  const auto run = [&]<class T>(T) {
    DenseTransform<T> dense(x, out, offset, watch);
    parallel_for((x.n_rows + kTaskRows - 1) / kTaskRows, n_threads, [&](std::size_t task) {
      const std::size_t first = task * kTaskRows;
      dense.transform_rows(first, std::min(x.n_rows, first + kTaskRows));
    });
  };
  x.is_double ? run(double()) : run(float());
}

}  // namespace

void BinMapper::check_column_count(std::size_t n_cols) const {
  if (n_cols == columns_->size()) return;
  throw std::invalid_argument("X has " + std::to_string(n_cols) + " columns, but bins were " +
                              "learnt for " + std::to_string(columns_->size()) + ".");
}

std::shared_ptr<BinnedMatrix> BinMapper::allocate(std::size_t n_rows) const {
  return allocate_binned(n_rows, columns_->size(), columns_);
}

std::shared_ptr<const BinnedMatrix> BinMapper::transform(const MatrixView& x, int n_jobs,
                                                         InterruptWatch& watch) const {
  check_column_count(x.n_cols);
  auto matrix = allocate_binned(x.n_rows, x.n_cols, columns_);
  transform_block(x, *matrix, 0, n_jobs, watch);
  return matrix;
}

BinnedBuilder::BinnedBuilder(const BinMapper& mapper, std::size_t n_rows)
    : mapper_(mapper), matrix_(mapper.allocate(n_rows)) {}

void BinnedBuilder::check_span(std::size_t first_row, std::size_t n_rows) const {
  if (!matrix_) throw std::invalid_argument("The table is finished.");
  if (first_row > matrix_->n_rows || n_rows > matrix_->n_rows - first_row) {
    throw std::invalid_argument("The block ends after the last row of the table.");
  }
}

void BinnedBuilder::write_bins(const u8* bytes, std::size_t stride, std::size_t n_rows,
                               std::size_t first_row, std::span<const u32> codes) {
  check_span(first_row, n_rows);
  for (std::size_t c = 0; c < matrix_->n_cols; ++c) {
    const ColumnBins& bins = mapper_.columns()[c];
    const u8* from = bytes + c * stride;
    const u32 n_bins = bins.wide ? 1 : bins.n_bins;
    const bool known = std::all_of(from, from + n_rows,
                                   [&](u8 bin) { return bin < n_bins || bin == kMissingBin; });
    if (!known) throw std::invalid_argument("A column holds a bin that it does not have.");
    std::copy(from, from + n_rows,
              matrix_->columns.data() + c * matrix_->column_stride + first_row);
    if (!bins.wide) continue;
    if (codes.size() < n_rows) throw std::invalid_argument("Codes of wide categories are missing.");
    for (std::size_t k = 0; k < n_rows; ++k) {
      const bool missing = from[k] == kMissingBin;
      if (missing ? codes[k] != kMissingCode : codes[k] >= bins.n_bins)
        throw std::invalid_argument("A column holds a code that it does not have.");
    }
    std::copy_n(codes.begin(), n_rows, matrix_->wide[c].data() + first_row);
    codes = codes.subspan(n_rows);
  }
  if (n_rows != 0) written_.emplace_back(first_row, n_rows);
}

void BinnedBuilder::write(const MatrixView& block, std::size_t first_row, int n_jobs,
                          InterruptWatch& watch) {
  mapper_.check_column_count(block.n_cols);
  check_span(first_row, block.n_rows);
  transform_block(block, *matrix_, first_row, n_jobs, watch);
  if (block.n_rows != 0) written_.emplace_back(first_row, block.n_rows);
}

std::shared_ptr<const BinnedMatrix> BinnedBuilder::finish() {
  if (!matrix_) throw std::invalid_argument("The table is finished.");
  std::sort(written_.begin(), written_.end());
  std::size_t next = 0;
  for (const auto& [first_row, n_rows] : written_) {
    if (first_row != next) break;
    next += n_rows;
  }
  // A row that no block has holds any bytes, which may be no bins of its columns.
  if (next != matrix_->n_rows) {
    throw std::invalid_argument("The blocks must have each of the " +
                                std::to_string(matrix_->n_rows) + " rows once; row " +
                                std::to_string(next) + " is missing, or there twice.");
  }
  return std::move(matrix_);
}

}  // namespace committee
