#include "tree/route.hpp"

#include <algorithm>
#include <cmath>

#include "committee/criteria/all.hpp"
#include "tree/fast/extra_trees_columns.hpp"
#include "tree/fast/multiclass_subtree.hpp"
#include "tree/growth_scratch.hpp"

namespace committee {

namespace {

constexpr RouteInfo kRouteInfos[] = {
    {"dense_histograms", "histograms of all features are kept, and one child's is the difference",
     "nodes of 2,048 rows or more that search all features; with bin_bounds smaller ones, too"},
    {"subtree", "a loop without allocation over copied records, totals from the parent's split",
     "up to 64 numeric columns, one output, depth-first, no constraints; with exact splits nodes "
     "of 255 rows or fewer"},
    {"presorted_rows", "each feature's rows are sorted once and partitioned with the node",
     "squared error over all features, 512 rows or fewer"},
    {"few_rows", "a node's rows are sorted by bin instead of counted in a histogram",
     "nodes of up to 16 rows; of several classes up to 64, with Gini up to 256"},
    {"two_valued", "a column of two bins has one boundary and needs no histogram",
     "columns of two bins without missing values"},
    {"packed_records", "columns of two bins take a bit of a row's record instead of a byte",
     "forests with multiclass_block over a table where that halves the records"},
    {"random_thresholds", "the random thresholds of all drawn features are scored side by side",
     "extra-trees of two classes with Gini, row weights below 256"},
    {"multiclass_block", "records move with their rows, class weights are one word",
     "Gini of up to 8 classes, rows of weight 255 or less"},
    {"extra_trees_bitmap", "a node is a bitmap over columns of bins, no row moves",
     "extra-trees of two classes with Gini, rows of equal weight, 512 rows or more"},
    {"compact_tree", "the tree stays in one list of nodes until it is in the model",
     "forests of extra_trees_bitmap, extra_trees_values or multiclass_block, or of values by "
     "binned best splits, without pruning; classes with whole weights, and the last two without "
     "missing values"},
    {"sorted_lists",
     "a subtree's rows are sorted once by each feature and partitioned with the node",
     "exact splits over all features, depth-first, lists of 64 MiB at most"},
    {"trees_together", "a column is looked at for the open nodes of many trees, then the next one",
     "forests of extra-trees of two classes with Gini, every row once, more than 64 columns, none "
     "of them with missing values, 32,768 rows or fewer"},
    {"bin_bounds", "histograms tell which bins may hold the best split; only their rows are sorted",
     "exact splits by Gini of two classes or squared error, nodes of more than 255 rows"},
    {"extra_trees_values", "records move with their rows, eight random cuts are scored at once",
     "extra-trees of values with squared error, up to 8 MiB of rows"},
};
static_assert(std::size(kRouteInfos) == kRoutes);

constexpr const char* kEntries = "the columns are kept as entries";
constexpr const char* kRanksRows = "absolute error and log-rank rank the rows of each node";
constexpr const char* kExact = "splits are exact";

// Collects the refusals; the first reason of a route counts.
class Refusals {
 public:
  explicit Refusals(u32 mask) {
    for (u32 r = 0; r < kRoutes; ++r)
      refuse_if((mask >> r & 1) == 0, static_cast<Route>(r), "switched off by params.routes");
  }
  void refuse_if(bool applies, Route route, const char* reason) {
    const char*& own = reasons_[static_cast<u32>(route)];
    if (applies && own == nullptr) own = reason;
  }
  bool allows(Route route) const { return reasons_[static_cast<u32>(route)] == nullptr; }
  void need(Route needed, Route route, const char* reason) {
    refuse_if(!allows(needed), route, reason);
  }
  GrowthRoute finish() const {
    GrowthRoute chosen;
    chosen.refusals = reasons_;
    for (u32 r = 0; r < kRoutes; ++r) chosen.allowed |= u32{reasons_[r] == nullptr} << r;
    return chosen;
  }

 private:
  std::array<const char*, kRoutes> reasons_{};
};

bool has_categories(const GrowthPlan& plan) {
  const std::vector<ColumnBins>& bins = *plan.input.data->bins;
  const std::vector<u32>& members = plan.params.member_features;
  return members.empty() ? std::ranges::any_of(bins, [](const auto& b) { return b.categorical; })
                         : std::ranges::any_of(members, [&](u32 f) { return bins[f].categorical; });
}

void choose_dense(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::dense_histograms;
  r.refuse_if(plan.input.data->entries != nullptr, kOwn, kEntries);
  r.refuse_if(plan.draws_features, kOwn, "features are drawn at each node");
  r.refuse_if(plan.params.random_splits, kOwn, "thresholds are random");
  r.refuse_if(plan.sorts_rows && !r.allows(Route::bin_bounds), kOwn,
              "exact splits, absolute error and log-rank sort the rows");
  r.refuse_if(sample.n_rows < kDenseRows, kOwn, "there are fewer than 2,048 rows");
  const std::size_t bytes = plan.input.data->n_cols * kHistogramBins * sample.cell_bytes;
  r.refuse_if(bytes * (sample.n_rows / kDenseRows + 1) > kDenseBytes, kOwn,
              "the histograms would take more than 256 MiB");
}

void choose_subtree(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::subtree;
  r.refuse_if(plan.input.data->entries != nullptr, kOwn, kEntries);
  r.refuse_if(has_no_histograms(plan.params.criterion), kOwn, kRanksRows);
  r.refuse_if(plan.params.exact && plan.draws_features, kOwn,
              "splits are exact and features are drawn at each node");
  r.refuse_if(plan.params.exact && plan.params.random_splits, kOwn,
              "splits are exact and thresholds are random");
  r.refuse_if(plan.bounded, kOwn, "there are monotone constraints");
  r.refuse_if(!plan.feature_groups.empty(), kOwn, "there are interaction constraints");
  r.refuse_if(plan.params.max_leaf_nodes > 0, kOwn, "max_leaf_nodes grows best-first");
  r.refuse_if(plan.input.data->groups.size() != 1, kOwn, "there are more than 64 columns");
  r.refuse_if(sample.n_outputs != 1, kOwn, "there are several outputs");
  r.refuse_if(has_categories(plan), kOwn, "a column is categorical");
}

// No limit can forbid a boundary between two bins that occur.
void refuse_limits(Refusals& r, const GrowthPlan& plan, Route route) {
  r.refuse_if(plan.params.min_samples_leaf > 1, route, "min_samples_leaf is above 1");
  r.refuse_if(plan.min_weight_leaf > 1.0, route, "min_weight_leaf is above the weight of a row");
}

void choose_presorted(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::presorted_rows;
  r.need(Route::subtree, kOwn, "the subtree route is not taken");
  r.refuse_if(
      sample.kind != AccumulatorKind::moments || plan.params.criterion != SquaredError::kName, kOwn,
      "the criterion is not squared_error");
  r.refuse_if(plan.draws_features, kOwn, "features are drawn at each node");
  r.refuse_if(plan.params.random_splits, kOwn, "thresholds are random");
  refuse_limits(r, plan, kOwn);
}

void choose_sorted_lists(Refusals& r, const GrowthPlan& plan) {
  constexpr Route kOwn = Route::sorted_lists;
  r.refuse_if(!plan.params.exact, kOwn, "splits are not exact");
  r.refuse_if(has_no_histograms(plan.params.criterion), kOwn, kRanksRows);
  r.refuse_if(plan.input.data->entries != nullptr, kOwn, kEntries);
  r.refuse_if(plan.draws_features, kOwn, "features are drawn at each node");
  r.refuse_if(plan.params.max_leaf_nodes > 0, kOwn, "max_leaf_nodes grows best-first");
}

void choose_bin_bounds(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::bin_bounds;
  const bool is_gini =
      sample.kind == AccumulatorKind::binary && plan.params.criterion == Gini::kName;
  const bool is_squared =
      sample.kind == AccumulatorKind::moments && plan.params.criterion == SquaredError::kName;
  r.refuse_if(!plan.params.exact, kOwn, "splits are not exact");
  r.refuse_if(plan.input.data->entries != nullptr, kOwn, kEntries);
  r.refuse_if(!(is_gini || is_squared) || sample.n_outputs != 1, kOwn,
              "the criterion is not gini of two classes or squared_error of one output");
  r.refuse_if(is_gini && sample.total >= kExactSquares, kOwn, "the rows weigh 2^26 or more");
  r.refuse_if(plan.params.random_splits, kOwn, "thresholds are random");
  r.refuse_if(plan.bounded, kOwn, "there are monotone constraints");
  r.refuse_if(has_categories(plan), kOwn, "a column is categorical");
  refuse_limits(r, plan, kOwn);
}

void choose_few(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::few_rows;
  r.refuse_if(plan.input.data->entries != nullptr, kOwn, kEntries);
  r.refuse_if(has_no_histograms(plan.params.criterion), kOwn, kRanksRows);
  // Only subtrees have bins of the values themselves.
  if (plan.params.exact) r.need(Route::subtree, kOwn, "splits are exact outside of subtrees");
  r.refuse_if(plan.bounded, kOwn, "there are monotone constraints");
  refuse_limits(r, plan, kOwn);
  const bool is_class = sample.kind == AccumulatorKind::classes;
  r.refuse_if(sample.n_outputs != 1, kOwn, "there are several outputs");
  r.refuse_if(is_class && (sample.is_wide || plan.params.criterion != Gini::kName), kOwn,
              "the criterion over several classes is not gini with small whole weights");
}

void choose_columns_of_two_bins(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  const u64 two_valued = find_two_valued(*plan.input.data);
  r.need(Route::subtree, Route::two_valued, "the subtree route is not taken");
  r.refuse_if(plan.params.exact, Route::two_valued, kExact);
  r.refuse_if(two_valued == 0, Route::two_valued, "no column has two bins and no missing values");
  r.refuse_if(sample.total >= kExactSquares, Route::two_valued, "the rows weigh 2^26 or more");

  constexpr Route kPacked = Route::packed_records;
  const GrowthScratch* scratch = plan.input.scratch;
  const PackedRecords* packed = scratch ? scratch->caches->packed_records.get() : nullptr;
  // Measured: only the blocks, which move the records, gain by smaller ones.
  r.need(Route::multiclass_block, kPacked, "the multiclass_block route is not taken");
  r.refuse_if(scratch == nullptr, kPacked, "a single tree does not pack the records");
  r.refuse_if(packed == nullptr, kPacked, "it would not halve the records");
  r.need(Route::two_valued, kPacked, "the two_valued route is not taken");
}

void choose_multiclass(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::multiclass_block;
  r.need(Route::subtree, kOwn, "the subtree route is not taken");
  r.refuse_if(plan.params.exact, kOwn, kExact);
  r.refuse_if(sample.kind != AccumulatorKind::classes || sample.is_wide || sample.counts_rows, kOwn,
              "cells are not 32-bit weights of classes");
  r.refuse_if(plan.params.criterion != Gini::kName, kOwn, "the criterion is not gini");
  r.refuse_if(plan.params.random_splits, kOwn, "thresholds are random");
  r.refuse_if(sample.n_classes > kPackedClasses, kOwn, "there are more than 8 classes");
  r.refuse_if(sample.heaviest > MulticlassSubtree::kHeaviestRow, kOwn,
              "a row weighs more than 255");
  r.refuse_if(plan.params.min_impurity_decrease > 0.0, kOwn, "min_impurity_decrease is set");
  refuse_limits(r, plan, kOwn);
}

void choose_extra_trees(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  const GrowParams& params = plan.params;
  for (const Route own : {Route::random_thresholds, Route::extra_trees_bitmap}) {
    r.need(Route::subtree, own, "the subtree route is not taken");
    r.refuse_if(!params.random_splits, own, "thresholds are not random");
    r.refuse_if(sample.kind != AccumulatorKind::binary, own,
                "the target is not two classes with small whole weights");
    r.refuse_if(params.criterion != Gini::kName, own, "the criterion is not gini");
    r.refuse_if(!plan.draws_features, own, "all features are searched at each node");
    r.refuse_if(!params.shuffle_ties, own, "equal splits go to the lowest feature");
    refuse_limits(r, plan, own);
  }
  r.refuse_if(sample.heaviest >= 256, Route::random_thresholds, "a row weighs 256 or more");

  constexpr Route kOwn = Route::extra_trees_bitmap;
  r.refuse_if(sample.heaviest != 1, kOwn, "rows differ in weight");
  r.refuse_if(params.min_impurity_decrease > 0.0, kOwn, "min_impurity_decrease is set");
  r.refuse_if(sample.n_rows < kMinExtraTreesRows, kOwn, "there are fewer than 512 rows");
  r.refuse_if(!ExtraTreesTable::fits(*plan.input.data), kOwn,
              "a column is categorical or has no finite range");
}

void choose_compact(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::compact_tree;
  const GrowthScratch* scratch = plan.input.scratch;
  const bool is_values = r.allows(Route::extra_trees_values);
  const bool is_classes = r.allows(Route::multiclass_block);
  const GrowParams& params = plan.params;
  const bool is_numbers =
      r.allows(Route::subtree) && sample.kind == AccumulatorKind::moments &&
      sample.n_outputs == 1 && !params.exact && !params.random_splits &&
      (params.criterion == SquaredError::kName || params.criterion == FriedmanMse::kName);
  r.refuse_if(
      !r.allows(Route::extra_trees_bitmap) && !is_values && !is_classes && !is_numbers, kOwn,
      "none of extra_trees_bitmap, extra_trees_values and multiclass_block is taken, and the "
      "tree is none of values by binned splits of sums of squares");
  r.refuse_if(scratch == nullptr, kOwn, "a single tree is not kept as a list of nodes");
  r.refuse_if(plan.n_threads != 1, kOwn, "several threads grow the tree");
  r.refuse_if(!is_values && !is_numbers && sample.weight_unit != 1.0, kOwn,
              "weights are not whole numbers");
  r.refuse_if((is_classes || is_numbers) && scratch && !scratch->caches->is_complete, kOwn,
              "a column is categorical or has missing values");
  r.refuse_if(params.ccp_alpha != 0.0, kOwn, "the tree is pruned");
}

void choose_extra_trees_values(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::extra_trees_values;
  const GrowParams& params = plan.params;
  r.need(Route::subtree, kOwn, "the subtree route is not taken");
  r.refuse_if(!params.random_splits, kOwn, "thresholds are not random");
  r.refuse_if(sample.kind != AccumulatorKind::moments || params.criterion != SquaredError::kName,
              kOwn, "the criterion is not squared_error");
  r.refuse_if(!params.shuffle_ties, kOwn, "equal splits go to the lowest feature");
  refuse_limits(r, plan, kOwn);
  r.refuse_if(params.min_impurity_decrease > 0.0, kOwn, "min_impurity_decrease is set");
  r.refuse_if(sample.total > ValueSums::kMostWeight, kOwn, "the rows weigh 2^28 or more");
  r.refuse_if(!ExtraTreesTable::fits(*plan.input.data), kOwn,
              "a column is categorical or has no finite range");
}

void choose_together(Refusals& r, const GrowthPlan& plan, const SampleFacts& sample) {
  constexpr Route kOwn = Route::trees_together;
  const GrowParams& params = plan.params;
  const GrowthScratch* scratch = plan.input.scratch;
  r.refuse_if(scratch == nullptr, kOwn, "a single tree is grown alone");
  r.refuse_if(plan.input.data->entries != nullptr, kOwn, kEntries);
  r.refuse_if(plan.input.data->n_cols <= kMostBlockFeatures, kOwn, "there are 64 columns or fewer");
  r.refuse_if(!params.random_splits, kOwn, "thresholds are not random");
  r.refuse_if(params.exact, kOwn, kExact);
  r.refuse_if(sample.kind != AccumulatorKind::binary, kOwn,
              "the target is not two classes with small whole weights");
  r.refuse_if(params.criterion != Gini::kName, kOwn, "the criterion is not gini");
  r.refuse_if(!plan.draws_features, kOwn, "all features are searched at each node");
  r.refuse_if(!params.shuffle_ties, kOwn, "equal splits go to the lowest feature");
  r.refuse_if(plan.bounded, kOwn, "there are monotone constraints");
  r.refuse_if(!plan.feature_groups.empty(), kOwn, "there are interaction constraints");
  r.refuse_if(params.max_leaf_nodes > 0, kOwn, "max_leaf_nodes grows best-first");
  refuse_limits(r, plan, kOwn);
  r.refuse_if(params.min_impurity_decrease > 0.0, kOwn, "min_impurity_decrease is set");
  r.refuse_if(sample.heaviest != 1 || sample.weight_unit != 1.0, kOwn, "rows do not weigh one");
  r.refuse_if(plan.input.data->n_rows > ExtraTreesColumns::kMostRows, kOwn,
              "there are more than 32,768 rows");
  r.refuse_if(scratch && !scratch->caches->is_complete, kOwn,
              "a column is categorical or has missing values");
  r.refuse_if(scratch && !scratch->caches->ends, kOwn, "the ends of the bins do not ascend");
}

}  // namespace

std::span<const RouteInfo, kRoutes> list_routes() {
  return kRouteInfos;
}

GrowthRoute choose_route(const GrowthPlan& plan, const SampleFacts& sample) {
  Refusals refusals(plan.params.routes);
  choose_bin_bounds(refusals, plan, sample);
  choose_dense(refusals, plan, sample);
  choose_subtree(refusals, plan, sample);
  choose_presorted(refusals, plan, sample);
  choose_few(refusals, plan, sample);
  choose_multiclass(refusals, plan, sample);
  choose_columns_of_two_bins(refusals, plan, sample);
  choose_extra_trees(refusals, plan, sample);
  choose_extra_trees_values(refusals, plan, sample);
  choose_compact(refusals, plan, sample);
  choose_sorted_lists(refusals, plan);
  choose_together(refusals, plan, sample);
  return refusals.finish();
}

u64 find_two_valued(const BinnedMatrix& data) {
  u64 found = 0;
  for (u32 f = 0; f < data.n_cols && data.groups.size() == 1; ++f) {
    const ColumnBins& bins = (*data.bins)[f];
    if (bins.n_bins <= 2 && !bins.has_missing && !bins.categorical) found |= u64{1} << f;
  }
  return found;
}

// Only what a route that is not switched off could read.
TableCaches make_caches(const GrowInput& input, const GrowParams& params, int n_threads) {
  TableCaches caches;
  caches.all_numeric =
      std::ranges::none_of(*input.data->bins, [](const auto& b) { return b.categorical; });
  const auto is_on = [&](Route route) { return params.routes >> static_cast<u32>(route) & 1; };
  const std::vector<u32>& n_classes = input.target.n_classes;
  if (is_on(Route::packed_records) && !params.random_splits && n_classes.size() == 1 &&
      n_classes[0] > 2 && n_classes[0] <= kPackedClasses)
    caches.packed_records = PackedRecords::make(*input.data, n_threads);
  const bool is_values = n_classes.empty() && params.criterion == SquaredError::kName;
  const bool may_cut = is_values
                           ? is_on(Route::extra_trees_values)
                           : is_on(Route::extra_trees_bitmap) && n_classes == std::vector<u32>{2};
  if (may_cut && params.random_splits && !params.exact && ExtraTreesTable::fits(*input.data))
    caches.extra_trees = std::make_unique<ExtraTreesTable>(*input.data);
  if (params.random_splits && !params.exact && input.data->groups.size() > 1 &&
      EndsTable::fits(*input.data))
    caches.ends = std::make_unique<EndsTable>(*input.data->bins, n_threads);
  const bool is_kept = n_classes.empty()
                           ? input.target.n_outputs == 1 && !params.exact
                           : is_on(Route::multiclass_block) && n_classes.size() == 1 &&
                                 n_classes[0] <= kPackedClasses;
  const bool may_keep = is_kept && is_on(Route::compact_tree) && !params.random_splits &&
                        input.data->n_cols <= kMostBlockFeatures && !input.data->entries;
  const bool may_join =
      is_on(Route::trees_together) && caches.ends && n_classes == std::vector<u32>{2};
  caches.is_complete = (may_keep || may_join) && caches.all_numeric && !has_missing(*input.data);
  return caches;
}

}  // namespace committee
