// Which columns can vary in a node of a table that is kept as entries.
#pragma once
#include <bit>

#include "committee/binning.hpp"
#include "tree/row_sorting.hpp"

namespace committee {

// Columns that a tree may split by and that any row has an entry of.
class EntryColumns {
 public:
  // chosen: columns that the tree may split by.
  EntryColumns(const BinnedMatrix& data, std::span<const u32> chosen)
      : entries_(*data.entries), n_rows_(data.n_rows), is_chosen_((data.n_cols + 63) / 64, 0) {
    for (const u32 c : chosen) {
      if (!entries_.is_occupied(c)) continue;
      is_chosen_[c / 64] |= u64{1} << (c % 64);
      if (entries_.has_bytes(c)) with_bytes_.push_back(c);
    }
    sort_ascending(with_bytes_);
  }
  // Such columns, ascending.
  std::vector<u32> list_all() const {
    std::vector<u32> columns;
    for (std::size_t word = 0; word < is_chosen_.size(); ++word)
      for (u64 bits = is_chosen_[word]; bits; bits &= bits - 1)
        columns.push_back(static_cast<u32>(64 * word) + static_cast<u32>(std::countr_zero(bits)));
    return columns;
  }
  bool is_chosen(u32 column) const { return (is_chosen_[column / 64] >> (column % 64) & 1) != 0; }
  const std::vector<u32>& with_bytes() const { return with_bytes_; }
  const ColumnEntries::RowColumns& rows() const { return entries_.list_by_row(n_rows_); }
  // About as many entries do some rows have.
  std::size_t guess_entries(std::size_t n_rows) const {
    return n_rows_ == 0 ? 0 : n_rows * (entries_.rows.size() / n_rows_ + 1) + with_bytes_.size();
  }

 private:
  const ColumnEntries& entries_;
  const std::size_t n_rows_;
  std::vector<u64> is_chosen_;  // a bit a column
  std::vector<u32> with_bytes_;
};

// Those that can vary in one node: columns of bytes, and columns of which a row of the node has an
// entry. One thread at a time, one node at a time.
class NodeColumns {
 public:
  template <class Item>
  void collect(const EntryColumns& table, std::size_t n_cols, std::span<const Item> rows) {
    clear();
    bits_.resize((n_cols + 63) / 64, 0);
    for (const u32 column : table.with_bytes()) add(column);
    const ColumnEntries::RowColumns& listed = table.rows();
    for (const Item& item : rows)
      for (const u32 column : listed.row(item.row))
        if (table.is_chosen(column)) add(column);
  }
  void clear() {
    for (const u32 column : columns_) bits_[column / 64] = 0;
    columns_.clear();
  }
  bool has(u32 column) const { return (bits_[column / 64] >> (column % 64) & 1) != 0; }
  // In no order.
  const std::vector<u32>& columns() const { return columns_; }
  const u64* bits() const { return bits_.data(); }

 private:
  void add(u32 column) {
    if (has(column)) return;
    bits_[column / 64] |= u64{1} << (column % 64);
    columns_.push_back(column);
  }
  std::vector<u64> bits_;  // a bit a column, zero between nodes
  std::vector<u32> columns_;
};

}  // namespace committee
