// The search for the best split of a node: histograms of runs of features, sorted rows, single
// boundaries. Declared here; defined below and in tree/search_*.hpp.
#pragma once
#include <algorithm>
#include <bit>

#include "committee/criteria/all.hpp"
#include "split/bin_bounds.hpp"
#include "split/split_candidate.hpp"
#include "split/threshold.hpp"
#include "tree/dealt_rows.hpp"
#include "tree/dense_histograms.hpp"
#include "tree/feature_views.hpp"
#include "tree/gather_bins.hpp"
#include "tree/growth_context.hpp"
#include "tree/sorted_lists.hpp"

namespace committee {

inline constexpr std::size_t kPollRows = 4096;       // a feature of so many rows may take a while
inline constexpr std::size_t kBoundedTogether = 64;  // features whose bounds are compared
// Lists of sorted rows pay where bounds leave more than this share of them to be sorted.
inline constexpr std::size_t kListedShare = 4;
inline constexpr std::size_t kPollFeatures = 1024;  // so many features of entries may, too

// A lane a feature, wide enough for the weight of some rows.
using CountLanes COMMITTEE_VECTOR(2 * kBatch) = u16;

// A node's rows and where their bins lie.
template <class Item>
struct NodeRows {
  RecordBlock block;
  std::span<const Item> items;
  NodeNumbers numbers;  // of the node
};

// Records of up to kExactRows rows, and the rank of each bin's value in its whole column.
struct ValueRecords {
  u8* bytes;  // of row r and feature f: bytes[r * stride + f]
  std::size_t stride;
  u32* ranks;  // of bin b of feature f: ranks[f * kHistogramBins + b]
};

// Of one thread at a time.
template <class Accumulator>
class TreeNodeSearch : public FeatureViews {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;
  using Rows = NodeRows<Item>;

  COMMITTEE_COLD explicit TreeNodeSearch(const GrowthContext<Accumulator>& context);

  // Before the scans of a node: its total and the limits of its splits.
  void begin(const Element* total, const NodeLimits& limits) {
    std::copy_n(total, accumulator_.cell(), total_.begin());
    finder_->begin_node(total, limits);
    n_run_ = 0;
    wants_lists_ = false;
  }
  // The features of a general node, one after the other; varies[k] tells whether feature k is not
  // constant here. dense: histograms of all features, or null. Returns how many vary.
  std::size_t scan_features(const NodePosition& node, const Element* dense,
                            std::span<const u32> features, Candidate& best, u8* varies);
  // Features of a node of a subtree; those that turn out constant are taken out of `varying`.
  // Returns how many vary.
  std::size_t scan_numeric(const Rows& rows, std::span<const u32> features, Candidate& best,
                           u64& varying);
  SplitFinder<Accumulator>& finder() { return *finder_; }
  // The bins of the feature in the rows of the node that was looked at last, in byte `shift / 8` of
  // a word a row; null: they were not gathered.
  const u64* find_gathered(u32 feature, u32& shift) const {
    const u32* at = std::find(run_, run_ + n_run_, feature);
    shift = static_cast<u32>(at - run_) * 8;
    return at == run_ + n_run_ ? nullptr : run_bins_.data();
  }
  // Before a node that was searched is partitioned: lists of its sorted rows, where that route is
  // taken and they have room. After it: those of its children, where the node has them.
  void open_lists(NodePosition& node, std::span<const u32> features);
  void partition_lists(const NodePosition& node, std::size_t n_left, std::span<const u32> features);
  // Sorted rows of subtrees that are grown next, in their order, or none where they are few.
  template <class Node>
  void deal_rows(std::span<Node> tops);
  void take_dealt(std::size_t number) { n_dealt_ = number; }
  // Whether the search of the node would have done better with lists of its sorted rows.
  bool wants_lists() const { return wants_lists_; }
  // Records of a node of exact splits, its rows in their order: each value of a feature that occurs
  // in the node is a bin. Returns a bit for each of the features that varies.
  u64 bin_values(const NodePosition& node, std::span<const u32> features, ValueRecords& records);
  // The node's rows with the record group of a feature.
  Rows rows_of(const NodePosition& node, u32 feature) const;
  std::size_t batch_size() const { return count_batch(accumulator_); }

  // Nodes by route: how many, and which routes searched the node at hand.
  void count(Route route, std::size_t n) { nodes_[static_cast<u32>(route)] += n; }
  void use(Route route) { used_ |= 1u << static_cast<u32>(route); }
  void count_used() {
    for (; used_; used_ &= used_ - 1) ++nodes_[static_cast<u32>(std::countr_zero(used_))];
  }
  const RouteCounts& nodes() const { return nodes_; }

 private:
  struct DividedFeatures {
    u32 one[64], many[64];
    std::size_t n_one = 0, n_many = 0;
  };
  DividedFeatures divide_features(std::size_t n_rows, std::span<const u32> features) const;
  bool prefers_columns(const Rows& rows, std::span<const u32> features) const;
  RunBytes bytes_of(const Rows& rows, std::span<const u32> features) const;
  std::size_t find_run_end(std::span<const u32> features, std::size_t k, bool few) const;
  bool has_random_threshold(u32 feature) const {
    return params_.random_splits && context_.is_numeric(feature);
  }
  void scan_run(const NodeNumbers& numbers, std::span<const u32> features, const u64* touched,
                Candidate& best, u8* varies);
  bool scan_filled(const NodeNumbers& numbers, u32 feature, const Element* hist, u64 touched,
                   Candidate& best);
  u64 dense_groups(u32 feature) const;
  bool scan_wide(const NodePosition& node, u32 feature, Candidate& best);
  void collect_category_cells(u32 feature, const Element* hist, u64 touched);
  void accumulate_wide(const NodePosition& node, u32 feature);
  // tree/search_entries.hpp
  std::size_t scan_entries(const NodePosition& node, std::span<const u32> features, Candidate& best,
                           u8* varies);
  u64 fill_from_entries(const NodePosition& node, u32 feature);
  bool scan_random_filled(const NodeNumbers& numbers, u32 feature, u64 touched, Candidate& best);
  // tree/search_small.hpp
  std::size_t scan_few_rows(const Rows& rows, std::span<const u32> features, Candidate& best,
                            u8* varies);
  // tree/search_random.hpp
  u32 scan_single_boundaries(const Rows& rows, std::span<const u32> features, Candidate& best,
                             u8* varies);
  BinRange gather_run_bins(const Rows& rows, std::span<const u32> features, std::size_t run = 0);
  std::size_t scan_random_runs(const NodePosition& node, std::span<const u32> features, bool few,
                               Candidate& best, u8* varies);
  void take_cuts(std::span<const Item> items, Candidate& best);
  void sum_left(std::span<const Item> items, const u64* words, const u8* limits,
                std::size_t n_features, Element* sums);
  void scan_random_thresholds(const Rows& rows, std::span<const u32> features, Candidate& best,
                              u8* varies);
  // tree/search_sorted.hpp
  bool scan_in_order(const NodePosition& node, u32 feature, Candidate& best);
  bool scan_categories_in_order(const NodePosition& node, u32 feature, Candidate& best);
  SortedRows sort_rows(const NodePosition& node, u32 feature);
  // Of exact splits.
  const u32* ranks_of(u32 feature) const {
    return plan_.input.presort->rank.data() + static_cast<std::size_t>(feature) * data_.n_rows;
  }
  // tree/search_bounds.hpp
  bool bounds_bins(const NodePosition& node) const;
  std::size_t scan_bounded(const NodePosition& node, const Element* dense,
                           std::span<const u32> features, Candidate& best, u8* varies);
  void sum_bins(const NodePosition& node, const Element* dense, std::span<const u32> features);
  bool has_several_values(const NodePosition& node, u32 feature) const;
  std::size_t scan_marked_bins(const NodePosition& node, u32 feature, std::size_t k,
                               Candidate& best);

  const GrowthContext<Accumulator>& context_;
  const Sample<Accumulator>& sample_;
  const Accumulator& accumulator_;
  const Item* const items_;
  const bool sorts_categories_;  // absolute error
  const std::unique_ptr<SplitFinder<Accumulator>> finder_;
  std::vector<Element> total_;   // of the node
  AlignedBuffer<Element> hist_;  // of some features, all zero between uses
  std::vector<Element> rest_;    // a cell
  std::vector<u8> column_;       // bytes of a column that has none
  std::vector<u64> keyed_, keyed_spare_;
  // Of bin_bounds: of some features; of the bins and the rows of one.
  std::vector<BinSums<Accumulator>> bin_sums_;
  u64 marks_[kHistogramBins];
  std::vector<u32> gathered_;
  bool wants_lists_ = false;
  std::unique_ptr<SortedLists<Item>> lists_;  // where that route is taken
  DealtRows dealt_;
  std::size_t n_dealt_ = 0;  // the subtree at hand
  std::vector<u32> listed_;  // features that have lists, for a call
  std::vector<CategoryCell<Element>> cells_;
  std::vector<Element> wide_cells_;
  // A word a row: the bins of the run of features that was looked at last; of several runs, one
  // behind the other.
  AlignedBuffer<u64> run_bins_;
  u32 run_[kBatch];
  u32 n_run_ = 0;
  std::vector<Element> run_sums_;  // a cell a lane
  std::vector<CountLanes> lanes_;
  SingleBoundaries cuts_;
  // The smallest and the largest value of each bin of a column.
  struct ColumnEnds {
    const double *low, *high;
  };
  std::vector<ColumnEnds> column_ends_;  // per feature, of random_thresholds
  RouteCounts nodes_{};
  u32 used_ = 0;
};

template <class Accumulator>
TreeNodeSearch<Accumulator>::TreeNodeSearch(const GrowthContext<Accumulator>& context)
    : FeatureViews(context.plan),
      context_(context),
      sample_(context.sample),
      accumulator_(context.accumulator),
      items_(context.items),
      sorts_categories_(has_no_histograms(context.params.criterion)),
      finder_(make_finder(context.accumulator, context.params.criterion)),
      total_(context.accumulator.cell()),
      hist_(batch_size() * kHistogramBins * context.accumulator.cell(), Element{0}) {
  if (context.takes(Route::random_thresholds)) {
    for (const ColumnBins& bins : *data_.bins)
      column_ends_.push_back({bins.low.data(), bins.high.data()});
  }
}

// The node's rows with the record group of a feature.
template <class Accumulator>
typename TreeNodeSearch<Accumulator>::Rows TreeNodeSearch<Accumulator>::rows_of(
    const NodePosition& node, u32 feature) const {
  const RecordGroup& group = data_.group_of(feature);
  return {{group.bytes.data(), group.stride, group.first_col},
          {items_ + node.begin, node.size()},
          context_.numbers_of(node)};
}

// The end of a run of features, which is looked at in one pass over the rows: of one record group,
// or, where that has few of them, of any groups: their bins are read from columns then.
template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::find_run_end(std::span<const u32> features, std::size_t k,
                                                      bool few) const {
  const u32 feature = features[k];
  const bool is_numeric = context_.is_numeric(feature), single = has_random_threshold(feature);
  const std::size_t last = std::min(features.size(), k + (single ? kBatch : batch_size()));
  if (all_numeric_ && features.size() < kBatch / 2 * data_.groups.size()) return last;
  const auto fits = [&](u32 other) {
    return !(*data_.bins)[other].wide &&
           (is_numeric == context_.is_numeric(other) || !(few || params_.random_splits)) &&
           !(plan_.sorts_rows && context_.is_numeric(other));
  };
  std::size_t end = k + 1, n_near = 1;
  for (; end < last && fits(features[end]); ++end) {
    const bool is_near = features[end] / 64 == feature / 64;
    if (!is_near && 2 * n_near >= last - k) break;
    n_near += is_near;
  }
  return end;
}

// Looks at the features one after the other; varies[k] tells whether feature k is not constant
// here.
template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::scan_features(const NodePosition& node,
                                                       const Element* dense,
                                                       std::span<const u32> features,
                                                       Candidate& best, u8* varies) {
  if (data_.entries) return scan_entries(node, features, best, varies);
  if (bounds_bins(node)) return scan_bounded(node, dense, features, best, varies);
  std::size_t n_varying = 0;
  auto note = [&](std::size_t k, bool varying) {
    varies[k] = varying;
    n_varying += varying;
  };
  const std::size_t feature_cells = static_cast<std::size_t>(kHistogramBins) * accumulator_.cell();
  const bool few = context_.takes(Route::few_rows) && node.size() <= finder_->most_few();
  u64 touched[kBatch];
  for (std::size_t k = 0; k < features.size();) {
    if (node.size() >= kPollRows) plan_.watch.poll();
    const u32 feature = features[k];
    if ((*data_.bins)[feature].wide) {
      note(k++, scan_wide(node, feature, best));
    } else if (plan_.sorts_rows && (context_.is_numeric(feature) || sorts_categories_)) {
      note(k++, context_.is_numeric(feature) ? scan_in_order(node, feature, best)
                                             : scan_categories_in_order(node, feature, best));
    } else if (dense) {
      const Element* hist = dense + feature * feature_cells;
      note(k++, scan_filled(context_.numbers_of(node), feature, hist, dense_groups(feature), best));
    } else {
      if (has_random_threshold(feature)) {
        const std::size_t end =
            k + scan_random_runs(node, features.subspan(k), few, best, varies + k);
        for (; k < end; ++k) n_varying += varies[k];
        continue;
      }
      const std::size_t end = find_run_end(features, k, few);
      const auto run = features.subspan(k, end - k);
      const Rows rows = rows_of(node, feature);
      if (few && context_.is_numeric(feature)) {
        use(Route::few_rows);
        n_varying += scan_few_rows(rows, run, best, varies + k);
        k = end;
        continue;
      }
      context_.fill_features[run.size() - 1](accumulator_, bytes_of(rows, run), rows.items,
                                             run.size(), hist_.data(), touched);
      scan_run(rows.numbers, run, touched, best, varies + k);
      for (; k < end; ++k) n_varying += varies[k];
    }
  }
  return n_varying;
}

// The histograms of a run of features, which it clears.
template <class Accumulator>
void TreeNodeSearch<Accumulator>::scan_run(const NodeNumbers& numbers,
                                           std::span<const u32> features, const u64* touched,
                                           Candidate& best, u8* varies) {
  const std::size_t feature_cells = static_cast<std::size_t>(kHistogramBins) * accumulator_.cell();
  FeatureView views[kBatch];
  for (std::size_t k = 0; k < features.size();) {
    Element* const hist = hist_.data() + k * feature_cells;
    std::size_t n = 0;
    for (; k + n < features.size() && context_.is_numeric(features[k + n]); ++n)
      views[n] = view_feature(numbers, features[k + n]);
    if (n > 0) {
      finder_->scan_run(hist, touched + k, {views, n}, best, varies + k);
      k += n;
    } else {
      varies[k] = scan_filled(numbers, features[k], hist, touched[k], best);
      clear_touched(hist, touched[k], accumulator_.cell());
      ++k;
    }
  }
}

template <class Accumulator>
bool TreeNodeSearch<Accumulator>::scan_filled(const NodeNumbers& numbers, u32 feature,
                                              const Element* hist, u64 touched, Candidate& best) {
  const FeatureView view = view_feature(numbers, feature);
  if (!context_.is_numeric(feature)) {
    collect_category_cells(feature, hist, touched);
    return finder_->scan_categories(cells_, params_.random_splits, view, best);
  }
  return finder_->scan_bins(hist, touched, view, best);
}

template <class Accumulator>
void TreeNodeSearch<Accumulator>::collect_category_cells(u32 feature, const Element* hist,
                                                         u64 touched) {
  const u32 cell = accumulator_.cell();
  cells_.clear();
  for (; touched; touched &= touched - 1) {
    const u32 first = static_cast<u32>(std::countr_zero(touched)) * 4;
    for (u32 bin = first; bin < first + 4; ++bin) {
      if (bin >= (*data_.bins)[feature].n_bins && bin != kMissingBin) continue;
      const Element* at = hist + static_cast<std::size_t>(bin) * cell;
      if (!accumulator_.is_empty(at))
        cells_.push_back({bin == kMissingBin ? kMissingCode : bin, at});
    }
  }
}

// Columns of more than 255 categories: cells of those that occur, in a table of their own.
template <class Accumulator>
void TreeNodeSearch<Accumulator>::accumulate_wide(const NodePosition& node, u32 feature) {
  const u32 cell = accumulator_.cell(), n_categories = (*data_.bins)[feature].n_bins;
  const u32* codes = data_.wide[feature].data();
  wide_cells_.assign((static_cast<std::size_t>(n_categories) + 1) * cell, Element{0});
  for (std::size_t i = node.begin; i < node.end; ++i) {
    const u32 code =
        std::min(codes[items_[i].row], n_categories);  // missing: behind the last category
    accumulator_.add(wide_cells_.data() + static_cast<std::size_t>(code) * cell, items_[i]);
  }
  cells_.clear();
  for (u32 code = 0; code <= n_categories; ++code) {
    const Element* at = wide_cells_.data() + static_cast<std::size_t>(code) * cell;
    if (!accumulator_.is_empty(at))
      cells_.push_back({code == n_categories ? kMissingCode : code, at});
  }
}

template <class Accumulator>
bool TreeNodeSearch<Accumulator>::scan_wide(const NodePosition& node, u32 feature,
                                            Candidate& best) {
  if (sorts_categories_) return scan_categories_in_order(node, feature, best);
  accumulate_wide(node, feature);
  return finder_->scan_categories(cells_, params_.random_splits,
                                  view_feature(context_.numbers_of(node), feature), best);
}

// Groups of four bins that a column can occupy. The missing bin is always looked at: a table that
// the bins were not learnt from may have missing values where the one that taught them had none.
template <class Accumulator>
u64 TreeNodeSearch<Accumulator>::dense_groups(u32 feature) const {
  const ColumnBins& bins = (*data_.bins)[feature];
  const u32 n_groups = (bins.n_bins + 3) / 4;
  const u64 values = n_groups >= 64 ? ~u64{0} : (u64{1} << n_groups) - 1;
  return values | u64{1} << 63;
}

// Whether the columns are fewer cache lines than the records of the node's rows, or the features
// are of several record groups.
template <class Accumulator>
bool TreeNodeSearch<Accumulator>::prefers_columns(const Rows& rows,
                                                  std::span<const u32> features) const {
  constexpr std::size_t kLine = 64;
  const auto is_elsewhere = [&](u32 feature) { return feature / 64 != features[0] / 64; };
  if (data_.groups.size() > 1 && std::ranges::any_of(features, is_elsewhere)) return true;
  return rows.block.records == context_.block.records &&
         features.size() * (data_.n_rows / kLine) < rows.items.size();
}

template <class Accumulator>
RunBytes TreeNodeSearch<Accumulator>::bytes_of(const Rows& rows,
                                               std::span<const u32> features) const {
  return prefers_columns(rows, features) ? RunBytes(data_, features)
                                         : RunBytes(rows.block, features);
}

// Features with one boundary to look at, and others. Bits are always among the first.
template <class Accumulator>
typename TreeNodeSearch<Accumulator>::DividedFeatures TreeNodeSearch<Accumulator>::divide_features(
    std::size_t n_rows, std::span<const u32> features) const {
  const u64 has_one = params_.random_splits    ? ~u64{0}
                      : n_rows > kFewForSingle ? context_.two_valued
                                               : context_.packed;
  DividedFeatures divided;
  for (const u32 f : features) {
    divided.one[divided.n_one] = divided.many[divided.n_many] = f;
    divided.n_one += has_one >> f & 1;
    divided.n_many += ~has_one >> f & 1;
  }
  return divided;
}

// Looks at features, takes those that turn out constant out of `varying`; 0: none varies.
template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::scan_numeric(const Rows& rows,
                                                      std::span<const u32> features,
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
  DividedFeatures own = divide_features(rows.items.size(), features);
  if (own.n_one > 0 && !params_.random_splits) use(Route::two_valued);
  if (own.n_one > 0 && !column_ends_.empty()) use(Route::random_thresholds);
  in_batches({own.one, own.n_one}, kBatch, [&](std::span<const u32> run) {
    if (!column_ends_.empty()) return scan_random_thresholds(rows, run, best, varies);
    const u32 has_more = scan_single_boundaries(rows, run, best, varies);
    for (std::size_t k = 0; k < run.size(); ++k) {
      if (has_more >> k & 1) own.many[own.n_many++] = run[k];
    }
  });
  const bool few = context_.takes(Route::few_rows) && rows.items.size() <= finder_->most_few();
  if (few && own.n_many > 0) use(Route::few_rows);
  in_batches({own.many, own.n_many}, few ? kBatch : batch_size(), [&](std::span<const u32> run) {
    if (few) {
      scan_few_rows(rows, run, best, varies);
      return;
    }
    u64 touched[kBatch];
    context_.fill_features[run.size() - 1](accumulator_, bytes_of(rows, run), rows.items,
                                           run.size(), hist_.data(), touched);
    scan_run(rows.numbers, run, touched, best, varies);
  });
  return n_varying;
}

}  // namespace committee
