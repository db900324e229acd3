// Which rows of a column that is kept as entries lie in a node.
#pragma once
#include <algorithm>
#include <atomic>

#include "committee/binning.hpp"

namespace committee {

// Every row has the name of its node: the root's is 0, the larger child keeps its parent's. Threads
// that grow different subtrees name different rows.
template <class Item>
class EntryRows {
 public:
  EntryRows(std::size_t n_rows, std::span<const Item> items)
      : names_(n_rows, kMissingCode), items_(n_rows) {
    for (const Item& item : items) {
      names_[item.row] = 0;
      items_[item.row] = item;
    }
  }

  // A new name for some rows.
  u32 rename(std::span<const Item> rows) {
    const u32 name = n_names_.fetch_add(1, kRelaxed);
    for (const Item& item : rows) name_of(item.row).store(name, kRelaxed);
    return name;
  }

  // use(entry, item) for the entries of a column in the rows of a node, ascending: all entries are
  // gone through, or those of few rows searched for.
  template <class Use>
  void visit(const ColumnEntries::View& listed, std::span<const Item> rows, u32 name, Use&& use) {
    if (listed.rows.size() <= kStepsPerSearch * rows.size()) {
      for (std::size_t e = 0; e < listed.rows.size(); ++e) {
        const u32 row = listed.rows[e];
        if (name_of(row).load(kRelaxed) == name) use(e, items_[row]);
      }
      return;
    }
    auto at = listed.rows.begin();
    for (const Item& item : rows) {
      at = std::lower_bound(at, listed.rows.end(), item.row);
      if (at == listed.rows.end()) return;
      if (*at == item.row) use(static_cast<std::size_t>(at - listed.rows.begin()), item);
    }
  }

 private:
  static constexpr std::size_t kStepsPerSearch = 16;
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  std::atomic_ref<u32> name_of(u32 row) { return std::atomic_ref<u32>(names_[row]); }

  std::atomic<u32> n_names_ = 1;
  AlignedBuffer<u32> names_;  // per row; kMissingCode: not in the sample
  AlignedBuffer<Item> items_;
};

}  // namespace committee
