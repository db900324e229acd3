// Sorted lists of rows, made once for a subtree and handed on from node to child: see
// split/presorted_rows.hpp. Included by tree/builder_search.hpp.
#pragma once
#include "split/presorted_rows.hpp"
#include "tree/builder_loop.hpp"

namespace committee {

// Lists that are partitioned side by side: where a node has few rows, the end of a loop is guessed
// wrong once for all of them.
inline constexpr std::size_t kListsTogether = 4;

template <class Accumulator>
void TreeBuilder<Accumulator>::prepare_lists(typename Worker::Lists& lists) const {
  constexpr std::size_t kNumbers = RowLists::kMostNumbers;
  for (auto& entries : lists.entries)
    entries = AlignedBuffer<u32>(data_.n_cols * RowLists::kStride);
  lists.cells.resize(kNumbers * Accumulator::kFixedCell);
  lists.sides.resize(kNumbers);
  lists.pool.assign((data_.n_cols + 7) / 8, 0);
  for (const u32 f : params_.member_features.empty() ? all_features_ : params_.member_features)
    lists.pool[f / 8] |= u64{255} << f % 8 * 8;
  lists.estimates = ListEstimates(data_.n_cols, RowLists::kMostRows, kNumbers);
}

// Lists the rows of a node whose records were copied, unless they are many or a value is missing.
template <class Accumulator>
void TreeBuilder<Accumulator>::make_lists(SmallNode& node, Worker& worker) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments && Accumulator::kFixedCell > 0) {
    const std::size_t n = node.size(), stride = data_.groups[0].stride;
    if (n > RowLists::kMostRows || !node.may_list) return;
    typename Worker::Lists& lists = worker.lists;
    if (lists.cells.empty()) prepare_lists(lists);
    u64 pool = 0;
    for (u32 f = 0; f < data_.n_cols; ++f) pool |= (lists.pool[f / 8] >> f % 8 * 8 & 1) << f;
    node.varying &= pool;
    const Item* items = items_ + node.begin;
    for (u64 rest = node.varying; rest; rest &= rest - 1) {
      const u32 feature = static_cast<u32>(__builtin_ctzll(rest));
      const u8* bins = worker.copied.data() + feature;
      u32 first[kHistogramBins + 1] = {};
      for (std::size_t i = 0; i < n; ++i) ++first[bins[items[i].row * stride] + 1];
      if (first[kMissingBin + 1] > 0) {
        node.may_list = false;
        return;
      }
      for (u32 bin = 0; bin < kMissingBin; ++bin) first[bin + 1] += first[bin];
      u32* entries = lists.entries[0].data() + feature * RowLists::kStride;
      for (std::size_t i = 0; i < n; ++i) {
        const u32 bin = bins[items[i].row * stride];
        entries[first[bin]++] = bin << 16 | items[i].row;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      Element* cell = lists.cells.data() + items[i].row * Accumulator::kFixedCell;
      std::fill_n(cell, Accumulator::kFixedCell, Element{0});
      sample_.accumulator.add(cell, items[i]);
    }
    lists.begin = node.begin;
    node.is_listed = true;
    node.is_second = false;
  }
}

template <class Accumulator>
void TreeBuilder<Accumulator>::search_lists(SmallNode& node, Worker& worker,
                                            Candidate& best) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments && Accumulator::kFixedCell > 0) {
    typename Worker::Lists& lists = worker.lists;
    const RowLists rows{lists.entries[node.is_second].data() + (node.begin - lists.begin),
                        node.size(),
                        items_ + node.begin,
                        lists.cells.data(),
                        worker.copied.data(),
                        data_.groups[0].stride,
                        lists.pool.size(),
                        lists.pool.data(),
                        &lists.estimates,
                        numbers_of(node),
                        params_.shuffle_ties};
    worker.finder->scan_lists(rows, node.varying, best);
  }
}

// Parts the rows, and their lists unless all that is left are handfuls.
template <class Accumulator>
std::size_t TreeBuilder<Accumulator>::partition_lists(SmallNode& node, const Candidate& best,
                                                      Worker& worker) const {
  typename Worker::Lists& lists = worker.lists;
  const std::size_t n = node.size(), offset = node.begin - lists.begin;
  const std::size_t stride = data_.groups[0].stride;
  const u8* bins = worker.copied.data() + best.feature;
  u8* sides = lists.sides.data();
  const u32 cut = best.cut;
  if (worker.spare.size() < n) worker.spare = AlignedBuffer<Item>(n);
  const std::size_t n_left =
      partition_items(items_ + node.begin, n, worker.spare.data(), [=](u32 row) {
        const bool is_left = bins[row * stride] <= cut;
        sides[row] = static_cast<u8>(is_left ? 0 : 32);
        return is_left;
      });
  if (std::max(n_left, n - n_left) <= RowLists::kFewRows) return n_left;
  const u32* from = lists.entries[node.is_second].data() + offset;
  u32* to = lists.entries[!node.is_second].data() + offset;
  u32 features[64];
  std::size_t n_features = 0;
  for (u64 rest = node.varying; rest; rest &= rest - 1)
    features[n_features++] = static_cast<u32>(__builtin_ctzll(rest));
  for (std::size_t k = 0; k < n_features; k += kListsTogether) {
    const u32* list[kListsTogether];
    u32* partitioned[kListsTogether];
    u64 next[kListsTogether];  // places: of a row that goes left, and above it of one that goes
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
  node.is_second = !node.is_second;
  return n_left;
}

}  // namespace committee
