// Sparse tables: the same bins and bytes as of their dense form, from the entries alone.
#include "binning/bin_lookup.hpp"
#include "binning/find_bins.hpp"
#include "binning/training_rows.hpp"

namespace committee {
namespace {

constexpr double kMinEntriesPerThread = 65'536;

// The entries of one column after another, with the types known.
template <class T, class I>
class SparseColumns {
 public:
  explicit SparseColumns(const SparseView& x)
      : data_(static_cast<const T*>(x.data)),
        indices_(static_cast<const I*>(x.indices)),
        indptr_(static_cast<const I*>(x.indptr)) {
    check(x);
  }
  std::size_t begin(std::size_t col) const { return static_cast<std::size_t>(indptr_[col]); }
  std::size_t end(std::size_t col) const { return static_cast<std::size_t>(indptr_[col + 1]); }
  std::size_t row(std::size_t entry) const { return static_cast<std::size_t>(indices_[entry]); }
  const T* values() const { return data_; }

  // Row numbers are data from outside: they are checked before anything is written by them.
  void check_rows(std::size_t col, std::size_t n_rows) const {
    i64 before = -1;
    for (std::size_t e = begin(col); e < end(col); ++e) {
      const i64 row = static_cast<i64>(indices_[e]);
      if (row <= before || row >= static_cast<i64>(n_rows)) {
        throw std::invalid_argument(
            "The row numbers of column " + std::to_string(col) +
            " must be strictly ascending and below the number of rows; sum_duplicates() makes "
            "them so.");
      }
      before = row;
    }
  }

 private:
  void check(const SparseView& x) const {
    bool sound = indptr_[0] == 0 && static_cast<u64>(indptr_[x.n_cols]) <= x.n_entries;
    for (std::size_t c = 0; c < x.n_cols; ++c) sound &= indptr_[c] <= indptr_[c + 1];
    if (!sound) {
      throw std::invalid_argument("indptr must start at 0, not fall, and end within the data.");
    }
  }

  const T* data_;
  const I* indices_;
  const I* indptr_;
};

// Calls f with the columns in their types.
template <class F>
void visit_columns(const SparseView& x, F&& f) {
  if (x.is_double) {
    x.wide_indices ? f(SparseColumns<double, i64>(x)) : f(SparseColumns<double, i32>(x));
  } else {
    x.wide_indices ? f(SparseColumns<float, i64>(x)) : f(SparseColumns<float, i32>(x));
  }
}

// Where a row stands: whether it counts at all, and its place in the sample.
class RowPlaces {
 public:
  RowPlaces(const TrainingRows& rows, std::size_t n_rows) : rows_(rows) {
    if (!rows.all.rows.empty()) {
      counts_.assign(n_rows, 0);
      for (const u64 row : rows.all.rows) counts_[row] = 1;
    }
    if (!rows.sample.rows.empty()) {
      places_.assign(n_rows, kMissingCode);
      for (std::size_t k = 0; k < rows.sample.size; ++k) {
        places_[rows.sample.rows[k]] = static_cast<u32>(k);
      }
    }
  }
  bool counts(std::size_t row) const {
    return rows_.all.rows.empty() ? rows_.all.size > 0 : counts_[row] != 0;
  }
  bool is_sampled(std::size_t row) const {
    return rows_.sample.rows.empty() ? rows_.sample.size > 0 : places_[row] != kMissingCode;
  }
  u64 weight(std::size_t row) const {  // of a sampled row
    if (rows_.weights.empty()) return 1;
    return rows_.weights[places_.empty() ? row : places_[row]];
  }

 private:
  const TrainingRows& rows_;
  std::vector<u8> counts_;
  std::vector<u32> places_;
};

// Learns columns one by one; one per task.
template <class T, class I>
class SparseLearner {
 public:
  SparseLearner(const SparseColumns<T, I>& columns, const TrainingRows& rows,
                const RowPlaces& places, std::size_t most_entries)
      : columns_(columns),
        rows_(rows),
        places_(places),
        distinct_(most_entries, !rows.weights.empty()),
        values_(most_entries),
        weights_(rows.weights.empty() ? 0 : most_entries) {}

  ColumnBins learn(std::size_t col, int max_bins) {
    std::size_t n = 0;
    u64 spelt_out = 0;
    for (std::size_t e = columns_.begin(col); e < columns_.end(col); ++e) {
      const std::size_t row = columns_.row(e);
      if (!places_.is_sampled(row)) continue;
      values_[n] = columns_.values()[e];
      const u64 weight = places_.weight(row);
      if (!weights_.empty()) weights_[n] = weight;
      spelt_out += weight;
      ++n;
    }
    distinct_.collect(values_.data(), rows_.weights.empty() ? nullptr : weights_.data(), n);
    distinct_.add_zeros(rows_.total_weight - spelt_out);
    ColumnBins bins = distinct_.make_bins(max_bins);
    if (!rows_.is_complete()) scan_all_rows(col, max_bins, bins);
    return bins;
  }

  ColumnBins learn_categories(std::size_t col, u32 n_levels) const {
    bool missing = false;
    for (std::size_t e = columns_.begin(col); e < columns_.end(col); ++e) {
      missing |= read_code(columns_.values()[e], n_levels) == kMissingCode &&
                 places_.counts(columns_.row(e));
    }
    return describe_categories(n_levels, missing);
  }

 private:
  void scan_all_rows(std::size_t col, int max_bins, ColumnBins& bins) {
    FullScan<T> scan(distinct_.keys(), max_bins);
    std::size_t n = 0, in_tile = 0;
    T tile[kTileRows];
    for (std::size_t e = columns_.begin(col); e < columns_.end(col); ++e) {
      if (!places_.counts(columns_.row(e))) continue;
      tile[in_tile++] = columns_.values()[e];
      ++n;
      if (in_tile == kTileRows) scan.add(tile, std::exchange(in_tile, 0));
    }
    if (n < rows_.all.size) tile[in_tile++] = T(0);  // a full tile was emptied above
    scan.add(tile, in_tile);
    scan.finish(bins);
  }

  const SparseColumns<T, I>& columns_;
  const TrainingRows& rows_;
  const RowPlaces& places_;
  DistinctValues<T> distinct_;
  AlignedBuffer<T> values_;
  AlignedBuffer<u64> weights_;
};

// The bins of values, by whichever kind of column it is.
template <class T>
class ValueBins {
 public:
  explicit ValueBins(const ColumnBins& bins)
      : bins_(bins), table_(bins.categorical ? BinTable<T>() : BinTable<T>(bins)) {}
  // codes: of wide categories.
  void find(const T* values, std::size_t n, u8* out, u32* codes) const {
    if (bins_.wide) {
      write_wide_codes(values, n, bins_.n_bins, out, codes);
    } else if (bins_.categorical) {
      write_codes(values, n, bins_.n_bins, out);
    } else {
      table_.find_bins(values, n, out);
    }
  }

 private:
  const ColumnBins& bins_;
  const BinTable<T> table_;
};

template <class T, class I>
void transform_column(const SparseColumns<T, I>& columns, std::size_t col, BinnedMatrix& out) {
  const ColumnBins& bins = (*out.bins)[col];
  u8* const bytes = out.columns.data() + col * out.column_stride;
  u32* const codes = out.wide[col].data();
  const ValueBins<T> table(bins);
  u8 found[kTileRows];
  u32 found_codes[kTileRows];
  const T zero = 0;
  table.find(&zero, 1, found, found_codes);
  std::fill_n(bytes, out.n_rows, found[0]);
  if (bins.wide) std::fill_n(codes, out.n_rows, found_codes[0]);
  for (std::size_t e = columns.begin(col); e < columns.end(col); e += kTileRows) {
    const std::size_t n = std::min(kTileRows, columns.end(col) - e);
    table.find(columns.values() + e, n, found, found_codes);
    for (std::size_t k = 0; k < n; ++k) {
      bytes[columns.row(e + k)] = found[k];
      if (bins.wide) codes[columns.row(e + k)] = found_codes[k];
    }
  }
}

// A column with an entry in every so many rows has a byte for each instead: entries take five, and
// a row's own is searched for.
constexpr std::size_t kFilledShare = 8;
// A table of fewer entries than one in so many values is kept by its entries.
constexpr std::size_t kSparseShare = 16;
// As many columns have records of their own, which all fast builders of trees read.
constexpr std::size_t kRecordColumns = 64;

bool keeps_entries(const SparseView& x, const std::vector<ColumnBins>& bins,
                   std::size_t entries_from) {
  if (x.n_rows >= kMissingCode ||
      std::any_of(bins.begin(), bins.end(), [](const ColumnBins& b) { return b.categorical; }))
    return false;
  if (entries_from == 0) return true;
  const double n_values = static_cast<double>(x.n_rows) * static_cast<double>(x.n_cols);
  return x.n_cols > kRecordColumns && n_values >= static_cast<double>(entries_from) &&
         static_cast<double>(x.n_entries) * kSparseShare <= n_values;
}

// Two passes: the bins of all entries and how many of them are not in the bin of zero; then these.
template <class T, class I>
class EntriesWriter {
 public:
  EntriesWriter(const SparseColumns<T, I>& columns, const SparseView& x, BinnedMatrix& out)
      : columns_(columns), n_rows_(x.n_rows), out_(out), found_(x.n_entries) {
    entries_->starts = AlignedBuffer<u64>(x.n_cols + 1, 0);
    entries_->rest = AlignedBuffer<u8>(x.n_cols, 0);
    entries_->places = AlignedBuffer<u32>(x.n_cols, kMissingCode);
  }

  void find_bins(std::size_t col) {
    columns_.check_rows(col, n_rows_);
    const ColumnBins& bins = (*out_.bins)[col];
    const std::size_t begin = columns_.begin(col), n = columns_.end(col) - begin;
    if (n == 0 && bins.thresholds.empty()) return;
    const ValueBins<T> table(bins);
    const T zero = 0;
    u8& rest = entries_->rest[col];
    table.find(&zero, 1, &rest, nullptr);
    table.find(columns_.values() + begin, n, found_.data() + begin, nullptr);
    entries_->starts[col + 1] = n - static_cast<std::size_t>(std::count(
                                        found_.data() + begin, found_.data() + begin + n, rest));
  }

  // Between the passes.
  void allocate() {
    u64 n_listed = 0;
    u32 n_filled = 0;
    for (std::size_t c = 0; c < out_.n_cols; ++c) {
      u64& n = entries_->starts[c + 1];
      if (n * kFilledShare >= n_rows_) {
        entries_->places[c] = n_filled++;
        n = 0;
      }
      n = n_listed += n;
    }
    entries_->find_occupied();
    entries_->rows = AlignedBuffer<u32>(n_listed);
    entries_->bins = AlignedBuffer<u8>(n_listed);
    out_.columns = AlignedBuffer<u8>(n_filled * out_.column_stride, 0);
  }

  void write(std::size_t col) {
    const u8 rest = entries_->rest[col];
    const std::size_t begin = columns_.begin(col), end = columns_.end(col);
    if (entries_->has_bytes(col)) {
      u8* const bytes = out_.columns.data() + entries_->places[col] * out_.column_stride;
      std::fill_n(bytes, n_rows_, rest);
      for (std::size_t e = begin; e < end; ++e) bytes[columns_.row(e)] = found_[e];
      return;
    }
    std::size_t to = entries_->starts[col];
    for (std::size_t e = begin; e < end; ++e) {
      if (found_[e] == rest) continue;
      entries_->rows[to] = static_cast<u32>(columns_.row(e));
      entries_->bins[to++] = found_[e];
    }
  }

  std::unique_ptr<const ColumnEntries> finish() { return std::move(entries_); }

 private:
  const SparseColumns<T, I>& columns_;
  const std::size_t n_rows_;
  BinnedMatrix& out_;
  AlignedBuffer<u8> found_;
  std::unique_ptr<ColumnEntries> entries_ = std::make_unique<ColumnEntries>();
};

// Columns per task: enough tasks to even out columns of unequal length.
std::size_t choose_task_columns(std::size_t n_cols, int n_threads) {
  return std::max<std::size_t>(1, n_cols / (8 * static_cast<std::size_t>(n_threads)));
}

}  // namespace

BinMapper BinMapper::fit_sparse(const SparseView& x, std::span<const double> weights,
                                std::span<const u32> n_levels, int max_bins, int n_jobs,
                                InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, weights.size(), n_levels, max_bins);
  const TrainingRows rows = choose_training_rows(x.n_rows, weights);
  const RowPlaces places(rows, x.n_rows);
  const double work = static_cast<double>(x.n_entries);
  const int n_threads = choose_threads(n_jobs, work, kMinEntriesPerThread);
  const std::size_t width = choose_task_columns(x.n_cols, n_threads);
  std::vector<ColumnBins> bins(x.n_cols);
  visit_columns(x, [&]<class T, class I>(const SparseColumns<T, I>& columns) {
    parallel_for((x.n_cols + width - 1) / width, n_threads, [&](std::size_t task) {
      const std::size_t first = task * width, last = std::min(x.n_cols, first + width);
      std::size_t most = 0;
      for (std::size_t c = first; c < last; ++c) {
        watch.poll();
        columns.check_rows(c, x.n_rows);
        most = std::max(most, columns.end(c) - columns.begin(c));
      }
      SparseLearner<T, I> learner(columns, rows, places, most);
      for (std::size_t c = first; c < last; ++c) {
        watch.poll();
        bins[c] =
            n_levels[c] ? learner.learn_categories(c, n_levels[c]) : learner.learn(c, max_bins);
      }
    });
  });
  return BinMapper(std::move(bins));
}

std::shared_ptr<const BinnedMatrix> BinMapper::transform_sparse(const SparseView& x, int n_jobs,
                                                                InterruptWatch& watch,
                                                                std::size_t entries_from) const {
  check_column_count(x.n_cols);
  const bool by_entries = keeps_entries(x, *columns_, entries_from);
  const double work = by_entries ? static_cast<double>(x.n_entries + x.n_cols)
                                 : static_cast<double>(x.n_rows) * static_cast<double>(x.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinValuesPerTransformThread);
  const std::size_t width = choose_task_columns(x.n_cols, n_threads);
  const auto share_columns = [&](auto&& task_of_column) {
    parallel_for((x.n_cols + width - 1) / width, n_threads, [&](std::size_t task) {
      const std::size_t first = task * width, last = std::min(x.n_cols, first + width);
      for (std::size_t c = first; c < last; ++c) {
        watch.poll();
        task_of_column(c);
      }
    });
  };
  std::shared_ptr<BinnedMatrix> matrix;
  visit_columns(x, [&]<class T, class I>(const SparseColumns<T, I>& columns) {
    if (by_entries) {
      matrix = allocate_without_columns(x.n_rows, x.n_cols, columns_);
      EntriesWriter<T, I> writer(columns, x, *matrix);
      share_columns([&](std::size_t col) { writer.find_bins(col); });
      writer.allocate();
      share_columns([&](std::size_t col) { writer.write(col); });
      matrix->entries = writer.finish();
    } else {
      matrix = allocate_binned(x.n_rows, x.n_cols, columns_);
      share_columns([&](std::size_t col) {
        columns.check_rows(col, x.n_rows);
        transform_column(columns, col, *matrix);
      });
    }
  });
  return matrix;
}

}  // namespace committee
