// The cuts that a node of extra-trees of values draws, what lies left of them, and the best one.
#pragma once
#include "split/accumulators.hpp"
#include "tree/fast/extra_trees_rules.hpp"

namespace committee {

struct ValueRules : ExtraTreesRules {
  ValueRules(const KeyPrefix& key, const GrowParams& params, std::span<const u32> features,
             const ExtraTreesTable& shared, bool draws, double target_offset)
      : ExtraTreesRules(key, params, features, shared),
        draws_features(draws),
        offset(target_offset) {}
  bool draws_features;
  double offset;  // of the targets
};

// What some rows add up to: their number and weight in one word, and their weighted targets. What
// lies above the weight is the name of a single row, and nothing where rows were added up.
struct ValueSums {
  static constexpr int kCountBits = 18, kWeightBits = 28;
  static constexpr u64 kCountMask = (u64{1} << kCountBits) - 1,
                       kWeightMask = (u64{1} << kWeightBits) - 1;
  // Rows of a block, and what they weigh, at most.
  static constexpr std::size_t kMostRows = std::size_t{1} << (kCountBits - 1);
  static constexpr u64 kMostWeight = kWeightMask;

  u64 word;
  i64 target;

  static ValueSums of_row(u64 name, u64 weight, i64 weighted_target) {
    return {name << (kCountBits + kWeightBits) | weight << kCountBits | 1, weighted_target};
  }
  i64 weight() const { return static_cast<i64>(word >> kCountBits & kWeightMask); }
  u32 n_rows() const { return static_cast<u32>(word & kCountMask); }
  std::size_t name() const { return word >> (kCountBits + kWeightBits); }
};

// A row: its record of 16 kVectors bytes, and what it adds.
template <int kVectors>
struct ValueRow {
  RowLanes lanes[kVectors];
  ValueSums sums;
  const u8* bins() const { return reinterpret_cast<const u8*>(lanes); }
};

// Rows of a node.
template <int kVectors>
using ValueSpan = std::span<const ValueRow<kVectors>>;

// The smallest and the largest bin of every feature.
struct ValueEnds {
  alignas(64) u8 lo[kMostBlockFeatures], hi[kMostBlockFeatures];
};

struct BestValueCut {
  double score = -std::numeric_limits<double>::infinity();
  u32 feature = kNone, bin = 0;
  ValueSums left{};
  bool found() const { return feature != kNone; }
};

// Features that vary in a node, and the node.
struct ValueQuery {
  const ValueRules& rules;
  const NodeNumbers& numbers;
  const ValueSums& total;
  const ValueEnds& ends;
};

template <int kVectors>
void find_ends(const ValueSpan<kVectors>& rows, ValueEnds& ends) {
  RowLanes lo[kVectors], hi[kVectors];
  for (int v = 0; v < kVectors; ++v) lo[v] = hi[v] = rows[0].lanes[v];
  for (const ValueRow<kVectors>& row : rows.subspan(1)) {
    for (int v = 0; v < kVectors; ++v) {
      const RowLanes bins = row.lanes[v];
      lo[v] = bins < lo[v] ? bins : lo[v];
      hi[v] = bins > hi[v] ? bins : hi[v];
    }
  }
  std::memcpy(ends.lo, lo, sizeof lo);
  std::memcpy(ends.hi, hi, sizeof hi);
}

// Draws a cut for each of up to eight features that vary; the best of them and of those before.
// Both forms give the same.
template <int kVectors>
struct PlainCuts {
  static void look_at(const ValueQuery& query, const ValueSpan<kVectors>& rows,
                      std::span<const u8> features, BestValueCut& best);
};

template <int kVectors>
struct WideCuts {
  static void look_at(const ValueQuery& query, const ValueSpan<kVectors>& rows,
                      std::span<const u8> features, BestValueCut& best);
};

// Whether a cut of the same score as the best one comes before it in the node's order of features;
// where features are drawn, they are looked at in that order.
inline bool comes_first(const ValueQuery& query, u32 feature, u32 best) {
  if (query.rules.draws_features) return false;
  return tie_priority(query.numbers, feature, true) < tie_priority(query.numbers, best, true);
}

}  // namespace committee
