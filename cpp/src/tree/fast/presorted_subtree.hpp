// Sorted lists of a subtree's rows, one a feature: made once, and partitioned from node to child.
// See split/presorted_rows.hpp.
#pragma once
#include <bit>

#include "base/recompiled.hpp"
#include "split/presorted_rows.hpp"
#include "tree/node_partition.hpp"

namespace committee {

// Lists that are partitioned side by side: where a node has few rows, the end of a loop is guessed
// wrong once for all of them.
inline constexpr std::size_t kListsTogether = 4;

// Of one thread at a time; for one output.
template <class Accumulator>
class PresortedRows {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;

  explicit PresortedRows(const GrowthContext<Accumulator>& context);

  // Sorts the rows of a node, which number the given records; false: a value is missing.
  bool sort(const NodePosition& node, const u8* records, u64& varying);
  // The lists of a node of the subtree; is_second: which of the two buffers holds them.
  RowLists list(const NodePosition& node, bool is_second);
  // Partitions the rows, and their lists into the other buffer unless only handfuls are left.
  // Returns the number of rows that go left.
  std::size_t partition(const NodePosition& node, const Candidate& best, u64 varying,
                        bool& is_second, NodePartition<Accumulator>& rows);

 private:
  static constexpr std::size_t kCell = Accumulator::kFixedCell;

  void partition_lists(const u32* from, u32* to, std::size_t n, std::size_t n_left,
                       u64 varying) const;

  const GrowthContext<Accumulator>& context_;
  const std::size_t stride_;
  const u8* records_ = nullptr;
  AlignedBuffer<u32> entries_[2];  // a node's lists in one, its children's in the other
  std::vector<Element> cells_;     // of each row
  std::vector<u8> sides_;          // of each row: 0 left, 32 right
  std::vector<u64> pool_;          // a byte a feature: 255 where it may be split by
  u64 features_ = 0;               // the same, a bit a feature
  ListEstimates estimates_;
  std::size_t begin_ = 0;  // of the node whose rows were sorted
};

template <class Accumulator>
PresortedRows<Accumulator>::PresortedRows(const GrowthContext<Accumulator>& context)
    : context_(context),
      stride_(context.block.stride),
      cells_(RowLists::kMostNumbers * kCell),
      sides_(RowLists::kMostNumbers),
      pool_((context.data.n_cols + 7) / 8),
      estimates_(context.data.n_cols, RowLists::kMostRows, RowLists::kMostNumbers) {
  for (auto& entries : entries_)
    entries = AlignedBuffer<u32>(context.data.n_cols * RowLists::kStride);
  for (const u32 f : context.features) {
    pool_[f / 8] |= u64{255} << f % 8 * 8;
    features_ |= u64{1} << f;
  }
}

template <class Accumulator>
bool PresortedRows<Accumulator>::sort(const NodePosition& node, const u8* records, u64& varying) {
  const std::size_t n = node.size();
  const Item* items = context_.items + node.begin;
  varying &= features_;
  for (u64 rest = varying; rest; rest &= rest - 1) {
    const u32 feature = static_cast<u32>(std::countr_zero(rest));
    const u8* bins = records + feature;
    u32 first[kHistogramBins + 1] = {};
    for (std::size_t i = 0; i < n; ++i) ++first[bins[items[i].row * stride_] + 1];
    if (first[kMissingBin + 1] > 0) return false;
    for (u32 bin = 0; bin < kMissingBin; ++bin) first[bin + 1] += first[bin];
    u32* entries = entries_[0].data() + feature * RowLists::kStride;
    for (std::size_t i = 0; i < n; ++i) {
      const u32 bin = bins[items[i].row * stride_];
      entries[first[bin]++] = bin << 16 | items[i].row;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    Element* cell = cells_.data() + items[i].row * kCell;
    std::fill_n(cell, kCell, Element{0});
    context_.accumulator.add(cell, items[i]);
  }
  records_ = records;
  begin_ = node.begin;
  return true;
}

template <class Accumulator>
RowLists PresortedRows<Accumulator>::list(const NodePosition& node, bool is_second) {
  return {entries_[is_second].data() + (node.begin - begin_),
          node.size(),
          context_.items + node.begin,
          cells_.data(),
          records_,
          stride_,
          pool_.size(),
          pool_.data(),
          &estimates_,
          context_.numbers_of(node),
          context_.params.shuffle_ties};
}

template <class Accumulator>
std::size_t PresortedRows<Accumulator>::partition(const NodePosition& node, const Candidate& best,
                                                  u64 varying, bool& is_second,
                                                  NodePartition<Accumulator>& rows) {
  const std::size_t n = node.size(), offset = node.begin - begin_, stride = stride_;
  const u8* bins = records_ + best.feature;
  u8* sides = sides_.data();
  const u32 cut = best.bin;
  const std::size_t n_left = rows.partition(node, [=](u32 row) {
    const bool is_left = bins[row * stride] <= cut;
    sides[row] = static_cast<u8>(is_left ? 0 : 32);
    return is_left;
  });
  if (std::max(n_left, n - n_left) <= RowLists::kFewRows) return n_left;
  call_recompiled([&] {
    partition_lists(entries_[is_second].data() + offset, entries_[!is_second].data() + offset, n,
                    n_left, varying);
  });
  is_second = !is_second;
  return n_left;
}

// Partitions the list of each feature that may vary by the rows' sides.
template <class Accumulator>
void PresortedRows<Accumulator>::partition_lists(const u32* from, u32* to, std::size_t n,
                                                 std::size_t n_left, u64 varying) const {
  const u8* sides = sides_.data();
  u32 features[64];
  std::size_t n_features = 0;
  for (u64 rest = varying; rest; rest &= rest - 1)
    features[n_features++] = static_cast<u32>(std::countr_zero(rest));
  for (std::size_t k = 0; k < n_features; k += kListsTogether) {
    const u32* list[kListsTogether];
    u32* partitioned[kListsTogether];
    u64 next[kListsTogether];  // positions: of a row that goes left, above it of one that goes
                               // right
    for (std::size_t f = 0; f < kListsTogether; ++f) {
      const std::size_t first = features[std::min(k + f, n_features - 1)] * RowLists::kStride;
      list[f] = from + first;
      partitioned[f] = to + first;
      next[f] = u64{n_left} << 32;
    }
    for (std::size_t i = 0; i < n; ++i) {
#pragma GCC unroll 4
      for (std::size_t f = 0; f < kListsTogether; ++f) {
        const u32 entry = list[f][i];
        const u32 side = sides[RowLists::row(entry)];
        partitioned[f][static_cast<u32>(next[f] >> side)] = entry;
        next[f] += u64{1} << side;
      }
    }
  }
}

}  // namespace committee
