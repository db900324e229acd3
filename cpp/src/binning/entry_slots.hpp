// Histograms of columns that are kept as entries (layout 3 of a BinnedMatrix).
#pragma once
#include "committee/binning.hpp"

namespace committee {

// Every bin of a column has a slot, but for the bin of the rows that have no entry: what these add
// up to is the total less the slots, exactly, since all sums are integers. A row lists the slots of
// its entries, so that adding it to a histogram costs as much as it has entries.
class EntrySlots {
 public:
  EntrySlots() = default;
  explicit EntrySlots(const BinnedMatrix& data);

  std::size_t n_slots() const { return starts_.empty() ? 0 : starts_.back(); }
  // The columns that have slots, ascending: those that vary and have no bytes. Slots of
  // columns()[k] are starts()[k] .. starts()[k + 1]: of bins 0 .. n_bins - 1, then of missing
  // values if the column has any, without the bin of all other rows.
  std::span<const u32> columns() const { return columns_; }
  std::span<const u32> starts() const { return starts_; }
  std::span<const u32> row(std::size_t row) const {
    return {slots_.data() + row_starts_[row], row_starts_[row + 1] - row_starts_[row]};
  }
  std::size_t bytes() const {
    return (columns_.size() + starts_.size() + slots_.size()) * sizeof(u32) +
           row_starts_.size() * sizeof(u64);
  }

 private:
  std::vector<u32> columns_, starts_;
  AlignedBuffer<u64> row_starts_;
  AlignedBuffer<u32> slots_;
};

// Which entry of a column's histogram a bin is: missing values are behind the bins. Rows that were
// absent from the learning of the bins may miss a value where no other row does; they add nothing
// to any entry, but the entry must exist.
inline u8 find_entry(u8 bin, u32 n_bins, bool has_missing) {
  return bin != kMissingBin ? bin : has_missing ? static_cast<u8>(n_bins) : u8{0};
}

}  // namespace committee
