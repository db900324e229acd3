// What all threads that grow one tree read, and the nodes that they hand to one another.
#pragma once
#include "split/bin_bounds.hpp"
#include "split/histogram.hpp"
#include "split/split_candidate.hpp"
#include "tree/entry_columns.hpp"
#include "tree/entry_rows.hpp"
#include "tree/fast/extra_trees_rules.hpp"
#include "tree/fast/extra_trees_values.hpp"
#include "tree/fast/multiclass_subtree.hpp"
#include "tree/growth_scratch.hpp"
#include "tree/leaf_test.hpp"
#include "tree/route.hpp"
#include "tree/training_sample.hpp"

namespace committee {

// Where a node lies: among the rows, and in the tree.
struct NodePosition {
  std::size_t begin = 0, end = 0;  // rows: items [begin, end)
  u32 id = 0, depth = 0;
  u32 parent = kNone;
  bool is_right = false;
  u64 key = kRootKey;
  u32 name = 0;  // of its rows, in a table of entries
  // Where lists of its sorted rows are (tree/sorted_lists.hpp).
  enum class Lists : u8 { none, wanted, dealt, first, second } lists = Lists::none;
  std::size_t size() const { return end - begin; }
  bool has_lists() const { return lists == Lists::first || lists == Lists::second; }
  Lists child_lists() const {
    return lists == Lists::first ? Lists::second : lists == Lists::second ? Lists::first : lists;
  }
};

// A node whose rows have not been partitioned yet.
template <class Element>
struct OpenNode : NodePosition {
  u64 order = 0;
  double decrease = 0.0;
  double lower = -std::numeric_limits<double>::infinity();  // bounds in the units of the finder
  double upper = std::numeric_limits<double>::infinity();
  Candidate best;
  std::shared_ptr<const std::vector<u32>> features;  // that may vary here; null: all
  std::shared_ptr<const std::vector<u64>> groups;    // interaction groups still open; null: no rule
  std::unique_ptr<AlignedBuffer<Element>>
      dense;                   // histograms of all features; null: build on demand
  std::vector<Element> total;  // of its rows, in a table of entries; empty: not yet added up
};

// A part of a tree under construction; a parallel task grows one of its own.
struct TreePart {
  GrownTree tree;
  bool is_compact = false;  // the whole tree lies in the scratch instead
  // Per node, filled in leaves: for each output the sum of w (y - offset), then of its second
  // moment (w (y - offset)^2, or w y ln y for Poisson). Inner nodes are summed from their children.
  std::vector<double> moments;
  std::vector<double> offsets;       // of the targets, per output (whole trees only)
  std::vector<double> lower, upper;  // monotone bounds of the node's value, in target units
};

template <class Accumulator>
struct GrowthContext {
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;

  COMMITTEE_COLD GrowthContext(const GrowthPlan& grow_plan, Sample<Accumulator>& grow_sample);
  void make_extra_trees_rules();
  // What choose_route refuses for every sample of the accumulator is not compiled for it.
  static constexpr bool may_take(Route route) {
    constexpr AccumulatorKind kKind = Accumulator::kKind;
    constexpr bool kIsWide = kKind == AccumulatorKind::classes && sizeof(Element) == 8;
    constexpr bool kHasOutputs = kKind == AccumulatorKind::moments && Accumulator::kFixedCell == 0;
    switch (route) {
      case Route::subtree:
      case Route::two_valued:
        return !kHasOutputs;
      case Route::few_rows:
        return !kHasOutputs && !kIsWide;
      case Route::presorted_rows:
        return kKind == AccumulatorKind::moments && !kHasOutputs;
      case Route::bin_bounds:
        return kKind != AccumulatorKind::classes && !kHasOutputs;
      case Route::multiclass_block:
      case Route::packed_records:
        return kKind == AccumulatorKind::classes && !kIsWide;
      case Route::random_thresholds:
      case Route::extra_trees_bitmap:
        return kKind == AccumulatorKind::binary;
      case Route::compact_tree:
        return may_take(Route::extra_trees_bitmap) || may_take(Route::extra_trees_values) ||
               may_take(Route::multiclass_block);
      case Route::extra_trees_values:
        return kKind == AccumulatorKind::moments && !kHasOutputs;
      default:
        return true;
    }
  }
  // Whether the subtrees of a tree of numbers, which has best splits, go into lists of nodes.
  bool keeps_numbers() const {
    if constexpr (!may_take(Route::extra_trees_values)) return false;
    return takes(Route::compact_tree) && !takes(Route::extra_trees_values);
  }
  bool takes(Route route) const { return may_take(route) && plan.route.allows(route); }
  bool is_numeric(u32 feature) const { return !(*data.bins)[feature].categorical; }
  NodeNumbers numbers_of(const NodePosition& node) const { return {tree_key, node.key}; }
  // Nodes that keep histograms of all features.
  bool fits_dense(std::size_t n_rows) const {
    return takes(Route::dense_histograms) && n_rows >= dense_rows;
  }

  const GrowthPlan& plan;
  const GrowParams& params;
  const BinnedMatrix& data;
  Sample<Accumulator>& sample;
  const Accumulator& accumulator;
  Item* const items;
  const FillTable<Accumulator> fill_features;  // by the number of features
  const KeyPrefix tree_key;
  const LeafTest leaf_test;
  std::vector<u32> all_features;
  std::span<const u32> features;  // that the tree may split by
  NodeLimits limits;              // of a node without bounds
  // Of routes; empty where they are not taken.
  std::size_t dense_rows = kDenseRows;
  RecordBlock block{};             // records that a subtree reads
  u64 two_valued = 0, packed = 0;  // a bit a feature of two bins, and where it is a bit of a record
  std::unique_ptr<const ExtraTreesTable> own_table;  // where the scratch has none
  std::unique_ptr<const ExtraTreesRules> extra_trees_rules;
  std::unique_ptr<const ValueRules> value_rules;
  std::unique_ptr<const MulticlassRules> multiclass_rules;
  std::vector<BinRanks> bin_ranks;  // per column
  // Of a table that is kept as entries; null: it is not.
  std::unique_ptr<EntryRows<Item>> entry_rows;
  std::unique_ptr<const EntryColumns> entry_columns;
};

template <class Accumulator>
GrowthContext<Accumulator>::GrowthContext(const GrowthPlan& grow_plan,
                                          Sample<Accumulator>& grow_sample)
    : plan(grow_plan),
      params(grow_plan.params),
      data(*grow_plan.input.data),
      sample(grow_sample),
      accumulator(grow_sample.accumulator),
      items(grow_sample.items.data()),
      fill_features(list_fills(accumulator)),
      tree_key(combine_keys(grow_plan.params.seed, grow_plan.params.tree)),
      leaf_test(grow_plan.params),
      all_features(data.n_cols) {
  for (u32 r = 0; r < kRoutes; ++r) {
    if (plan.route.allows(static_cast<Route>(r)) && !may_take(static_cast<Route>(r)))
      throw std::logic_error("choose_route allows what may_take says is never taken");
  }
  for (u32 f = 0; f < data.n_cols; ++f) all_features[f] = f;
  features = params.member_features.empty() ? std::span<const u32>(all_features)
                                            : std::span<const u32>(params.member_features);
  if (data.entries) {
    entry_rows = std::make_unique<EntryRows<Item>>(data.n_rows, std::span<Item>(items, sample.n),
                                                   plan.sorts_rows);
    entry_columns = std::make_unique<EntryColumns>(data, features);
  }
  limits.min_samples_leaf = params.min_samples_leaf;
  limits.min_weight_leaf = plan.min_weight_leaf;
  limits.rare_weight = plan.rare_weight;
  if (takes(Route::bin_bounds)) {
    // Bounds need histograms of smaller nodes, too, as far as these have room.
    const std::size_t cells = data.n_cols * static_cast<std::size_t>(kHistogramBins);
    const std::size_t bytes = cells * accumulator.cell() * sizeof(Element);
    dense_rows = std::clamp(sample.n / (kDenseBytes / bytes + 1), kExactRows + 1, kDenseRows);
    for (u32 f = 0; f < data.n_cols; ++f)
      bin_ranks.push_back(find_bin_ranks((*data.bins)[f], plan.input.presort->values[f]));
  }
  if (takes(Route::two_valued)) two_valued = find_two_valued(data);
  if (takes(Route::packed_records)) {
    const PackedRecords& records = *plan.input.scratch->caches->packed_records;
    block = {records.bytes(), records.stride(), 0, records.places()};
    packed = records.bits();
  } else if (takes(Route::subtree)) {
    const RecordGroup& group = data.groups[0];
    block = {group.bytes.data(), group.stride, group.first_col};
  }
  if (takes(Route::extra_trees_bitmap) || takes(Route::extra_trees_values))
    make_extra_trees_rules();
  if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
    if (takes(Route::multiclass_block))
      multiclass_rules = std::make_unique<MulticlassRules>(
          tree_key, params, features, data, block, MulticlassSample{sample.n, plan.draws_features});
  }
}

template <class Accumulator>
void GrowthContext<Accumulator>::make_extra_trees_rules() {
  const ExtraTreesTable* table =
      plan.input.scratch ? plan.input.scratch->caches->extra_trees.get() : nullptr;
  if (table == nullptr) table = (own_table = std::make_unique<ExtraTreesTable>(data)).get();
  if constexpr (may_take(Route::extra_trees_values)) {
    value_rules = std::make_unique<ValueRules>(tree_key, params, features, *table,
                                               plan.draws_features, sample.targets.offsets[0]);
  } else {
    extra_trees_rules = std::make_unique<ExtraTreesRules>(tree_key, params, features, *table);
  }
}

}  // namespace committee
