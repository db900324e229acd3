// The score of a split, as the CPU's CriterionFinder has it, and which of two is better.
#pragma once
#include "forest.cuh"

namespace committee::gpu {

template <class Rule, class Cell>
__device__ inline double measure_term(const Forest& job, const Rule& rule, const Cell& cell, double weight) {
  if constexpr (kMoments) {
    return 0.0 + rule.impurity_term(find_second(cell), weight);
  } else if constexpr (kBinary) {
    const double p = find_second(cell), counts[2] = {weight - p, p};
    return rule.impurity_term(&counts[0], 2, weight);
  } else {
    return rule.impurity_term(cell, static_cast<u32>(job.n_classes), weight);
  }
}

// What the search of a node knows of it.
struct NodeFacts {
  CellView total;
  double weight, term, min_weight;
  u32 count;
  bool unlimited;  // no limit can forbid a boundary
};

__device__ inline NodeFacts describe_node(const Forest& job, u32 tree, const Element* total) {
  NodeFacts facts;
  facts.total = {total, 1};
  facts.weight = find_weight(job, facts.total);
  facts.term = measure_term(job, Criterion(), facts.total, facts.weight);
  facts.min_weight = job.min_weights[tree];
  facts.count = job.min_leaf > 1 ? find_count(job, facts.total) : 0;
  facts.unlimited = job.min_leaf <= 1 && facts.min_weight <= 1.0;
  return facts;
}

// Squares of weights of 32 bits are exact in 64; as the CPU, which has them so where no limit is in force.
template <class Cell>
__device__ inline double score_squares(const Forest& job, const NodeFacts& node, const Cell& left, double wl) {
  using Square = Choose<kWide, double, u64>::Type;
  Square left_squares = 0, right_squares = 0;
  for (u32 k = 0; k < job.n_classes; ++k) {
    const Element l = left[k], r = node.total[k] - l;
    left_squares += static_cast<Square>(l) * static_cast<Square>(l);
    right_squares += static_cast<Square>(r) * static_cast<Square>(r);
  }
  return static_cast<double>(left_squares) / wl + static_cast<double>(right_squares) / (node.weight - wl);
}

template <class Rule, class Cell>
__device__ inline double score_split(const Forest& job, const Rule& rule, const NodeFacts& node, const Cell& left) {
  const double wl = find_weight(job, left), wr = node.weight - wl;
  if (wl < node.min_weight || wr < node.min_weight) return kForbidden;
  if (job.min_leaf > 1) {
    const u32 count = find_count(job, left);
    if (count < job.min_leaf || node.count - count < job.min_leaf) return kForbidden;
  }
  if constexpr (kBinary && kSame<Rule, Gini>) {
    return rule.score_binary(wl, find_second(left), node.weight, find_second(node.total));
  } else if constexpr (kMoments && !kSame<Rule, Poisson>) {
    return rule.score_sums(find_second(left), static_cast<double>(static_cast<i64>(node.total[1] - left[1])), wl, wr);
  } else {
    if constexpr (kClasses && kSame<Rule, Gini> && !kRandom) {
      if (node.unlimited) return score_squares(job, node, left, wl);
    }
    const CellRest<Cell> right{node.total, left};
    const double a = measure_term(job, rule, left, wl), b = measure_term(job, rule, right, wr);
    if constexpr (kMoments) {
      return a + b;
    } else {
      return rule.score(a, b, node.term, wl, wr);
    }
  }
}

// Whether a split lowers the impurity enough.
template <class Cell>
__device__ inline bool is_enough(const Forest& job, u32 tree, const NodeFacts& node, const Cell& left) {
  if (!(job.least_decrease > 0.0)) return true;
  const CellRest<Cell> right{node.total, left};
  const Criterion rule{};
  const double more = measure_term(job, rule, left, find_weight(job, left)) +
                      measure_term(job, rule, right, find_weight(job, right)) - node.term;
  const double decrease = more > 0.0 ? more : 0.0;
  return decrease * job.decrease_factors[2 * tree] / job.decrease_factors[2 * tree + 1] + 0x1p-52 >= job.least_decrease;
}

constexpr u32 kNoFeature = 0xFFFFFFFFu;

struct Cut {
  double score;
  u64 priority;  // of the feature in the node's order
  u32 feature;
  u32 place;  // of the feature among those that are looked at together
  u32 bin, next;
  u32 missing_left, has_missing;

  __device__ static Cut none() { return {kForbidden, ~u64{0}, kNoFeature, 0, 0, 0, 0, 0}; }

  // Score, then the feature that comes first, then the lowest bin, then missing values on the right.
  __device__ bool loses_to(const Cut& other) const {
    if (other.score != score) return other.score > score;
    if (other.priority != priority) return other.priority < priority;
    if (other.bin != bin) return other.bin < bin;
    return other.missing_left < missing_left;
  }
};

template <class Cell>
__device__ inline void consider(const Forest& job, const NodeFacts& node, const Cell& left, Cut at, Cut& best) {
  at.score = score_split(job, Criterion(), node, left);
  if (at.score > kForbidden && best.loses_to(at)) best = at;
}

__device__ inline Cut exchange_cut(const Cut& own, u32 mask) {
  Cut other;
  other.score = __shfl_xor_sync(kAll, own.score, mask);
  other.priority = __shfl_xor_sync(kAll, own.priority, mask);
  other.feature = __shfl_xor_sync(kAll, own.feature, mask);
  const u32 bins = __shfl_xor_sync(kAll, own.bin | own.next << 16, mask);
  const u32 rest = __shfl_xor_sync(kAll, own.place << 2 | own.missing_left << 1 | own.has_missing, mask);
  other.bin = bins & 0xFFFFu, other.next = bins >> 16;
  other.place = rest >> 2, other.missing_left = rest >> 1 & 1, other.has_missing = rest & 1;
  return other;
}
// The best of a warp's, in all lanes.
__device__ inline void join_cuts(Cut& best) {
  for (u32 mask = kLanes / 2; mask > 0; mask /= 2) {
    const Cut other = exchange_cut(best, mask);
    if (best.loses_to(other)) best = other;
  }
}

// The order of a feature that was drawn as number `place`, or is looked at with all others.
__device__ inline u64 find_priority(const Forest& job, const NodeNumbers& numbers, u32 feature, u32 place) {
  if (!job.shuffles) return feature;
  if (job.draws) return place + 1;
  return feature | numbers.at(Purpose::tie, feature) >> 32 << 32;
}

// Features of the node at hand: the list of all, shuffled as far as it was drawn from.
struct FeatureDraws {
  u16* order;    // [n_features], ascending between nodes
  u16* swapped;  // [n_features]: what each place was swapped with

  // One thread. Draws features first .. last - 1.
  __device__ void draw(const Forest& job, const NodeNumbers& numbers, u32 first, u32 last) const {
    for (u32 k = first; k < last; ++k) {
      const u32 with = k + scale_below(numbers.at(Purpose::features, k), job.n_features - k);
      const u16 own = order[k];
      order[k] = order[with];
      order[with] = own;
      swapped[k] = static_cast<u16>(with);
    }
  }
  // One thread.
  __device__ void restore(u32 n_drawn) const {
    while (n_drawn-- > 0) {
      const u16 own = order[n_drawn];
      order[n_drawn] = order[swapped[n_drawn]];
      order[swapped[n_drawn]] = own;
    }
  }
};

}  // namespace committee::gpu
