// Partitioning a node's rows by its split.
#pragma once
#include "split/partition.hpp"
#include "split/split_predicate.hpp"
#include "tree/growth_context.hpp"

namespace committee {

// One byte a row, `stride` bytes apart, and which of its bits count.
struct RowBytes {
  const u8* bytes;
  std::size_t stride;
  u8 mask = 255;
};

// Of one thread at a time. All functions return the number of rows that go left.
template <class Accumulator>
class NodePartition {
 public:
  using Item = typename Accumulator::Item;
  explicit NodePartition(const GrowthContext<Accumulator>& context) : context_(context) {}

  // goes_left(row) or goes_left(index, item).
  template <class GoesLeft>
  std::size_t partition(const NodePosition& node, GoesLeft&& goes_left) {
    if (spare_.size() < node.size()) spare_ = AlignedBuffer<Item>(node.size());
    return partition_items(context_.items + node.begin, node.size(), spare_.data(), goes_left);
  }

  // By the table's columns.
  std::size_t partition_by_table(const NodePosition& node, const Candidate& best) {
    const BinnedMatrix& data = context_.data;
    const ColumnBins& bins = (*data.bins)[best.feature];
    if (bins.wide) return partition_by_codes(node, best, data.wide[best.feature].data(), false);
    if (context_.params.exact && !best.categorical) {
      const u32* ranks = context_.plan.input.presort->rank.data();
      return partition_by_codes(node, best,
                                ranks + static_cast<std::size_t>(best.feature) * data.n_rows, true);
    }
    if (!data.has_bytes(best.feature)) return partition_by_entries(node, best);
    const std::size_t n_left = partition_by_bytes(node, best, {data.column(best.feature), 1});
    if (context_.entry_rows) context_.entry_rows->note_positions(node.begin, node.end);
    return n_left;
  }

  // A bit of its byte goes left where it is not set: its bin is zero.
  std::size_t partition_by_bytes(const NodePosition& node, const Candidate& best,
                                 const RowBytes& codes) {
    const u8* bytes = codes.bytes;
    const std::size_t stride = codes.stride;
    const u32 mask = codes.mask;
    return SplitPredicate(best, (*context_.data.bins)[best.feature], false)
        .visit_bins([&](auto goes_left) {
          return partition(node, [=](u32 row) { return goes_left(bytes[row * stride] & mask); });
        });
  }

 private:
  // The rows that do not go where those without an entry go are moved, or marked if they are many.
  std::size_t partition_by_entries(const NodePosition& node, const Candidate& best) {
    const BinnedMatrix& data = context_.data;
    const ColumnEntries::View listed = data.entries->column(best.feature);
    bool rest_left = false;
    moved_.clear();
    SplitPredicate(best, (*data.bins)[best.feature], false).visit_bins([&](auto goes_left) {
      rest_left = goes_left(listed.rest);
      context_.entry_rows->visit(listed, {context_.items + node.begin, node.size()}, node.name,
                                 [&](std::size_t e, const Item& item) {
                                   if (goes_left(listed.bins[e]) != rest_left)
                                     moved_.push_back(item);
                                 });
    });
    if (!context_.entry_rows->keeps_order()) {
      context_.entry_rows->move(node.begin, node.end, moved_, !rest_left);
      return rest_left ? node.size() - moved_.size() : moved_.size();
    }
    if (moved_.size() * kFewMoved <= node.size())
      return move_items<Item>({context_.items + node.begin, node.size()}, moved_, !rest_left);
    if (marks_.empty()) marks_.resize(data.n_rows, 0);
    u8* const marks = marks_.data();
    for (const Item& item : moved_) marks[item.row] = 1;
    const std::size_t n_left =
        partition(node, [=](u32 row) { return (marks[row] != 0) != rest_left; });
    for (const Item& item : moved_) marks[item.row] = 0;
    return n_left;
  }

  std::size_t partition_by_codes(const NodePosition& node, const Candidate& best, const u32* codes,
                                 bool is_rank) {
    return SplitPredicate(best, (*context_.data.bins)[best.feature], is_rank)
        .visit_codes([&](auto goes_left) {
          return partition(node, [=](u32 row) { return goes_left(codes[row]); });
        });
  }

  const GrowthContext<Accumulator>& context_;
  AlignedBuffer<Item> spare_;
  static constexpr std::size_t kFewMoved = 32;
  std::vector<Item> moved_;
  std::vector<u8> marks_;  // per row, zero between uses
};

}  // namespace committee
