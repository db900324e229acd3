#include "boosting/entry_sums.hpp"

#include "base/x86_vectors.hpp"

namespace committee {

namespace {

i64 scale_count(i64 entry, i32 mask, i32 steps) {
  return static_cast<i64>(static_cast<i32>(entry) & mask) * steps;
}

#if defined(COMMITTEE_AVX2)
COMMITTEE_AVX2 __m256i load_four(const i64* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
COMMITTEE_AVX2 void store_four(i64* at, __m256i four) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), four);
}

COMMITTEE_AVX2 std::size_t add_entries_avx2(const i64* from, std::size_t n, i64* to) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    store_four(to + i, _mm256_add_epi64(load_four(to + i), load_four(from + i)));
  return i;
}

COMMITTEE_AVX2 std::size_t subtract_entries_avx2(const i64* from, std::size_t n, i64* to) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    store_four(to + i, _mm256_sub_epi64(load_four(to + i), load_four(from + i)));
  return i;
}

// What is carried from four to four waits for one addition only. Returns the sum of all.
COMMITTEE_AVX2 i64 add_up_entries_avx2(const i64* from, std::size_t n, i64 base, i64* sums) {
  __m256i carried = _mm256_set1_epi64x(base);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256i four = load_four(from + i);
    const __m256i pairs = _mm256_add_epi64(four, _mm256_slli_si256(four, 8));
    const __m256i second = _mm256_permute4x64_epi64(pairs, 0x55);
    const __m256i all =
        _mm256_add_epi64(pairs, _mm256_blend_epi32(_mm256_setzero_si256(), second, 0xF0));
    store_four(sums + i, _mm256_add_epi64(all, carried));
    carried = _mm256_add_epi64(carried, _mm256_permute4x64_epi64(all, 0xFF));
  }
  return _mm256_extract_epi64(carried, 0);
}

COMMITTEE_AVX2 std::size_t add_counts_avx2(const i64* entries, std::size_t n, i32 mask, i32 steps,
                                           i64* sums) {
  const __m256i masks = _mm256_set1_epi64x(mask), factor = _mm256_set1_epi64x(steps);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    // The product of the lower ints.
    const __m256i counts = _mm256_and_si256(load_four(entries + i), masks);
    store_four(sums + i, _mm256_add_epi64(load_four(sums + i), _mm256_mul_epi32(counts, factor)));
  }
  return i;
}
#endif

}  // namespace

void add_entries(const i64* from, std::size_t n, i64* to) {
  std::size_t i = 0;
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) i = add_entries_avx2(from, n, to);
#endif
  for (; i < n; ++i) to[i] += from[i];
}

void subtract_entries(const i64* from, std::size_t n, i64* to) {
  std::size_t i = 0;
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) i = subtract_entries_avx2(from, n, to);
#endif
  for (; i < n; ++i) to[i] -= from[i];
}

void add_up_entries(const i64* from, std::size_t n, i64 base, i64* sums) {
  i64 sum = base;
  std::size_t i = 0;
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) {
    sum = add_up_entries_avx2(from, n, base, sums);
    i = n / 4 * 4;
  }
#endif
  for (; i + 4 <= n; i += 4) {
    const i64 two = from[i] + from[i + 1];
    sums[i] = sum + from[i];
    sums[i + 1] = sum + two;
    sums[i + 2] = sum + two + from[i + 2];
    sums[i + 3] = sum += two + (from[i + 2] + from[i + 3]);
  }
  for (; i < n; ++i) sums[i] = sum += from[i];
}

void add_counts(const i64* entries, std::size_t n, i32 mask, i32 steps, i64* sums) {
  std::size_t i = 0;
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) i = add_counts_avx2(entries, n, mask, steps, sums);
#endif
  for (; i < n; ++i) sums[i] += scale_count(entries[i], mask, steps);
}

}  // namespace committee
