// ColumnCuts by AVX-512: sixteen rows are gathered at once, comparisons give the bits of 64, and
// nodes of many rows are sets, so that their bins are where they are in the column.
#include <bit>
#include <utility>

#include "tree/fast/column_cuts.hpp"
#include "tree/fast/column_cuts_forms.hpp"
#include "tree/fast/extra_trees_wide_lanes.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

namespace {

// The first n of some bits.
COMMITTEE_AVX512 inline u64 first_bits(std::size_t n) {
  return n >= kWideRows ? ~u64{0} : _bzhi_u64(~u64{0}, static_cast<u32>(n));
}

template <int... kLanes>
COMMITTEE_AVX512 inline __m128i insert_bins(const u8* column, const u16* rows,
                                            std::integer_sequence<int, kLanes...>) {
  __m128i bins = _mm_cvtsi32_si128(column[rows[0]]);
  ((bins = _mm_insert_epi8(bins, column[rows[kLanes + 1]], kLanes + 1)), ...);
  return bins;
}

// The bins of eight rows, one load for each: a gather of sixteen takes no less time, and twice as
// long (measured) on processors with the microcode against gather data sampling.
COMMITTEE_AVX512 inline __m128i load_eight(const u8* column, const u16* rows) {
  return insert_bins(column, rows, std::make_integer_sequence<int, 7>());
}

COMMITTEE_AVX512 inline __m128i load_sixteen(const u8* column, const u16* rows) {
  return _mm_unpacklo_epi64(load_eight(column, rows), load_eight(column, rows + 8));
}

COMMITTEE_AVX512 inline u32 find_least(__m128i bytes) {
  const __m128i low = _mm_min_epu8(bytes, _mm_srli_epi16(bytes, 8));  // the upper bytes are 0
  return static_cast<u32>(_mm_cvtsi128_si32(_mm_minpos_epu16(low))) & 0xFF;
}

COMMITTEE_AVX512 inline u32 find_largest(__m128i bytes) {
  return 255 - find_least(_mm_xor_si128(bytes, _mm_set1_epi8(-1)));
}

}  // namespace

struct ColumnCuts::Wide {
  COMMITTEE_AVX512 static std::size_t find_ends(const ColumnCuts& cuts, const ColumnNode& node,
                                                RowLanes* bins, u32& lo, u32& hi) {
    if (node.sets != ColumnNode::kNone) {
      find_ends_of_set(cuts, node, lo, hi);
      return 0;
    }
    const u16* const rows = cuts.turn_.rows + node.begin;
    const std::size_t last = (node.n_rows - 1) / kRowLanes;
    __m128i least = _mm_set1_epi8(-1), largest = _mm_setzero_si128();
    for (std::size_t v = 0; v < last; ++v) {
      const __m128i lanes = load_sixteen(cuts.column_, rows + v * kRowLanes);
      _mm_store_si128(reinterpret_cast<__m128i*>(bins + v), lanes);
      least = _mm_min_epu8(least, lanes);
      largest = _mm_max_epu8(largest, lanes);
    }
    const u32 rest = node.n_rows - static_cast<u32>(last * kRowLanes);
    const auto own = static_cast<__mmask16>(_bzhi_u32(0xFFFF, rest));
    const u16* const others = rows + last * kRowLanes;
    // Nodes follow by their size, so that the branch can be foreseen.
    const __m128i lanes =
        rest <= 8 ? load_eight(cuts.column_, others) : load_sixteen(cuts.column_, others);
    _mm_store_si128(reinterpret_cast<__m128i*>(bins + last), lanes);
    lo = find_least(_mm_mask_min_epu8(least, own, least, lanes));
    hi = find_largest(_mm_mask_max_epu8(largest, own, largest, lanes));
    return last + 1;
  }

  COMMITTEE_AVX512 static void find_ends_of_set(const ColumnCuts& cuts, const ColumnNode& node,
                                                u32& lo, u32& hi) {
    const u64* const set = cuts.turn_.sets + node.sets;
    __m512i least = _mm512_set1_epi8(-1), largest = _mm512_setzero_si512();
    for (std::size_t v = 0; v < cuts.count_set_words(); ++v) {
      const __m512i bins = _mm512_loadu_si512(cuts.column_ + v * kWideRows);
      least = _mm512_mask_min_epu8(least, set[v], least, bins);
      largest = _mm512_mask_max_epu8(largest, set[v], largest, bins);
    }
    lo = least_byte(least);
    hi = largest_byte(largest);
  }

  COMMITTEE_AVX512 static void count_left(const ColumnCuts& cuts, const ColumnNode& node,
                                          const RowLanes* bins, u32 cut, u32& n_left,
                                          u32& n_positive) {
    const __m512i bar = broadcast_cut(cut);
    u64 all = 0, positive = 0;
    if (node.sets != ColumnNode::kNone) {
      const u64* const set = cuts.turn_.sets + node.sets;
      const std::size_t n_words = cuts.count_set_words();
      for (std::size_t v = 0; v < n_words; ++v) {
        const u64 left = find_left(cuts.column_ + v * kWideRows, set[v], bar);
        all += static_cast<u64>(std::popcount(left));
        positive += static_cast<u64>(std::popcount(left & set[n_words + v]));
      }
    } else {
      const u8* const bytes = reinterpret_cast<const u8*>(bins);
      for (std::size_t first = 0; first < node.n_rows; first += kWideRows) {
        const u64 left = find_left(bytes + first, first_bits(node.n_rows - first), bar);
        const u64 some = node.n_positive > first ? first_bits(node.n_positive - first) : 0;
        all += static_cast<u64>(std::popcount(left));
        positive += static_cast<u64>(std::popcount(left & some));
      }
    }
    n_left = static_cast<u32>(all);
    n_positive = static_cast<u32>(positive);
  }

  COMMITTEE_AVX512 static void keep_left(const ColumnCuts& cuts, ColumnNode& node,
                                         const RowLanes* bins, u32 cut) {
    const __m512i bar = broadcast_cut(cut);
    u64* const words = cuts.left_of(node);
    if (node.sets != ColumnNode::kNone) {
      const u64* const set = cuts.turn_.sets + node.sets;
      for (std::size_t v = 0; v < cuts.count_set_words(); ++v)
        words[v] = find_left(cuts.column_ + v * kWideRows, set[v], bar);
    } else {
      const u8* const bytes = reinterpret_cast<const u8*>(bins);
      for (std::size_t first = 0; first < node.n_rows; first += kWideRows)
        words[first / kWideRows] = find_left(bytes + first, first_bits(node.n_rows - first), bar);
    }
  }
};

void ColumnCuts::search_wide(u32 feature, std::span<const ColumnDraw> draws) {
  search_in<Wide>(feature, draws);
}

namespace {

// Writes those of sixteen rows that are in a set; returns the end.
COMMITTEE_AVX512 inline u16* list_rows(__mmask16 set, __m256i rows, u16* to) {
  const __m512i some = _mm512_maskz_compress_epi32(set, _mm512_cvtepu16_epi32(rows));
  const int n = std::popcount(lanes_of(set));
  const auto own = static_cast<__mmask16>(_bzhi_u32(0xFFFF, static_cast<u32>(n)));
  _mm256_mask_storeu_epi16(to, own, _mm512_cvtepi32_epi16(some));
  return to + n;
}

// A bit a row, of sixteen rows.
COMMITTEE_AVX512 inline u32 look_up(const u64* set, __m256i rows) {
  const __m512i numbers = _mm512_cvtepu16_epi32(rows);
  const __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xFFFF,
                                                    _mm512_srli_epi32(numbers, 5), set, 4);
  const __m512i bits =
      _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(numbers, _mm512_set1_epi32(31)));
  return lanes_of(_mm512_test_epi32_mask(words, bits));
}

}  // namespace

void ColumnCuts::partition_wide(ColumnNode& node, u16* rows, u16* room) const {
  const u64* const words = left_of(node);
  const bool is_set = node.sets != ColumnNode::kNone;
  u16 *left = rows, *right = room;
  for (u32 i = 0; i < node.n_rows; i += kRowLanes) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
    const u32 own = static_cast<u32>(first_bits(node.n_rows - i));
    const u32 bits = is_set ? look_up(words, some) : static_cast<u32>(words[i / 64] >> (i % 64));
    left = list_rows(static_cast<__mmask16>(bits & own), some, left);
    right = list_rows(static_cast<__mmask16>(~bits & own), some, right);
  }
  std::copy(room, right, left);
}

}  // namespace committee
#endif
