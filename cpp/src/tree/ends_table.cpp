#include "tree/ends_table.hpp"

#include <algorithm>
#include <bit>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/rng.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

bool is_single(const std::vector<double>& values) {
  bool all = true;
  for (const double value : values) all &= static_cast<double>(static_cast<float>(value)) == value;
  return all;
}

// The largest number of the type that is not above a value; NaN remains.
inline double round_down(double value, double) {
  return value;
}
inline float round_down(double value, float) {
  const float near = static_cast<float>(value);
  const i32 bits = std::bit_cast<i32>(near);
  const i32 below = near == 0.0f ? std::bit_cast<i32>(-0x1.0p-149f) : bits + (bits < 0 ? 1 : -1);
  return std::bit_cast<float>(static_cast<double>(near) > value ? below : bits);
}

// How many of a group do not exceed a bar. In lanes: GCC 12 adds up comparisons in a loop wrongly.
template <class Value, u32 kGroup>
u32 count_up_to(const Value* group, Value bar) {
  using Lanes COMMITTEE_VECTOR(16) = Value;
  constexpr u32 kLanes = sizeof(Lanes) / sizeof(Value);
  decltype(Lanes{} <= Lanes{}) found{};  // minus one for each
#pragma GCC unroll 8
  for (u32 k = 0; k < kGroup; k += kLanes) {
    Lanes values;
    std::memcpy(&values, group + k, sizeof values);
    found += values <= Lanes{} + bar;
  }
#if defined(__aarch64__)
  if constexpr (kLanes == 4) return static_cast<u32>(-vaddvq_s32((int32x4_t)found));
#endif
  i64 n = 0;
#pragma GCC unroll 4
  for (u32 k = 0; k < kLanes; ++k) n -= found[k];
  return static_cast<u32>(n);
}

}  // namespace

bool EndsTable::fits(const BinnedMatrix& data) {
  return !data.entries && std::ranges::all_of(*data.bins, [](const ColumnBins& column) {
    return std::ranges::is_sorted(column.high);
  });
}

EndsTable::EndsTable(const std::vector<ColumnBins>& bins, int n_threads) {
  u32 start = 0;
  for (const ColumnBins& column : bins) {
    starts_.push_back(start);
    start += 1 + 2 * ((static_cast<u32>(column.high.size()) + kGroup - 1) / kGroup);
  }
  starts_.push_back(start);
  const bool fits_floats = std::ranges::all_of(bins, [](const ColumnBins& column) {
    return is_single(column.low) && is_single(column.high);
  });
  if (fits_floats) {
    floats_ = fill<float>(bins, n_threads);
  } else {
    doubles_ = fill<double>(bins, n_threads);
  }
}

template <class Value>
AlignedBuffer<Value> EndsTable::fill(const std::vector<ColumnBins>& bins, int n_threads) const {
  constexpr Value kNever = std::numeric_limits<Value>::infinity();
  AlignedBuffer<Value> values(std::size_t{starts_.back()} * kGroup);
  parallel_for(bins.size(), n_threads, [&](std::size_t c) {
    Value* const first = values.data() + std::size_t{starts_[c]} * kGroup;
    std::fill(first, values.data() + std::size_t{starts_[c + 1]} * kGroup, kNever);
    for (u32 bin = 0; bin < bins[c].high.size(); ++bin) {
      first[place(bin)] = static_cast<Value>(bins[c].high[bin]);
      first[place(bin) + kGroup] = static_cast<Value>(bins[c].low[bin]);
    }
    for (u32 bin = kGroup - 1; bin < bins[c].high.size(); bin += kGroup)
      first[bin / kGroup] = first[place(bin)];
  });
  return values;
}

template <bool kIsNear>
void EndsTable::answer_any(std::span<Query> queries) const {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) {
    return floats_.empty() ? answer_wide<kIsNear>(doubles_, queries)
                           : answer_wide<kIsNear>(floats_, queries);
  }
#endif
  if (floats_.empty()) {
    answer_in<kIsNear>(doubles_, queries);
  } else {
    answer_in<kIsNear>(floats_, queries);
  }
}
template void EndsTable::answer_any<false>(std::span<Query> queries) const;
template void EndsTable::answer_any<true>(std::span<Query> queries) const;

// The last bin below the threshold is the cut, which leaves bins on both sides.
inline void EndsTable::set_cut(Query& query, i32 last) {
  query.cut = static_cast<u32>(
      std::max(std::min(last, static_cast<i32>(query.hi) - 1), static_cast<i32>(query.lo)));
}

template <class Value>
inline void EndsTable::prefetch_ends(const AlignedBuffer<Value>& values,
                                     std::span<const Query> queries) const {
  for (const Query& query : queries) {
    const Value* const first = block(values, query.column);
    prefetch(first + place(query.lo) + kGroup);
    prefetch(first + place(query.hi));
  }
}

template <bool kIsNear, class Value>
void EndsTable::answer_in(const AlignedBuffer<Value>& values, std::span<Query> queries) const {
  struct Search {
    const Value* group;
    Value bar;
    u32 number;
  };
  Search searches[kMostQueries];
  if constexpr (!kIsNear) prefetch_ends(values, queries);
  for (std::size_t k = 0; k < queries.size(); ++k) {
    const Query& query = queries[k];
    const Value* const first = block(values, query.column);
    const double a = first[place(query.lo) + kGroup], b = first[place(query.hi)];
    const Value bar = round_down(a + (b - a) * scale_unit(query.number), Value{});
    const u32 group = std::min(count_up_to<Value, kGroup>(first, bar), query.hi / kGroup);
    searches[k] = {first + place(group * kGroup), bar, group};
    if constexpr (!kIsNear) prefetch(searches[k].group);
  }
  for (std::size_t k = 0; k < queries.size(); ++k) {
    Query& query = queries[k];
    const Search& search = searches[k];
    const i32 last = static_cast<i32>(search.number * kGroup +
                                      count_up_to<Value, kGroup>(search.group, search.bar)) -
                     1;
    set_cut(query, last);
  }
}

#if defined(COMMITTEE_AVX512)
namespace {

COMMITTEE_AVX512 inline u32 count_up_to_wide(const float* group, float bar) {
  const __m512 values = _mm512_load_ps(group);
  return static_cast<u32>(
      std::popcount(lanes_of(_mm512_cmp_ps_mask(values, _mm512_set1_ps(bar), _CMP_LE_OQ))));
}
COMMITTEE_AVX512 inline u32 count_up_to_wide(const double* group, double bar) {
  const __m512d bars = _mm512_set1_pd(bar);
  const u32 low = lanes_of(_mm512_cmp_pd_mask(_mm512_load_pd(group), bars, _CMP_LE_OQ));
  const u32 high = lanes_of(_mm512_cmp_pd_mask(_mm512_load_pd(group + 8), bars, _CMP_LE_OQ));
  return static_cast<u32>(std::popcount(low | high << 8));
}

// round_down in one instruction.
COMMITTEE_AVX512 inline double round_down_wide(double value, double) {
  return value;
}
COMMITTEE_AVX512 inline float round_down_wide(double value, float) {
  return _mm_cvtss_f32(_mm_cvt_roundsd_ss(_mm_setzero_ps(), _mm_set_sd(value),
                                          _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
}

}  // namespace

// As answer_in.
template <bool kIsNear, class Value>
void EndsTable::answer_wide(const AlignedBuffer<Value>& values, std::span<Query> queries) const {
  const Value* groups[kMostQueries];
  Value bars[kMostQueries];
  u32 firsts[kMostQueries];
  if constexpr (!kIsNear) prefetch_ends(values, queries);
  for (std::size_t k = 0; k < queries.size(); ++k) {
    const Query& query = queries[k];
    const Value* const first = block(values, query.column);
    const double a = first[place(query.lo) + kGroup], b = first[place(query.hi)];
    bars[k] = round_down_wide(a + (b - a) * scale_unit(query.number), Value{});
    const u32 group = std::min(count_up_to_wide(first, bars[k]), query.hi / kGroup);
    firsts[k] = group * kGroup;
    groups[k] = first + place(firsts[k]);
    if constexpr (!kIsNear) prefetch(groups[k]);
  }
  for (std::size_t k = 0; k < queries.size(); ++k) {
    Query& query = queries[k];
    const i32 last = static_cast<i32>(firsts[k] + count_up_to_wide(groups[k], bars[k])) - 1;
    set_cut(query, last);
  }
}
#endif

}  // namespace committee
