#include "tree/fast/extra_trees_rules.hpp"

namespace committee {

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

bool ExtraTreesTable::fits(const BinnedMatrix& data) {
  return data.groups.size() == 1 &&
         std::all_of(data.bins->begin(), data.bins->end(), &RandomThresholds::fits);
}

ExtraTreesTable::ExtraTreesTable(const BinnedMatrix& binned)
    : data(&binned),
      columns(binned.bins->begin(), binned.bins->end()),
      has_missing(committee::has_missing(binned)) {}

}  // namespace committee
