// The search for exact splits by bounds from histograms (split/bin_bounds.hpp). Included by
// tree/builder_search.hpp.
#pragma once
#include "split/bin_bounds.hpp"
#include "tree/node_search.hpp"
#include "tree/row_sorting.hpp"

namespace committee {

template <class Accumulator>
bool TreeNodeSearch<Accumulator>::bounds_bins(const NodePosition& node) const {
  return context_.takes(Route::bin_bounds) && node.size() > kExactRows && !node.has_lists();
}

template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::scan_bounded(const NodePosition& node,
                                                      const Element* dense,
                                                      std::span<const u32> features,
                                                      Candidate& best, u8* varies) {
  if constexpr (GrowthContext<Accumulator>::may_take(Route::bin_bounds)) {
    use(Route::bin_bounds);
    const TargetSpan targets = find_target_span<Accumulator>({items_ + node.begin, node.size()});
    std::size_t n_gathered = 0;
    for (std::size_t first = 0; first < features.size(); first += kBoundedTogether) {
      const auto some =
          features.subspan(first, std::min(kBoundedTogether, features.size() - first));
      u8* const own = varies + first;
      sum_bins(node, dense, some);
      double most = best.score;
      for (std::size_t k = 0; k < some.size(); ++k) {
        if (bin_sums_[k].n == 0) own[k] = scan_in_order(node, some[k], best);
        most = finder_->raise_bar(bin_sums_[k], std::max(most, best.score));
      }
      for (std::size_t k = 0; k < some.size(); ++k) {
        if (node.size() >= kPollRows) plan_.watch.poll();
        if (bin_sums_[k].n == 0) continue;
        own[k] = bin_sums_[k].n > 1 || has_several_values(node, some[k]);
        const u32 n_marked =
            finder_->mark_bins(bin_sums_[k], context_.bin_ranks[some[k]], targets, most, marks_);
        if (own[k] && n_marked > 0) n_gathered += scan_marked_bins(node, some[k], k, best);
        most = std::max(most, best.score);
      }
    }
    wants_lists_ = n_gathered * kListedShare > node.size() * features.size();
    return static_cast<std::size_t>(std::count(varies, varies + features.size(), u8{1}));
  } else {
    throw std::logic_error("bounds are for Gini of two classes and squared error of one output");
  }
}

template <class Accumulator>
template <class Node>
void TreeNodeSearch<Accumulator>::deal_rows(std::span<Node> tops) {
  constexpr std::size_t kFewDealt = 8;  // to read all rows costs more than to sort this share
  std::size_t n_rows = 0;
  for (const Node& top : tops) n_rows += top.size();
  if (n_rows * kFewDealt < data_.n_rows) return;
  dealt_.open(data_.n_rows);
  for (Node& top : tops) {
    dealt_.add(std::span<const Item>(items_ + top.begin, top.size()));
    top.lists = NodePosition::Lists::dealt;
  }
  dealt_.deal(*plan_.input.presort, context_.features, plan_.watch);
}

// The bins of each of some features; none where a value is missing.
template <class Accumulator>
void TreeNodeSearch<Accumulator>::sum_bins(const NodePosition& node, const Element* dense,
                                           std::span<const u32> features) {
  const std::size_t feature_cells = static_cast<std::size_t>(kHistogramBins) * accumulator_.cell();
  bin_sums_.resize(std::max(bin_sums_.size(), features.size()));
  const auto fill = [&](std::size_t k, const Element* hist, u64 touched) {
    bin_sums_[k].n = 0;
    const Element* missing = hist + static_cast<std::size_t>(kMissingBin) * accumulator_.cell();
    if (accumulator_.is_empty(missing)) bin_sums_[k].fill(hist, touched);
  };
  for (std::size_t k = 0; dense && k < features.size(); ++k)
    fill(k, dense + features[k] * feature_cells, dense_groups(features[k]));
  for (std::size_t first = 0; !dense && first < features.size(); first += batch_size()) {
    if (node.size() >= kPollRows) plan_.watch.poll();
    const auto run = features.subspan(first, std::min(batch_size(), features.size() - first));
    const Rows rows = rows_of(node, run[0]);
    u64 touched[kBatch];
    context_.fill_features[run.size() - 1](accumulator_, bytes_of(rows, run), rows.items,
                                           run.size(), hist_.data(), touched);
    for (std::size_t k = 0; k < run.size(); ++k) {
      Element* const hist = hist_.data() + k * feature_cells;
      fill(first + k, hist, touched[k]);
      clear_touched(hist, touched[k], accumulator_.cell());
    }
  }
}

template <class Accumulator>
bool TreeNodeSearch<Accumulator>::has_several_values(const NodePosition& node, u32 feature) const {
  if (context_.bin_ranks[feature].is_single(data_.column(feature)[items_[node.begin].row]))
    return false;
  const u32* ranks = ranks_of(feature);
  const u32 first = ranks[items_[node.begin].row];
  return std::any_of(items_ + node.begin, items_ + node.end,
                     [&](const Item& item) { return ranks[item.row] != first; });
}

// Sorts the rows of marked bins, looks at their boundaries, and returns how many rows there were.
template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::scan_marked_bins(const NodePosition& node, u32 feature,
                                                          std::size_t k, Candidate& best) {
  const BinSums<Accumulator>& sums = bin_sums_[k];
  const BinRanks& own = context_.bin_ranks[feature];
  u8 is_wanted[kHistogramBins] = {};
  bool is_any = false;
  for (u32 b = 0; b < sums.n; ++b) {
    const bool follows = b > 0 && marks_[b - 1];
    const bool is_own = (marks_[b] || follows) && !own.is_single(sums.bins[b]);
    is_wanted[sums.bins[b]] = is_own;
    is_any |= is_own;
  }
  const u8* column = data_.column(feature);
  const u32* ranks = ranks_of(feature);
  const Item* items = items_ + node.begin;
  if (gathered_.size() < node.size()) gathered_.resize(node.size());
  std::size_t n = 0;
  for (std::size_t i = 0; is_any && i < node.size(); ++i) {
    gathered_[n] = static_cast<u32>(i);
    n += is_wanted[column[items[i].row]];
  }
  keyed_.resize(n);
  u32 largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const u32 rank = ranks[items[gathered_[j]].row];
    largest = std::max(largest, rank);
    keyed_[j] = static_cast<u64>(rank) << 32 | gathered_[j];
  }
  sort_keyed(keyed_, keyed_spare_, largest);
  finder_->scan_marked({sums, own, marks_, keyed_, items, column},
                       view_feature(context_.numbers_of(node), feature), best);
  return n;
}

}  // namespace committee
