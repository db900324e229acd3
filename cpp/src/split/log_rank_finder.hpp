// Log-rank splits: U^2 / V, where U is the observed less the expected events of the left side and V
// the variance of U, both over the event times of the node. Rows come sorted by code. U is a sum
// over rows (an event less the cumulative hazard of the node at the row's time), in fixed point. V
// is had in one of two ways, chosen for a node by its size: from the rows at risk on the left at
// every boundary, or in small nodes row by row, in O(log times) and in integers that are exact.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "committee/criteria/log_rank.hpp"
#include "split/categorical_order.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// Event times of a node: events, rows at risk, and what follows from them.
struct RiskTable {
  static constexpr u32 kSize = LogRank::kMostTimes + 1;  // entry 0: before the first event
  u32 n_times = 0;
  std::array<double, kSize> at_risk{}, spread{};
  // Sums over the event times so far, in fixed point: of the hazard, of the spread, and of the
  // spread times the rows at risk.
  std::array<i64, kSize> hazard_sum{}, spread_sum{}, risk_sum{};
};

// B = sum over times of spread * (rows at risk on the left)^2 while rows move left one by one
// [Fenwick1994]. A row at risk up to time k adds 2 w Q(k) + w^2 C(k), where C sums the spread over
// times and Q the spread times the rows at risk.
class SquaredRisk {
 public:
  void reset(const RiskTable& table) {
    table_ = &table;
    size_ = table.n_times + 1;
    std::fill_n(weight_.begin(), size_ + 1, 0);
    std::fill_n(weighted_.begin(), size_ + 1, 0);
    total_weight_ = 0;
    value_ = 0;
  }
  void move(u32 time, i64 weight) {
    const i64 spread = table_->spread_sum[time];
    i64 below = 0, below_weighted = 0;  // rows that are at risk up to this time at most
    for (u32 i = time + 1; i > 0; i &= i - 1) {
      below += weight_[i];
      below_weighted += weighted_[i];
    }
    const i64 crossed = below_weighted + spread * (total_weight_ - below);
    value_ += 2 * weight * crossed + weight * weight * spread;
    for (u32 i = time + 1; i <= size_; i += i & (~i + 1)) {
      weight_[i] += weight;
      weighted_[i] += weight * spread;
    }
    total_weight_ += weight;
  }
  i64 value() const { return value_; }

 private:
  const RiskTable* table_ = nullptr;
  u32 size_ = 0;
  std::array<i64, RiskTable::kSize + 1> weight_{}, weighted_{};
  i64 total_weight_ = 0, value_ = 0;
};

class LogRankFinder final : public SortedRowsFinder<MomentAccumulator<false>> {
 public:
  using Accumulator = MomentAccumulator<false>;
  explicit LogRankFinder(const Accumulator& accumulator) : accumulator_(accumulator) {}

  void begin_node(const Element* total, const NodeLimits& limits) override {
    limits_ = limits;
    total_weight_ = accumulator_.weight(total);
    // The weight of one row, which is whole where weights are counts.
    const double row = limits.rare_weight / kRareRows;
    row_ = std::abs(row - std::nearbyint(row)) < 1e-6 * row ? std::nearbyint(row) : row;
    is_ready_ = false;
  }

  // Observed less expected events of each row, times its weight, in fixed point.
  const i64* find_row_scores(const Item* items, std::size_t n) override {
    if (!is_ready_) prepare(items, n);
    return scores_.data();
  }

  bool scan_sorted(const SortedRows& rows, const Item* items, const FeatureView& view,
                   Candidate& best) override {
    const std::size_t n = rows.keyed.size(), n_values = n - rows.n_missing;
    if (n_values == 0) return false;
    if (code_of(rows, 0) == code_of(rows, n_values - 1) && rows.n_missing == 0) return false;
    if (!is_ready_) prepare(items, n);
    if (table_.n_times == 0) return true;  // nobody has an event: no side differs from the other
    for (int pass = 0; pass < (rows.n_missing ? 2 : 1); ++pass) {
      if (rows.only_bin != kNone && (pass == 1) != rows.only_missing_left) continue;
      if (is_counted_) {
        sweep<true>(rows, pass == 1, view, best);
      } else {
        sweep<false>(rows, pass == 1, view, best);
      }
    }
    return true;
  }

  double measure_decrease(const Candidate& best) override { return best.score; }

 private:
  static constexpr double kMostCounted = 8192;  // weight of a node whose V is counted in integers
  static constexpr int kSumBits = 61;
  static constexpr int kSpareBits = 2;  // expected events sum to those observed, at most the weight

  struct TimedRow {
    u32 time;  // event times of the node that are not after the row's
    i64 weight;
  };
  struct LeftSide {
    i64 score = 0, weight = 0, risk = 0;
    std::size_t n = 0;
  };

  // The node's risk table, and its rows as the sweeps read them.
  void prepare(const Item* items, std::size_t n) {
    std::array<i64, RiskTable::kSize> events{}, leaving{};
    rows_.resize(n);
    scores_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const u32 code = static_cast<u32>(accumulator_.values[items[i].row]);
      const i64 weight = items[i].weight;
      rows_[i] = {code, weight};
      leaving[code >> 1] += weight;
      events[code >> 1] += (code & 1) ? weight : 0;
    }
    std::array<u32, RiskTable::kSize> local{};
    fill_table(events, leaving, local, n);
    const i64 event = i64{1} << score_shift_;
    for (std::size_t i = 0; i < n; ++i) {
      const u32 code = rows_[i].time, time = local[code >> 1];
      rows_[i].time = time;
      scores_[i] = rows_[i].weight * (((code & 1) ? event : 0) - table_.hazard_sum[time]);
    }
    is_ready_ = true;
  }

  void fill_table(const std::array<i64, RiskTable::kSize>& events,
                  const std::array<i64, RiskTable::kSize>& leaving,
                  std::array<u32, RiskTable::kSize>& local, std::size_t n) {
    const int weight_bits = std::bit_width(static_cast<u64>(total_weight_));
    score_shift_ = kSumBits - kSpareBits - weight_bits;
    const double score_unit = std::ldexp(1.0, score_shift_);
    spread_unit_ = std::ldexp(1.0, kSumBits - weight_bits);
    double at_risk = total_weight_;
    u32 time = 0;
    for (u32 k = 0; k < RiskTable::kSize; ++k) {
      if (events[k] > 0) {
        const double d = static_cast<double>(events[k]);
        const double spread = LogRank::spread(d, at_risk, row_);
        const i64 fixed = static_cast<i64>(std::nearbyint(spread * spread_unit_));
        ++time;
        table_.at_risk[time] = at_risk;
        table_.spread[time] = spread;
        table_.hazard_sum[time] =
            table_.hazard_sum[time - 1] +
            static_cast<i64>(std::nearbyint(LogRank::hazard(d, at_risk) * score_unit));
        table_.spread_sum[time] = table_.spread_sum[time - 1] + fixed;
        table_.risk_sum[time] = table_.risk_sum[time - 1] + fixed * static_cast<i64>(at_risk);
      }
      local[k] = time;
      at_risk -= static_cast<double>(leaving[k]);
    }
    table_.n_times = time;
    const double n_boundaries = static_cast<double>(std::min<std::size_t>(n, 255));
    const double steps = 8.0 * std::bit_width(time + 1);  // of a row, against one of a boundary
    is_counted_ = total_weight_ <= kMostCounted && row_ == 1.0 &&
                  n_boundaries * time > static_cast<double>(n) * steps;
  }

  template <bool kCounted>
  void move_left(std::size_t index, LeftSide& left) {
    const TimedRow& row = rows_[index];
    left.score += scores_[index];
    left.weight += row.weight;
    ++left.n;
    if constexpr (kCounted) {
      left.risk += row.weight * table_.risk_sum[row.time];
      squared_.move(row.time, row.weight);
    } else {
      leaving_[row.time] += static_cast<double>(row.weight);
    }
  }

  template <bool kCounted>
  double measure_variance(const LeftSide& left) const {
    if constexpr (kCounted) return static_cast<double>(left.risk - squared_.value()) / spread_unit_;
    double at_risk = 0.0, variance = 0.0;
    for (u32 t = table_.n_times; t > 0; --t) {
      at_risk += leaving_[t];
      variance += table_.spread[t] * (at_risk * (table_.at_risk[t] - at_risk));
    }
    return variance;
  }

  template <bool kCounted>
  void sweep(const SortedRows& rows, bool missing_left, const FeatureView& view, Candidate& best) {
    const std::size_t n = rows.keyed.size(), n_values = n - rows.n_missing;
    if constexpr (kCounted) {
      squared_.reset(table_);
    } else {
      std::fill_n(leaving_.begin(), table_.n_times + 1, 0.0);
    }
    LeftSide left;
    for (std::size_t i = n_values; missing_left && i < n; ++i)
      move_left<kCounted>(index_of(rows, i), left);
    for (std::size_t i = 0; i < n_values; ++i) {
      move_left<kCounted>(index_of(rows, i), left);
      const u32 bin = code_of(rows, i), next = i + 1 < n_values ? code_of(rows, i + 1) : kNone;
      if (next == bin) continue;
      if (next == kNone && (missing_left || rows.n_missing == 0)) break;
      if (rows.only_bin != kNone && next != kNone &&
          !(bin <= rows.only_bin && next > rows.only_bin))
        continue;
      if (rows.only_bin != kNone && next == kNone && code_of(rows, 0) != bin) continue;
      if (!is_allowed(left, n)) continue;
      const double variance = measure_variance<kCounted>(left);
      if (!(variance > 0.0)) continue;
      const double u = std::ldexp(static_cast<double>(left.score), -score_shift_);
      const double score = u * u / (variance * row_);
      if (score > 0.0 && best.loses_to(score, view.priority, bin))
        take_boundary(best, score, view, {bin, next, missing_left, rows.n_missing > 0});
    }
  }

  bool is_allowed(const LeftSide& left, std::size_t n) const {
    const double weight = static_cast<double>(left.weight);
    return left.n >= limits_.min_samples_leaf && n - left.n >= limits_.min_samples_leaf &&
           weight >= limits_.min_weight_leaf && total_weight_ - weight >= limits_.min_weight_leaf;
  }

  const Accumulator& accumulator_;
  NodeLimits limits_;
  double total_weight_ = 0.0, row_ = 1.0, spread_unit_ = 1.0;
  int score_shift_ = 0;
  bool is_ready_ = false, is_counted_ = false;
  RiskTable table_;
  SquaredRisk squared_;
  std::array<double, RiskTable::kSize> leaving_{};
  std::vector<TimedRow> rows_;
  std::vector<i64> scores_;
};

}  // namespace committee
