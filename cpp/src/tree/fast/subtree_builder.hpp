// The same loop for subtrees that need nothing rare: numeric columns of one record group, one
// output, no bounds, depth first. A fully grown tree has about as many nodes as rows, so what a
// node costs besides its rows decides: nothing is allocated, totals come from the parent's split,
// and the records of a small subtree are copied to where they stay in the first cache. Included by
// tree/builder_search.hpp.
#pragma once
#include <bit>

#include "split/feature_sampler.hpp"
#include "tree/builder_loop.hpp"
#include "tree/fast/extra_trees_entry.hpp"
#include "tree/fast/multiclass_entry.hpp"
#include "tree/fast/presorted_subtree.hpp"

namespace committee {

// A record's most bytes.
inline constexpr std::size_t kRecordRoom = 64;
template <class Accumulator>
void TreeBuilder<Accumulator>::finish_subtree(const OpenNode& top, TreePart& part, Worker& worker) {
  const u32 cell = sample_.accumulator.cell();
  std::vector<SmallNode>& open = worker.open;
  SmallNode node;
  static_cast<NodePlace&>(node) = top;
  part.tree.depth_first = top.parent == kNone;  // else it is a part of a tree
  node.key = top.key;
  if (extra_trees_rules_ || multiclass_rules_) node.block_rows = node.size();
  sum_items(top, worker);
  open.clear();
  const std::size_t n_before = part.tree.size();
  std::size_t n_listed = 0;
  const auto finish = [&] {
    const std::size_t n =
        part.is_compact ? worker.extra_trees->tree().size() : part.tree.size() - n_before;
    worker.count(Route::subtree, n);
    if (block_.places) worker.count(Route::packed_records, n);
    worker.count(Route::presorted_rows, n_listed);
  };
  for (worker.open_totals.clear();;) {
    if (node.size() <= node.block_rows &&
        (finish_extra_trees(node, part, worker) || finish_multiclass(node, part, worker))) {
      if (!take_open(node, worker)) return finish();
      continue;
    }
    if (!node.is_copied) {
      plan_.watch.poll();
      if (node.size() * block_.stride <= kCopiedBytes) copy_records(node, worker);
    }
    if (takes(Route::presorted_rows) && node.is_copied && !node.is_listed) make_lists(node, worker);
    n_listed += node.is_listed;
    // First of all, since the draws wait for it, and cannot be begun before a leaf is told.
    const NodeNumbers numbers = numbers_of(node);
    node.id = add_to_tree(node, part, worker);
    const u32* rows = node.is_copied ? worker.copied_rows.data() : nullptr;
    Candidate best;
    if (is_terminal(node, worker, rows) || !search_small(node, numbers, worker, best)) {
      if (node.is_copied) {
        close_copied_leaf(node, part, worker);
      } else {
        close_leaf(node, part);
      }
      if (!take_open(node, worker)) return finish();
      continue;
    }
    // The right child waits, the left one is next.
    SmallNode right = descend(node, best, part, worker);
    const Element* left_total = worker.finder->best_left();
    for (u32 s = 0; s < cell; ++s) {
      worker.open_totals.push_back(worker.total[s] - left_total[s]);
      worker.total[s] = left_total[s];
    }
    open.push_back(right);
  }
}

// The node that was put aside last, and its total; false: there is none.
template <class Accumulator>
bool TreeBuilder<Accumulator>::take_open(SmallNode& node, Worker& worker) const {
  if (worker.open.empty()) return false;
  const u32 cell = sample_.accumulator.cell();
  node = worker.open.back();
  worker.open.pop_back();
  std::copy_n(worker.open_totals.end() - cell, cell, worker.total.begin());
  worker.open_totals.resize(worker.open_totals.size() - cell);
  return true;
}

// Splits the node, which becomes its left child; returns the right one.
template <class Accumulator>
typename TreeBuilder<Accumulator>::SmallNode TreeBuilder<Accumulator>::descend(SmallNode& node,
                                                                               Candidate& best,
                                                                               TreePart& part,
                                                                               Worker& worker) {
  const ColumnBins& bins = (*data_.bins)[best.feature];
  // No row lies between the cut and where it settles: the partition need not wait for it.
  const std::size_t n_left = partition_small(node, best, worker);
  settle_split_bin(best, bins);
  if (!best.has_missing) {
    best.missing_left = 2.0 * sample_.accumulator.weight(worker.finder->best_left()) >
                        sample_.accumulator.weight(worker.total.data());
  }
  GrownTree::Split& split = part.tree.splits[node.id];
  split.feature = best.feature;
  split.missing_left = best.missing_left;
  split.threshold =
      best.next == kNone ? std::numeric_limits<double>::infinity() : bins.thresholds[best.cut];
  SmallNode right = node;
  node.parent = right.parent = node.id;
  ++node.depth;
  ++right.depth;
  node.is_right = false;
  right.is_right = true;
  right.key = child_key(node.key, true);
  node.key = child_key(node.key, false);
  right.begin = node.end = node.begin + n_left;
  return right;
}

// Parts the rows by what was gathered last if the feature is among it, else by records or columns.
template <class Accumulator>
std::size_t TreeBuilder<Accumulator>::partition_small(SmallNode& node, const Candidate& best,
                                                      Worker& worker) {
  if (node.is_listed) return partition_lists(node, best, worker);
  const u32* at = std::find(worker.run, worker.run + worker.n_run, best.feature);
  if (at != worker.run + worker.n_run && !best.has_missing) {
    if (worker.spare.size() < node.size()) worker.spare = AlignedBuffer<Item>(node.size());
    const u64* words = worker.run_bins.data();
    const u32 shift = static_cast<u32>(at - worker.run) * 8, cut = best.cut;
    return partition_items(
        items_ + node.begin, node.size(), worker.spare.data(),
        [=](std::size_t i, const Item&) { return (words[i] >> shift & 0xFF) <= cut; });
  }
  if (!node.is_copied) return partition_range(node, best, {data_.column(best.feature), 1}, worker);
  const FieldPlace place = block_.place(best.feature);
  return partition_range(node, best, {worker.copied.data() + place.byte, block_.stride, place.mask},
                         worker);
}

// Numbers the node's rows anew, by their places in the copy.
template <class Accumulator>
void TreeBuilder<Accumulator>::copy_records(SmallNode& node, Worker& worker) const {
  const std::size_t n = node.size(), stride = block_.stride, n_words = stride / sizeof(u64);
  const auto record = [&](u32 row) { return block_.records + row * stride; };
  Item* items = items_ + node.begin;
  if (worker.copied.empty()) {
    worker.copied = AlignedBuffer<u8>(kCopiedBytes + kRecordRoom);
    worker.copied_rows.resize(kCopiedBytes / stride);
    if constexpr (Accumulator::kKind == AccumulatorKind::moments)
      worker.copied_leaf_rows.resize(kCopiedBytes / stride);
  }
  u64 first[kRecordRoom / sizeof(u64)], differ[kRecordRoom / sizeof(u64)] = {};
  std::memcpy(first, record(items[0].row), stride);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kPrefetchAhead < n) __builtin_prefetch(record(items[i + kPrefetchAhead].row));
    const u8* from = record(items[i].row);
    u8* to = worker.copied.data() + i * stride;
    for (std::size_t k = 0; k < n_words; ++k) {
      u64 word;
      std::memcpy(&word, from + k * sizeof word, sizeof word);
      std::memcpy(to + k * sizeof word, &word, sizeof word);
      differ[k] |= word ^ first[k];
    }
    worker.copied_rows[i] = items[i].row;
    if constexpr (Accumulator::kKind == AccumulatorKind::moments)
      worker.copied_leaf_rows[i] = {plan_.input.target.values[items[i].row],
                                    plan_.input.weight(items[i].row)};
    items[i].row = static_cast<u32>(i);
  }
  node.is_copied = true;
  u8 bytes[kRecordRoom];
  std::memcpy(bytes, differ, sizeof bytes);
  for (u32 f = 0; f < data_.n_cols; ++f) {
    const FieldPlace place = block_.place(f);
    if ((bytes[place.byte] & place.mask) == 0) node.varying &= ~(u64{1} << f);
  }
}

// As close_leaf, for one output.
template <class Accumulator>
void TreeBuilder<Accumulator>::close_copied_leaf([[maybe_unused]] const SmallNode& node,
                                                 [[maybe_unused]] TreePart& part,
                                                 [[maybe_unused]] const Worker& worker) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    const double offset = sample_.targets.offsets[0];
    const double first = worker.copied_leaf_rows[items_[node.begin].row].value;
    double weight = 0.0, sum = 0.0, second = 0.0, above_first = 0.0;
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const LeafRow& row = worker.copied_leaf_rows[items_[i].row];
      const double centred = row.value - offset;
      weight += row.weight;
      sum += row.weight * centred;
      second += row.weight * (is_poisson_ ? x_ln_x(centred) : centred * centred);
      above_first += row.weight * (row.value - first);
    }
    part.moments[2 * std::size_t{node.id}] = sum;
    part.moments[2 * std::size_t{node.id} + 1] = second;
    part.tree.weight[node.id] = weight;
    // A division less where there is one row, as in most leaves.
    part.tree.values[node.id] = first + (node.size() == 1 ? 0.0 : above_first / weight);
  }
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::search_small(SmallNode& node, const NodeNumbers& numbers,
                                            Worker& worker, Candidate& best) {
  worker.finder->begin_node(worker.total.data(), limits_);
  worker.n_run = 0;
  NodeRows rows{block_, {items_ + node.begin, node.size()}, numbers};
  if (node.is_copied) rows.block.records = worker.copied.data();
  const std::vector<u32>& pool =
      params_.member_features.empty() ? all_features_ : params_.member_features;
  const u32 n_pool = static_cast<u32>(pool.size());
  u32 looked_at[64];
  u32 n = 0;
  if (node.is_listed) {
    search_lists(node, worker, best);
  } else if (!plan_.draws_features) {
    for (const u32 f : pool) {
      looked_at[n] = f;
      n += node.varying >> f & 1;
    }
    scan_small(rows, {looked_at, n}, worker, best, node.varying);
  } else {
    Shuffle shuffle(worker.permutation, n_pool, rows.numbers);
    const u32 n_wanted = std::min(params_.max_features, n_pool);
    const bool is_pair = node.size() == 2 && params_.shuffle_ties;
    for (std::size_t n_varying = 0;
         shuffle.n_drawn() < n_pool &&
         (n_varying == 0 || (shuffle.n_drawn() < n_wanted && !is_pair));) {
      n = 0;
      do {
        const u32 f = pool[shuffle.draw()];
        worker.places[f] = shuffle.n_drawn();
        looked_at[n] = f;
        n += node.varying >> f & 1;
        // Two rows are partitioned by any feature alike: the first that varies is taken.
        if (is_pair && n > 0) break;
        // Beyond what is wanted only one that may vary is worth a look.
      } while (shuffle.n_drawn() < n_wanted ||
               (n == 0 && n_varying == 0 && shuffle.n_drawn() < n_pool));
      n_varying += scan_small(rows, {looked_at, n}, worker, best, node.varying);
    }
  }
  worker.count_used();
  if (!best.found()) return false;
  if (!(params_.min_impurity_decrease > 0.0)) return true;
  const double decrease = worker.finder->measure_decrease(best) * plan_.decrease_unit;
  return decrease / plan_.total_weight + std::numeric_limits<double>::epsilon() >=
         params_.min_impurity_decrease;
}

// Whether the columns are fewer cache lines than the records of the node's rows.
template <class Accumulator>
bool TreeBuilder<Accumulator>::prefers_columns(const NodeRows& rows, std::size_t n_features) const {
  constexpr std::size_t kLine = 64;
  return rows.block.records == block_.records &&
         n_features * (data_.n_rows / kLine) < rows.items.size();
}

template <class Accumulator>
void TreeBuilder<Accumulator>::scan_histograms(const NodeRows& rows, std::span<const u32> features,
                                               Worker& worker, Candidate& best, u8* varies) {
  const std::size_t feature_cells =
      static_cast<std::size_t>(kHistogramBins) * sample_.accumulator.cell();
  const std::size_t n = rows.items.size();
  u64 touched[kBatch];
  if (prefers_columns(rows, features.size())) {
    constexpr u32 kFirst = 0;
    for (std::size_t k = 0; k < features.size(); ++k)
      fill_features<1>(sample_.accumulator, data_.column(features[k]), 1, rows.items.data(), n,
                       &kFirst, worker.hist.data() + k * feature_cells, touched + k);
  } else {
    fill_histograms(sample_.accumulator, rows.block, rows.items, features, worker.hist.data(),
                    touched);
  }
  FeatureView views[kBatch];
  for (std::size_t k = 0; k < features.size(); ++k)
    views[k] = view_feature(rows.numbers, features[k], worker);
  worker.finder->scan_run(worker.hist.data(), touched, {views, features.size()}, best, varies);
}

// Looks at features, takes those that turn out constant out of `varying`; 0: none varies.
template <class Accumulator>
std::size_t TreeBuilder<Accumulator>::scan_small(const NodeRows& rows,
                                                 std::span<const u32> features, Worker& worker,
                                                 Candidate& best, u64& varying) {
  std::size_t n_varying = 0;
  u8 varies[kBatch];
  auto in_batches = [&](std::span<const u32> some, std::size_t size, auto&& look) {
    for (std::size_t first = 0; first < some.size(); first += size) {
      const auto run = some.subspan(first, std::min(size, some.size() - first));
      look(run);
      for (std::size_t k = 0; k < run.size(); ++k) {
        n_varying += varies[k];
        if (!varies[k]) varying &= ~(u64{1} << run[k]);
      }
    }
  };
  // Features with one cut to look at, and others. Bits are always among the first.
  const u64 bits = block_.places ? plan_.input.scratch->caches->packed_records->bits() : 0;
  const u64 has_one = params_.random_splits               ? ~u64{0}
                      : rows.items.size() > kFewForSingle ? two_valued_
                                                          : bits;
  u32 one[64], many[64];
  std::size_t n_one = 0, n_many = 0;
  for (const u32 f : features) {
    one[n_one] = many[n_many] = f;
    n_one += has_one >> f & 1;
    n_many += ~has_one >> f & 1;
  }
  bool sums_bits = false;  // all of them are bits
  if constexpr (Accumulator::kKind == AccumulatorKind::classes)
    sums_bits = takes(Route::bit_counts) && rows.items.size() > sample_.accumulator.n_elements;
  if (n_one > 0 && (sums_bits || !params_.random_splits || !column_ends_.empty())) {
    worker.use(sums_bits               ? Route::bit_counts
               : !column_ends_.empty() ? Route::random_thresholds
                                       : Route::two_valued);
  }
  in_batches({one, n_one}, kBatch, [&](std::span<const u32> run) {
    if (sums_bits) return scan_bits(rows, run, worker, best, varies);
    if (!column_ends_.empty()) return scan_random_thresholds(rows, run, worker, best, varies);
    const u32 has_more = scan_single_cuts(rows, run, worker, best, varies);
    for (std::size_t k = 0; k < run.size(); ++k) {
      if (has_more >> k & 1) many[n_many++] = run[k];
    }
  });
  const bool few = takes(Route::few_rows) && rows.items.size() <= worker.finder->most_few();
  if (few && n_many > 0) worker.use(Route::few_rows);
  in_batches({many, n_many}, few ? kBatch : batch_size(), [&](std::span<const u32> run) {
    if (few) {
      scan_few_rows(rows, run, worker, best, varies);
    } else {
      scan_histograms(rows, run, worker, best, varies);
    }
  });
  return n_varying;
}

}  // namespace committee
