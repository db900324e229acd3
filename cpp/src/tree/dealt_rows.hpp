// Sorted rows of many subtrees at once: the order of each column's values is read once, and each
// row dealt to the subtree that it belongs to. That costs less than sorting the rows of each.
#pragma once
#include "split/split_candidate.hpp"
#include "tree/growth_context.hpp"

namespace committee {

// Of one thread at a time.
class DealtRows {
 public:
  // Rows that a group of subtrees may have together, for so many features.
  static std::size_t most_rows(std::size_t n_features) {
    return kListBytes / (sizeof(u64) * n_features);
  }

  // Begins a group of subtrees of a table of so many rows.
  void open(std::size_t n_rows) {
    owners_.assign(n_rows, kNone);
    begins_.assign(1, 0);
  }
  // A subtree of at most kExactRows rows; their places are those among the items.
  template <class Item>
  void add(std::span<const Item> items) {
    const u32 owner = static_cast<u32>(begins_.size() - 1) << kPlaceBits;
    for (u32 place = 0; place < items.size(); ++place) owners_[items[place].row] = owner | place;
    begins_.push_back(begins_.back() + items.size());
  }
  // When all are there.
  void deal(const Presort& presort, std::span<const u32> features, InterruptWatch& watch);
  // The rows of a subtree, by its number: code << 32 | place, missing ones last.
  SortedRows list(std::size_t subtree, u32 feature) const {
    SortedRows rows;
    const std::size_t n = begins_[subtree + 1] - begins_[subtree];
    rows.keyed = {entries_.data() + slots_[feature] * begins_.back() + begins_[subtree], n};
    for (std::size_t i = n; i-- > 0 && rows.keyed[i] >> 32 == kMissingCode;) ++rows.n_missing;
    return rows;
  }

 private:
  static constexpr int kPlaceBits = 8;
  static_assert(kExactRows <= 1 << kPlaceBits);

  std::vector<u32> owners_;          // of each row: subtree << kPlaceBits | place, or kNone
  std::vector<std::size_t> begins_;  // of each subtree among the rows of all; their number
  std::vector<std::size_t> slots_;   // of each feature that was dealt
  AlignedBuffer<u64> entries_;       // of a feature all subtrees, one behind the other
};

}  // namespace committee
