#include "binning/entry_slots.hpp"

namespace committee {

EntrySlots::EntrySlots(const BinnedMatrix& data) {
  if (!data.entries) return;
  const ColumnEntries& entries = *data.entries;
  u64 n_slots = 0;
  starts_.push_back(0);
  for (u32 c = 0; c < data.n_cols; ++c) {
    const ColumnBins& bins = (*data.bins)[c];
    const u32 n_entries = bins.n_bins + (bins.has_missing ? 1 : 0);
    if (n_entries < 2 || entries.has_bytes(c)) continue;
    n_slots += n_entries - 1;
    if (n_slots >= kMissingCode) throw std::length_error("There are too many bins of entries.");
    columns_.push_back(c);
    starts_.push_back(static_cast<u32>(n_slots));
  }
  // use(row, slot) for every entry, column by column.
  const auto visit = [&](auto&& use) {
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const ColumnBins& bins = (*data.bins)[columns_[k]];
      const ColumnEntries::View listed = entries.column(columns_[k]);
      for (std::size_t e = 0; e < listed.rows.size(); ++e) {
        const u8 entry = find_entry(listed.bins[e], bins.n_bins, bins.has_missing);
        if (entry != listed.rest)
          use(listed.rows[e], starts_[k] + entry - (entry > listed.rest ? 1 : 0));
      }
    }
  };
  row_starts_ = AlignedBuffer<u64>(data.n_rows + 1, 0);
  visit([&](u32 row, u32) { ++row_starts_[row + 1]; });
  for (std::size_t row = 0; row < data.n_rows; ++row) row_starts_[row + 1] += row_starts_[row];
  slots_ = AlignedBuffer<u32>(row_starts_[data.n_rows]);
  std::vector<u64> next(row_starts_.data(), row_starts_.data() + data.n_rows);
  visit([&](u32 row, u32 slot) { slots_[next[row]++] = slot; });
}

}  // namespace committee
