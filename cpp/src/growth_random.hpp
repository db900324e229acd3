// The search without histograms: one random threshold a feature, or all thresholds of a few rows.
// Included by growth_search.hpp.
#pragma once
#include <algorithm>
#include <bit>

#include "growth_loop.hpp"

namespace committee {

// A lane a feature.
using BinLanes [[gnu::vector_size(kBatch)]] = u8;

// The range of the bins of up to kBatch features over some rows. Missing is the largest code; a
// step up wraps it to zero, so that it does not count as the largest bin.
struct BinRange {
  BinLanes lo = BinLanes{} - 1, hi_next = BinLanes{}, lo_next = BinLanes{} - 1;

  void take(BinLanes bins) {
    const BinLanes next = bins + 1;
    lo = bins < lo ? bins : lo;
    hi_next = next > hi_next ? next : hi_next;
    lo_next = next < lo_next ? next : lo_next;
  }
};

// Copies the bins of a run of features, the first in the lowest byte of a word, and finds their
// range.
template <int kFeatures, class Item>
BinRange gather_run(const RecordGroup& group, const Item* items, std::size_t n, const u32* columns,
                    u64* words) {
  const u8* records = group.bytes.data();
  const std::size_t stride = group.stride;
  BinRange range;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kPrefetchAhead < n)
      __builtin_prefetch(records + items[i + kPrefetchAhead].row * stride);
    const u8* record = records + items[i].row * stride;
    u64 word = 0;
#pragma GCC unroll 8
    for (int k = 0; k < kFeatures; ++k) word |= static_cast<u64>(record[columns[k]]) << (8 * k);
    words[i] = word;
    range.take(std::bit_cast<BinLanes>(word));
  }
  return range;
}

// The same for a run-time number of features of one record group.
template <class Item>
BinRange gather_bins(const RecordGroup& group, std::span<const u32> features, const Item* items,
                     std::size_t n, u64* words) {
  const RunColumns columns(group, features);
  BinRange range;
  with_features(features.size(), [&]<int kFeatures>() {
    range = gather_run<kFeatures>(group, items, n, columns.at, words);
  });
  return range;
}

// sums[k] = what the rows whose bin of feature k is below limits[k] add up to.
template <int kFeatures, class Tally>
void sum_below(const Tally& tally, const typename Tally::Item* items, std::size_t n,
               const u64* words, const u32* limits, typename Tally::Slot* sums) {
  const u32 cell = tally.cell();
  auto add_rows = [&](auto* into) {
    for (std::size_t i = 0; i < n; ++i) {
#pragma GCC unroll 8
      for (int k = 0; k < kFeatures; ++k)
        tally.add_if(into + k * cell, items[i], (words[i] >> (8 * k) & 0xFF) < limits[k]);
    }
  };
  if constexpr (Tally::kFixedCell > 0) {
    typename Tally::Slot own[kFeatures * Tally::kFixedCell] = {};
    add_rows(&own[0]);
    std::copy_n(own, kFeatures * Tally::kFixedCell, sums);
  } else {
    std::fill_n(sums, kFeatures * cell, typename Tally::Slot{0});
    add_rows(sums);
  }
}

// A few rows are sorted by their bins: most bins of a histogram would be empty.
template <class Tally>
std::size_t Growth<Tally>::scan_few_rows(const OpenNode& node, std::span<const u32> features,
                                         Worker& worker, Candidate& best, u8* varies) {
  const std::size_t n = node.size();
  const Item* items = items_ + node.begin;
  const RecordGroup& group = data_.group_of(features[0]);
  u64 words[kMostFew];
  const BinRange range = gather_bins(group, features, items, n, words);
  std::size_t n_varying = 0;
  for (std::size_t k = 0; k < features.size(); ++k) {
    varies[k] = range.lo_next[k] != range.hi_next[k] && range.lo[k] != kMissingBin;
    if (!varies[k]) continue;
    ++n_varying;
    u16 keyed[kMostFew];
    for (std::size_t i = 0; i < n; ++i) {
      const u16 key = static_cast<u16>((words[i] >> (8 * k) & 0xFF) << 8 | i);
      std::size_t at = i;
      for (; at > 0 && keyed[at - 1] > key; --at) keyed[at] = keyed[at - 1];
      keyed[at] = key;
    }
    worker.finder->scan_few({keyed, n}, items, view_feature(node, features[k]), best);
  }
  return n_varying;
}

// A threshold needs no histogram: the extremes of a run of features in one pass over the rows, what
// lies left of the drawn cuts in a second one over a copy of their bins.
template <class Tally>
std::size_t Growth<Tally>::scan_random_rows(const OpenNode& node, std::span<const u32> features,
                                            Worker& worker, Candidate& best, u8* varies) {
  const std::size_t n = node.size();
  const Item* items = items_ + node.begin;
  const RecordGroup& group = data_.group_of(features[0]);
  if (worker.run_bins.size() < n) worker.run_bins = AlignedBuffer<u64>(n);
  u64* words = worker.run_bins.data();
  const BinRange range = gather_bins(group, features, items, n, words);

  struct Draw {
    FeatureView view;
    u32 cut = 0, next = kNone;
    bool missing_left = false, has_missing = false;
  };
  Draw draws[kBatch];
  u32 limits[kBatch] = {};  // one above the last bin that goes left; none for a constant feature
  std::size_t n_varying = 0;
  for (std::size_t k = 0; k < features.size(); ++k) {
    const u32 lo = range.lo[k], hi = range.hi_next[k] - 1u;
    Draw& draw = draws[k];
    draw.has_missing = range.lo_next[k] == 0;
    varies[k] = lo != kMissingBin && (lo != hi || draw.has_missing);
    if (!varies[k]) continue;
    ++n_varying;
    draw.view = view_feature(node, features[k]);
    Rng rng(draw.view.random_key, 0, 0, Purpose::threshold);
    draw.cut = lo == hi ? hi : draw_cut(draw.view, lo, hi, rng);
    draw.next = lo == hi ? kNone : draw.cut + 1;
    draw.missing_left = draw.has_missing && lo != hi && (rng.next() >> 63) != 0;
    limits[k] = draw.cut + 1;
  }
  if (n_varying == 0) return 0;

  const u32 cell = sample_.tally.cell();
  worker.run_sums.resize(kBatch * cell);
  Slot* sums = worker.run_sums.data();
  with_features(features.size(), [&]<int kFeatures>() {
    sum_below<kFeatures>(sample_.tally, items, n, words, limits, sums);
  });
  for (u32 k = 0; k < features.size(); ++k) {
    if (!draws[k].missing_left) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const bool missing = (words[i] >> (8 * k) & 0xFF) == kMissingBin;
      sample_.tally.add_if(sums + k * cell, items[i], missing);
    }
  }
  for (std::size_t k = 0; k < features.size(); ++k) {
    const Draw& draw = draws[k];
    if (!varies[k]) continue;
    worker.finder->take_drawn(sums + k * cell, draw.view,
                              {draw.cut, draw.next, draw.missing_left, draw.has_missing}, best);
  }
  return n_varying;
}

}  // namespace committee
