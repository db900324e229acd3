#include <algorithm>

#include "binning/bin_lookup.hpp"
#include "committee/binning.hpp"

namespace committee {

namespace {

void select_entries(const BinnedMatrix& from, std::span<const u32> columns, BinnedMatrix& made) {
  auto entries = std::make_unique<ColumnEntries>();
  entries->starts = AlignedBuffer<u64>(columns.size() + 1, 0);
  entries->rest = AlignedBuffer<u8>(columns.size());
  entries->places = AlignedBuffer<u32>(columns.size(), kMissingCode);
  u32 n_filled = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const ColumnEntries::View listed = from.entries->column(columns[c]);
    entries->starts[c + 1] = entries->starts[c] + listed.rows.size();
    entries->rest[c] = listed.rest;
    if (from.entries->has_bytes(columns[c])) entries->places[c] = n_filled++;
  }
  entries->find_occupied();
  entries->rows = AlignedBuffer<u32>(entries->starts[columns.size()]);
  entries->bins = AlignedBuffer<u8>(entries->starts[columns.size()]);
  made.columns = AlignedBuffer<u8>(n_filled * made.column_stride);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const ColumnEntries::View listed = from.entries->column(columns[c]);
    std::copy(listed.rows.begin(), listed.rows.end(), entries->rows.data() + entries->starts[c]);
    std::copy_n(listed.bins, listed.rows.size(), entries->bins.data() + entries->starts[c]);
    if (entries->has_bytes(c))
      std::copy_n(from.column(columns[c]), made.column_stride,
                  made.columns.data() + entries->places[c] * made.column_stride);
  }
  made.entries = std::move(entries);
}

void slice_entries(const BinnedMatrix& from, std::size_t begin, std::size_t end,
                   BinnedMatrix& made) {
  const ColumnEntries& listed = *from.entries;
  auto entries = std::make_unique<ColumnEntries>();
  entries->starts = AlignedBuffer<u64>(from.n_cols + 1, 0);
  entries->rest = AlignedBuffer<u8>(from.n_cols);
  entries->places = AlignedBuffer<u32>(from.n_cols);
  std::vector<u32> rows;
  std::vector<u8> bins;
  u32 n_filled = 0;
  for (std::size_t c = 0; c < from.n_cols; ++c) {
    const ColumnEntries::View column = listed.column(c);
    const auto first = std::lower_bound(column.rows.begin(), column.rows.end(), begin);
    const auto last = std::lower_bound(first, column.rows.end(), end);
    for (auto row = first; row != last; ++row) {
      rows.push_back(*row - static_cast<u32>(begin));
      bins.push_back(column.bins[row - column.rows.begin()]);
    }
    entries->starts[c + 1] = rows.size();
    entries->rest[c] = column.rest;
    entries->places[c] = listed.places[c];
    n_filled += listed.has_bytes(c);
  }
  entries->find_occupied();
  entries->rows = AlignedBuffer<u32>(rows.size());
  entries->bins = AlignedBuffer<u8>(bins.size());
  std::copy(rows.begin(), rows.end(), entries->rows.data());
  std::copy(bins.begin(), bins.end(), entries->bins.data());
  made.columns = AlignedBuffer<u8>(n_filled * made.column_stride, 0);
  for (std::size_t c = 0; c < n_filled; ++c)
    std::copy_n(from.columns.data() + c * from.column_stride + begin, end - begin,
                made.columns.data() + c * made.column_stride);
  made.entries = std::move(entries);
}

}  // namespace

std::shared_ptr<const BinnedMatrix> select_columns(const BinnedMatrix& from,
                                                   std::span<const u32> columns) {
  auto bins = std::make_shared<std::vector<ColumnBins>>();
  for (const u32 column : columns) {
    if (column >= from.n_cols)
      throw std::invalid_argument("Columns must be numbers below " + std::to_string(from.n_cols) +
                                  ".");
    bins->push_back((*from.bins)[column]);
  }
  if (from.entries) {
    auto made = allocate_without_columns(from.n_rows, columns.size(), bins);
    select_entries(from, columns, *made);
    return made;
  }
  auto made = allocate_binned(from.n_rows, columns.size(), bins);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::copy_n(from.column(columns[c]), from.n_rows,
                made->columns.data() + c * made->column_stride);
    const AlignedBuffer<u32>& codes = from.wide[columns[c]];
    if (!codes.empty()) std::memcpy(made->wide[c].data(), codes.data(), codes.size() * sizeof(u32));
  }
  return made;
}

std::shared_ptr<const BinnedMatrix> slice_rows(const BinnedMatrix& data, std::size_t begin,
                                               std::size_t end) {
  if (begin > end || end > data.n_rows)
    throw std::invalid_argument("Rows must be numbers up to " + std::to_string(data.n_rows) + ".");
  if (data.entries) {
    auto made = allocate_without_columns(end - begin, data.n_cols, data.bins);
    slice_entries(data, begin, end, *made);
    return made;
  }
  auto made = allocate_binned(end - begin, data.n_cols, data.bins);
  for (std::size_t c = 0; c < data.n_cols; ++c) {
    std::copy_n(data.column(c) + begin, end - begin,
                made->columns.data() + c * made->column_stride);
    const AlignedBuffer<u32>& codes = data.wide[c];
    if (!codes.empty()) std::copy_n(codes.data() + begin, end - begin, made->wide[c].data());
  }
  return made;
}

}  // namespace committee
