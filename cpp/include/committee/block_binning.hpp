// Binning a table that comes in blocks of rows, to the bytes that the whole table gives: choose the
// sample, gather it while every block is summarised, learn the bins, then transform block by block.
#pragma once
#include "binning.hpp"

namespace committee {

// The rows that quantiles are taken from, ascending; every row of positive weight if there are few.
struct BinSample {
  std::vector<u64> rows;
  std::vector<u64> weights;  // in fixed point; empty: all the same
  bool complete = false;     // no row of positive weight is missing, so that no summary is needed
};
BinSample choose_bin_sample(std::size_t n_rows, std::span<const double> weights);

// What must be known of every row besides the sample: missing values, the range of each column, and
// its distinct values as long as they are few. Summaries of blocks merge in any order.
class TableSummary {
 public:
  TableSummary(bool is_double, std::span<const u32> n_levels, int max_bins);
  ~TableSummary();
  TableSummary(TableSummary&&) noexcept;
  // Rows of weight zero do not take part; `weights` may be empty. std::invalid_argument if the
  // block has other columns or another type.
  void add(const MatrixView& block, std::span<const double> weights, int n_jobs,
           InterruptWatch& watch);
  void merge(const TableSummary& other);
  // Adds to bins of the sample what the other rows say.
  void finish(std::vector<ColumnBins>& columns) const;
  // Whether no value was seen that is not missing.
  bool is_all_missing() const;
  std::vector<u8> save() const;
  static TableSummary load(std::span<const u8> bytes);

 private:
  struct Columns;
  std::unique_ptr<Columns> columns_;
};

// The bins from the rows of a sample; `summary` may be null if the sample is complete.
BinMapper learn_bins(const MatrixView& sample, std::span<const u64> weights,
                     std::span<const u32> n_levels, int max_bins, const TableSummary* summary,
                     int n_jobs, InterruptWatch& watch);

// A binned table that is written block by block, in any order.
class BinnedBuilder {
 public:
  BinnedBuilder(const BinMapper& mapper, std::size_t n_rows);
  std::size_t n_cols() const { return mapper_.columns().size(); }
  void write(const MatrixView& block, std::size_t first_row, int n_jobs, InterruptWatch& watch);
  // Rows whose bins are known already: bytes[col * stride + k] is that of row first_row + k;
  // `codes` likewise for each column with more than 255 levels, one after another.
  // std::invalid_argument for a bin that the column does not have.
  void write_bins(const u8* bytes, std::size_t stride, std::size_t n_rows, std::size_t first_row,
                  std::span<const u32> codes);
  // The table. std::invalid_argument if the blocks are not each of its rows once; nothing may
  // be written afterwards.
  std::shared_ptr<const BinnedMatrix> finish();

 private:
  BinMapper mapper_;
  void check_span(std::size_t first_row, std::size_t n_rows) const;
  std::shared_ptr<BinnedMatrix> matrix_;
  std::vector<std::pair<std::size_t, std::size_t>> written_;  // first row and number of rows
};

// Bins as bytes, for other processes and for files. Loading checks everything that the kernels rely
// on: std::invalid_argument.
std::vector<u8> save_bins(const BinMapper& mapper);
BinMapper load_bins(std::span<const u8> bytes);

}  // namespace committee
