// Exact splits by histograms of bins. The score of a boundary is a convex function of what lies
// left of it, the weight and the sum of the targets; within a bin both run through a parallelogram,
// at whose corners the function is largest. So the histogram tells which bins may hold the best
// boundary, and only their rows are sorted.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "committee/binning.hpp"
#include "committee/criteria/all.hpp"
#include "committee/gini_sums.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// The bins of a feature that occur in a node, and what lies left of each.
template <class Accumulator>
struct BinSums {
  using Element = typename Accumulator::Element;
  static constexpr u32 kCell = std::max(Accumulator::kFixedCell, u32{1});
  u32 n = 0;
  u8 bins[kHistogramBins];
  alignas(64) Element before[kCell][kHistogramBins + 1];  // entry n: the total
  // The same of groups of neighbours among them.
  static constexpr u32 kGroup = 4;
  alignas(64) Element before_group[kCell][kHistogramBins / kGroup + 1];

  void fill(const Element* hist, u64 touched) {
    Element sum[kCell] = {};
    n = 0;
    for (u64 groups = touched; groups; groups &= groups - 1) {
      const u32 first = static_cast<u32>(std::countr_zero(groups)) * 4;
      for (u32 bin = first; bin < first + 4; ++bin) {
        const Element* cell = hist + bin * kCell;
        bins[n] = static_cast<u8>(bin);
        for (u32 s = 0; s < kCell; ++s) {
          before[s][n] = sum[s];
          sum[s] += cell[s];
        }
        n += !Accumulator::is_empty(cell);
      }
    }
    for (u32 s = 0; s < kCell; ++s) before[s][n] = sum[s];
    for (u32 s = 0; s < kCell; ++s) {
      for (u32 g = 0; g < count_groups(); ++g) before_group[s][g] = before[s][g * kGroup];
      before_group[s][count_groups()] = sum[s];
    }
  }
  u32 count_groups() const { return (n + kGroup - 1) / kGroup; }
  void copy_before_group(u32 g, Element* cell) const {
    for (u32 s = 0; s < kCell; ++s) cell[s] = before_group[s][g];
  }
  void copy_before(u32 k, Element* cell) const {
    for (u32 s = 0; s < kCell; ++s) cell[s] = before[s][k];
  }
};

// Which ranks of its column each bin has: bin b those from starts[b] to starts[b + 1].
struct BinRanks {
  u32 starts[kHistogramBins + 1];
  bool is_single(u32 bin) const { return starts[bin + 1] - starts[bin] <= 1; }
};
BinRanks find_bin_ranks(const ColumnBins& bins, const std::vector<double>& values);

// A weight and the sum of its targets: for two classes the weight of the second one.
struct SumPoint {
  double weight, sum;
};

template <class Accumulator>
SumPoint find_point(const typename Accumulator::Element* cell) {
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    return {Accumulator::weight(cell), Accumulator::positive(cell)};
  } else {
    return {Accumulator::weight(cell), static_cast<double>(cell[1])};
  }
}

// Between which numbers the targets of a node lie, and by how much scores may be rounded.
struct TargetSpan {
  double low = 0.0, high = 1.0, slack = 0.0;
};

template <class Accumulator>
TargetSpan find_target_span(std::span<const typename Accumulator::Item> items) {
  TargetSpan range;
  if constexpr (Accumulator::kKind == AccumulatorKind::moments && Accumulator::kFixedCell > 0) {
    double low = std::numeric_limits<double>::infinity(), high = -low, weight = 0.0;
    for (const auto& item : items) {
      const double y = static_cast<double>(item.wy) / static_cast<double>(item.weight);
      low = y < low ? y : low;
      high = y > high ? y : high;
      weight += static_cast<double>(item.weight);
    }
    const double most = std::max(std::abs(low), std::abs(high));
    range = {low - most * 0x1.0p-50, high + most * 0x1.0p-50, most * most * weight * 0x1.0p-44};
  }
  return range;
}

// A score as a quotient.
struct ScoreRatio {
  double dividend, divisor;
};

// The larger of `most` and the best score of a boundary between two bins.
template <class Accumulator, class Ratio>
double raise_to_best(const BinSums<Accumulator>& sums, double most, Ratio ratio) {
  const auto at = [&](u32 k) {
    typename Accumulator::Element cell[BinSums<Accumulator>::kCell];
    sums.copy_before(k, cell);
    const SumPoint left = find_point<Accumulator>(cell);
    return ratio(left.weight, left.sum);
  };
  u64 n_larger = 0;
  for (u32 k = 1; k < sums.n; ++k) {
    const ScoreRatio score = at(k);
    n_larger += score.dividend > most * score.divisor;
  }
  if (n_larger == 0) return most;
  for (u32 k = 1; k < sums.n; ++k) {
    const ScoreRatio score = at(k);
    if (score.dividend > most * score.divisor)
      most = std::max(most, score.dividend / score.divisor);
  }
  return most;
}

// marks[k]: whether a boundary behind a row of the k-th bin may have a score of `least` or more.
// A bin of one value has none but behind its last row. Returns how many are marked. Groups of bins
// are tested first, and mostly none of them passes.
template <class Accumulator, class Ratio>
u32 mark_bins_above(const BinSums<Accumulator>& sums, const BinRanks& ranks,
                    const TargetSpan& targets, double least, u64* marks, Ratio ratio) {
  using Element = typename Accumulator::Element;
  const double bar = least - std::abs(least) * 0x1.0p-40 - targets.slack;
  const double scale = targets.high > targets.low ? 1.0 / (targets.high - targets.low) : 0.0;
  // Nothing lies left of the first bin: that is no boundary, and every score is larger.
  const auto reaches = [&](double weight, double sum) {
    const ScoreRatio score = ratio(weight, sum);
    return u64{score.dividend >= bar * score.divisor} & u64{score.divisor > 0.0};
  };
  const auto test = [&](const Element* from_cell, const Element* to_cell) {
    const SumPoint from = find_point<Accumulator>(from_cell), to = find_point<Accumulator>(to_cell);
    // The largest targets first, so much of the weight, or the smallest ones first.
    const double weight = to.weight - from.weight;
    const double share = (to.sum - from.sum - weight * targets.low) * scale;
    const double high = share < 0.0 ? 0.0 : share > weight ? weight : share, low = weight - high;
    const u64 within = reaches(from.weight, from.sum) |
                       reaches(from.weight + high, from.sum + high * targets.high) |
                       reaches(from.weight + low, from.sum + low * targets.low);
    return within | reaches(to.weight, to.sum) << 1;
  };
  if (sums.n == 1) return static_cast<u32>(marks[0] = 1);
  constexpr u32 kGroup = BinSums<Accumulator>::kGroup;
  u64 found[kHistogramBins / kGroup], any = 0;
  const u32 n_groups = sums.count_groups();
  for (u32 g = 0; g < n_groups; ++g) {
    Element cells[2][BinSums<Accumulator>::kCell];
    sums.copy_before_group(g, cells[0]);
    sums.copy_before_group(g + 1, cells[1]);
    any |= found[g] = test(cells[0], cells[1]);
  }
  if (any == 0) return 0;
  u32 n_marked = 0;
  for (u32 k = 0; k < sums.n; ++k) {
    marks[k] = 0;
    if (found[k / kGroup] == 0) continue;
    Element cells[2][BinSums<Accumulator>::kCell];
    sums.copy_before(k, cells[0]);
    sums.copy_before(k + 1, cells[1]);
    const u64 own = test(cells[0], cells[1]);
    marks[k] = own >> 1 | (own & u64{!ranks.is_single(sums.bins[k])});
    n_marked += static_cast<u32>(marks[k]);
  }
  return n_marked;
}

// Rows of the marked bins and of those that follow them, but of no bin of one value, in the order
// of their codes.
template <class Accumulator>
struct MarkedRows {
  const BinSums<Accumulator>& sums;
  const BinRanks& ranks;
  const u64* marks;
  std::span<const u64> keyed;  // code << 32 | index into the items
  const typename Accumulator::Item* items;
  const u8* column;  // a bin a row of the table
};

// look(left cell, boundary) for the boundaries behind rows of marked bins.
template <class Accumulator, class Look>
void visit_marked(const Accumulator& accumulator, const MarkedRows<Accumulator>& rows, Look look) {
  const BinSums<Accumulator>& sums = rows.sums;
  const std::size_t n = rows.keyed.size();
  const auto item_at = [&](std::size_t i) -> const auto& {
    return rows.items[static_cast<u32>(rows.keyed[i])];
  };
  const auto code = [&](std::size_t i) { return static_cast<u32>(rows.keyed[i] >> 32); };
  typename Accumulator::Element left[BinSums<Accumulator>::kCell];
  std::size_t i = 0;
  // The first code of a bin, whose rows begin at i from then on.
  const auto enter = [&](u8 bin) {
    if (rows.ranks.is_single(bin)) return rows.ranks.starts[bin];
    while (rows.column[item_at(i).row] != bin) ++i;
    return code(i);
  };
  for (u32 k = 0; k < sums.n; ++k) {
    if (!rows.marks[k]) continue;
    const u8 bin = sums.bins[k];
    u32 last = enter(bin);
    sums.copy_before(k, left);
    for (; !rows.ranks.is_single(bin) && i < n && rows.column[item_at(i).row] == bin; ++i) {
      if (code(i) != last) look(left, Boundary{last, code(i), false, false});
      last = code(i);
      accumulator.add(left, item_at(i));
    }
    if (k + 1 == sums.n) return;
    const u32 next = enter(sums.bins[k + 1]);
    sums.copy_before(k + 1, left);
    look(left, Boundary{last, next, false, false});
  }
}

// The part of a finder that does all of it, for criteria whose scores are such a quotient.
template <class Finder, class Accumulator, class Criterion>
class BoundsFinder : public SplitFinder<Accumulator> {
  using Base = SplitFinder<Accumulator>;
  static constexpr bool kIsKnown =
      (Accumulator::kKind == AccumulatorKind::binary && std::is_same_v<Criterion, Gini>) ||
      (Accumulator::kKind == AccumulatorKind::moments && Accumulator::kFixedCell > 0 &&
       std::is_same_v<Criterion, SquaredError>);

 public:
  double raise_bar(const BinSums<Accumulator>& sums, double score) const final {
    if constexpr (kIsKnown) return raise_to_best(sums, score, make_ratio());
    return Base::raise_bar(sums, score);
  }
  u32 mark_bins(const BinSums<Accumulator>& sums, const BinRanks& ranks, const TargetSpan& targets,
                double least, u64* marks) const final {
    if constexpr (kIsKnown)
      return mark_bins_above(sums, ranks, targets, least, marks, make_ratio());
    return Base::mark_bins(sums, ranks, targets, least, marks);
  }
  void scan_marked(const MarkedRows<Accumulator>& rows, const FeatureView& view,
                   Candidate& best) final {
    if constexpr (kIsKnown) {
      Finder& own = static_cast<Finder&>(*this);
      double bar = set_bar(best.score);
      visit_marked(own.accumulator_, rows, [&](const auto* left, const Boundary& at) {
        if (own.falls_short(left, bar)) return;
        own.consider(left, view, at, best);
        bar = set_bar(best.score);
      });
    } else {
      Base::scan_marked(rows, view, best);
    }
  }

 private:
  auto make_ratio() const {
    const Finder& own = static_cast<const Finder&>(*this);
    const SumPoint total = find_point<Accumulator>(own.total_.data());
    return [total, criterion = own.criterion_](double weight, double sum) -> ScoreRatio {
      if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
        const auto ratio = criterion.ratio_binary(weight, sum, total.weight, total.sum);
        return {ratio.dividend, ratio.divisor};
      } else {
        const double rest = total.weight - weight;
        return {criterion.dividend_sums(sum, total.sum - sum, weight, rest), weight * rest};
      }
    };
  }
};

}  // namespace committee
