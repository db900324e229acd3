// Learning the bins of a dense table.
#include "binning/find_bins.hpp"
#include "binning/training_rows.hpp"
#include "committee/block_binning.hpp"
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace committee {

void check_fit_arguments(std::size_t n_rows, std::size_t n_cols, std::size_t n_weights,
                         std::size_t n_levels, int max_bins) {
  if (n_weights != 0 && n_weights != n_rows) {
    throw std::invalid_argument("weights must have one entry a row: " + std::to_string(n_rows) +
                                " rows, " + std::to_string(n_weights) + " weights.");
  }
  if (n_levels != n_cols) {
    throw std::invalid_argument("n_levels must have one entry a column: " + std::to_string(n_cols) +
                                " columns, " + std::to_string(n_levels) + " entries.");
  }
  if (max_bins < 2 || max_bins > kMaxValueBins) {
    throw std::invalid_argument("max_bins must lie in 2 .. 255; got " + std::to_string(max_bins) +
                                ".");
  }
}

ColumnBins describe_categories(u32 n_levels, bool has_missing) {
  ColumnBins bins;
  bins.categorical = true;
  bins.wide = n_levels > static_cast<u32>(kMaxValueBins);
  bins.has_missing = has_missing;
  bins.n_bins = n_levels;
  return bins;
}

namespace {

constexpr double kMinValuesPerThread = 65'536;  // sorting them takes about a millisecond
constexpr double kManyValues = 4e6;

// The C library keeps what a thread has freed for that thread; the peak of a fit would carry what
// sorting many values took, megabytes a thread, to its end.
void return_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// Learns one block of neighbouring columns after another; one per task.
template <class T>
class BlockLearner {
 public:
  BlockLearner(const MatrixView& x, const TrainingRows& rows, std::span<const u32> n_levels,
               int max_bins, InterruptWatch& watch)
      : x_(x), rows_(rows), n_levels_(n_levels), max_bins_(max_bins), watch_(watch) {}

  void learn(std::size_t first_col, std::size_t n_cols, ColumnBins* out) {
    const std::size_t n = rows_.sample.size;
    AlignedBuffer<T> values(n * n_cols);
    gather_columns(x_, rows_.sample, first_col, n_cols, values.data(), watch_);
    const u64* weights = rows_.weights.empty() ? nullptr : rows_.weights.data();
    DistinctValues<T> distinct(n, weights != nullptr);
    std::vector<FullScan<T>> scans;
    for (std::size_t c = 0; c < n_cols; ++c) {
      watch_.poll();
      const u32 levels = n_levels_[first_col + c];
      if (levels > 0) {
        out[c] = describe_categories(levels, has_missing_code(values.data() + c * n, n, levels));
        if (!rows_.is_complete()) scans.emplace_back(std::span<const KeyOf<T>>(), 0);
        continue;
      }
      distinct.collect(values.data() + c * n, weights, n);
      out[c] = distinct.make_bins(max_bins_);
      if (!rows_.is_complete()) scans.emplace_back(distinct.keys(), max_bins_);
    }
    if (!rows_.is_complete()) scan_all_rows(first_col, n_cols, scans, out);
  }

 private:
  static bool has_missing_code(const T* values, std::size_t n, u32 levels) {
    return std::any_of(values, values + n,
                       [&](T x) { return read_code(x, levels) == kMissingCode; });
  }

  void scan_all_rows(std::size_t first_col, std::size_t n_cols, std::vector<FullScan<T>>& scans,
                     ColumnBins* out) {
    T tile[kTileRows];
    for (std::size_t first = 0; first < rows_.all.size; first += kTileRows) {
      if (first % kPollTableRows == 0) watch_.poll();
      const std::size_t count = std::min(kTileRows, rows_.all.size - first);
      for (std::size_t c = 0; c < n_cols; ++c) {
        const u32 levels = n_levels_[first_col + c];
        if (levels > 0 && out[c].has_missing) continue;
        gather_values(x_, rows_.all, first, count, first_col + c, tile);
        if (levels > 0) {
          out[c].has_missing = has_missing_code(tile, count, levels);
        } else {
          scans[c].add(tile, count);
        }
      }
    }
    for (std::size_t c = 0; c < n_cols; ++c) {
      if (!out[c].categorical) scans[c].finish(out[c]);
    }
  }

  const MatrixView& x_;
  const TrainingRows& rows_;
  std::span<const u32> n_levels_;
  int max_bins_;
  InterruptWatch& watch_;
};

std::vector<ColumnBins> learn_columns(const MatrixView& x, const TrainingRows& rows,
                                      std::span<const u32> n_levels, int max_bins, int n_jobs,
                                      InterruptWatch& watch) {
  const double work = static_cast<double>(rows.sample.size) * static_cast<double>(x.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinValuesPerThread);
  const std::size_t width = choose_block_columns(x, n_threads);
  std::vector<ColumnBins> columns(x.n_cols);
  const auto learn = [&]<class T>(T, std::size_t block) {
    const std::size_t first = block * width;
    BlockLearner<T>(x, rows, n_levels, max_bins, watch)
        .learn(first, std::min(width, x.n_cols - first), &columns[first]);
  };
  parallel_for((x.n_cols + width - 1) / width, n_threads, [&](std::size_t block) {
    x.is_double ? learn(double(), block) : learn(float(), block);
  });
  if (work > kManyValues) return_memory();
  return columns;
}

}  // namespace

BinMapper BinMapper::fit(const MatrixView& x, std::span<const double> weights,
                         std::span<const u32> n_levels, int max_bins, int n_jobs,
                         InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, weights.size(), n_levels.size(), max_bins);
  const TrainingRows rows = choose_training_rows(x.n_rows, weights);
  return BinMapper(learn_columns(x, rows, n_levels, max_bins, n_jobs, watch));
}

BinSample choose_bin_sample(std::size_t n_rows, std::span<const double> weights) {
  check_fit_arguments(n_rows, 0, weights.size(), 0, kMaxValueBins);
  TrainingRows chosen = choose_training_rows(n_rows, weights);
  BinSample sample;
  sample.complete = chosen.is_complete();
  sample.rows.resize(chosen.sample.size);
  for (std::size_t k = 0; k < chosen.sample.size; ++k) sample.rows[k] = chosen.sample[k];
  sample.weights = std::move(chosen.weights);
  return sample;
}

BinMapper learn_bins(const MatrixView& sample, std::span<const u64> weights,
                     std::span<const u32> n_levels, int max_bins, const TableSummary* summary,
                     int n_jobs, InterruptWatch& watch) {
  check_fit_arguments(sample.n_rows, sample.n_cols, weights.size(), n_levels.size(), max_bins);
  TrainingRows rows;
  rows.all.size = rows.sample.size = sample.n_rows;
  rows.weights.assign(weights.begin(), weights.end());
  std::vector<ColumnBins> columns = learn_columns(sample, rows, n_levels, max_bins, n_jobs, watch);
  if (summary) summary->finish(columns);
  return BinMapper(std::move(columns));
}

}  // namespace committee
