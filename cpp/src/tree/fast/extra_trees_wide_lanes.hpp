// What extra-trees do with 64 rows at a time by AVX-512.
#pragma once
#include <algorithm>
#include <bit>

#include "base/x86_vectors.hpp"
#include "tree/fast/extra_trees_rules.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

// Rows of a vector, and of a fourth of it.
inline constexpr std::size_t kWideRows = 64, kWideGroup = 16;
inline constexpr std::size_t kWideVectors = kWideRows / kRowLanes;

COMMITTEE_AVX512 inline __m128i fold_least(__m512i bytes) {
  const __m256i half =
      _mm256_min_epu8(_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64(bytes, 1));
  const __m128i fourth =
      _mm_min_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  return _mm_min_epu8(fourth, _mm_srli_epi16(fourth, 8));  // the upper byte of each pair is 0
}

COMMITTEE_AVX512 inline u32 least_byte(__m512i bytes) {
  return static_cast<u32>(_mm_cvtsi128_si32(_mm_minpos_epu16(fold_least(bytes)))) & 0xFF;
}

COMMITTEE_AVX512 inline u32 largest_byte(__m512i bytes) {
  return 255 - least_byte(_mm512_xor_si512(bytes, _mm512_set1_epi8(-1)));
}

COMMITTEE_AVX512 inline u64 find_left(const void* column, u64 rows, __m512i cut) {
  return _mm512_mask_cmple_epu8_mask(rows, _mm512_loadu_si512(column), cut);
}

COMMITTEE_AVX512 inline __m512i broadcast_cut(u32 cut) {
  return _mm512_set1_epi8(static_cast<char>(cut));
}

// Sixteen bytes of a row of each of up to four groups.
template <int kGroups>
COMMITTEE_AVX512 inline __m512i load_groups(const ExtraTreesRecords& records, const u32* rows,
                                            std::size_t byte) {
  const auto* first = reinterpret_cast<const __m128i*>(records.find(rows[0]) + byte);
  __m512i lanes = _mm512_zextsi128_si512(_mm_loadu_si128(first));
  if constexpr (kGroups > 1) {
    const auto* second = reinterpret_cast<const __m128i*>(records.find(rows[kWideGroup]) + byte);
    lanes = _mm512_inserti32x4(lanes, _mm_loadu_si128(second), 1);
  }
  if constexpr (kGroups > 2) {
    const auto* third = reinterpret_cast<const __m128i*>(records.find(rows[2 * kWideGroup]) + byte);
    const auto* last = reinterpret_cast<const __m128i*>(records.find(rows[3 * kWideGroup]) + byte);
    lanes = _mm512_inserti32x4(lanes, _mm_loadu_si128(third), 2);
    lanes = _mm512_inserti32x4(lanes, _mm_loadu_si128(last), 3);
  }
  return lanes;
}

// As transpose_lanes, four times side by side.
COMMITTEE_AVX512 inline void merge_lanes(const __m512i* from, __m512i* to) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    to[2 * k] = _mm512_unpacklo_epi8(from[k], from[k + 8]);
    to[2 * k + 1] = _mm512_unpackhi_epi8(from[k], from[k + 8]);
  }
}

// The bins of 64 rows become columns, `step` bytes apart.
template <int kGroups>
COMMITTEE_AVX512 inline void load_columns(const ExtraTreesRecords& records, const u32* rows, u8* to,
                                          std::size_t step) {
  for (std::size_t byte = 0; byte < records.stride; byte += kWideGroup) {
    __m512i lanes[kWideGroup], merged[kWideGroup];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kWideGroup; ++i)
      lanes[i] = load_groups<kGroups>(records, rows + i, byte);
    merge_lanes(lanes, merged);
    merge_lanes(merged, lanes);
    merge_lanes(lanes, merged);
    merge_lanes(merged, lanes);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kWideGroup; ++k)
      _mm512_storeu_si512(to + (byte + k) * step, lanes[k]);
  }
}

// As list_rows of sixteen, for 64 rows.
COMMITTEE_AVX512 inline u32* list_rows(u64 set, const u32* rows, u32* to) {
#pragma GCC unroll 4
  for (std::size_t group = 0; group < kWideRows; group += kWideGroup) {
    const __mmask16 bits = static_cast<__mmask16>(set >> group);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(bits, _mm512_loadu_si512(rows + group)));
    to += std::popcount(lanes_of(bits));
  }
  return to;
}

// Which of 64 rows are positive.
COMMITTEE_AVX512 inline u64 read_positives(const u32* rows) {
  u64 bits = 0;
#pragma GCC unroll 4
  for (std::size_t group = 0; group < kWideRows; group += kWideGroup)
    bits |= u64{lanes_of(_mm512_movepi32_mask(_mm512_loadu_si512(rows + group)))} << group;
  return bits;
}

// Columns of a level whose sets have a byte a row, as in extra_trees_levels.cpp, four vectors of
// sixteen rows at a time.
COMMITTEE_AVX512 inline u64 read_set(const RowLanes* set) {
  return _mm512_movepi8_mask(_mm512_loadu_si512(set));
}

template <std::size_t kColumns>
COMMITTEE_AVX512 inline void find_ends_wide(const RowLanes* const* columns, const RowLanes* set,
                                            std::size_t n_vectors, u32* los, u32* his) {
  __m512i lo[kColumns], hi[kColumns];
  for (std::size_t k = 0; k < kColumns; ++k)
    lo[k] = _mm512_set1_epi8(-1), hi[k] = _mm512_setzero_si512();
  for (std::size_t v = 0; v < n_vectors; v += kWideVectors) {
    const u64 rows = read_set(set + v);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kColumns; ++k) {
      const __m512i bins = _mm512_loadu_si512(columns[k] + v);
      lo[k] = _mm512_mask_min_epu8(lo[k], rows, lo[k], bins);
      hi[k] = _mm512_mask_max_epu8(hi[k], rows, hi[k], bins);
    }
  }
  for (std::size_t k = 0; k < kColumns; ++k)
    los[k] = least_byte(lo[k]), his[k] = largest_byte(hi[k]);
}

template <std::size_t kColumns>
COMMITTEE_AVX512 inline void count_left_wide(const RowLanes* const* columns, const RowLanes* set,
                                             const RowLanes* positives, std::size_t n_vectors,
                                             const u32* cuts, u32* n_rows, u32* n_positive) {
  __m512i bars[kColumns];
  u64 all[kColumns], positive[kColumns];
  for (std::size_t k = 0; k < kColumns; ++k)
    bars[k] = broadcast_cut(cuts[k]), all[k] = positive[k] = 0;
  for (std::size_t v = 0; v < n_vectors; v += kWideVectors) {
    const u64 rows = read_set(set + v), kept = read_set(positives + v);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kColumns; ++k) {
      const u64 left = find_left(columns[k] + v, rows, bars[k]);
      all[k] += static_cast<u64>(std::popcount(left));
      positive[k] += static_cast<u64>(std::popcount(left & kept));
    }
  }
  for (std::size_t k = 0; k < kColumns; ++k) {
    n_rows[k] = static_cast<u32>(all[k]);
    n_positive[k] = static_cast<u32>(positive[k]);
  }
}

// Fills the columns, `step` vectors apart, and the positives of a level.
COMMITTEE_AVX512 inline void fill_level_wide(const ExtraTreesRecords& records,
                                             std::span<const u32> rows, RowLanes* columns,
                                             std::size_t step, RowLanes* positives) {
  for (std::size_t first = 0; first < rows.size(); first += kWideRows) {
    for (std::size_t i = first + kWideRows; i < std::min(rows.size(), first + 2 * kWideRows); ++i)
      prefetch(records.find(rows[i]));
    const std::size_t v = first / kRowLanes;
    load_columns<4>(records, rows.data() + first, reinterpret_cast<u8*>(columns + v),
                    step * kRowLanes);
    _mm512_storeu_si512(positives + v, _mm512_movm_epi8(read_positives(rows.data() + first)));
  }
}

COMMITTEE_AVX512 inline u32* list_set_wide(const RowLanes* set, std::size_t n_vectors,
                                           const u32* rows, u32* to) {
  for (std::size_t v = 0; v < n_vectors; v += kWideVectors)
    to = list_rows(read_set(set + v), rows + v * kRowLanes, to);
  return to;
}

}  // namespace committee
#endif
