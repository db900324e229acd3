// Bin once, then share. A BinMapper learns the bins of every column; a BinnedMatrix is the table in
// bytes, in two layouts of the same content, immutable and shared by every tree of every ensemble.
#pragma once
#include <memory>
#include <mutex>

#include "types.hpp"

namespace committee {

class InterruptWatch;

// What is known of one column. A value x lies in bin b = #{ thresholds < x }, so that
// "x <= thresholds[b]" and "bin <= b" are the same question, for every double x.
// thresholds[b] lies in [high[b], low[b + 1]) and is a float32 number wherever one fits there.
// If there are n bins there are n - 1 thresholds (0 bins: no value was ever seen).
struct ColumnBins {
  bool categorical = false;
  bool wide = false;         // categorical with more than 255 levels: codes in a side column of u32
  bool has_missing = false;  // a missing value was seen in training
  u32 n_bins = 0;            // value bins; for a category the number of its levels
  std::vector<double> thresholds;  // numeric only
  // Numeric only: smallest and largest training value in each bin. Where bins come from a sample
  // (more than 200,000 rows and 255 values) the sample's, but for the ends of the column's range.
  std::vector<double> low, high;
};

// Layout 2: records of up to 64 neighbouring columns; a row's record lies within one cache line.
// Made by the first who needs them: boosting has records of its own.
struct RecordGroup {
  std::size_t first_col = 0, n_cols = 0;
  std::size_t stride =
      0;  // 16, 32 or 64 bytes: the smallest that holds n_cols; records are aligned to it
  // n_rows * stride (+ one spare cache line so that prefetch stays inside); empty before
  // make_records.
  AlignedBuffer<u8> bytes;
  const u8* record(std::size_t row) const { return bytes.data() + row * stride; }
};

// Layout 3, instead of the others, for wide sparse tables: of each column the rows whose bin is not
// that of zero. Memory and time go with the entries. Columns that are filled by an eighth or more
// have no entries but bytes, as in layout 1.
class ColumnEntries {
 public:
  struct View {
    std::span<const u32> rows;  // ascending
    const u8* bins = nullptr;   // of these rows
    u8 rest = 0;                // the bin of all other rows
  };
  AlignedBuffer<u64> starts;  // n_cols + 1
  AlignedBuffer<u32> rows;
  AlignedBuffer<u8> bins, rest;
  AlignedBuffer<u32> places;  // per column: its place among those of bytes, or kMissingCode
  std::vector<u64> occupied;  // a bit a column: it has entries or bytes

  View column(std::size_t col) const {
    return {{rows.data() + starts[col], starts[col + 1] - starts[col]},
            bins.data() + starts[col],
            rest[col]};
  }
  bool has_bytes(std::size_t col) const { return places[col] != kMissingCode; }
  bool is_occupied(std::size_t col) const { return (occupied[col / 64] >> (col % 64) & 1) != 0; }
  // Once starts and places are there.
  void find_occupied();
  // Of each row the columns of its entries, ascending; made by the first who asks.
  struct RowColumns {
    AlignedBuffer<u64> starts;  // n_rows + 1
    AlignedBuffer<u32> columns;
    std::span<const u32> row(std::size_t row) const {
      return {columns.data() + starts[row], starts[row + 1] - starts[row]};
    }
  };
  const RowColumns& list_by_row(std::size_t n_rows) const;

 private:
  mutable RowColumns by_row_;
  mutable std::once_flag listed_;
};

struct BinnedMatrix {
  std::size_t n_rows = 0, n_cols = 0;
  std::size_t column_stride = 0;  // n_rows rounded up to 64
  AlignedBuffer<u8> columns;      // layout 1, column-major: columns[col * column_stride + row]
  // Layout 2; group of column c is c / 64. Whoever reads records calls make_records before.
  mutable std::vector<RecordGroup> groups;
  std::vector<AlignedBuffer<u32>> wide;  // per column; empty unless the column is wide. columns[]
                                         // of a wide column holds 0 (present) or kMissingBin
  std::shared_ptr<const std::vector<ColumnBins>> bins;
  // Layout 3: no records then, no categories, and not every column has bytes. Null: layouts 1
  // and 2.
  std::unique_ptr<const ColumnEntries> entries;

  bool has_bytes(std::size_t col) const { return !entries || entries->has_bytes(col); }
  // Of a column that has bytes.
  const u8* column(std::size_t col) const {
    return columns.data() + (entries ? entries->places[col] : col) * column_stride;
  }
  // The bytes of any column, written to `room` where there are none.
  const u8* read_column(std::size_t col, std::vector<u8>& room) const;
  u8 bin(std::size_t row, std::size_t col) const;
  const RecordGroup& group_of(std::size_t col) const { return groups[col / 64]; }
  // Fills the records, once; anyone may call it at any time.
  void make_records(int n_jobs) const;
  std::size_t bytes() const;

 private:
  mutable std::once_flag recorded_;
};

// A table in compressed sparse columns: the entries of column c are data[indptr[c] .. indptr[c +
// 1]) in the rows indices[..], strictly ascending; every other value of the column is 0.
struct SparseView {
  const void* data = nullptr;     // float or double
  const void* indices = nullptr;  // i32 or i64, both of them
  const void* indptr = nullptr;
  std::size_t n_rows = 0, n_cols = 0, n_entries = 0;
  bool is_double = true;
  bool wide_indices = false;
};

// Learning and transforming poll the watch, at least once in some millions of values.
class BinMapper {
 public:
  // Learn the bins. `weights` may be empty; rows of weight zero do not take part. n_levels[c] > 0
  // says column c is a category with that many levels (codes 0 .. n_levels - 1 or NaN), 0 numeric.
  // At most max_bins value bins a numeric column, exact (one bin a distinct value) where they
  // suffice.
  static BinMapper fit(const MatrixView& x, std::span<const double> weights,
                       std::span<const u32> n_levels, int max_bins, int n_jobs,
                       InterruptWatch& watch);
  std::shared_ptr<const BinnedMatrix> transform(const MatrixView& x, int n_jobs,
                                                InterruptWatch& watch) const;
  // Both, with the same bytes: where bins are learnt from all rows, values are read once.
  static std::shared_ptr<const BinnedMatrix> fit_transform(const MatrixView& x,
                                                           std::span<const double> weights,
                                                           std::span<const u32> n_levels,
                                                           int max_bins, int n_jobs,
                                                           InterruptWatch& watch);
  // The same for a sparse table, with the bytes of its dense form; floats are never made dense.
  // std::invalid_argument if the offsets or row numbers are out of place.
  static BinMapper fit_sparse(const SparseView& x, std::span<const double> weights,
                              std::span<const u32> n_levels, int max_bins, int n_jobs,
                              InterruptWatch& watch);
  // Layout 3 for tables of at least so many values (rows times columns), of which few are entries;
  // 0: for every table of numbers.
  static constexpr std::size_t kEntriesFrom = std::size_t{1} << 24;
  std::shared_ptr<const BinnedMatrix> transform_sparse(
      const SparseView& x, int n_jobs, InterruptWatch& watch,
      std::size_t entries_from = kEntriesFrom) const;
  const std::vector<ColumnBins>& columns() const { return *columns_; }
  explicit BinMapper(std::vector<ColumnBins> columns)
      : columns_(std::make_shared<const std::vector<ColumnBins>>(std::move(columns))) {}
  void check_column_count(std::size_t n_cols) const;  // std::invalid_argument
  // A table with these bins whose bytes are still to be written.
  std::shared_ptr<BinnedMatrix> allocate(std::size_t n_rows) const;

 private:
  std::shared_ptr<const std::vector<ColumnBins>> columns_;
};

// Some columns of a table, in the order given, with the bins that they have. std::invalid_argument
// if a column does not exist.
std::shared_ptr<const BinnedMatrix> select_columns(const BinnedMatrix& from,
                                                   std::span<const u32> columns);

// Rows begin .. end - 1 of a table. std::invalid_argument if there are fewer.
std::shared_ptr<const BinnedMatrix> slice_rows(const BinnedMatrix& data, std::size_t begin,
                                               std::size_t end);

// The threshold between two neighbouring values a < b: the middle, as a float32 number if one lies
// in [a, b), else as a double in [a, b). The one place for this formula (bins and exact splits
// alike).
double choose_threshold(double a, double b);

// Order of each column's values, for exact splits: rows sorted by (value, row), missing last; and
// the dense rank of each row's value (kMissingCode for missing). Categories: rank = code.
struct Presort {
  std::size_t n_rows = 0, n_cols = 0;
  AlignedBuffer<u32> order;  // order[col * n_rows + k] = row of the k-th smallest value
  AlignedBuffer<u32> rank;   // rank[col * n_rows + row]
  std::vector<std::vector<double>> values;  // distinct values of each column, ascending
};
std::shared_ptr<const Presort> presort_columns(const MatrixView& x, std::span<const u32> n_levels,
                                               int n_jobs, InterruptWatch& watch);

}  // namespace committee
