#include "binning/bin_search.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

namespace {

// The keys 8 j + r lie side by side, j = 0 .. 31: two registers for each r. Behind the thresholds'
// are keys above every value.
constexpr std::size_t kKeys = 256, kRuns = 32, kRunKeys = kKeys / kRuns, kLanes = 16;

// The keys of one place in each run.
struct RunKeys {
  __m512i low, high;
};

COMMITTEE_AVX512 inline void load_keys(const u32* laid, RunKeys (&keys)[kRunKeys]) {
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRunKeys; ++r)
    keys[r] = {_mm512_loadu_si512(laid + r * kRuns), _mm512_loadu_si512(laid + r * kRuns + kLanes)};
}

COMMITTEE_AVX512 inline __m512i pick(const RunKeys& keys, __m512i run) {
  return _mm512_permutex2var_epi32(keys.low, run, keys.high);
}

// Where a key is below; the first that is not is always among those that are looked at, so that
// `met` tells whether any is equal.
COMMITTEE_AVX512 inline __mmask16 compare(__m512i found, __m512i key, __mmask16& met) {
  met |= _mm512_cmpeq_epu32_mask(found, key);
  return _mm512_cmplt_epu32_mask(found, key);
}

// The number of keys below each of sixteen: the run by its last keys, then three steps within it.
COMMITTEE_AVX512 inline __m512i count_below(const RunKeys (&keys)[kRunKeys], __m512i key,
                                            __mmask16& met) {
  __m512i run = _mm512_setzero_si512();
#pragma GCC unroll 5
  for (int half = static_cast<int>(kRuns) / 2; half > 0; half /= 2) {
    const __m512i last = pick(keys[7], _mm512_add_epi32(run, _mm512_set1_epi32(half - 1)));
    const __mmask16 above = compare(last, key, met);
    run = _mm512_mask_add_epi32(run, above, run, _mm512_set1_epi32(half));
  }
  const __mmask16 four = compare(pick(keys[3], run), key, met);
  const __m512i second = _mm512_mask_blend_epi32(four, pick(keys[1], run), pick(keys[5], run));
  const __mmask16 two = compare(second, key, met);
  const __m512i low = _mm512_mask_blend_epi32(two, pick(keys[0], run), pick(keys[2], run));
  const __m512i high = _mm512_mask_blend_epi32(two, pick(keys[4], run), pick(keys[6], run));
  const __mmask16 one = compare(_mm512_mask_blend_epi32(four, low, high), key, met);
  __m512i below = _mm512_slli_epi32(run, 3);
  below = _mm512_mask_add_epi32(below, four, below, _mm512_set1_epi32(4));
  below = _mm512_mask_add_epi32(below, two, below, _mm512_set1_epi32(2));
  return _mm512_mask_add_epi32(below, one, below, _mm512_set1_epi32(1));
}

COMMITTEE_AVX512 inline __m128i make_bins(__m512i below, __mmask16 missing) {
  return _mm_mask_mov_epi8(_mm512_cvtepi32_epi8(below), missing,
                           _mm_set1_epi8(static_cast<char>(kMissingBin)));
}

COMMITTEE_AVX512 inline __m128i find_bins(const RunKeys (&keys)[kRunKeys], __m512 x) {
  const __m512i bits = _mm512_castps_si512(_mm512_add_ps(x, _mm512_setzero_ps()));
  const __m512i sign = _mm512_set1_epi32(static_cast<int>(0x80000000u));
  const __m512i key = _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi32(bits, 31), sign));
  __mmask16 met = 0;
  return make_bins(count_below(keys, key, met), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q));
}

// The upper halves of eight keys.
COMMITTEE_AVX512 inline __m256i halve_keys(__m512d x) {
  const __m512i bits = _mm512_castpd_si512(_mm512_add_pd(x, _mm512_setzero_pd()));
  const __m512i sign = _mm512_set1_epi64(static_cast<long long>(0x8000000000000000ull));
  const __m512i key = _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi64(bits, 63), sign));
  return _mm512_cvtepi64_epi32(_mm512_srli_epi64(key, 32));
}

// met: whose upper halves do not decide.
COMMITTEE_AVX512 inline __m128i find_bins(const RunKeys (&keys)[kRunKeys], __m512d low,
                                          __m512d high, __mmask16& met) {
  const __m512i key =
      _mm512_inserti64x4(_mm512_castsi256_si512(halve_keys(low)), halve_keys(high), 1);
  const unsigned missing = lanes_of(_mm512_cmp_pd_mask(low, low, _CMP_UNORD_Q)) |
                           lanes_of(_mm512_cmp_pd_mask(high, high, _CMP_UNORD_Q)) << 8;
  const __m128i bins = make_bins(count_below(keys, key, met), static_cast<__mmask16>(missing));
  met = static_cast<__mmask16>(met & ~missing);
  return bins;
}

void settle(const std::vector<u64>& keys, const double* values, unsigned met, u8* out) {
  for (; met != 0; met &= met - 1) {
    const int i = std::countr_zero(met);
    out[i] = static_cast<u8>(std::lower_bound(keys.begin(), keys.end(), make_key(values[i])) -
                             keys.begin());
  }
}

}  // namespace

template <class K>
std::vector<u32> lay_out_keys(const std::vector<K>& keys) {
  std::vector<u32> laid(kKeys, std::numeric_limits<u32>::max());
  for (std::size_t k = 0; k < keys.size(); ++k)
    laid[k % kRunKeys * kRuns + k / kRunKeys] =
        static_cast<u32>(keys[k] >> (8 * (sizeof(K) - sizeof(u32))));
  return laid;
}
template std::vector<u32> lay_out_keys(const std::vector<u32>&);
template std::vector<u32> lay_out_keys(const std::vector<u64>&);

COMMITTEE_AVX512 void search_wide(const u32* laid, const float* values, std::size_t n, u8* out) {
  RunKeys keys[kRunKeys];
  load_keys(laid, keys);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     find_bins(keys, _mm512_loadu_ps(values + i)));
  const __mmask16 rest = static_cast<__mmask16>((1u << (n - i)) - 1);
  _mm_mask_storeu_epi8(out + i, rest, find_bins(keys, _mm512_maskz_loadu_ps(rest, values + i)));
}

COMMITTEE_AVX512 void search_wide(const u32* laid, const std::vector<u64>& decisive,
                                  const double* values, std::size_t n, u8* out) {
  RunKeys keys[kRunKeys];
  load_keys(laid, keys);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __mmask16 met = 0;
    const __m128i bins =
        find_bins(keys, _mm512_loadu_pd(values + i), _mm512_loadu_pd(values + i + 8), met);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), bins);
    if (met != 0) [[unlikely]]
      settle(decisive, values + i, lanes_of(met), out + i);
  }
  const __mmask16 rest = static_cast<__mmask16>((1u << (n - i)) - 1);
  __mmask16 met = 0;
  const __m128i bins =
      find_bins(keys, _mm512_maskz_loadu_pd(static_cast<__mmask8>(rest), values + i),
                _mm512_maskz_loadu_pd(static_cast<__mmask8>(rest >> 8), values + i + 8), met);
  _mm_mask_storeu_epi8(out + i, rest, bins);
  settle(decisive, values + i, lanes_of(static_cast<__mmask16>(met & rest)), out + i);
}

}  // namespace committee
#endif
