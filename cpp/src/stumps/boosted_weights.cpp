#include "stumps/boosted_weights.hpp"

#include <bit>
#include <limits>

#include "base/x86_vectors.hpp"

namespace committee {

namespace {

std::size_t part_plainly(std::span<const u32> rows, const u8* leaves, u32* left, u32* right) {
  std::size_t n_right = 0;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    left[j - n_right] = right[n_right] = rows[j];
    n_right += leaves[rows[j]];
  }
  return n_right;
}

#if defined(COMMITTEE_AVX512)

constexpr std::size_t kParted = 16, kMultiplied = 8;  // rows at a time

// Stores whole vectors: what lies behind the last row is written over by the next, or never read.
COMMITTEE_AVX512 std::size_t part_wide(std::span<const u32> rows, const u8* leaves, u32* left,
                                       u32* right) {
  const std::size_t whole = rows.size() / kParted * kParted;
  std::size_t n_right = 0;
  for (std::size_t j = 0; j < whole; j += kParted) {
    const __m512i some = _mm512_loadu_si512(rows.data() + j);
    const __mmask16 goes_right =
        _mm512_test_epi32_mask(_mm512_i32gather_epi32(some, leaves, 1), _mm512_set1_epi32(1));
    _mm512_storeu_si512(left + j - n_right,
                        _mm512_maskz_compress_epi32(_knot_mask16(goes_right), some));
    _mm512_storeu_si512(right + n_right, _mm512_maskz_compress_epi32(goes_right, some));
    n_right += static_cast<std::size_t>(std::popcount(lanes_of(goes_right)));
  }
  return n_right +
         part_plainly(rows.subspan(whole), leaves, left + whole - n_right, right + n_right);
}

COMMITTEE_AVX512 inline __m512i fix_levels(__m512d levels) {
  const __m512d scaled = _mm512_mul_pd(levels, _mm512_set1_pd(kStumpWeightScale));
  const __m512i fixed = _mm512_cvttpd_epi64(_mm512_add_pd(scaled, _mm512_set1_pd(0.5)));
  return _mm512_max_epi64(fixed, _mm512_set1_epi64(1));
}

// Whole vectors of rows of one unit each; returns how many rows that were.
COMMITTEE_AVX512 std::size_t multiply_wide(std::span<const u32> rows, double factor, double* levels,
                                           u64* gained) {
  const __m512d by = _mm512_set1_pd(factor), least = _mm512_set1_pd(kLeastStumpLevel);
  const std::size_t whole = rows.size() / kMultiplied * kMultiplied;
  for (std::size_t j = 0; j < whole; j += kMultiplied) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows.data() + j));
    const __m512d before = _mm512_i32gather_pd(some, levels, sizeof(double));
    const __m512d after = _mm512_max_pd(_mm512_mul_pd(before, by), least);
    _mm512_i32scatter_pd(levels, some, after, sizeof(double));
    _mm512_storeu_si512(gained + j, _mm512_sub_epi64(fix_levels(after), fix_levels(before)));
  }
  return whole;
}

// What vectors gather by are numbers with a sign.
bool may_gather(std::size_t n_rows) {
  return may_use(Instructions::avx512) &&
         n_rows < static_cast<std::size_t>(std::numeric_limits<i32>::max());
}

#endif

}  // namespace

std::size_t part_rows(std::span<const u32> rows, const LeafOfRow& leaves, u32* left, u32* right) {
#if defined(COMMITTEE_AVX512)
  if (may_gather(leaves.n_rows())) return part_wide(rows, leaves.data(), left, right);
#endif
  return part_plainly(rows, leaves.data(), left, right);
}

void BoostedWeights::multiply(std::span<const u32> rows, double factor, u64* gained) {
  std::size_t done = 0;
#if defined(COMMITTEE_AVX512)
  if (all_one() && may_gather(levels_.size()))
    done = multiply_wide(rows, factor, levels_.data(), gained);
#endif
  for (std::size_t j = done; j < rows.size(); ++j) gained[j] = multiply(rows[j], factor);
}

}  // namespace committee
