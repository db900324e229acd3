// Facts about every row of a table in blocks; see TableSummary.
#include "binning/byte_stream.hpp"
#include "binning/find_bins.hpp"
#include "binning/training_rows.hpp"
#include "committee/block_binning.hpp"

namespace committee {
namespace {

constexpr double kMinValuesPerScanThread = 262'144;

template <class T>
struct ScannedColumn {
  u32 n_levels;
  FullScan<T> scan;
  bool has_missing = false, has_value = false;  // of a category

  ScannedColumn(u32 levels, int max_bins) : n_levels(levels), scan({}, max_bins) {}

  void add(const T* values, std::size_t n) {
    if (n_levels == 0) {
      scan.add(values, n);
      return;
    }
    for (std::size_t i = 0; i < n && !(has_missing && has_value); ++i) {
      (read_code(values[i], n_levels) == kMissingCode ? has_missing : has_value) = true;
    }
  }
  void merge(const ScannedColumn& other) {
    scan.merge(other.scan);
    has_missing |= other.has_missing;
    has_value |= other.has_value;
  }
  void finish(ColumnBins& bins) const {
    if (n_levels > 0) {
      bins.has_missing |= has_missing;
    } else {
      scan.finish(bins);
    }
  }
  bool is_all_missing() const {
    if (n_levels > 0) return !has_value;
    const auto state = scan.state();
    return state.low > state.high;
  }
};

RowSet select_present(std::size_t n_rows, std::span<const double> weights) {
  RowSet rows;
  rows.size = n_rows;
  if (weights.empty()) return rows;
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (weights[i] > 0.0) rows.rows.push_back(i);
  }
  rows.size = rows.rows.size();
  if (rows.size == n_rows) rows.rows.clear();
  return rows;
}

}  // namespace

struct TableSummary::Columns {
  bool is_double;
  int max_bins;
  std::vector<u32> n_levels;
  std::vector<ScannedColumn<float>> singles;
  std::vector<ScannedColumn<double>> doubles;

  template <class Function>
  void visit(Function&& function) const {
    is_double ? function(doubles) : function(singles);
  }
  template <class Function>
  void visit(Function&& function) {
    is_double ? function(doubles) : function(singles);
  }
  template <class T>
  std::vector<ScannedColumn<T>>& of() {
    if constexpr (std::is_same_v<T, double>) return doubles;
    if constexpr (std::is_same_v<T, float>) return singles;
  }
};

TableSummary::TableSummary(bool is_double, std::span<const u32> n_levels, int max_bins)
    : columns_(new Columns{is_double, max_bins, {n_levels.begin(), n_levels.end()}, {}, {}}) {
  check_fit_arguments(0, n_levels.size(), 0, n_levels, max_bins);
  columns_->visit([&](auto& columns) {
    columns.reserve(n_levels.size());
    for (const u32 levels : n_levels) columns.emplace_back(levels, max_bins);
  });
}

TableSummary::~TableSummary() = default;
TableSummary::TableSummary(TableSummary&&) noexcept = default;

void TableSummary::add(const MatrixView& block, std::span<const double> weights, int n_jobs,
                       InterruptWatch& watch) {
  Columns& own = *columns_;
  if (block.n_cols != own.n_levels.size() || block.is_double != own.is_double) {
    throw std::invalid_argument("The block has other columns, or another type, than the summary.");
  }
  check_fit_arguments(block.n_rows, block.n_cols, weights.size(), own.n_levels, own.max_bins);
  const RowSet rows = select_present(block.n_rows, weights);
  const double work = static_cast<double>(rows.size) * static_cast<double>(block.n_cols);
  const int n_threads = choose_threads(n_jobs, work, kMinValuesPerScanThread);
  const auto scan = [&]<class T>(T, std::size_t col) {
    T tile[kTileRows];
    for (std::size_t first = 0; first < rows.size; first += kTileRows) {
      if (first % kPollTableRows == 0) watch.poll();
      const std::size_t count = std::min(kTileRows, rows.size - first);
      gather_values(block, rows, first, count, col, tile);
      own.of<T>()[col].add(tile, count);
    }
  };
  parallel_for(block.n_cols, n_threads,
               [&](std::size_t col) { own.is_double ? scan(double(), col) : scan(float(), col); });
}

void TableSummary::merge(const TableSummary& other) {
  const Columns& others = *other.columns_;
  Columns& own = *columns_;
  if (own.is_double != others.is_double || own.n_levels != others.n_levels ||
      own.max_bins != others.max_bins) {
    throw std::invalid_argument("Summaries of other columns cannot be merged.");
  }
  for (std::size_t c = 0; c < own.doubles.size(); ++c) own.doubles[c].merge(others.doubles[c]);
  for (std::size_t c = 0; c < own.singles.size(); ++c) own.singles[c].merge(others.singles[c]);
}

void TableSummary::finish(std::vector<ColumnBins>& bins) const {
  const std::vector<u32>& n_levels = columns_->n_levels;
  if (!std::ranges::equal(bins, n_levels, [](const ColumnBins& column, u32 levels) {
        return column.categorical == (levels > 0);
      })) {
    throw std::invalid_argument("The summary has other columns than the sample.");
  }
  columns_->visit([&](const auto& columns) {
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].finish(bins[c]);
  });
}

bool TableSummary::is_all_missing() const {
  bool missing = true;
  columns_->visit([&](const auto& columns) {
    for (const auto& column : columns) missing = missing && column.is_all_missing();
  });
  return missing;
}

std::vector<u8> TableSummary::save() const {
  ByteWriter out;
  out.put<u8>(columns_->is_double);
  out.put<i32>(columns_->max_bins);
  out.put_list(columns_->n_levels);
  columns_->visit([&](const auto& columns) {
    for (const auto& column : columns) {
      const auto state = column.scan.state();
      out.put<u8>(column.has_missing);
      out.put<u8>(column.has_value);
      out.put<u8>(state.counting);
      out.put<u8>(state.has_missing);
      out.put(state.low);
      out.put(state.high);
      out.put_list(state.keys);
    }
  });
  return out.take();
}

TableSummary TableSummary::load(std::span<const u8> bytes) {
  ByteReader in(bytes);
  const bool is_double = in.get_flag();
  const i32 max_bins = in.get<i32>();
  const std::vector<u32> n_levels = in.get_list<u32>(bytes.size());
  TableSummary summary(is_double, n_levels, max_bins);
  const auto restore = [&]<class T>(std::vector<ScannedColumn<T>>& columns) {
    for (ScannedColumn<T>& column : columns) {
      typename FullScan<T>::State state;
      column.has_missing = in.get_flag();
      column.has_value = in.get_flag();
      state.counting = in.get_flag();
      state.has_missing = in.get_flag();
      state.low = in.get<double>();
      state.high = in.get<double>();
      state.keys = in.get_list<KeyOf<T>>(static_cast<std::size_t>(max_bins));
      column.scan.restore(state);
    }
  };
  summary.columns_->visit(restore);
  in.expect_end();
  return summary;
}

}  // namespace committee
