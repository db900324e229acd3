// The bins of a run of features of a node's rows, a word a row. Compiled once, for rows of all
// accumulators.
#pragma once
#include "split/histogram.hpp"

namespace committee {

// A lane a feature.
using BinLanes COMMITTEE_VECTOR(kBatch) = u8;

// The range of the bins of up to kBatch features over some rows. Missing is the largest code; a
// step up wraps it to zero, so that it does not count as the largest bin.
struct BinRange {
  BinLanes lo = BinLanes{} - 1, hi_next = BinLanes{}, lo_next = BinLanes{} - 1;

  void take(BinLanes bins) {
    const BinLanes next = bins + 1;
    lo = bins < lo ? bins : lo;
    hi_next = next > hi_next ? next : hi_next;
    lo_next = next < lo_next ? next : lo_next;
  }
};

// The rows of items of any kind, whose first member is the row.
class RowNumbers {
 public:
  template <class Item>
  explicit RowNumbers(std::span<const Item> items)
      : first_(reinterpret_cast<const u8*>(items.data())), step_(sizeof(Item)), n_(items.size()) {
    static_assert(offsetof(Item, row) == 0);
  }
  std::size_t size() const { return n_; }
  u32 operator[](std::size_t i) const {
    u32 row;
    std::memcpy(&row, first_ + i * step_, sizeof row);
    return row;
  }

 private:
  const u8* first_;
  std::size_t step_, n_;
};

// Copies the bins of at most kBatch features, the first in the lowest byte of a word, and finds
// their range.
BinRange gather_from_records(const RecordBlock& block, std::span<const u32> features,
                             const RowNumbers& rows, u64* words);
// The same from columns, which are fewer cache lines where rows are many.
BinRange gather_from_columns(const BinnedMatrix& data, std::span<const u32> features,
                             const RowNumbers& rows, u64* words);

}  // namespace committee
