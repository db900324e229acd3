#include "tree/fast/value_cuts.hpp"

#include "committee/criteria/squared_error.hpp"
#include "split/histogram.hpp"
#include "tree/gather_bins.hpp"

namespace committee {

namespace {

constexpr std::size_t kFewFeatures = 3;  // which are looked at one by one

// Adds rows to the sums of up to eight features at once: two 64-bit lanes a vector.
class LaneSums {
  using Words COMMITTEE_VECTOR(16) = u64;
  using Signs COMMITTEE_VECTOR(8) = signed char;
  using Halves COMMITTEE_VECTOR(16) = short;

 public:
  LaneSums(std::span<const u8> features, const u32* cuts) {
    u8 limits[kBatch] = {};
    for (std::size_t k = 0; k < kBatch; ++k) {
      const std::size_t own = std::min(k, features.size() - 1);
      at_[k] = features[own];
      limits[k] = static_cast<u8>(cuts[own]);
    }
    std::memcpy(&cuts_, limits, sizeof cuts_);
  }
  void add(const u8* record, const ValueSums& sums) {
    u64 picked = 0;
#pragma GCC unroll 8
    for (u32 k = 0; k < kBatch; ++k) picked |= u64{record[at_[k]]} << (8 * k);
    const Halves left =
        convert_lanes<Halves>(reinterpret_cast<Signs>(std::bit_cast<BinLanes>(picked) <= cuts_));
    // Each lane of 16 bits four times: all bits of a word, or none.
    const Words masks[4] = {(Words)shuffle_lanes<0, 0, 0, 0, 1, 1, 1, 1>(left, left),
                            (Words)shuffle_lanes<2, 2, 2, 2, 3, 3, 3, 3>(left, left),
                            (Words)shuffle_lanes<4, 4, 4, 4, 5, 5, 5, 5>(left, left),
                            (Words)shuffle_lanes<6, 6, 6, 6, 7, 7, 7, 7>(left, left)};
    const Words word = Words{} + sums.word, target = Words{} + static_cast<u64>(sums.target);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      words_[v] += word & masks[v];
      targets_[v] += target & masks[v];
    }
  }
  ValueSums sums(std::size_t k) const {
    return {words_[k / 2][k % 2], static_cast<i64>(targets_[k / 2][k % 2])};
  }

 private:
  u32 at_[kBatch];
  BinLanes cuts_;
  Words words_[4] = {}, targets_[4] = {};
};

template <int kVectors>
ValueSums sum_left(const ValueSpan<kVectors>& rows, u32 feature, u32 cut) {
  ValueSums left{};
  for (const ValueRow<kVectors>& row : rows) {
    const u64 all = u64{0} - u64{row.bins()[feature] <= cut};
    left.word += row.sums.word & all;
    left.target += row.sums.target & static_cast<i64>(all);
  }
  return left;
}

void consider(const ValueQuery& query, u32 feature, u32 cut, const ValueSums& left,
              BestValueCut& best) {
  const i64 wl = left.weight();
  const double score = SquaredError().score_sums(
      static_cast<double>(left.target), static_cast<double>(query.total.target - left.target),
      static_cast<double>(wl), static_cast<double>(query.total.weight() - wl));
  if (!(score > best.score) && !(score == best.score && comes_first(query, feature, best.feature)))
    return;
  best = {score, feature, cut, left};
}

}  // namespace

template <int kVectors>
void PlainCuts<kVectors>::look_at(const ValueQuery& query, const ValueSpan<kVectors>& rows,
                                  std::span<const u8> features, BestValueCut& best) {
  ExtraTreesThresholds cuts;
  for (std::size_t k = 0; k < features.size(); ++k) {
    cuts.lo[k] = query.ends.lo[features[k]];
    cuts.hi[k] = query.ends.hi[features[k]];
  }
  cuts.draw(query.rules, features, query.numbers);
  if (features.size() <= kFewFeatures) {
    for (std::size_t k = 0; k < features.size(); ++k)
      consider(query, features[k], cuts.cuts[k],
               sum_left<kVectors>(rows, features[k], cuts.cuts[k]), best);
    return;
  }
  LaneSums sums(features, cuts.cuts);
  for (const ValueRow<kVectors>& row : rows) sums.add(row.bins(), row.sums);
  for (std::size_t k = 0; k < features.size(); ++k)
    consider(query, features[k], cuts.cuts[k], sums.sums(k), best);
}

template struct PlainCuts<1>;
template struct PlainCuts<2>;
template struct PlainCuts<4>;

}  // namespace committee
