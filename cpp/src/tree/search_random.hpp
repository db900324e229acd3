// The search where each feature has a single boundary: a random one, or the only one of a column of
// two bins. Included by tree/builder_search.hpp.
#pragma once
#include <algorithm>
#include <bit>

#include "tree/node_search.hpp"

namespace committee {

// Words of the runs that are looked at together: they stay in the first cache.
inline constexpr std::size_t kRunWords = 4096;

template <class Accumulator>
BinRange TreeNodeSearch<Accumulator>::gather_run_bins(const Rows& rows,
                                                      std::span<const u32> features,
                                                      std::size_t run) {
  const std::size_t n = rows.items.size();
  if (run_bins_.size() < n) run_bins_ = AlignedBuffer<u64>(std::max(n, kRunWords));
  u64* const words = run_bins_.data() + run * n;
  n_run_ = static_cast<u32>(features.size());
  std::copy(features.begin(), features.end(), run_);
  const RowNumbers numbers(rows.items);
  return prefers_columns(rows, features)
             ? gather_from_columns(data_, features, numbers, words)
             : gather_from_records(rows.block, features, numbers, words);
}

// sums[k] = what the rows whose bin of feature k is below limits[k] add up to; limits 0 .. 255.
template <int kFeatures, class Adder>
void sum_below(const Adder& adder, std::span<const typename Adder::Item> items, const u64* words,
               const u8* limits, typename Adder::Element* sums) {
  const u32 cell = adder.cell();
  auto add_rows = [&](auto* into) {
    for (std::size_t i = 0; i < items.size(); ++i) {
#pragma GCC unroll 8
      for (int k = 0; k < kFeatures; ++k)
        adder.add_if(into + k * cell, items[i], (words[i] >> (8 * k) & 0xFF) < limits[k]);
    }
  };
  if constexpr (Adder::kFixedCell > 0) {
    typename Adder::Element own[kFeatures * Adder::kFixedCell] = {};
    add_rows(&own[0]);
    std::copy_n(own, kFeatures * Adder::kFixedCell, sums);
  } else {
    std::fill_n(sums, kFeatures * cell, typename Adder::Element{0});
    add_rows(sums);
  }
}

// The same for kBatch features and an accumulator that a row takes long to be added to: the
// features whose sums want a row are found first. Limits of features that are not there are zero.
template <class Accumulator>
void sum_below_any(const Accumulator& accumulator,
                   std::span<const typename Accumulator::Item> items, const u64* words,
                   const u8* limits, typename Accumulator::Element* sums) {
  BinLanes limit;
  std::memcpy(&limit, limits, sizeof limit);
  const u32 cell = accumulator.cell();
  std::fill_n(sums, kBatch * cell, typename Accumulator::Element{0});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto below = reinterpret_cast<BinLanes>(std::bit_cast<BinLanes>(words[i]) < limit);
    for (u64 wanted = std::bit_cast<u64>(below) & 0x0101010101010101u; wanted; wanted &= wanted - 1)
      accumulator.add(sums + static_cast<u32>(std::countr_zero(wanted)) / 8 * cell, items[i]);
  }
}

// The same for two classes and weights up to `heaviest` < 256, all features at once: bytes are
// added up for as many rows as cannot overflow them.
inline void sum_lanes_below(std::span<const BinaryAccumulator::Item> items, u32 heaviest,
                            const u64* words, BinLanes limit, u64* sums) {
  std::fill_n(sums, kBatch, 0);
  const std::size_t n = items.size(), n_safe = 255 / heaviest;
  for (std::size_t first = 0; first < n; first += n_safe) {
    const std::size_t last = std::min(n, first + n_safe);
    BinLanes weights{}, positives{};
    for (std::size_t i = first; i < last; ++i) {
      const BinLanes below = reinterpret_cast<BinLanes>(std::bit_cast<BinLanes>(words[i]) < limit);
      weights += below & (BinLanes{} + static_cast<u8>(items[i].pack));
      positives += below & (BinLanes{} + static_cast<u8>(items[i].pack >> 16));
    }
    const u64 w = std::bit_cast<u64>(weights), p = std::bit_cast<u64>(positives);
    for (u32 k = 0; k < kBatch; ++k) sums[k] += (w >> (8 * k) & 0xFF) | (p >> (8 * k) & 0xFF) << 32;
  }
}

// A comparison in lanes of 16 bits.
template <class Mask>
CountLanes widen(Mask mask) {
  using Signs COMMITTEE_VECTOR(kBatch) = signed char;
  using WideSigns COMMITTEE_VECTOR(2 * kBatch) = short;
  return reinterpret_cast<CountLanes>(convert_lanes<WideSigns>(reinterpret_cast<Signs>(mask)));
}

// Adds what the lanes of each class hold to the cells of the features.
inline void add_count_lanes(const std::vector<CountLanes>& lanes, u32* sums) {
  const u32 cell = static_cast<u32>(lanes.size());
  for (u32 c = 0; c < cell; ++c) {
    for (u32 k = 0; k < kBatch; ++k) sums[k * cell + c] += lanes[c][k];
  }
}

// The same for any classes of one output: a vector a class, lanes of 16 bits.
inline void sum_class_lanes(std::span<const ClassAccumulator<u32>::Item> items, u64 heaviest,
                            const u64* words, const u8* limits, std::vector<CountLanes>& lanes,
                            u32 cell, u32* sums) {
  BinLanes limit;
  std::memcpy(&limit, limits, sizeof limit);
  std::fill_n(sums, kBatch * cell, 0u);
  lanes.resize(cell);
  const std::size_t n = items.size(), n_safe = 0xFFFF / heaviest;
  for (std::size_t first = 0; first < n; first += n_safe) {
    const std::size_t last = std::min(n, first + n_safe);
    std::fill(lanes.begin(), lanes.end(), CountLanes{});
    for (std::size_t i = first; i < last; ++i) {
      lanes[items[i].label] +=
          widen(std::bit_cast<BinLanes>(words[i]) < limit) & (CountLanes{} + items[i].weight);
    }
    add_count_lanes(lanes, sums);
  }
}

// A cut needs no histogram: the extremes of a run of features in one pass over the rows, what lies
// left of the cuts in a second one over a copy of their bins. Returns a bit for every feature that
// has more than one cut after all, since values are missing: nothing was done for these.
template <class Accumulator>
u32 TreeNodeSearch<Accumulator>::scan_single_boundaries(const Rows& rows,
                                                        std::span<const u32> features,
                                                        Candidate& best, u8* varies) {
  cuts_.clear();
  const BinRange range = gather_run_bins(rows, features);
  list_boundaries(rows.numbers, rows.items.size(), features, range, cuts_, varies);
  find_cuts(cuts_);
  take_cuts(rows.items, best);
  return cuts_.has_more;
}

// Features of random thresholds from the first one on, of several runs if rows are few: what one
// run waits for is on the way while others are looked at. Returns how many.
template <class Accumulator>
std::size_t TreeNodeSearch<Accumulator>::scan_random_runs(const NodePosition& node,
                                                          std::span<const u32> features, bool few,
                                                          Candidate& best, u8* varies) {
  const std::size_t most = std::min(SingleBoundaries::kRuns, kRunWords / node.size());
  std::size_t k = 0;
  cuts_.clear();
  do {
    const std::size_t end = find_run_end(features, k, few);
    const auto run = features.subspan(k, end - k);
    if (ends_) {
      for (const u32 feature : run) ends_->prefetch_bytes(feature);
    }
    const BinRange range = gather_run_bins(rows_of(node, features[k]), run, cuts_.n_runs);
    list_boundaries(context_.numbers_of(node), node.size(), run, range, cuts_, varies + k);
    k = end;
  } while (cuts_.n_runs < most && k < features.size() && has_random_threshold(features[k]));
  find_cuts(cuts_);
  take_cuts({items_ + node.begin, node.size()}, best);
  return k;
}

// The best of the cuts that were found.
template <class Accumulator>
void TreeNodeSearch<Accumulator>::take_cuts(std::span<const Item> items, Candidate& best) {
  if (cuts_.n == 0) return;
  const std::size_t n = items.size();
  const u32 cell = accumulator_.cell();
  run_sums_.resize(cuts_.n_runs * kBatch * cell);
  Element* const sums = run_sums_.data();
  for (std::size_t r = 0; r < cuts_.n_runs; ++r)
    sum_left(items, run_bins_.data() + r * n, cuts_.limits + r * kBatch, cuts_.run_sizes[r],
             sums + r * kBatch * cell);
  for (std::size_t c = 0; c < cuts_.n; ++c) {
    if (!cuts_.list[c].at.missing_left) continue;
    const u32 lane = cuts_.list[c].lane;
    const u64* words = run_bins_.data() + lane / kBatch * n;
    for (std::size_t i = 0; i < n; ++i) {
      const bool missing = (words[i] >> (8 * (lane % kBatch)) & 0xFF) == kMissingBin;
      accumulator_.add_if(sums + lane * cell, items[i], missing);
    }
  }
  finder_->take_single({cuts_.list, cuts_.n}, sums, best);
}

template <class Accumulator>
void TreeNodeSearch<Accumulator>::sum_left(std::span<const Item> items, const u64* words,
                                           const u8* limits, std::size_t n_features,
                                           Element* sums) {
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    if (sample_.heaviest < 256) {
      BinLanes limit;
      std::memcpy(&limit, limits, sizeof limit);
      return sum_lanes_below(items, static_cast<u32>(sample_.heaviest), words, limit, sums);
    }
  }
  if constexpr (Accumulator::kKind == AccumulatorKind::classes && sizeof(Element) == 4) {
    const Accumulator& accumulator = accumulator_;
    // A few rows cost less one by one than clearing and unpacking a vector a class.
    if (accumulator.outputs.size() == 1 && !accumulator.counted &&
        items.size() > accumulator.n_elements)
      return sum_class_lanes(items, sample_.heaviest, words, limits, lanes_, accumulator.cell(),
                             sums);
  }
  with_adder(accumulator_, n_features, [&]<int kFeatures>(const auto& adder) {
    if constexpr (kFeatures > 0) {
      sum_below<kFeatures>(adder, items, words, limits, sums);
    } else {
      sum_below_any(adder, items, words, limits, sums);
    }
  });
}

// The features come in the order of their places.
template <class Accumulator>
void TreeNodeSearch<Accumulator>::scan_random_thresholds(const Rows& rows,
                                                         std::span<const u32> features,
                                                         Candidate& best, u8* varies) {
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    const BinRange range = gather_run_bins(rows, features);
    const u64 lows = std::bit_cast<u64>(range.lo), highs = std::bit_cast<u64>(range.hi_next);
    const u64 has_missing =
        std::bit_cast<u64>(reinterpret_cast<BinLanes>(range.lo_next == BinLanes{}));
    if (has_missing != 0) {
      (void)scan_single_boundaries(rows, features, best, varies);
      return;
    }
    SplitBinSearch search;
    for (std::size_t k = 0; k < features.size(); ++k) {
      const u32 lo = static_cast<u32>(lows >> (8 * k) & 0xFF);
      const u32 hi = static_cast<u32>((highs >> (8 * k) & 0xFF) - 1);
      const ColumnEnds& ends = column_ends_[features[k]];
      search.add({ends.low, ends.high, rows.numbers.at(Purpose::threshold, features[k])}, lo, hi);
      varies[k] = lo != hi;
    }
    search.finish();
    u64 limits = 0;  // a feature that is constant here has nothing on its left
    for (u32 k = 0; k < features.size(); ++k)
      limits |= ((search.bin(k) + 1) & (u64{0} - u64{varies[k]})) << (8 * k);
    u64 sums[kBatch];
    sum_lanes_below(rows.items, static_cast<u32>(sample_.heaviest), run_bins_.data(),
                    std::bit_cast<BinLanes>(limits), sums);
    const u32 lane = finder_->take_best_lane({sums, features.size()}, best.score);
    if (lane == kNone) return;
    best.feature = features[lane];
    best.priority = priorities_[best.feature];
    best.bin = search.bin(lane);
    best.next = best.bin + 1;
    best.categorical = best.missing_left = best.has_missing = false;
  }
}

}  // namespace committee
