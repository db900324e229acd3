// Histograms over bins, built from row records. A word of 64 bits remembers which groups of four
// bins were touched, so that small nodes scan and clear a few cells instead of 256.
#pragma once
#include <algorithm>
#include <array>
#include <bit>

#include "binning/packed_records.hpp"
#include "split/accumulators.hpp"

namespace committee {

inline constexpr std::size_t kPrefetchAhead = 12;  // items
inline constexpr u32 kBatch = 8;                   // features filled in one pass over the rows

// Calls run with a number of features, 1 .. kBatch, as a constant.
template <class Run>
void with_features(std::size_t n, Run&& run) {
  switch (n) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    case 4:
      return run.template operator()<4>();
    case 5:
      return run.template operator()<5>();
    case 6:
      return run.template operator()<6>();
    case 7:
      return run.template operator()<7>();
    default:
      return run.template operator()<8>();
  }
}

// Records of one group of columns: the table's own, or a copy of some rows that stays in the cache.
// An item's row is the number of its record here.
struct RecordBlock {
  const u8* records;
  std::size_t stride;
  std::size_t first_col;
  const FieldPlace* places = nullptr;  // per feature, of packed records
  FieldPlace place(u32 feature) const {
    if (places) return places[feature];
    return {static_cast<u8>(feature - first_col), 255, 255};
  }
};

// Bytes of a run of features, at most kBatch, within the records of their group.
struct RunColumns {
  u32 at[kBatch] = {};
  u8 masks[kBatch] = {}, most[kBatch] = {};
  RunColumns(const RecordBlock& block, std::span<const u32> features) {
    for (std::size_t k = 0; k < features.size(); ++k) {
      const FieldPlace place = block.place(features[k]);
      at[k] = place.byte;
      masks[k] = place.mask;
      most[k] = place.most;
    }
  }
};

// Where the bins of a run of features lie, at most kBatch: a byte a row, `stride` bytes apart.
struct RunBytes {
  const u8* at[kBatch] = {};
  std::size_t stride;
  // Of one record group: a row's bytes are in one cache line.
  RunBytes(const RecordBlock& block, std::span<const u32> features) : stride(block.stride) {
    for (std::size_t k = 0; k < features.size(); ++k)
      at[k] = block.records + block.place(features[k]).byte;
  }
  // Of any features that have columns.
  RunBytes(const BinnedMatrix& data, std::span<const u32> features) : stride(1) {
    for (std::size_t k = 0; k < features.size(); ++k) at[k] = data.column(features[k]);
  }
};

// The adder of an accumulator; where it is the accumulator, that one itself.
template <class Adder, class Accumulator>
decltype(auto) make_adder(const Accumulator& accumulator) {
  if constexpr (std::is_same_v<Adder, Accumulator>) {
    return (accumulator);
  } else {
    return Adder{accumulator.cell()};
  }
}

// Calls run with the type of what adds rows, and whether the number of features is to be a constant
// of what is compiled: not where there are several outputs and a row takes long.
template <class Accumulator, class Run>
decltype(auto) with_adder_type([[maybe_unused]] const Accumulator& accumulator, Run&& run) {
  if constexpr (Accumulator::kFixedCell > 0) {
    return run.template operator()<Accumulator, true>();
  } else {
    if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
      using Element = typename Accumulator::Element;
      if (accumulator.outputs.size() == 1)
        return accumulator.counted ? run.template operator()<ClassAdder<Element, true>, true>()
                                   : run.template operator()<ClassAdder<Element, false>, true>();
    }
    return run.template operator()<Accumulator, false>();
  }
}

// Calls run with what adds rows and a number of features as a constant; or, where there are several
// outputs and a row takes long, with the accumulator and zero, for any number.
template <class Accumulator, class Run>
void with_adder(const Accumulator& accumulator, std::size_t n_features, Run&& run) {
  with_adder_type(accumulator, [&]<class Adder, bool kConstant>() {
    const Adder& adder = make_adder<Adder>(accumulator);
    if constexpr (kConstant) {
      with_features(n_features,
                    [&]<int kFeatures>() { run.template operator()<kFeatures>(adder); });
    } else {
      run.template operator()<0>(adder);
    }
  });
}

// Adds rows to histograms of 256 cells each, one a feature: kFeatures of them, or as many as given
// where that is zero; touched[k] receives the groups of four bins hit. Adder: what adds a row to
// a cell. Not inlined: it would be compiled again for each of its callers.
template <int kFeatures, class Adder, class Accumulator>
COMMITTEE_NOINLINE void fill_features(const Accumulator& accumulator, const RunBytes& bytes,
                                      std::span<const typename Accumulator::Item> rows,
                                      std::size_t n_given, typename Accumulator::Element* hist,
                                      u64* touched) {
  using Item = typename Accumulator::Item;
  constexpr std::size_t kRoom = kFeatures > 0 ? kFeatures : kBatch;
  const std::size_t n_features = kFeatures > 0 ? kFeatures : n_given;
  const Adder& adder = make_adder<Adder>(accumulator);
  const u32 cell = adder.cell();
  const std::size_t feature_stride = static_cast<std::size_t>(kHistogramBins) * cell;
  const std::size_t stride = bytes.stride;
  u64 groups[kRoom] = {};
  const u8* at[kRoom];
  std::copy_n(bytes.at, kRoom, at);
  auto add_item = [&](const Item item) {
    const std::size_t place = item.row * stride;
    const auto add_feature = [&](std::size_t k) COMMITTEE_INLINE_LAMBDA {
      const u32 bin = at[k][place];
      adder.add(hist + k * feature_stride + static_cast<std::size_t>(bin) * cell, item);
      groups[k] |= u64{1} << (bin >> 2);
    };
    if constexpr (kFeatures > 0) {
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kFeatures; ++k) add_feature(k);
    } else {
      for (std::size_t k = 0; k < n_features; ++k) add_feature(k);
    }
  };
  // Items past the end may belong to another thread: the look-ahead stops at the end.
  const Item* const items = rows.data();
  const std::size_t n = rows.size(), n_ahead = n > kPrefetchAhead ? n - kPrefetchAhead : 0;
  std::size_t i = 0;
  for (; i < n_ahead; ++i) {
    prefetch(at[0] + items[i + kPrefetchAhead].row * stride);
    add_item(items[i]);
  }
  for (; i < n; ++i) add_item(items[i]);
  for (std::size_t k = 0; k < n_features; ++k) touched[k] = groups[k];
}

// fill_features of an accumulator for n features: entry n - 1.
template <class Accumulator>
using FillTable = std::array<void (*)(const Accumulator&, const RunBytes&,
                                      std::span<const typename Accumulator::Item>, std::size_t,
                                      typename Accumulator::Element*, u64*),
                             kBatch>;

template <class Accumulator>
FillTable<Accumulator> list_fills(const Accumulator& accumulator) {
  return with_adder_type(accumulator, []<class Adder, bool kConstant>() {
    return []<int... k>(std::integer_sequence<int, k...>) {
      return FillTable<Accumulator>{fill_features<(kConstant ? k + 1 : 0), Adder, Accumulator>...};
    }(std::make_integer_sequence<int, kBatch>());
  });
}
// They are many: compiled once, in split/histogram.cpp.
extern template FillTable<BinaryAccumulator> list_fills(const BinaryAccumulator&);
extern template FillTable<ClassAccumulator<u32>> list_fills(const ClassAccumulator<u32>&);
extern template FillTable<ClassAccumulator<u64>> list_fills(const ClassAccumulator<u64>&);
extern template FillTable<MomentAccumulator<false>> list_fills(const MomentAccumulator<false>&);
extern template FillTable<MomentAccumulator<true>> list_fills(const MomentAccumulator<true>&);

// Zeroes the touched groups of one feature's histogram.
template <class Element>
void clear_touched(Element* hist, u64 touched, u32 cell) {
  for (; touched; touched &= touched - 1) {
    const std::size_t group = static_cast<std::size_t>(std::countr_zero(touched));
    std::memset(hist + group * 4 * cell, 0, sizeof(Element) * 4 * cell);
  }
}

}  // namespace committee
