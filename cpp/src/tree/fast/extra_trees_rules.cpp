#include "tree/fast/extra_trees_rules.hpp"

namespace committee {

namespace {

bool has_missing(const BinnedMatrix& data) {
  for (std::size_t col = 0; col < data.n_cols; ++col) {
    const u8* column = data.column(col);
    RowLanes missing{};
    for (std::size_t row = 0; row < data.n_rows; row += kRowLanes)
      missing |= reinterpret_cast<RowLanes>(load_lanes(column + row) == RowLanes{} + kMissingBin);
    if (largest_lane(missing) != 0) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<const ExtraTreesTable> ExtraTreesTable::make(const BinnedMatrix& data) {
  if (data.groups.size() != 1) return nullptr;
  auto table = std::make_unique<ExtraTreesTable>();
  table->data = &data;
  table->columns.reserve(data.n_cols);
  for (const ColumnBins& bins : *data.bins) {
    table->columns.emplace_back(bins);
    if (!table->columns.back().is_usable()) return nullptr;
  }
  table->has_missing = committee::has_missing(data);
  return table;
}

}  // namespace committee
