#include "binning/bin_lookup.hpp"
#include "committee/binning.hpp"

namespace committee {

std::shared_ptr<const BinnedMatrix> select_columns(const BinnedMatrix& from,
                                                   std::span<const u32> columns) {
  auto bins = std::make_shared<std::vector<ColumnBins>>();
  for (const u32 column : columns) {
    if (column >= from.n_cols)
      throw std::invalid_argument("Columns must be numbers below " + std::to_string(from.n_cols) +
                                  ".");
    bins->push_back((*from.bins)[column]);
  }
  auto made = allocate_binned(from.n_rows, columns.size(), bins);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::memcpy(made->columns.data() + c * made->column_stride, from.column(columns[c]),
                from.n_rows);
    const AlignedBuffer<u32>& codes = from.wide[columns[c]];
    if (!codes.empty()) std::memcpy(made->wide[c].data(), codes.data(), codes.size() * sizeof(u32));
  }
  return made;
}

std::shared_ptr<const BinnedMatrix> slice_rows(const BinnedMatrix& data, std::size_t begin,
                                               std::size_t end) {
  if (begin > end || end > data.n_rows)
    throw std::invalid_argument("Rows must be numbers up to " + std::to_string(data.n_rows) + ".");
  auto made = allocate_binned(end - begin, data.n_cols, data.bins);
  for (std::size_t c = 0; c < data.n_cols; ++c) {
    std::memcpy(made->columns.data() + c * made->column_stride, data.column(c) + begin,
                end - begin);
    const AlignedBuffer<u32>& codes = data.wide[c];
    if (!codes.empty())
      std::memcpy(made->wide[c].data(), codes.data() + begin, (end - begin) * sizeof(u32));
  }
  return made;
}

}  // namespace committee
