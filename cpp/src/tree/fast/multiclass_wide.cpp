#include "tree/fast/multiclass_wide.hpp"

#include <bit>

#if defined(COMMITTEE_AVX512)
namespace committee {

namespace {

constexpr u32 kAtOnce = 4;  // records of a register
constexpr u32 kRecord = 16;

// For each set of four rows: the set at the begin, the others at the end.
struct Orders {
  alignas(64) u64 records[16][8];
  alignas(64) u64 packs[16][4];
};

constexpr Orders list_orders() {
  Orders orders{};
  for (u32 set = 0; set < 16; ++set) {
    u32 first = 0, last = kAtOnce;
    for (u32 k = 0; k < kAtOnce; ++k) {
      const u32 at = (set >> k & 1) != 0 ? first++ : --last;
      orders.packs[set][at] = k;
      orders.records[set][2 * at] = 2 * k;
      orders.records[set][2 * at + 1] = 2 * k + 1;
    }
  }
  return orders;
}

constexpr Orders kOrders = list_orders();

struct FourRows {
  __m512i records;
  __m256i packs;
};

COMMITTEE_AVX512 inline FourRows load_rows(const u8* records, const PackedCounts8* packs, u64 at) {
  return {_mm512_loadu_si512(records + at * kRecord),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(packs + at))};
}

COMMITTEE_AVX512 inline void store_rows(const FourRows& rows, const WrittenRows& to, u64 at) {
  _mm512_storeu_si512(to.records + at * kRecord, rows.records);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.packs + at), rows.packs);
}

// Which of four rows go left: their byte becomes the lowest of its half of the record.
class LeftRows {
 public:
  COMMITTEE_AVX512 explicit LeftRows(const ByteSplit& by)
      : place_(_mm512_broadcast_i32x4(
            _mm_set_epi64x(-1, static_cast<long long>(~u64{0xFF} | u64{by.byte})))),
        mask_(_mm512_set1_epi64(by.mask)),
        cut_(_mm512_set1_epi64(by.bin)) {}
  COMMITTEE_AVX512 u32 find(const FourRows& rows) const {
    const __m512i bins = _mm512_and_si512(_mm512_shuffle_epi8(rows.records, place_), mask_);
    return _pext_u32(lanes_of(_mm512_cmple_epu64_mask(bins, cut_)), 0x55);
  }

 private:
  __m512i place_, mask_, cut_;
};

COMMITTEE_AVX512 inline FourRows order_rows(const FourRows& rows, u32 set) {
  const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(kOrders.packs[set]));
  return {_mm512_permutexvar_epi64(_mm512_load_si512(kOrders.records[set]), rows.records),
          _mm256_permutexvar_epi64(order, rows.packs)};
}

// Which of eight rows have no bit of the mask.
class UnsetRows {
 public:
  COMMITTEE_AVX512 explicit UnsetRows(const ByteSplit& by)
      : bits_(_mm512_broadcast_i32x4(place_bits(by))), halves_(by.byte < 8 ? 0x5555 : 0xAAAA) {}
  COMMITTEE_AVX512 __mmask8 find(const u8* records) const {
    const u32 first = lanes_of(_mm512_testn_epi64_mask(_mm512_loadu_si512(records), bits_));
    const u32 second = lanes_of(_mm512_testn_epi64_mask(_mm512_loadu_si512(records + 64), bits_));
    return static_cast<__mmask8>(_pext_u32(first | second << 8, halves_));
  }

 private:
  COMMITTEE_AVX512 static __m128i place_bits(const ByteSplit& by) {
    const long long bits = static_cast<long long>(u64{by.mask} << (by.byte % 8 * 8));
    return by.byte < 8 ? _mm_set_epi64x(0, bits) : _mm_set_epi64x(bits, 0);
  }

  __m512i bits_;
  u32 halves_;
};

// Calls add(weights) with the weights of eight rows, zero for those that are set.
template <class Add>
COMMITTEE_AVX512 inline void visit_unset(const ByteSplit& by, const ReadRows& rows, u32 n,
                                         Add& sums) {
  const UnsetRows unset(by);
  u32 i = 0;
  for (; i + 8 <= n; i += 8)
    sums.add(_mm512_maskz_loadu_epi64(unset.find(rows.records + u64{i} * kRecord), rows.packs + i));
  // The last ones are some rows farther back, without those that were added.
  if (i == n) return;
  const u32 back = n - 8, old = (1u << (i - back)) - 1;
  const u32 found = unset.find(rows.records + u64{back} * kRecord) & ~old;
  sums.add(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(found), rows.packs + back));
}

struct ByteSums {
  COMMITTEE_AVX512 void add(__m512i weights) { all = _mm512_add_epi64(all, weights); }
  __m512i all;
};

// Sums of the classes with even numbers, and of the others.
struct WordSums {
  COMMITTEE_AVX512 void add(__m512i weights) {
    even = _mm512_add_epi16(even, _mm512_and_si512(weights, _mm512_set1_epi16(0xFF)));
    odd = _mm512_add_epi16(odd, _mm512_srli_epi16(weights, 8));
  }
  __m512i even, odd;
};

// Sums of the lanes of 16 bits of eight words, in the lower half.
COMMITTEE_AVX512 inline __m128i add_words(__m512i own) {
  const __m256i four =
      _mm256_add_epi16(_mm512_castsi512_si256(own), _mm512_extracti64x4_epi64(own, 1));
  const __m128i two =
      _mm_add_epi16(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  return _mm_add_epi16(two, _mm_unpackhi_epi64(two, two));
}

}  // namespace

COMMITTEE_AVX512 PartitionProgress MulticlassWide::partition(const ByteSplit& by,
                                                             const ReadRows& from,
                                                             const WrittenRows& to, u32 n) {
  const LeftRows left(by);
  PartitionProgress progress = {0, 0, u64{n} - 1};
  // While both stores have places of their own.
  for (; progress.n + 2 * kAtOnce <= n; progress.n += kAtOnce) {
    const FourRows rows = load_rows(from.records, from.packs, progress.n);
    const u32 set = left.find(rows);
    const FourRows ordered = order_rows(rows, set);
    store_rows(ordered, to, progress.n_left);
    store_rows(ordered, to, progress.last - (kAtOnce - 1));
    const u32 n_left = static_cast<u32>(std::popcount(set));
    progress.n_left += n_left;
    progress.last -= kAtOnce - n_left;
  }
  return progress;
}

COMMITTEE_AVX512 PartitionProgress MulticlassWide::keep_some(const ByteSplit& by, bool keeps_left,
                                                             const WrittenRows& rows, u32 n) {
  const LeftRows left(by);
  const u32 turned = keeps_left ? 0 : 15;
  PartitionProgress progress = {};
  for (; progress.n + kAtOnce <= n; progress.n += kAtOnce) {
    const FourRows some = load_rows(rows.records, rows.packs, progress.n);
    const u32 set = left.find(some) ^ turned;
    store_rows(order_rows(some, set), rows, progress.n_left);
    progress.n_left += static_cast<u32>(std::popcount(set));
  }
  return progress;
}

COMMITTEE_AVX512 void MulticlassWide::find_differences(const u8* records, u32 n, u8* differ) {
  constexpr int kOrOfXor = 0xF6;
  const __m512i first =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(records)));
  __m512i any = _mm512_setzero_si512(), more = any;
  const auto* at = records;
  u32 rest = n;
  for (; rest >= 2 * kAtOnce; rest -= 2 * kAtOnce, at += 128) {
    any = _mm512_ternarylogic_epi64(any, _mm512_loadu_si512(at), first, kOrOfXor);
    more = _mm512_ternarylogic_epi64(more, _mm512_loadu_si512(at + 64), first, kOrOfXor);
  }
  // The last ones, some for the second time.
  const u8* const last = records + (u64{n} - 2 * kAtOnce) * kRecord;
  any = _mm512_ternarylogic_epi64(any, _mm512_loadu_si512(last), first, kOrOfXor);
  more = _mm512_ternarylogic_epi64(more, _mm512_loadu_si512(last + 64), first, kOrOfXor);
  any = _mm512_or_si512(any, more);
  const __m256i two =
      _mm256_or_si256(_mm512_castsi512_si256(any), _mm512_extracti64x4_epi64(any, 1));
  const __m128i one = _mm_or_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(differ), one);
}

COMMITTEE_AVX512 PackedCounts8 MulticlassWide::add_unset(const ByteSplit& by, const ReadRows& rows,
                                                         u32 n, PackedCounts8) {
  ByteSums sums{_mm512_setzero_si512()};
  visit_unset(by, rows, n, sums);
  return static_cast<PackedCounts8>(_mm512_reduce_add_epi64(sums.all));
}

COMMITTEE_AVX512 PackedCounts16 MulticlassWide::add_unset(const ByteSplit& by, const ReadRows& rows,
                                                          u32 n, PackedCounts16) {
  WordSums sums{_mm512_setzero_si512(), _mm512_setzero_si512()};
  visit_unset(by, rows, n, sums);
  return (PackedCounts16)_mm_unpacklo_epi16(add_words(sums.even), add_words(sums.odd));
}

}  // namespace committee
#endif
