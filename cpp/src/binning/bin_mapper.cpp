// Learning the bins of a dense table.
#include <array>
#include <mutex>

#include "binning/bin_lookup.hpp"
#include "binning/training_rows.hpp"
#include "committee/block_binning.hpp"

namespace committee {

void check_fit_arguments(std::size_t n_rows, std::size_t n_cols, std::size_t n_weights,
                         std::span<const u32> n_levels, int max_bins) {
  if (n_weights != 0 && n_weights != n_rows) {
    throw std::invalid_argument("weights must have one entry a row: " + std::to_string(n_rows) +
                                " rows, " + std::to_string(n_weights) + " weights.");
  }
  if (n_levels.size() != n_cols) {
    throw std::invalid_argument("n_levels must have one entry a column: " + std::to_string(n_cols) +
                                " columns, " + std::to_string(n_levels.size()) + " entries.");
  }
  for (const u32 levels : n_levels) {
    if (levels > kMaxLevels)
      throw std::invalid_argument("A column must have at most " + std::to_string(kMaxLevels) +
                                  " categories; got " + std::to_string(levels) + ".");
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

// Learns the bins of columns from the sample of the rows and then, where that is not all of them,
// what only a pass over every row tells. The first is shared by columns, which have to be sorted;
// the second by rows as well, so that many threads do not read few columns of a wide row each.
template <class T>
class ColumnLearner {
 public:
  // `out`: null, or the table that gets the bytes of the columns; the sample has all rows then, and
  // no column is wide.
  ColumnLearner(const MatrixView& x, const TrainingRows& rows, std::span<const u32> n_levels,
                int max_bins, InterruptWatch& watch, std::vector<ColumnBins>& columns,
                BinnedMatrix* out)
      : x_(x),
        rows_(rows),
        n_levels_(n_levels),
        max_bins_(max_bins),
        watch_(watch),
        columns_(columns),
        out_(out),
        scans_(rows.is_complete() ? 0 : x.n_cols, FullScan<T>({}, 0)) {}

  void learn(int n_threads) {
    const std::size_t width = choose_block_columns(x_, n_threads);
    if (n_threads > 1 && width == 1 && x_.row_stride != 1 &&
        rows_.sample.size * x_.n_cols * sizeof(T) <= kMostGathered) {
      learn_gathered(n_threads);
    } else {
      // They are put back by destructors, which must not ask for memory.
      rooms_.reserve(static_cast<std::size_t>(n_threads));
      parallel_for((x_.n_cols + width - 1) / width, n_threads, [&](std::size_t block) {
        const RoomOfThread room(*this, width);
        read_sample(block * width, std::min(width, x_.n_cols - block * width), *room);
      });
      rooms_.clear();
    }
    if (!rows_.is_complete()) read_all_rows(n_threads);
  }

 private:
  static bool has_missing_code(const T* values, std::size_t n, u32 levels) {
    return std::any_of(values, values + n,
                       [&](T x) { return read_code(x, levels) == kMissingCode; });
  }

  // Few columns for so many threads: threads that read a column each would all read every row.
  // They read some rows each, and then have the columns one after the other.
  void learn_gathered(int n_threads) {
    const std::size_t n = rows_.sample.size;
    ReturnedBuffer<T> values(n * x_.n_cols);
    parallel_for((n + kTileRows - 1) / kTileRows, n_threads, [&](std::size_t tile) {
      const std::size_t first = tile * kTileRows, count = std::min(kTileRows, n - first);
      watch_.poll();
      for (std::size_t c = 0; c < x_.n_cols; ++c)
        gather_values(x_, rows_.sample, first, count, c, values.data() + c * n + first);
    });
    parallel_for(x_.n_cols, n_threads, [&](std::size_t col) {
      DistinctValues<T> distinct(n, !rows_.weights.empty());
      learn_column(values.data() + col * n, col, distinct);
    });
  }

  // What a thread needs to learn some columns.
  struct Room {
    ReturnedBuffer<T> values;
    DistinctValues<T> distinct;
  };
  // One that another block has left, or a new one.
  class RoomOfThread {
   public:
    RoomOfThread(ColumnLearner& learner, std::size_t n_cols) : learner_(learner) {
      std::unique_lock lock(learner_.mutex_);
      if (!learner_.rooms_.empty()) {
        room_ = std::move(learner_.rooms_.back());
        learner_.rooms_.pop_back();
        return;
      }
      lock.unlock();
      const std::size_t n = learner_.rows_.sample.size;
      room_.reset(new Room{ReturnedBuffer<T>(n * n_cols),
                           DistinctValues<T>(n, !learner_.rows_.weights.empty())});
    }
    RoomOfThread(const RoomOfThread&) = delete;
    RoomOfThread& operator=(const RoomOfThread&) = delete;
    ~RoomOfThread() {
      const std::lock_guard lock(learner_.mutex_);
      learner_.rooms_.push_back(std::move(room_));
    }
    Room& operator*() const { return *room_; }

   private:
    ColumnLearner& learner_;
    std::unique_ptr<Room> room_;
  };

  void read_sample(std::size_t first_col, std::size_t n_cols, Room& room) {
    const std::size_t n = rows_.sample.size;
    gather_columns(x_, rows_.sample, first_col, n_cols, room.values.data(), watch_);
    for (std::size_t c = 0; c < n_cols; ++c)
      learn_column(room.values.data() + c * n, first_col + c, room.distinct);
  }

  // From the values of the sample; `distinct` is room for work.
  void learn_column(const T* values, std::size_t col, DistinctValues<T>& distinct) {
    const std::size_t n = rows_.sample.size;
    const u64* weights = rows_.weights.empty() ? nullptr : rows_.weights.data();
    const u32 levels = n_levels_[col];
    watch_.poll();
    if (levels > 0) {
      columns_[col] = describe_categories(levels, has_missing_code(values, n, levels));
    } else {
      distinct.collect(values, weights, n);
      columns_[col] = distinct.make_bins(max_bins_);
      if (!rows_.is_complete()) scans_[col] = FullScan<T>(distinct.keys(), max_bins_);
    }
    if (out_) {
      watch_.poll();
      write_bytes(values, col);
    }
  }

  // While the values of the column are in a cache.
  void write_bytes(const T* values, std::size_t col) {
    u8* const to = out_->columns.data() + col * out_->column_stride;
    if (n_levels_[col] > 0) {
      write_codes(values, x_.n_rows, n_levels_[col], to);
    } else {
      BinTable<T>(columns_[col]).find_bins(values, x_.n_rows, to);
    }
  }

  void read_all_rows(int n_threads) {
    const std::size_t n_blocks = (x_.n_cols + kScanColumns - 1) / kScanColumns;
    const std::size_t n_tiles = (rows_.all.size + kTileRows - 1) / kTileRows;
    const std::size_t wanted = kScansPerThread * static_cast<std::size_t>(n_threads) / n_blocks;
    const std::size_t n_parts = n_threads == 1 ? 1 : std::clamp<std::size_t>(wanted, 1, n_tiles);
    parallel_for(n_blocks * n_parts, n_threads, [&](std::size_t task) {
      const std::size_t part = task % n_parts, first_col = task / n_parts * kScanColumns;
      scan_rows(first_col, std::min(kScanColumns, x_.n_cols - first_col),
                n_tiles * part / n_parts * kTileRows,
                std::min(n_tiles * (part + 1) / n_parts * kTileRows, rows_.all.size));
    });
    for (std::size_t c = 0; c < x_.n_cols; ++c) {
      if (!columns_[c].categorical) scans_[c].finish(columns_[c]);
    }
  }

  // Whole tiles of rows, from one to another. What is found does not depend on the order in which
  // parts are merged.
  void scan_rows(std::size_t first_col, std::size_t n_cols, std::size_t first_row,
                 std::size_t last_row) {
    std::unique_lock lock(mutex_);
    const auto from = scans_.begin() + static_cast<std::ptrdiff_t>(first_col);
    std::vector<FullScan<T>> scans(from, from + static_cast<std::ptrdiff_t>(n_cols));
    lock.unlock();
    std::array<bool, kScanColumns> missing{};
    T tile[kTileRows];
    for (std::size_t first = first_row; first < last_row; first += kTileRows) {
      if (first % kPollTableRows == 0) watch_.poll();
      const std::size_t count = std::min(kTileRows, last_row - first);
      for (std::size_t c = 0; c < n_cols; ++c) {
        const u32 levels = n_levels_[first_col + c];
        if (missing[c]) continue;
        gather_values(x_, rows_.all, first, count, first_col + c, tile);
        if (levels > 0) {
          missing[c] = has_missing_code(tile, count, levels);
        } else {
          scans[c].add(tile, count);
        }
      }
    }
    lock.lock();
    for (std::size_t c = 0; c < n_cols; ++c) {
      scans_[first_col + c].merge(scans[c]);
      columns_[first_col + c].has_missing |= missing[c];
    }
  }

  // Bytes that the values of a sample may take for all columns at once.
  static constexpr std::size_t kMostGathered = std::size_t{64} << 20;
  static constexpr std::size_t kScanColumns = 16;  // whose values are read side by side
  static constexpr std::size_t kScansPerThread = 4;
  const MatrixView& x_;
  const TrainingRows& rows_;
  std::span<const u32> n_levels_;
  int max_bins_;
  InterruptWatch& watch_;
  std::vector<ColumnBins>& columns_;
  BinnedMatrix* out_;
  std::vector<FullScan<T>> scans_;
  std::vector<std::unique_ptr<Room>> rooms_;
  std::mutex mutex_;  // of what parts have found, and of the rooms
};

// One of `columns` a column of x; for `out` see ColumnLearner.
void learn_columns(const MatrixView& x, const TrainingRows& rows, std::span<const u32> n_levels,
                   int max_bins, int n_jobs, InterruptWatch& watch,
                   std::vector<ColumnBins>& columns, BinnedMatrix* out = nullptr) {
  const double work = static_cast<double>(rows.sample.size) * static_cast<double>(x.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinValuesPerThread);
  const auto learn = [&]<class T>(T) {
    ColumnLearner<T>(x, rows, n_levels, max_bins, watch, columns, out).learn(n_threads);
  };
  x.is_double ? learn(double()) : learn(float());
}

}  // namespace

BinMapper BinMapper::fit(const MatrixView& x, std::span<const double> weights,
                         std::span<const u32> n_levels, int max_bins, int n_jobs,
                         InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, weights.size(), n_levels, max_bins);
  const TrainingRows rows = choose_training_rows(x.n_rows, weights);
  std::vector<ColumnBins> columns(x.n_cols);
  learn_columns(x, rows, n_levels, max_bins, n_jobs, watch, columns);
  return BinMapper(std::move(columns));
}

std::shared_ptr<const BinnedMatrix> BinMapper::fit_transform(const MatrixView& x,
                                                             std::span<const double> weights,
                                                             std::span<const u32> n_levels,
                                                             int max_bins, int n_jobs,
                                                             InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, weights.size(), n_levels, max_bins);
  const TrainingRows rows = choose_training_rows(x.n_rows, weights);
  const auto columns = std::make_shared<std::vector<ColumnBins>>(x.n_cols);
  const bool has_wide = std::any_of(n_levels.begin(), n_levels.end(), [](u32 levels) {
    return levels > static_cast<u32>(kMaxValueBins);
  });
  if (has_wide || rows.sample.size < x.n_rows) {
    learn_columns(x, rows, n_levels, max_bins, n_jobs, watch, *columns);
    return BinMapper(std::move(*columns)).transform(x, n_jobs, watch);
  }
  const auto matrix = allocate_binned(x.n_rows, x.n_cols, columns);
  learn_columns(x, rows, n_levels, max_bins, n_jobs, watch, *columns, matrix.get());
  return matrix;
}

BinSample choose_bin_sample(std::size_t n_rows, std::span<const double> weights) {
  check_fit_arguments(n_rows, 0, weights.size(), {}, kMaxValueBins);
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
  check_fit_arguments(sample.n_rows, sample.n_cols, weights.size(), n_levels, max_bins);
  TrainingRows rows;
  rows.all.size = rows.sample.size = sample.n_rows;
  rows.weights.assign(weights.begin(), weights.end());
  std::vector<ColumnBins> columns(sample.n_cols);
  learn_columns(sample, rows, n_levels, max_bins, n_jobs, watch, columns);
  if (summary) summary->finish(columns);
  return BinMapper(std::move(columns));
}

}  // namespace committee
