// A subtree's rows in the order of each feature's codes: sorted where the subtree begins, and
// partitioned with every node below, which costs less than sorting the rows of each node anew.
#pragma once
#include "split/split_candidate.hpp"
#include "tree/growth_context.hpp"

namespace committee {

// Of one thread at a time, for one subtree at a time. An entry of a list is code << 32 | the row's
// place among the items of the subtree, which is as near to the node's others as can be.
template <class Item>
class SortedLists {
 public:
  SortedLists(std::size_t n_rows, std::size_t n_features)
      : n_features_(n_features),
        most_rows_(kListBytes / (2 * sizeof(u64) * n_features)),
        places_(n_rows) {}

  // Whether the lists of so many rows have room.
  bool fits(std::size_t n_rows) const { return n_rows <= most_rows_; }

  // Begins the subtree of a node with these items, which are partitioned in place from now on.
  void open(const NodePosition& top, const Item* items) {
    begin_ = top.begin;
    stride_ = top.size();
    items_ = items;
    for (u32 place = 0; place < stride_; ++place) places_[items[place].row] = place;
    moves_.resize(stride_);
    for (auto& entries : entries_)
      if (entries.size() < n_features_ * stride_)
        entries = AlignedBuffer<u64>(n_features_ * stride_);
  }
  // The sorted rows of the node that the subtree begins with.
  void put(u32 feature, std::span<const u64> keyed) {
    std::copy(keyed.begin(), keyed.end(), entries_[0].data() + feature * stride_);
  }

  const Item* items() const { return items_; }
  // Of the node's first row.
  std::size_t place_of(const NodePosition& node) const { return node.begin - begin_; }
  SortedRows list(const NodePosition& node, u32 feature) const {
    SortedRows rows;
    rows.keyed = {entries_[is_second(node.lists)].data() + find(node, feature), node.size()};
    for (std::size_t i = node.size(); i-- > 0 && rows.keyed[i] >> 32 == kMissingCode;)
      ++rows.n_missing;
    return rows;
  }

  // Partitions the lists of some features, after the node's items: n_left of them went left.
  void partition(const NodePosition& node, std::size_t n_left, std::span<const u32> features) {
    const std::size_t first = node.begin - begin_;
    for (std::size_t place = first; place < first + node.size(); ++place) {
      u32& old = places_[items_[place].row];
      moves_[old] = static_cast<u32>(place);
      old = static_cast<u32>(place);
    }
    for (std::size_t k = 0; k < features.size(); k += kTogether) {
      u32 some[kTogether];
      for (std::size_t f = 0; f < kTogether; ++f)
        some[f] = features[std::min(k + f, features.size() - 1)];
      partition_lists(node, n_left, some);
    }
  }

 private:
  // Lists side by side: where a node has few rows, the end of a loop is guessed wrong once for all
  // of them.
  static constexpr std::size_t kTogether = 4;

  static bool is_second(NodePosition::Lists lists) { return lists == NodePosition::Lists::second; }
  // Where a node's rows begin in the list of a feature.
  std::size_t find(const NodePosition& node, u32 feature) const {
    return feature * stride_ + (node.begin - begin_);
  }

  void partition_lists(const NodePosition& node, std::size_t n_left,
                       const u32 (&features)[kTogether]) {
    const u32* const moves = moves_.data();
    const u32 first_right = static_cast<u32>(node.begin - begin_ + n_left);
    const u64* list[kTogether];
    u64* partitioned[kTogether];
    u64 next[kTogether];  // positions: of a row that goes left, above it of one that goes right
    for (std::size_t f = 0; f < kTogether; ++f) {
      const std::size_t at = find(node, features[f]);
      list[f] = entries_[is_second(node.lists)].data() + at;
      partitioned[f] = entries_[is_second(node.child_lists())].data() + at;
      next[f] = static_cast<u64>(n_left) << 32;
    }
    for (std::size_t i = 0; i < node.size(); ++i) {
#pragma GCC unroll 4
      for (std::size_t f = 0; f < kTogether; ++f) {
        const u64 entry = list[f][i];
        const u32 place = moves[static_cast<u32>(entry)];
        const u32 side = u32{place >= first_right} * 32;
        partitioned[f][static_cast<u32>(next[f] >> side)] = entry >> 32 << 32 | place;
        next[f] += u64{1} << side;
      }
    }
  }

  const std::size_t n_features_, most_rows_;
  const Item* items_ = nullptr;  // of the subtree
  std::size_t begin_ = 0, stride_ = 0;
  AlignedBuffer<u64> entries_[2];  // a node's lists in one, its children's in the other
  std::vector<u32> places_;        // of each row of the table
  std::vector<u32> moves_;         // by old places: new ones
};

}  // namespace committee
