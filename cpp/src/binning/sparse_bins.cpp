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

template <class T, class I>
void transform_column(const SparseColumns<T, I>& columns, std::size_t col, BinnedMatrix& out) {
  const ColumnBins& bins = (*out.bins)[col];
  u8* const bytes = out.columns.data() + col * out.column_stride;
  u32* const codes = out.wide[col].data();
  const BinTable<T> table = bins.categorical ? BinTable<T>() : BinTable<T>(bins);
  u8 found[kTileRows];
  u32 found_codes[kTileRows];
  const auto find = [&](const T* values, std::size_t n) {
    if (bins.wide) {
      write_wide_codes(values, n, bins.n_bins, found, found_codes);
    } else if (bins.categorical) {
      write_codes(values, n, bins.n_bins, found);
    } else {
      table.find_bins(values, n, found);
    }
  };
  const T zero = 0;
  find(&zero, 1);
  std::fill_n(bytes, out.n_rows, found[0]);
  if (bins.wide) std::fill_n(codes, out.n_rows, found_codes[0]);
  for (std::size_t e = columns.begin(col); e < columns.end(col); e += kTileRows) {
    const std::size_t n = std::min(kTileRows, columns.end(col) - e);
    find(columns.values() + e, n);
    for (std::size_t k = 0; k < n; ++k) {
      bytes[columns.row(e + k)] = found[k];
      if (bins.wide) codes[columns.row(e + k)] = found_codes[k];
    }
  }
}

// Columns per task: enough tasks to even out columns of unequal length.
std::size_t choose_task_columns(std::size_t n_cols, int n_threads) {
  return std::max<std::size_t>(1, n_cols / (8 * static_cast<std::size_t>(n_threads)));
}

}  // namespace

BinMapper BinMapper::fit_sparse(const SparseView& x, std::span<const double> weights,
                                std::span<const u32> n_levels, int max_bins, int n_jobs,
                                InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, weights.size(), n_levels.size(), max_bins);
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
                                                                InterruptWatch& watch) const {
  check_column_count(x.n_cols);
  auto matrix = allocate_binned(x.n_rows, x.n_cols, columns_);
  const double work = static_cast<double>(x.n_rows) * static_cast<double>(x.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinValuesPerTransformThread);
  const std::size_t width = choose_task_columns(x.n_cols, n_threads);
  visit_columns(x, [&]<class T, class I>(const SparseColumns<T, I>& columns) {
    parallel_for((x.n_cols + width - 1) / width, n_threads, [&](std::size_t task) {
      const std::size_t first = task * width, last = std::min(x.n_cols, first + width);
      for (std::size_t c = first; c < last; ++c) {
        watch.poll();
        columns.check_rows(c, x.n_rows);
        transform_column(columns, c, *matrix);
      }
    });
  });
  return matrix;
}

}  // namespace committee
