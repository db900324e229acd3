// The search over a table that is kept as entries. Included by tree/builder_search.hpp.
#pragma once
#include <bit>

#include "tree/node_search.hpp"

namespace committee {

// The histogram of a feature in the node, in hist_, with the groups of four bins that were touched;
// 0, and nothing filled: no row of the node has an entry, so that the feature is constant.
template <class Accumulator>
u64 TreeNodeSearch<Accumulator>::fill_from_entries(const NodePosition& node, u32 feature) {
  const std::span<const Item> rows{items_ + node.begin, node.size()};
  u64 touched = 0;
  if (data_.has_bytes(feature)) {
    const RunBytes column(data_, {&feature, 1});
    context_.fill_features[0](accumulator_, column, rows, 1, hist_.data(), &touched);
    return touched;
  }
  const ColumnEntries::View listed = data_.entries->column(feature);
  const u32 cell = accumulator_.cell();
  context_.entry_rows->visit(listed, rows, node.name, [&](std::size_t e, const Item& item) {
    const u32 bin = listed.bins[e];
    accumulator_.add(hist_.data() + std::size_t{bin} * cell, item);
    touched |= u64{1} << (bin >> 2);
  });
  if (touched == 0) return 0;
  // All other rows: the total less the rows with entries.
  Element* const rest = hist_.data() + std::size_t{listed.rest} * cell;
  std::vector<Element>& left_over = rest_;
  left_over = total_;
  for (u64 groups = touched; groups; groups &= groups - 1) {
    const Element* at =
        hist_.data() + static_cast<std::size_t>(std::countr_zero(groups)) * 4 * cell;
    for (u32 b = 0; b < 4; ++b, at += cell)
      for (u32 k = 0; k < cell; ++k) left_over[k] -= at[k];
  }
  std::copy(left_over.begin(), left_over.end(), rest);
  return touched | u64{1} << (listed.rest >> 2);
}

// The single boundary of a feature whose threshold is random, from its histogram.
template <class Accumulator>
bool TreeNodeSearch<Accumulator>::scan_random_filled(const NodeNumbers& numbers, u32 feature,
                                                     u64 touched, Candidate& best) {
  const u32 cell = accumulator_.cell();
  const auto cell_of = [&](u32 bin) { return hist_.data() + std::size_t{bin} * cell; };
  const bool has_missing = !accumulator_.is_empty(cell_of(kMissingBin));
  u32 lo = kNone, hi = kNone;
  for (u64 groups = touched; groups; groups &= groups - 1) {
    const u32 first = static_cast<u32>(std::countr_zero(groups)) * 4;
    for (u32 bin = first; bin < first + 4 && bin < kMissingBin; ++bin) {
      if (accumulator_.is_empty(cell_of(bin))) continue;
      lo = std::min(lo, bin);
      hi = bin;
    }
  }
  if (lo == kNone || (lo == hi && !has_missing)) return false;
  SingleBoundary cut;
  fill_view(numbers, feature, cut.view);
  cut.at = {lo, kNone, false, has_missing};  // one value, and missing ones
  if (lo != hi) {
    u32 bin = lo;
    if (hi > lo + 1) {  // neighbours have one boundary, whatever the number
      SplitBinSearch search;
      search.add({cut.view.low->data(), cut.view.high->data(), cut.view.number}, lo, hi);
      search.finish();
      bin = search.bin(0);
    }
    cut.at = {bin, bin + 1, has_missing && draw_missing_left(cut.view), has_missing};
  }
  rest_.assign(cell, Element{0});
  const auto add = [&](u32 bin) {
    for (u32 k = 0; k < cell; ++k) rest_[k] += cell_of(bin)[k];
  };
  for (u32 bin = lo; bin <= cut.at.bin; ++bin) add(bin);
  if (cut.at.missing_left) add(kMissingBin);
  finder_->take_single({&cut, 1}, rest_.data(), best);
  return true;
}

template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::scan_entries(const NodePosition& node,
                                                      std::span<const u32> features,
                                                      Candidate& best, u8* varies) {
  std::size_t n_varying = 0;
  const NodeNumbers numbers = context_.numbers_of(node);
  const ColumnEntries& entries = *data_.entries;
  // Columns lie far apart: their entries are on the way while others are looked at.
  constexpr std::size_t kAhead = 8;
  for (std::size_t k = 0; k < features.size(); ++k) {
    if (k % kPollFeatures == kPollFeatures - 1) plan_.watch.poll();
    if (k + kAhead < features.size()) {
      const u64 start = entries.starts[features[k + kAhead]];
      prefetch(entries.rows.data() + start);
      prefetch(entries.bins.data() + start);
      prefetch(entries.rest.data() + features[k + kAhead]);
      prefetch(entries.places.data() + features[k + kAhead]);
    }
    const u32 feature = features[k];
    if (params_.exact) {
      varies[k] = scan_in_order(node, feature, best);
    } else if (const u64 touched = fill_from_entries(node, feature); touched != 0) {
      varies[k] =
          plan_.sorts_rows ? scan_in_order(node, feature, best)
          : params_.random_splits
              ? scan_random_filled(numbers, feature, touched, best)
              : finder_->scan_bins(hist_.data(), touched, view_feature(numbers, feature), best);
      clear_touched(hist_.data(), touched, accumulator_.cell());
    } else {
      varies[k] = 0;
    }
    n_varying += varies[k];
  }
  return n_varying;
}

}  // namespace committee
