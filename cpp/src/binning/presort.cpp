// The order of every column's values, once for all exact splits.
#include "binning/bin_lookup.hpp"
#include "binning/find_bins.hpp"
#include "binning/training_rows.hpp"
#include "committee/sorted_table.hpp"

namespace committee {
namespace {

constexpr double kMinSortedPerThread = 32'768;

template <class T>
class ColumnSorter {
 public:
  explicit ColumnSorter(std::size_t n_rows) : n_(n_rows), sorter_(n_rows, true) {}

  // n_levels 0: numeric.
  void sort(const T* values, u32 n_levels, u32* order, u32* rank, std::vector<double>& distinct) {
    std::size_t present = 0, missing = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const bool is_missing =
          n_levels ? read_code(values[i], n_levels) == kMissingCode : values[i] != values[i];
      if (is_missing) {
        rank[i] = kMissingCode;
        order[n_ - ++missing] = static_cast<u32>(i);
      } else {
        sorter_.keys()[present] = make_key(values[i]);
        sorter_.rows()[present++] = static_cast<u32>(i);
      }
    }
    std::reverse(order + present, order + n_);
    sorter_.sort(present);
    std::copy_n(sorter_.rows(), present, order);
    if (n_levels) {
      rank_codes(values, present, n_levels, order, rank, distinct);
    } else {
      rank_values(present, order, rank, distinct);
    }
  }

  // Of the numeric column that was sorted last: of each distinct value, how many rows have it or a
  // smaller one.
  std::span<const u64> cumulative() const { return cumulative_; }

 private:
  void rank_values(std::size_t present, const u32* order, u32* rank,
                   std::vector<double>& distinct) {
    const auto* keys = sorter_.keys();
    cumulative_.resize(present);
    std::size_t n_distinct = 0;
    for (std::size_t k = 0; k < present; ++k) {
      rank[order[k]] = static_cast<u32>(n_distinct);
      cumulative_[n_distinct] = k + 1;
      n_distinct += k + 1 == present || keys[k + 1] != keys[k];
    }
    cumulative_.resize(n_distinct);
    distinct.resize(n_distinct);
    for (std::size_t v = 0; v < n_distinct; ++v) distinct[v] = read_key(keys[cumulative_[v] - 1]);
  }

  static void rank_codes(const T* values, std::size_t present, u32 n_levels, const u32* order,
                         u32* rank, std::vector<double>& distinct) {
    for (std::size_t k = 0; k < present; ++k) rank[order[k]] = static_cast<u32>(values[order[k]]);
    distinct.resize(n_levels);
    for (u32 code = 0; code < n_levels; ++code) distinct[code] = code;
  }

  std::size_t n_;
  KeySorter<KeyOf<T>> sorter_;
  std::vector<u64> cumulative_;
};

// The bins of columns that are sorted already.
class SortedBins {
 public:
  SortedBins(std::size_t n_rows, std::span<const u32> n_levels, int max_bins)
      : n_levels_(n_levels),
        max_bins_(static_cast<std::size_t>(max_bins)),
        columns_(std::make_shared<std::vector<ColumnBins>>(n_levels.size())) {
    for (std::size_t c = 0; c < n_levels.size(); ++c)
      if (n_levels[c] > 0) (*columns_)[c] = describe_categories(n_levels[c], false);
    matrix_ = allocate_binned(n_rows, n_levels.size(), columns_);
  }

  // cumulative: of each distinct value how many rows have it or a smaller one.
  template <class T>
  void write(std::size_t col, const T* values, const Presort& presort,
             std::span<const u64> cumulative) {
    const std::size_t n = presort.n_rows;
    u8* const bytes = matrix_->columns.data() + col * matrix_->column_stride;
    ColumnBins& bins = (*columns_)[col];
    if (bins.categorical) {
      bins.wide ? write_wide_codes(values, n, n_levels_[col], bytes, matrix_->wide[col].data())
                : write_codes(values, n, n_levels_[col], bytes);
      bins.has_missing = std::find(bytes, bytes + n, u8{kMissingBin}) != bytes + n;
      return;
    }
    const u32* const order = presort.order.data() + col * n;
    const std::size_t n_present = cumulative.empty() ? 0 : cumulative.back();
    std::vector<std::size_t> ends;
    if (cumulative.size() > max_bins_) ends = share_bins(cumulative, max_bins_);
    bins = bound_bins(cumulative.size(), ends, n_present < n,
                      [&](std::size_t i) { return presort.values[col][i]; });
    std::size_t k = 0;
    for (std::size_t b = 0; b < bins.n_bins; ++b) {
      const u64 end = cumulative[ends.empty() ? b : ends[b] - 1];
      for (; k < end; ++k) bytes[order[k]] = static_cast<u8>(b);
    }
    for (; k < n; ++k) bytes[order[k]] = kMissingBin;
  }

  std::shared_ptr<const BinnedMatrix> finish() { return std::move(matrix_); }

 private:
  std::span<const u32> n_levels_;
  std::size_t max_bins_;
  std::shared_ptr<std::vector<ColumnBins>> columns_;
  std::shared_ptr<BinnedMatrix> matrix_;
};

template <class T>
void sort_block(const MatrixView& x, std::span<const u32> n_levels, std::size_t first_col,
                std::size_t n_cols, InterruptWatch& watch, Presort& out, SortedBins* bins) {
  const std::size_t n = x.n_rows;
  AlignedBuffer<T> values(n * n_cols);
  gather_columns(x, RowSet{n, {}}, first_col, n_cols, values.data(), watch);
  ColumnSorter<T> sorter(n);
  for (std::size_t c = 0; c < n_cols; ++c) {
    watch.poll();
    const std::size_t col = first_col + c;
    sorter.sort(values.data() + c * n, n_levels[col], out.order.data() + col * n,
                out.rank.data() + col * n, out.values[col]);
    if (bins) bins->write(col, values.data() + c * n, out, sorter.cumulative());
  }
}

// bins: null, or what else is made of the sorted columns.
std::shared_ptr<const Presort> sort_table(const MatrixView& x, std::span<const u32> n_levels,
                                          int n_jobs, InterruptWatch& watch, SortedBins* bins) {
  if (x.n_rows >= kMissingCode) {
    throw std::invalid_argument("exact splits need fewer than 2^32 - 1 rows; got " +
                                std::to_string(x.n_rows) + ".");
  }
  if (x.n_cols > 0 && x.n_rows > std::numeric_limits<std::size_t>::max() / x.n_cols) {
    throw std::bad_alloc();
  }
  auto out = std::make_shared<Presort>();
  out->n_rows = x.n_rows;
  out->n_cols = x.n_cols;
  out->order = AlignedBuffer<u32>(x.n_rows * x.n_cols);
  out->rank = AlignedBuffer<u32>(x.n_rows * x.n_cols);
  out->values.resize(x.n_cols);
  const double work = static_cast<double>(x.n_rows) * static_cast<double>(x.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinSortedPerThread);
  const std::size_t width = choose_block_columns(x, n_threads);
  parallel_for((x.n_cols + width - 1) / width, n_threads, [&](std::size_t block) {
    const std::size_t first = block * width, n_cols = std::min(width, x.n_cols - first);
    x.is_double ? sort_block<double>(x, n_levels, first, n_cols, watch, *out, bins)
                : sort_block<float>(x, n_levels, first, n_cols, watch, *out, bins);
  });
  return out;
}

}  // namespace

std::shared_ptr<const Presort> presort_columns(const MatrixView& x, std::span<const u32> n_levels,
                                               int n_jobs, InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, 0, n_levels, kMaxValueBins);
  return sort_table(x, n_levels, n_jobs, watch, nullptr);
}

SortedTable sort_and_bin(const MatrixView& x, std::span<const u32> n_levels, int max_bins,
                         int n_jobs, InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, 0, n_levels, max_bins);
  if (!choose_training_rows(x.n_rows, {}).is_complete()) {
    const BinMapper mapper = BinMapper::fit(x, {}, n_levels, max_bins, n_jobs, watch);
    auto binned = mapper.transform(x, n_jobs, watch);
    return {sort_table(x, n_levels, n_jobs, watch, nullptr), std::move(binned)};
  }
  SortedBins bins(x.n_rows, n_levels, max_bins);
  auto presort = sort_table(x, n_levels, n_jobs, watch, &bins);
  return {std::move(presort), bins.finish()};
}

}  // namespace committee
