// The loop for subtrees that need nothing rare: numeric columns of one record group, one output, no
// bounds, depth first. A fully grown tree has about as many nodes as rows, so what a node costs
// besides its rows decides: nothing is allocated, totals come from the parent's split, and the
// records of a small subtree are copied to where they stay in the first cache.
#pragma once
#include "split/feature_sampler.hpp"
#include "tree/fast/presorted_subtree.hpp"
#include "tree/fast/subtree_writer.hpp"
#include "tree/leaf_moments.hpp"
#include "tree/node_partition.hpp"

namespace committee {

// A record's most bytes.
inline constexpr std::size_t kRecordRoom = 64;

// Of one thread at a time, over the search, the partition and the writer of the same thread.
template <class Accumulator>
class SubtreeBuilder {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;

  SubtreeBuilder(const GrowthContext<Accumulator>& context, TreeNodeSearch<Accumulator>& search,
                 NodePartition<Accumulator>& partition, NodeWriter<Accumulator>& writer)
      : context_(context),
        accumulator_(context.accumulator),
        items_(context.items),
        search_(search),
        partition_(partition),
        nodes_(writer),
        writer_(context, search, writer),
        total_(context.accumulator.cell()) {
    for (const u32 f : context.features) pool_[n_pool_++] = static_cast<u8>(f);
    n_wanted_ = std::min(context.params.max_features, n_pool_);
  }

  // Grows the subtree of a node with that total; features: those that may vary in it.
  void grow(const NodePosition& top, std::span<const u32> features, const Element* total,
            TreePart& part);

 private:
  // A node of the subtree; its total lies beside it.
  struct Node : BlockNode {
    u64 varying = ~u64{0};   // a bit a feature that may vary here
    bool is_copied = false;  // rows are numbers of copied records
    bool may_sort = true;    // no value is missing, as far as known
    bool is_sorted = false;  // there are sorted lists of its rows,
    bool is_second = false;  // the ones that count in the second buffer
  };

  static constexpr bool kMaySort =
      Accumulator::kKind == AccumulatorKind::moments && Accumulator::kFixedCell > 0;

  bool search(Node& node, const NodeNumbers& numbers, Candidate& best);
  u32 draw_features(FeatureSampler<u8, false>& sampler, bool is_pair, u64 varying, u32* features);
  Node descend(Node& node, Candidate& best, TreePart& part);
  std::size_t partition(Node& node, const Candidate& best);
  bool take_open(Node& node);
  void copy_records(Node& node);
  void bin_values(Node& node, std::span<const u32> features);
  void make_room();
  void number_row(std::size_t i, Item& item);
  double find_threshold(const Candidate& best) const;
  void sort_rows(Node& node);
  void close_leaf(const Node& node, TreePart& part);
  const u8* records_of(const Node& node) const {
    return node.is_copied ? copied_.data() : context_.block.records;
  }
  SubtreeRows<Item> rows_of(const Node& node) const {
    return {records_of(node), {items_ + node.begin, node.size()}, copied_rows_of(node)};
  }
  const u32* copied_rows_of(const Node& node) const {
    return node.is_copied ? copied_rows_.data() : nullptr;
  }

  const GrowthContext<Accumulator>& context_;
  const Accumulator& accumulator_;
  Item* const items_;
  TreeNodeSearch<Accumulator>& search_;
  NodePartition<Accumulator>& partition_;
  NodeWriter<Accumulator>& nodes_;
  SubtreeWriter<Accumulator> writer_;
  u8 pool_[kMostBlockFeatures] = {};  // features that are drawn from, or searched
  u32 n_pool_ = 0, n_wanted_ = 0;
  std::vector<Element> total_;  // of the node at hand
  std::vector<Node> open_;
  std::vector<Element> open_totals_;
  // A copy of some records, and their rows.
  AlignedBuffer<u8> copied_;
  std::vector<u32> copied_rows_;
  struct LeafRow {
    double value, weight;
  };
  std::vector<LeafRow> copied_leaf_rows_;                  // where leaves hold numbers
  std::vector<u32> value_ranks_;                           // of exact splits (ValueRecords)
  std::unique_ptr<PresortedRows<Accumulator>> presorted_;  // made where that route is taken
};

template <class Accumulator>
void SubtreeBuilder<Accumulator>::grow(const NodePosition& top, std::span<const u32> features,
                                       const Element* total, TreePart& part) {
  const u32 cell = accumulator_.cell();
  Node node;
  static_cast<NodePosition&>(node) = top;
  writer_.begin(node, part);
  std::copy_n(total, cell, total_.begin());
  if (context_.params.exact) bin_values(node, features);
  std::size_t n_sorted = 0;
  open_.clear();
  for (open_totals_.clear();;) {
    if (node.size() <= node.block_rows &&
        writer_.finish_block(node, rows_of(node), total_.data(), part)) {
      if (!take_open(node)) break;
      continue;
    }
    if (!node.is_copied) {
      context_.plan.watch.poll();
      if (node.size() * context_.block.stride <= kCopiedBytes) copy_records(node);
    }
    if (context_.takes(Route::presorted_rows) && node.is_copied && !node.is_sorted) sort_rows(node);
    n_sorted += node.is_sorted;
    // First of all, since the draws wait for it, and cannot be begun before a leaf is known.
    const NodeNumbers numbers = context_.numbers_of(node);
    node.id = writer_.add_node(node, total_.data(), part);
    Candidate best;
    if (nodes_.is_leaf(node, total_.data(), copied_rows_of(node)) || !search(node, numbers, best)) {
      close_leaf(node, part);
      if (!take_open(node)) break;
      continue;
    }
    // The right child waits, the left one is next.
    const Node right = descend(node, best, part);
    const Element* left_total = search_.finder().best_left();
    for (u32 s = 0; s < cell; ++s) {
      open_totals_.push_back(total_[s] - left_total[s]);
      total_[s] = left_total[s];
    }
    open_.push_back(right);
  }
  writer_.count(part);
  search_.count(Route::presorted_rows, n_sorted);
}

// The node that was put aside last, and its total; false: there is none.
template <class Accumulator>
bool SubtreeBuilder<Accumulator>::take_open(Node& node) {
  if (open_.empty()) return false;
  const u32 cell = accumulator_.cell();
  node = open_.back();
  open_.pop_back();
  std::copy_n(open_totals_.end() - cell, cell, total_.begin());
  open_totals_.resize(open_totals_.size() - cell);
  return true;
}

// Finds the best split; false: the node must stay a leaf.
template <class Accumulator>
bool SubtreeBuilder<Accumulator>::search(Node& node, const NodeNumbers& numbers, Candidate& best) {
  search_.begin(total_.data(), context_.limits);
  NodeRows<Item> rows{context_.block, {items_ + node.begin, node.size()}, numbers};
  rows.block.records = records_of(node);
  if (node.is_sorted) {
    if constexpr (kMaySort)
      search_.finder().scan_lists(presorted_->list(node, node.is_second), node.varying, best);
  } else if (context_.plan.draws_features) {
    // Features are drawn without replacement until max_features were drawn and one of them varies.
    u8 order[kMostBlockFeatures];
    std::memcpy(order, pool_, sizeof order);
    FeatureSampler<u8, false> sampler(order, n_pool_, numbers);
    const bool is_pair = node.size() == 2 && context_.params.shuffle_ties;
    u32 features[kMostBlockFeatures];
    for (std::size_t n_varying = 0; n_varying == 0 && !sampler.is_over();) {
      const u32 n = draw_features(sampler, is_pair, node.varying, features);
      n_varying = search_.scan_numeric(rows, {features, n}, best, node.varying);
    }
  } else {
    u32 features[kMostBlockFeatures];
    u32 n = 0;
    for (u32 k = 0; k < n_pool_; ++k) {
      features[n] = pool_[k];
      n += node.varying >> pool_[k] & 1;
    }
    search_.scan_numeric(rows, {features, n}, best, node.varying);
  }
  search_.count_used();
  if (!best.found()) return false;
  const double least = context_.params.min_impurity_decrease;
  if (!(least > 0.0)) return true;
  const double decrease = search_.finder().measure_decrease(best) * context_.plan.decrease_unit;
  return decrease / context_.plan.total_weight + std::numeric_limits<double>::epsilon() >= least;
}

// The next features that may vary: up to max_features in all, beyond that the first one. Two rows
// are partitioned by any feature alike: the first that varies is taken.
template <class Accumulator>
u32 SubtreeBuilder<Accumulator>::draw_features(FeatureSampler<u8, false>& sampler, bool is_pair,
                                               u64 varying, u32* features) {
  u32 n = 0;
  do {
    const u32 f = sampler.draw();
    search_.set_priority(f, sampler.n_drawn());
    features[n] = f;
    n += varying >> f & 1;
    if (is_pair && n > 0) break;
  } while (sampler.n_drawn() < n_wanted_ || (n == 0 && !sampler.is_over()));
  return n;
}

// Splits the node, which becomes its left child; returns the right one.
template <class Accumulator>
typename SubtreeBuilder<Accumulator>::Node SubtreeBuilder<Accumulator>::descend(Node& node,
                                                                                Candidate& best,
                                                                                TreePart& part) {
  // No row lies between the bin and where it settles: the partition need not wait for it.
  const std::size_t n_left = partition(node, best);
  if (!best.has_missing) {
    best.missing_left = 2.0 * accumulator_.weight(search_.finder().best_left()) >
                        accumulator_.weight(total_.data());
  }
  if (!context_.params.exact) settle_split_bin(best, (*context_.data.bins)[best.feature]);
  writer_.write_split(node.id, best, total_.data(), part, [&] { return find_threshold(best); });
  Node right = node;
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

// Between bins of the table, or between the values of exact splits.
template <class Accumulator>
double SubtreeBuilder<Accumulator>::find_threshold(const Candidate& best) const {
  if (!context_.params.exact) return threshold_of(best, (*context_.data.bins)[best.feature]);
  if (best.next == kNone) return std::numeric_limits<double>::infinity();
  const std::vector<double>& values = context_.plan.input.presort->values[best.feature];
  const u32* ranks = value_ranks_.data() + best.feature * kHistogramBins;
  return choose_threshold(values[ranks[best.bin]], values[ranks[best.next]]);
}

// By what was gathered last if the feature is among it, else by records or columns.
template <class Accumulator>
std::size_t SubtreeBuilder<Accumulator>::partition(Node& node, const Candidate& best) {
  if constexpr (kMaySort) {
    if (node.is_sorted)
      return presorted_->partition(node, best, node.varying, node.is_second, partition_);
  }
  u32 shift;
  const u64* words = search_.find_gathered(best.feature, shift);
  if (words && !best.has_missing) {
    const u32 bin = best.bin;
    return partition_.partition(
        node, [=](std::size_t i, const Item&) { return (words[i] >> shift & 0xFF) <= bin; });
  }
  if (!node.is_copied)
    return partition_.partition_by_bytes(node, best, {context_.data.column(best.feature), 1});
  const FieldPlace place = context_.block.place(best.feature);
  return partition_.partition_by_bytes(
      node, best, {copied_.data() + place.byte, context_.block.stride, place.mask});
}

// Numbers the node's rows anew, by their positions in the copy.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::copy_records(Node& node) {
  const RecordBlock& block = context_.block;
  const std::size_t n = node.size(), stride = block.stride, n_words = stride / sizeof(u64);
  const auto record = [&](u32 row) { return block.records + row * stride; };
  Item* items = items_ + node.begin;
  make_room();
  u64 first[kRecordRoom / sizeof(u64)], differ[kRecordRoom / sizeof(u64)] = {};
  std::memcpy(first, record(items[0].row), stride);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kPrefetchAhead < n) prefetch(record(items[i + kPrefetchAhead].row));
    const u8* from = record(items[i].row);
    u8* to = copied_.data() + i * stride;
    for (std::size_t k = 0; k < n_words; ++k) {
      u64 word;
      std::memcpy(&word, from + k * sizeof word, sizeof word);
      std::memcpy(to + k * sizeof word, &word, sizeof word);
      differ[k] |= word ^ first[k];
    }
    number_row(i, items[i]);
  }
  node.is_copied = true;
  u8 bytes[kRecordRoom];
  std::memcpy(bytes, differ, sizeof bytes);
  for (u32 f = 0; f < context_.data.n_cols; ++f) {
    const FieldPlace place = block.place(f);
    if ((bytes[place.byte] & place.mask) == 0) node.varying &= ~(u64{1} << f);
  }
}

// The same for exact splits: in so few rows each value is a bin of its own.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::bin_values(Node& node, std::span<const u32> features) {
  make_room();
  value_ranks_.resize(context_.data.n_cols * kHistogramBins);
  ValueRecords records{copied_.data(), context_.block.stride, value_ranks_.data()};
  node.varying = search_.bin_values(node, features, records);
  for (std::size_t i = 0; i < node.size(); ++i) number_row(i, items_[node.begin + i]);
  node.is_copied = true;
}

template <class Accumulator>
void SubtreeBuilder<Accumulator>::make_room() {
  if (!copied_.empty()) return;
  const std::size_t n_rows = kCopiedBytes / context_.block.stride;
  copied_ = AlignedBuffer<u8>(kCopiedBytes + kRecordRoom);
  copied_rows_.resize(n_rows);
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) copied_leaf_rows_.resize(n_rows);
}

// The item of a row becomes that of record i.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::number_row(std::size_t i, Item& item) {
  copied_rows_[i] = item.row;
  if constexpr (Accumulator::kKind == AccumulatorKind::moments)
    copied_leaf_rows_[i] = {context_.plan.input.target.values[item.row],
                            context_.plan.input.weight(item.row)};
  item.row = static_cast<u32>(i);
}

// Sorts the rows of a node whose records were copied, unless they are many or a value is missing.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::sort_rows([[maybe_unused]] Node& node) {
  if constexpr (kMaySort) {
    if (node.size() > RowLists::kMostRows || !node.may_sort) return;
    if (!presorted_) presorted_ = std::make_unique<PresortedRows<Accumulator>>(context_);
    node.is_sorted = node.may_sort = presorted_->sort(node, copied_.data(), node.varying);
    node.is_second = false;
  }
}

// As NodeWriter::close_leaf, for one output.
template <class Accumulator>
void SubtreeBuilder<Accumulator>::close_leaf(const Node& node, TreePart& part) {
  if (!node.is_copied && !writer_.keeps_numbers()) return nodes_.close_leaf(node, part);
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    const auto leaf_row = [&](std::size_t i) -> LeafRow {
      const u32 row = items_[i].row;
      if (node.is_copied) return copied_leaf_rows_[row];
      return {context_.plan.input.target.values[row], context_.plan.input.weight(row)};
    };
    const double offset = context_.sample.targets.offsets[0];
    LeafMoments moments(leaf_row(node.begin).value, offset, nodes_.is_poisson());
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const LeafRow row = leaf_row(i);
      moments.add(row.value, row.weight);
    }
    writer_.close_leaf(node, moments, part);
  }
}

}  // namespace committee
