// Which rows of a column that is kept as entries lie in a node.
#pragma once
#include <algorithm>
#include <atomic>

#include "committee/binning.hpp"

namespace committee {

// Every row has the name of its node: the root's is 0, the larger child keeps its parent's. Threads
// that grow different subtrees name and move different rows.
template <class Item>
class EntryRows {
 public:
  // keeps_order: the rows of a node stay ascending. Else few of them are moved past many, at the
  // cost of the few.
  EntryRows(std::size_t n_rows, std::span<Item> items, bool keeps_order)
      : keeps_order_(keeps_order),
        all_(items),
        names_(n_rows, kMissingCode),
        items_(n_rows),
        positions_(keeps_order ? 0 : n_rows) {
    for (const Item& item : items) {
      names_[item.row] = 0;
      items_[item.row] = item;
    }
    note_positions(0, items.size());
  }
  bool keeps_order() const { return keeps_order_; }

  // A new name for some rows.
  u32 rename(std::span<const Item> rows) {
    const u32 name = n_names_.fetch_add(1, kRelaxed);
    for (const Item& item : rows) name_of(item.row).store(name, kRelaxed);
    return name;
  }

  // use(entry, item) for the entries of a column in the rows of a node: all entries are gone
  // through, ascending, or those of few rows searched for.
  template <class Use>
  void visit(const ColumnEntries::View& listed, std::span<const Item> rows, u32 name, Use&& use) {
    if (listed.rows.size() <= kStepsPerSearch * rows.size()) {
      for (std::size_t e = 0; e < listed.rows.size(); ++e) {
        const u32 row = listed.rows[e];
        if (name_of(row).load(kRelaxed) == name) use(e, items_[row]);
      }
      return;
    }
    auto from = listed.rows.begin();
    for (const Item& item : rows) {
      const auto at = std::lower_bound(from, listed.rows.end(), item.row);
      if (at != listed.rows.end() && *at == item.row)
        use(static_cast<std::size_t>(at - listed.rows.begin()), item);
      if (keeps_order_) from = at;
    }
  }

  // Moves some rows of a node to its begin or to its end; only if the order need not be kept.
  void move(std::size_t begin, std::size_t end, std::span<const Item> moved, bool to_left) {
    std::size_t to = to_left ? begin : end - moved.size();
    for (const Item& item : moved) {
      const std::size_t at = positions_[item.row];
      positions_[all_[to].row] = static_cast<u32>(at);
      std::swap(all_[at], all_[to]);
      positions_[item.row] = static_cast<u32>(to++);
    }
  }
  // After rows begin .. end - 1 were moved by somebody else.
  void note_positions(std::size_t begin, std::size_t end) {
    if (keeps_order_) return;
    for (std::size_t i = begin; i < end; ++i) positions_[all_[i].row] = static_cast<u32>(i);
  }
  // Rows of a leaf, whose values are added up in this order.
  void sort(std::size_t begin, std::size_t end) {
    if (keeps_order_) return;
    std::sort(all_.begin() + static_cast<std::ptrdiff_t>(begin),
              all_.begin() + static_cast<std::ptrdiff_t>(end),
              [](const Item& a, const Item& b) { return a.row < b.row; });
  }

 private:
  static constexpr std::size_t kStepsPerSearch = 16;
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  std::atomic_ref<u32> name_of(u32 row) { return std::atomic_ref<u32>(names_[row]); }

  const bool keeps_order_;
  const std::span<Item> all_;
  std::atomic<u32> n_names_ = 1;
  AlignedBuffer<u32> names_;      // per row; kMissingCode: not in the sample
  AlignedBuffer<Item> items_;     // per row
  AlignedBuffer<u32> positions_;  // per row: where its item is
};

}  // namespace committee
