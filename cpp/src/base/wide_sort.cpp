// Quicksort whose parts are networks of registers, as of Bramas [Bramas2017]; equal keys are the
// same, so that the order is that of any other sort.
#include "base/wide_sort.hpp"

#if defined(COMMITTEE_AVX512)
#include <algorithm>
#include <bit>
#include <cstring>

namespace committee {

namespace {

// lanes[b][l] = l xor b; halves of two registers in turn, lane by lane: zip[h].
template <class K>
struct LaneTables {
  static constexpr int kCount = 64 / sizeof(K);
  alignas(64) K exchanged[kCount][kCount];
  alignas(64) K zip[2][kCount];
};

template <class K>
constexpr LaneTables<K> list_lanes() {
  LaneTables<K> tables{};
  constexpr K kCount = LaneTables<K>::kCount;
  for (K l = 0; l < kCount; ++l) {
    for (K b = 0; b < kCount; ++b) tables.exchanged[b][l] = l ^ b;
    for (K h = 0; h < 2; ++h) tables.zip[h][l] = (l & 1) * kCount + h * kCount / 2 + l / 2;
  }
  return tables;
}

template <class K>
constexpr LaneTables<K> kLaneTables = list_lanes<K>();

// The instructions for keys of either size.
template <class K>
struct Keys;

template <>
struct Keys<u32> {
  using Mask = __mmask16;
  static constexpr int kCount = 16;
  COMMITTEE_AVX512 static __m512i fill(u32 key) { return _mm512_set1_epi32(static_cast<int>(key)); }
  COMMITTEE_AVX512 static __m512i load(const u32* from, u32 own, __m512i others) {
    return _mm512_mask_loadu_epi32(others, static_cast<__mmask16>(own), from);
  }
  COMMITTEE_AVX512 static void store(u32* to, u32 own, __m512i keys) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(own), keys);
  }
  COMMITTEE_AVX512 static Mask below(__m512i a, __m512i b) { return _mm512_cmplt_epu32_mask(a, b); }
  COMMITTEE_AVX512 static __m512i compress(Mask own, __m512i keys) {
    return _mm512_maskz_compress_epi32(own, keys);
  }
  COMMITTEE_AVX512 static __m512i pick(__m512i lanes, __m512i keys) {
    return _mm512_permutexvar_epi32(lanes, keys);
  }
  COMMITTEE_AVX512 static __m512i pick(__m512i a, __m512i lanes, __m512i b) {
    return _mm512_permutex2var_epi32(a, lanes, b);
  }
  // The larger of two is what remains of both without the smaller one: most processors have one
  // unit for minima and maxima, and two for this.
  COMMITTEE_AVX512 static void order(__m512i& a, __m512i& b) {
    const __m512i least = _mm512_min_epu32(a, b);
    b = _mm512_ternarylogic_epi32(a, b, least, 0x96);
    a = least;
  }
  // The smaller ones, the larger ones in some lanes.
  COMMITTEE_AVX512 static __m512i order(__m512i a, __m512i b, u32 larger) {
    return _mm512_mask_ternarylogic_epi32(_mm512_min_epu32(a, b), static_cast<__mmask16>(larger), a,
                                          b, 0x96);
  }
};

template <>
struct Keys<u64> {
  using Mask = __mmask8;
  static constexpr int kCount = 8;
  COMMITTEE_AVX512 static __m512i fill(u64 key) {
    return _mm512_set1_epi64(static_cast<long long>(key));
  }
  COMMITTEE_AVX512 static __m512i load(const u64* from, u32 own, __m512i others) {
    return _mm512_mask_loadu_epi64(others, static_cast<__mmask8>(own), from);
  }
  COMMITTEE_AVX512 static void store(u64* to, u32 own, __m512i keys) {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(own), keys);
  }
  COMMITTEE_AVX512 static Mask below(__m512i a, __m512i b) { return _mm512_cmplt_epu64_mask(a, b); }
  COMMITTEE_AVX512 static __m512i compress(Mask own, __m512i keys) {
    return _mm512_maskz_compress_epi64(own, keys);
  }
  COMMITTEE_AVX512 static __m512i pick(__m512i lanes, __m512i keys) {
    return _mm512_permutexvar_epi64(lanes, keys);
  }
  COMMITTEE_AVX512 static __m512i pick(__m512i a, __m512i lanes, __m512i b) {
    return _mm512_permutex2var_epi64(a, lanes, b);
  }
  // Minima of 64 bits are two instructions in one.
  COMMITTEE_AVX512 static void order(__m512i& a, __m512i& b) {
    const __mmask8 ordered = _mm512_cmplt_epu64_mask(a, b);
    const __m512i least = _mm512_mask_blend_epi64(ordered, b, a);
    b = _mm512_mask_blend_epi64(ordered, a, b);
    a = least;
  }
  COMMITTEE_AVX512 static __m512i order(__m512i a, __m512i b, u32 larger) {
    const auto taken = static_cast<__mmask8>(_mm512_cmplt_epu64_mask(a, b) ^ larger);
    return _mm512_mask_blend_epi64(taken, b, a);
  }
};

// The first n lanes.
template <class K>
constexpr u32 first_lanes(std::ptrdiff_t n) {
  constexpr int kCount = Keys<K>::kCount;
  return n <= 0 ? 0 : n >= kCount ? (u32{1} << kCount) - 1 : (u32{1} << n) - 1;
}

// Lanes whose number has a bit.
constexpr u32 lanes_with(int bit, int n) {
  u32 lanes = 0;
  for (int l = 0; l < n; ++l) lanes |= (l & bit) != 0 ? u32{1} << l : 0;
  return lanes;
}

// The lanes of R registers are columns. Sorts each of them (Batcher's odd-even merge sort).
template <class K, int R>
COMMITTEE_AVX512 inline void sort_columns(__m512i (&keys)[R]) {
#pragma GCC unroll 16
  for (int size = 1; size < R; size *= 2)
#pragma GCC unroll 16
    for (int step = size; step >= 1; step /= 2)
#pragma GCC unroll 16
      for (int first = step % size; first + step < R; first += 2 * step)
#pragma GCC unroll 16
        for (int k = 0; k < step; ++k) {
          const int a = first + k, b = a + step;
          if (b < R && a / (2 * size) == b / (2 * size)) Keys<K>::order(keys[a], keys[b]);
        }
}

// Merges neighbouring columns, each run of W / 2 with the next (bitonic): the second one backwards,
// then halves of halves, first of the columns and then of the registers.
template <class K, int R, int W>
COMMITTEE_AVX512 inline void merge_columns(__m512i (&keys)[R]) {
  using Lane = Keys<K>;
  const auto& tables = kLaneTables<K>;
  const __m512i backwards = _mm512_load_si512(tables.exchanged[W - 1]);
  const u32 second = lanes_with(W / 2, Lane::kCount);
#pragma GCC unroll 8
  for (int r = 0; r < R / 2; ++r) {
    const __m512i a = keys[r], b = keys[R - 1 - r];
    keys[r] = Lane::order(a, Lane::pick(backwards, b), second);
    keys[R - 1 - r] = Lane::order(b, Lane::pick(backwards, a), second);
  }
#pragma GCC unroll 4
  for (int step = W / 4; step >= 1; step /= 2) {
    const __m512i other = _mm512_load_si512(tables.exchanged[step]);
    const u32 upper = lanes_with(step, Lane::kCount);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) keys[r] = Lane::order(keys[r], Lane::pick(other, keys[r]), upper);
  }
#pragma GCC unroll 4
  for (int step = R / 2; step >= 1; step /= 2)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
      if ((r & step) == 0) Lane::order(keys[r], keys[r + step]);
}

// From columns to rows: key r of column c was in lane c of register r, and comes to place c R + r.
// Zipping the first half of all with the second turns the bits of a place by one.
template <class K, int R>
COMMITTEE_AVX512 inline void transpose(__m512i (&keys)[R]) {
  const __m512i low = _mm512_load_si512(kLaneTables<K>.zip[0]);
  const __m512i high = _mm512_load_si512(kLaneTables<K>.zip[1]);
#pragma GCC unroll 4
  for (int turn = 1; turn < R; turn *= 2) {
    __m512i before[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) before[r] = keys[r];
#pragma GCC unroll 8
    for (int r = 0; r < R / 2; ++r) {
      keys[2 * r] = Keys<K>::pick(before[r], low, before[r + R / 2]);
      keys[2 * r + 1] = Keys<K>::pick(before[r], high, before[r + R / 2]);
    }
  }
}

// At most as many keys as R registers have.
template <class K, int R>
COMMITTEE_AVX512 COMMITTEE_NOINLINE void sort_registers(K* keys, std::size_t n) {
  constexpr int kCount = Keys<K>::kCount;
  const auto left = static_cast<std::ptrdiff_t>(n);
  const __m512i last = Keys<K>::fill(~K{0});
  __m512i own[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
    own[r] = Keys<K>::load(keys + r * kCount, first_lanes<K>(left - r * kCount), last);
  sort_columns<K>(own);
  merge_columns<K, R, 2>(own);
  merge_columns<K, R, 4>(own);
  merge_columns<K, R, 8>(own);
  if constexpr (kCount == 16) merge_columns<K, R, 16>(own);
  transpose<K>(own);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
    Keys<K>::store(keys + r * kCount, first_lanes<K>(left - r * kCount), own[r]);
}

template <class K>
void sort_few(K* keys, std::size_t n) {
  constexpr std::size_t kCount = Keys<K>::kCount;
  if (n <= 2 * kCount) return sort_registers<K, 2>(keys, n);
  if (n <= 4 * kCount) return sort_registers<K, 4>(keys, n);
  if (n <= 8 * kCount) return sort_registers<K, 8>(keys, n);
  sort_registers<K, 16>(keys, n);
}

// About the median: that of keys from four places.
template <class K>
K choose_pivot(const K* keys, std::size_t n) {
  constexpr std::size_t kSample = 2 * Keys<K>::kCount, kPlaces = 4, kEach = kSample / kPlaces;
  K sample[kSample];
  for (std::size_t p = 0; p < kPlaces; ++p)
    std::memcpy(sample + p * kEach, keys + n / (2 * kPlaces) * (2 * p + 1), kEach * sizeof(K));
  sort_registers<K, 2>(sample, kSample);
  return sample[kSample / 2];
}

// Where the next keys of either side go.
template <class K>
struct Sides {
  K *low, *high;
};

// What lies behind the keys that are put is overwritten.
template <class K>
COMMITTEE_AVX512 inline void put(__m512i keys, typename Keys<K>::Mask low, Sides<K>& to) {
  using Mask = typename Keys<K>::Mask;
  const int n_low = std::popcount(lanes_of(low));
  _mm512_storeu_si512(to.low, Keys<K>::compress(low, keys));
  _mm512_storeu_si512(to.high, Keys<K>::compress(static_cast<Mask>(~low), keys));
  to.low += n_low;
  to.high += Keys<K>::kCount - n_low;
}

// Moves the keys below a bar before the others, and returns how many they are. They overwrite keys
// that were read; the others wait in `spare`.
template <class K>
COMMITTEE_AVX512 std::size_t part(K* keys, std::size_t n, K* spare, K bar) {
  using Mask = typename Keys<K>::Mask;
  constexpr std::size_t kCount = Keys<K>::kCount, kAbreast = 4;
  const __m512i bars = Keys<K>::fill(bar);
  Sides<K> to{keys, spare};
  std::size_t i = 0;
  for (; i + kAbreast * kCount <= n; i += kAbreast * kCount) {
    __m512i some[kAbreast];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kAbreast; ++k) some[k] = _mm512_loadu_si512(keys + i + k * kCount);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kAbreast; ++k) put(some[k], Keys<K>::below(some[k], bars), to);
  }
  for (; i < n; i += kCount) {
    const u32 own = first_lanes<K>(static_cast<std::ptrdiff_t>(n - i));
    const __m512i some = Keys<K>::load(keys + i, own, bars);
    const Mask below = Keys<K>::below(some, bars);  // none of the others
    const u32 low = lanes_of(below), high = low ^ own;
    // What follows may be keys of another part.
    Keys<K>::store(to.low, first_lanes<K>(std::popcount(low)), Keys<K>::compress(below, some));
    _mm512_storeu_si512(to.high, Keys<K>::compress(static_cast<Mask>(high), some));
    to.low += std::popcount(low);
    to.high += std::popcount(high);
  }
  const auto n_low = static_cast<std::size_t>(to.low - keys);
  std::memcpy(to.low, spare, (n - n_low) * sizeof(K));
  return n_low;
}

template <class K>
void sort_parts(K* keys, std::size_t n, K* spare, int depth) {
  while (n > 16 * Keys<K>::kCount) {
    if (depth-- == 0) return std::sort(keys, keys + n);  // pivots were far from the median
    const K pivot = choose_pivot(keys, n);
    std::size_t n_low = part(keys, n, spare, pivot);
    if (n_low > 0) {
      sort_parts(keys, n_low, spare, depth);
    } else {  // the pivot is the least key: all of its equals are done
      n_low = pivot == ~K{0} ? n : part(keys, n, spare, static_cast<K>(pivot + 1));
    }
    keys += n_low;
    n -= n_low;
  }
  if (n > 1) sort_few(keys, n);
}

// The last of equal keys stands for them. What is written was read before.
template <class K>
COMMITTEE_AVX512 std::size_t list_distinct(K* keys, std::size_t n, u64* counts) {
  constexpr std::size_t kCount = Keys<K>::kCount, kWords = Keys<u64>::kCount;
  std::size_t size = 0;
  for (std::size_t i = 0; i < n; i += kCount) {
    const auto left = static_cast<std::ptrdiff_t>(n - i);
    const u32 own = first_lanes<K>(left), followed = first_lanes<K>(left - 1);
    const __m512i some = Keys<K>::load(keys + i, own, _mm512_setzero_si512());
    const __m512i next = Keys<K>::load(keys + i + 1, followed, some);
    const u32 ends = own & (lanes_of(Keys<K>::below(some, next)) | ~followed);
    const auto last = static_cast<typename Keys<K>::Mask>(ends);
    _mm512_storeu_si512(keys + size, Keys<K>::compress(last, some));
#pragma GCC unroll 2
    for (std::size_t first = 0; first < kCount; first += kWords) {
      const __m512i lanes = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(i + first)),
                                             _mm512_setr_epi64(1, 2, 3, 4, 5, 6, 7, 8));
      const u32 part = ends >> first & 0xFF;
      _mm512_storeu_si512(counts + size, Keys<u64>::compress(static_cast<__mmask8>(part), lanes));
      size += static_cast<std::size_t>(std::popcount(part));
    }
  }
  return size;
}

constexpr int kDepth = 2;  // times the logarithm of the number of keys, at most

}  // namespace

void sort_wide(u32* keys, std::size_t n, u32* spare) {
  sort_parts(keys, n, spare, kDepth * static_cast<int>(std::bit_width(n)));
}
void sort_wide(u64* keys, std::size_t n, u64* spare) {
  sort_parts(keys, n, spare, kDepth * static_cast<int>(std::bit_width(n)));
}

COMMITTEE_AVX512 std::size_t list_keys_wide(const float* values, std::size_t n, u32* keys) {
  const __m512i sign = _mm512_set1_epi32(static_cast<int>(0x80000000u));
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; i += 16) {
    const auto own = static_cast<__mmask16>(first_lanes<u32>(static_cast<std::ptrdiff_t>(n - i)));
    const __m512 x = _mm512_maskz_loadu_ps(own, values + i);
    const __m512i bits = _mm512_castps_si512(_mm512_add_ps(x, _mm512_setzero_ps()));
    const __m512i key = _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi32(bits, 31), sign));
    const __mmask16 some = _mm512_mask_cmp_ps_mask(own, x, x, _CMP_EQ_OQ);
    _mm512_storeu_si512(keys + seen, Keys<u32>::compress(some, key));
    seen += static_cast<std::size_t>(std::popcount(lanes_of(some)));
  }
  return seen;
}

COMMITTEE_AVX512 std::size_t list_keys_wide(const double* values, std::size_t n, u64* keys) {
  const __m512i sign = _mm512_set1_epi64(static_cast<long long>(0x8000000000000000ull));
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; i += 8) {
    const auto own = static_cast<__mmask8>(first_lanes<u64>(static_cast<std::ptrdiff_t>(n - i)));
    const __m512d x = _mm512_maskz_loadu_pd(own, values + i);
    const __m512i bits = _mm512_castpd_si512(_mm512_add_pd(x, _mm512_setzero_pd()));
    const __m512i key = _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi64(bits, 63), sign));
    const __mmask8 some = _mm512_mask_cmp_pd_mask(own, x, x, _CMP_EQ_OQ);
    _mm512_storeu_si512(keys + seen, Keys<u64>::compress(some, key));
    seen += static_cast<std::size_t>(std::popcount(lanes_of(some)));
  }
  return seen;
}

std::size_t list_distinct_wide(u32* keys, std::size_t n, u64* counts) {
  return list_distinct(keys, n, counts);
}
std::size_t list_distinct_wide(u64* keys, std::size_t n, u64* counts) {
  return list_distinct(keys, n, counts);
}

}  // namespace committee
#endif
