// The order of every column's values, once for all exact splits.
#include "binning/find_bins.hpp"
#include "binning/training_rows.hpp"

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

 private:
  void rank_values(std::size_t present, const u32* order, u32* rank,
                   std::vector<double>& distinct) {
    const auto* keys = sorter_.keys();
    for (std::size_t k = 0; k < present; ++k) {
      if (k == 0 || keys[k] != keys[k - 1]) distinct.push_back(read_key(keys[k]));
      rank[order[k]] = static_cast<u32>(distinct.size() - 1);
    }
  }

  static void rank_codes(const T* values, std::size_t present, u32 n_levels, const u32* order,
                         u32* rank, std::vector<double>& distinct) {
    for (std::size_t k = 0; k < present; ++k) rank[order[k]] = static_cast<u32>(values[order[k]]);
    distinct.resize(n_levels);
    for (u32 code = 0; code < n_levels; ++code) distinct[code] = code;
  }

  std::size_t n_;
  KeySorter<KeyOf<T>> sorter_;
};

template <class T>
void sort_block(const MatrixView& x, std::span<const u32> n_levels, std::size_t first_col,
                std::size_t n_cols, InterruptWatch& watch, Presort& out) {
  const std::size_t n = x.n_rows;
  AlignedBuffer<T> values(n * n_cols);
  gather_columns(x, RowSet{n, {}}, first_col, n_cols, values.data(), watch);
  ColumnSorter<T> sorter(n);
  for (std::size_t c = 0; c < n_cols; ++c) {
    watch.poll();
    const std::size_t col = first_col + c;
    sorter.sort(values.data() + c * n, n_levels[col], out.order.data() + col * n,
                out.rank.data() + col * n, out.values[col]);
  }
}

}  // namespace

std::shared_ptr<const Presort> presort_columns(const MatrixView& x, std::span<const u32> n_levels,
                                               int n_jobs, InterruptWatch& watch) {
  check_fit_arguments(x.n_rows, x.n_cols, 0, n_levels, kMaxValueBins);
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
    x.is_double ? sort_block<double>(x, n_levels, first, n_cols, watch, *out)
                : sort_block<float>(x, n_levels, first, n_cols, watch, *out);
  });
  return out;
}

}  // namespace committee
