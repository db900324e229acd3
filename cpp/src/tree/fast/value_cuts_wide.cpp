// value_cuts.hpp by AVX-512: the sums of eight features are two registers.
#include <bit>

#include "base/x86_vectors.hpp"
#include "committee/criteria/squared_error.hpp"
#include "split/histogram.hpp"
#include "tree/fast/value_cuts.hpp"
#include "tree/fast/wide_keys.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

namespace {

// The bytes of up to eight features out of a record.
template <int kVectors>
class WidePicker {
 public:
  // Lanes without a feature hold any byte.
  COMMITTEE_AVX512 explicit WidePicker(std::span<const u8> features) {
    // Put together in a register: a vector that is read after its bytes were written would wait.
    u64 bytes = 0;
    for (std::size_t k = 0; k < features.size(); ++k) bytes |= u64{features[k]} << (8 * k);
    const __m128i all = _mm_cvtsi64_si128(static_cast<long long>(bytes));
    const __m128i lane = _mm_and_si128(all, _mm_set1_epi8(0x0F));
    for (int v = 0; v < kVectors; ++v) {
      const __mmask16 own =
          _mm_cmpeq_epi8_mask(_mm_sub_epi8(all, lane), _mm_set1_epi8(static_cast<char>(16 * v)));
      at_[v] = _mm_mask_mov_epi8(_mm_set1_epi8(static_cast<char>(0x80)), own, lane);
    }
  }
  COMMITTEE_AVX512 __m128i pick(const u8* record) const {
    __m128i bins =
        _mm_shuffle_epi8(_mm_load_si128(reinterpret_cast<const __m128i*>(record)), at_[0]);
#pragma GCC unroll 3
    for (int v = 1; v < kVectors; ++v) {
      const __m128i more = _mm_load_si128(reinterpret_cast<const __m128i*>(record) + v);
      bins = _mm_or_si128(bins, _mm_shuffle_epi8(more, at_[v]));
    }
    return bins;
  }

 private:
  __m128i at_[kVectors];
};

struct WideSums {
  __m512i words, targets;
};

template <int kVectors>
COMMITTEE_AVX512 inline void add_row(const WidePicker<kVectors>& picker, __m128i limit,
                                     const ValueRow<kVectors>& row, WideSums& sums) {
  const __mmask8 left = static_cast<__mmask8>(_mm_cmple_epu8_mask(picker.pick(row.bins()), limit));
  const __m512i word = _mm512_set1_epi64(static_cast<long long>(row.sums.word));
  sums.words = _mm512_mask_add_epi64(sums.words, left, sums.words, word);
  sums.targets =
      _mm512_mask_add_epi64(sums.targets, left, sums.targets, _mm512_set1_epi64(row.sums.target));
}

template <int kVectors>
COMMITTEE_AVX512 inline WideSums sum_left(const ValueSpan<kVectors>& rows,
                                          std::span<const u8> features, const u32* cuts) {
  const WidePicker<kVectors> picker(features);
  u64 limits = 0;
  for (std::size_t k = 0; k < features.size(); ++k) limits |= u64{cuts[k]} << (8 * k);
  const __m128i limit = _mm_cvtsi64_si128(static_cast<long long>(limits));
  WideSums sums[2] = {};
  const ValueRow<kVectors>* row = rows.data();
  for (std::size_t n = rows.size(); n > 0;) {
    const std::size_t some = n < 2 ? 1 : 2;  // side by side
    add_row(picker, limit, row[0], sums[0]);
    if (some == 2) add_row(picker, limit, row[1], sums[1]);
    row += some;
    n -= some;
  }
  return {_mm512_add_epi64(sums[0].words, sums[1].words),
          _mm512_add_epi64(sums[0].targets, sums[1].targets)};
}

// SquaredError::score_sums of eight features.
COMMITTEE_AVX512 inline __m512d score_sums(const WideSums& left, const ValueSums& total) {
  const __m512i wl = _mm512_and_si512(_mm512_srli_epi64(left.words, ValueSums::kCountBits),
                                      _mm512_set1_epi64(ValueSums::kWeightMask));
  const __m512d a = _mm512_cvtepi64_pd(left.targets);
  const __m512d b =
      _mm512_cvtepi64_pd(_mm512_sub_epi64(_mm512_set1_epi64(total.target), left.targets));
  const __m512d weight_left = _mm512_cvtepi64_pd(wl);
  const __m512d weight_right =
      _mm512_cvtepi64_pd(_mm512_sub_epi64(_mm512_set1_epi64(total.weight()), wl));
  const __m512d dividend = _mm512_add_pd(_mm512_mul_pd(_mm512_mul_pd(a, a), weight_right),
                                         _mm512_mul_pd(_mm512_mul_pd(b, b), weight_left));
  return _mm512_div_pd(dividend, _mm512_mul_pd(weight_left, weight_right));
}

}  // namespace

template <int kVectors>
COMMITTEE_AVX512 void WideCuts<kVectors>::look_at(const ValueQuery& query,
                                                  const ValueSpan<kVectors>& rows,
                                                  std::span<const u8> features,
                                                  BestValueCut& best) {
  const std::size_t n = features.size();
  ExtraTreesThresholds cuts;
  for (std::size_t k = 0; k < n; ++k) {
    cuts.lo[k] = query.ends.lo[features[k]];
    cuts.hi[k] = query.ends.hi[features[k]];
  }
  cuts.draw<WideKeys>(query.rules, features, query.numbers);
  const WideSums sums = sum_left<kVectors>(rows, features, cuts.cuts);
  const __m512d scores = score_sums(sums, query.total);
  const __mmask8 own = static_cast<__mmask8>(0xFF >> (kBatch - n));
  const __m512d bar = _mm512_set1_pd(best.score);
  u32 reach = lanes_of(_mm512_mask_cmp_pd_mask(own, scores, bar, _CMP_GE_OQ));
  if (reach == 0) return;
  const double most = _mm512_mask_reduce_max_pd(own, scores);
  reach = lanes_of(_mm512_mask_cmp_pd_mask(own, scores, _mm512_set1_pd(most), _CMP_EQ_OQ));
  u32 lane = static_cast<u32>(std::countr_zero(reach));
  for (u32 rest = reach & (reach - 1); rest; rest &= rest - 1) {
    const u32 other = static_cast<u32>(std::countr_zero(rest));
    if (comes_first(query, features[other], features[lane])) lane = other;
  }
  if (most == best.score && !comes_first(query, features[lane], best.feature)) return;
  alignas(64) u64 words[kBatch];
  alignas(64) i64 targets[kBatch];
  _mm512_store_si512(words, sums.words);
  _mm512_store_si512(targets, sums.targets);
  best = {most, features[lane], cuts.cuts[lane], {words[lane], targets[lane]}};
}

template struct WideCuts<1>;
template struct WideCuts<2>;
template struct WideCuts<4>;

}  // namespace committee
#endif
