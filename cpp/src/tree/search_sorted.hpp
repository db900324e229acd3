// The search over sorted rows: exact splits, absolute error and log-rank. Included by
// tree/builder_search.hpp.
#pragma once
#include <algorithm>

#include "split/categorical_order.hpp"
#include "tree/node_search.hpp"
#include "tree/row_sorting.hpp"

namespace committee {

template <class Accumulator>
void TreeNodeSearch<Accumulator>::open_lists(NodePosition& node, std::span<const u32> features) {
  const bool is_wanted =
      node.lists == NodePosition::Lists::wanted || !context_.takes(Route::bin_bounds);
  if (!context_.takes(Route::sorted_lists) || node.has_lists() || !is_wanted) return;
  if (!lists_) lists_ = std::make_unique<SortedLists<Item>>(data_.n_rows, data_.n_cols);
  if (!lists_->fits(node.size())) return;
  lists_->open(node, items_ + node.begin);
  for (const u32 feature : features)
    if (context_.is_numeric(feature)) lists_->put(feature, sort_rows(node, feature).keyed);
  node.lists = NodePosition::Lists::first;
}

template <class Accumulator>
void TreeNodeSearch<Accumulator>::partition_lists(const NodePosition& node, std::size_t n_left,
                                                  std::span<const u32> features) {
  if (!node.has_lists()) return;
  listed_.clear();
  for (const u32 feature : features)
    if (context_.is_numeric(feature)) listed_.push_back(feature);
  lists_->partition(node, n_left, listed_);
  count(Route::sorted_lists, 1);
}

template <class Accumulator>
SortedRows TreeNodeSearch<Accumulator>::sort_rows(const NodePosition& node, u32 feature) {
  if (node.lists == NodePosition::Lists::dealt) return dealt_.list(n_dealt_, feature);
  if (node.has_lists()) return lists_->list(node, feature);
  const std::size_t n = node.size();
  keyed_.resize(n);
  SortedRows rows;
  u32 largest = 0;
  std::size_t n_values = 0;
  auto place = [&](std::size_t i, u32 code) {
    const bool missing = code == kMissingCode;
    // Missing rows fill the end, backwards; their order among themselves does not matter.
    keyed_[missing ? n - ++rows.n_missing : n_values] = static_cast<u64>(code) << 32 | i;
    n_values += !missing;
    if (!missing) largest = std::max(largest, code);
  };
  if (params_.exact) {
    const u32* rank = ranks_of(feature);
    if (n == data_.n_rows) {  // the root of an unweighted fit: the order is known
      const u32* order =
          plan_.input.presort->order.data() + static_cast<std::size_t>(feature) * data_.n_rows;
      for (std::size_t i = 0; i < n; ++i)
        keyed_[i] = static_cast<u64>(rank[order[i]]) << 32 | order[i];
      for (std::size_t i = n; i-- > 0 && (keyed_[i] >> 32) == kMissingCode;) ++rows.n_missing;
      rows.keyed = keyed_;
      return rows;
    }
    for (std::size_t i = 0; i < n; ++i) place(i, rank[items_[node.begin + i].row]);
  } else {
    const u8* column = data_.read_column(feature, column_);
    for (std::size_t i = 0; i < n; ++i) {
      const u8 bin = column[items_[node.begin + i].row];
      place(i, bin == kMissingBin ? kMissingCode : bin);
    }
  }
  std::vector<u64> missing(keyed_.begin() + static_cast<std::ptrdiff_t>(n_values), keyed_.end());
  keyed_.resize(n_values);
  sort_keyed(keyed_, keyed_spare_, largest);
  keyed_.insert(keyed_.end(), missing.begin(), missing.end());
  rows.keyed = keyed_;
  return rows;
}

template <class Accumulator>
u64 TreeNodeSearch<Accumulator>::bin_values(const NodePosition& node, std::span<const u32> features,
                                            ValueRecords& records) {
  const std::size_t first = node.has_lists() ? lists_->place_of(node) : 0;
  std::fill_n(records.bytes, node.size() * records.stride, u8{0});
  u64 varying = 0;
  for (const u32 feature : features) {
    const SortedRows rows = sort_rows(node, feature);
    const std::size_t n_values = rows.keyed.size() - rows.n_missing;
    const auto byte_of = [&](u64 key) -> u8& {
      return records.bytes[(static_cast<u32>(key) - first) * records.stride + feature];
    };
    u32* const ranks = records.ranks + feature * kHistogramBins;
    u32 bin = 0;
    u32 previous = static_cast<u32>(rows.keyed[0] >> 32);
    for (std::size_t i = 0; i < n_values; ++i) {
      const u32 rank = static_cast<u32>(rows.keyed[i] >> 32);
      bin += rank != previous;
      previous = ranks[bin] = rank;
      byte_of(rows.keyed[i]) = static_cast<u8>(bin);
    }
    for (std::size_t i = n_values; i < rows.keyed.size(); ++i) byte_of(rows.keyed[i]) = kMissingBin;
    varying |= u64{bin > 0 || (rows.n_missing > 0 && n_values > 0)} << feature;
  }
  return varying;
}

template <class Accumulator>
bool TreeNodeSearch<Accumulator>::scan_in_order(const NodePosition& node, u32 feature,
                                                Candidate& best) {
  SortedRows rows = sort_rows(node, feature);
  const FeatureView view = view_feature(context_.numbers_of(node), feature);
  const std::size_t n_values = rows.keyed.size() - rows.n_missing;
  if (n_values == 0) return false;
  const u32 lo = static_cast<u32>(rows.keyed[0] >> 32),
            hi = static_cast<u32>(rows.keyed[n_values - 1] >> 32);
  if (params_.random_splits && lo < hi) {
    rows.only_bin = draw_split_bin(view, lo, hi);
    rows.only_missing_left = rows.n_missing > 0 && draw_missing_left(view);
  }
  const Item* items = node.has_lists() ? lists_->items() : items_ + node.begin;
  return finder_->scan_sorted(rows, items, view, best);
}

// Puts a category, or the missing values behind the last one, on its side of a split.
inline void take_category(Candidate& split, u32 code, u32 group, u32 n_categories) {
  split.categorical = true;
  if (code == n_categories) {
    split.has_missing = true;
    split.missing_left = group <= split.bin;
  } else {
    (group <= split.bin ? split.left_codes : split.right_codes).push_back(code);
  }
}

// Absolute error and log-rank over categories: categories ordered by their mean target or score,
// then scanned like numbers.
template <class Accumulator>
bool TreeNodeSearch<Accumulator>::scan_categories_in_order(const NodePosition& node, u32 feature,
                                                           Candidate& best) {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    const ColumnBins& bins = (*data_.bins)[feature];
    auto code_of = [&](u32 row) {
      if (bins.wide) return data_.wide[feature][row];
      const u8 bin = data_.column(feature)[row];
      return bin == kMissingBin ? kMissingCode : static_cast<u32>(bin);
    };
    const u32 cell = accumulator_.cell();
    std::vector<Element> cells(static_cast<std::size_t>(bins.n_bins + 1) * cell, Element{0});
    const i64* scores = finder_->find_row_scores(items_ + node.begin, node.size());
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const u32 code = std::min(code_of(items_[i].row), bins.n_bins);
      Item item = items_[i];
      if constexpr (Accumulator::kFixedCell > 0) {
        if (scores) item.wy = scores[i - node.begin];
      }
      accumulator_.add(cells.data() + static_cast<std::size_t>(code) * cell, item);
    }
    std::vector<CategoryCell<Element>> categories;
    for (u32 code = 0; code <= bins.n_bins; ++code) {
      const Element* at = cells.data() + static_cast<std::size_t>(code) * cell;
      if (!accumulator_.is_empty(at)) categories.push_back({code, at});
    }
    CategoryOrder<Accumulator> order(accumulator_);
    order.set_rare_weight(plan_.rare_weight);
    order.sort_by_mean(categories);
    std::vector<u32> position(bins.n_bins + 1, 0);
    for (u32 k = 0; k < order.size(); ++k) position[categories[order[k]].code] = order.group(k);
    keyed_.resize(node.size());
    for (std::size_t i = 0; i < node.size(); ++i) {
      const u32 code = std::min(code_of(items_[node.begin + i].row), bins.n_bins);
      keyed_[i] = static_cast<u64>(position[code]) << 32 | i;
    }
    const u32 n_groups = order.size() == 0 ? 0 : order.group(order.size() - 1) + 1;
    sort_keyed(keyed_, keyed_spare_, n_groups);
    SortedRows rows;
    rows.keyed = keyed_;
    const FeatureView view = view_feature(context_.numbers_of(node), feature);
    if (params_.random_splits && n_groups > 1)
      rows.only_bin = scale_below(view.number, n_groups - 1);
    Candidate own;
    finder_->scan_sorted(rows, items_ + node.begin, view, own);
    if (own.found() && best.loses_to(own.score, own.priority, own.bin)) {
      for (u32 k = 0; k < order.size(); ++k)
        take_category(own, categories[order[k]].code, order.group(k), bins.n_bins);
      best = std::move(own);
    }
    return categories.size() > 1;  // one group now may be several further down
  } else {
    throw std::logic_error("rows are sorted by category for absolute error and log-rank alone");
  }
}

}  // namespace committee
