// The rows of a block of extra_trees_values.hpp: they lie in the order of their nodes.
#pragma once
#include "base/u8x16.hpp"
#include "tree/fast/value_cuts.hpp"

namespace committee {

// What a leaf reads of a row.
struct ValueLeafRow {
  double value, weight;
};

// Rows of a node: a range of one of two halves.
struct ValueRange {
  u32 begin, n;
  bool half;
};

// Records of 16 kVectors bytes.
template <int kVectors>
class ValueRows {
 public:
  using Item = MomentAccumulator<false>::Item;
  using Row = ValueRow<kVectors>;
  struct Record {
    RowLanes lanes[kVectors];
  };

  void make_room(std::size_t n) {
    if (leaf_rows_.size() >= n) return;
    for (auto& half : rows_) half = AlignedBuffer<Row>(n + kApart);
    leaf_rows_ = AlignedBuffer<ValueLeafRow>(n);
  }

  // Copies some rows, as the first half. `bins` has all bits of the bytes that are bins; false: one
  // of these is missing somewhere. find_leaf_row(row) has what leaves read.
  template <class FindLeafRow>
  bool copy(const u8* records, std::span<const Item> items, const Record& bins,
            FindLeafRow&& find_leaf_row) {
    constexpr std::size_t kAhead = 16, kStride = kVectors * kRowLanes;
    RowLanes missing{};
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i + kAhead < items.size()) prefetch(records + items[i + kAhead].row * kStride);
      Row& row = rows_[0][i];
      std::memcpy(row.lanes, records + items[i].row * kStride, kStride);
      row.sums = ValueSums::of_row(i, items[i].weight, items[i].wy);
      for (int v = 0; v < kVectors; ++v)
        missing |=
            reinterpret_cast<RowLanes>(row.lanes[v] == RowLanes{} + kMissingBin) & bins.lanes[v];
      if (i % kAtOnce == 0 && largest_lane(missing) != 0) return false;
      leaf_rows_[i] = find_leaf_row(items[i].row);
    }
    return largest_lane(missing) == 0;
  }

  ValueSpan<kVectors> span(const ValueRange& range) const {
    return {at(range.half) + range.begin, range.n};
  }
  const ValueLeafRow& leaf_row(const Row& row) const { return leaf_rows_[row.sums.name()]; }

  // Of a row that becomes a leaf soon.
  void prefetch_leaf_row(const Row& row) const { prefetch(leaf_rows_.data() + row.sums.name()); }

  // Partitions the rows, both sides in their old order; n_left of them go left.
  void partition(ValueRange& range, u32 feature, u32 cut, u32 n_left, ValueRange& right) {
    const Row* from = at(range.half) + range.begin;
    Row* const to = at(!range.half) + range.begin;
    u64 next_left = 0, next_right = n_left;
    for (u32 i = 0; i < range.n; ++i) {
      const u64 is_left = from[i].bins()[feature] <= cut ? 1 : 0;
      // A mask, since a compiler would guess the side.
      const u64 next = next_right ^ ((next_right ^ next_left) & (0 - is_left));
      to[next] = from[i];
      next_left += is_left;
      next_right += is_left ^ 1;
    }
    range.half = !range.half;
    right = {range.begin + n_left, range.n - n_left, range.half};
    range.n = n_left;
  }

 private:
  static constexpr std::size_t kAtOnce = 64;  // missing values are often found soon
  // Rows that the second half begins later: at the same place in a page, a load would wait for the
  // stores before it.
  static constexpr std::size_t kApart = 2048 / sizeof(Row);
  const Row* at(bool half) const { return rows_[half].data() + (half ? kApart : 0); }
  Row* at(bool half) { return rows_[half].data() + (half ? kApart : 0); }

  AlignedBuffer<Row> rows_[2];
  AlignedBuffer<ValueLeafRow> leaf_rows_;
};

}  // namespace committee
