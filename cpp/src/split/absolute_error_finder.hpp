// Absolute error: the best split by sums of absolute deviations from weighted medians. There is no
// histogram form; rows come sorted by code, and two sweeps keep a set of targets each.
#pragma once
#include <algorithm>
#include <bit>

#include "split/split_candidate.hpp"

namespace committee {

// A multiset of numbers with weights over fixed places 0 .. n-1 (the numbers in ascending order):
// insertion, weighted median and sum of absolute deviations in O(log n) [Fenwick1994].
class MedianTree {
 public:
  void reset(std::size_t n_places) {
    weight_.assign(n_places + 1, 0);
    weighted_.assign(n_places + 1, 0);
    top_ = std::bit_floor(n_places);
    total_weight_ = total_weighted_ = 0;
  }
  void insert(u32 place, i64 weight, i64 weighted_value) {
    for (std::size_t i = place + 1; i < weight_.size(); i += i & (~i + 1)) {
      weight_[i] += weight;
      weighted_[i] += weighted_value;
    }
    total_weight_ += weight;
    total_weighted_ += weighted_value;
  }
  struct Centre {
    u32 place;                  // of the lower weighted median
    i64 below, below_weighted;  // weight and weighted sum of the places before it
  };
  Centre find_median() const {
    Centre at{0, 0, 0};
    std::size_t position = 0;
    for (std::size_t step = top_; step; step >>= 1) {
      const std::size_t next = position + step;
      if (next < weight_.size() && 2 * (at.below + weight_[next]) < total_weight_) {
        position = next;
        at.below += weight_[next];
        at.below_weighted += weighted_[next];
      }
    }
    at.place = static_cast<u32>(position);
    return at;
  }
  // Sum of w |y - median|; the same for every median, so the lower one serves.
  i64 measure_deviation(const Centre& at, i64 median) const {
    const i64 above = total_weight_ - at.below,
              above_weighted = total_weighted_ - at.below_weighted;
    return above_weighted - median * above + median * at.below - at.below_weighted;
  }

 private:
  std::vector<i64> weight_, weighted_;
  std::size_t top_ = 0;
  i64 total_weight_ = 0, total_weighted_ = 0;
};

template <bool kMulti>
class AbsoluteErrorFinder final : public SortedRowsFinder<MomentAccumulator<kMulti>> {
  using Base = SortedRowsFinder<MomentAccumulator<kMulti>>;
  using Base::code_of, Base::index_of;

 public:
  using Accumulator = MomentAccumulator<kMulti>;
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;
  explicit AbsoluteErrorFinder(const Accumulator& accumulator) : accumulator_(accumulator) {}

  void begin_node(const Element* total, const NodeLimits& limits) override {
    limits_ = limits;
    total_weight_ = accumulator_.weight(total);
    ranked_ = false;
  }

  bool scan_sorted(const SortedRows& rows, const Item* items, const FeatureView& view,
                   Candidate& best) override {
    const std::size_t n = rows.keyed.size(), n_values = n - rows.n_missing;
    if (n_values == 0) return false;
    const u32 lo = code_of(rows, 0), hi = code_of(rows, n_values - 1);
    if (lo == hi && rows.n_missing == 0) return false;
    if (!ranked_) rank_targets(items, n);
    for (int pass = 0; pass < (rows.n_missing ? 2 : 1); ++pass) {
      if (rows.only_bin != kNone && (pass == 1) != rows.only_missing_left) continue;
      list_boundaries(rows, n_values, pass == 0);
      sweep(rows, items, n_values, pass == 1);
      for (std::size_t b = 0; b < boundaries_.size(); ++b) consider(rows, b, pass == 1, view, best);
    }
    return true;
  }

  double measure_decrease(const Candidate& best) override {
    return std::max(0.0, node_deviation_ + best.score);
  }

 private:
  struct SortedBoundary {
    std::size_t position;  // rows [0, position) in code order lie left
    u32 bin, next;
    double deviation;  // over all outputs: a sum that may exceed 63 bits
    i64 left_weight;
    double left_median, right_median;
  };
  u32 n_outputs() const { return kMulti ? accumulator_.n_outputs : 1; }
  i64 target(const Item& item, u32 output) const {
    if constexpr (kMulti) {
      return accumulator_
          .targets[static_cast<std::size_t>(item.row) * accumulator_.n_outputs + output];
    } else {
      return item.wy / static_cast<i64>(item.weight);  // exact: wy is a multiple of the weight
    }
  }

  // Places of the node's rows in the order of their targets, for each output.
  void rank_targets(const Item* items, std::size_t n) {
    places_.resize(n * n_outputs());
    sorted_.resize(n * n_outputs());
    std::vector<std::pair<i64, u32>> order(n);
    node_deviation_ = 0.0;
    for (u32 o = 0; o < n_outputs(); ++o) {
      for (u32 i = 0; i < n; ++i) order[i] = {target(items[i], o), i};
      std::sort(order.begin(), order.end());
      set_.reset(n);
      for (u32 k = 0; k < n; ++k) {
        places_[o * n + order[k].second] = k;
        sorted_[o * n + k] = order[k].first;
        const i64 w = items[order[k].second].weight;
        set_.insert(k, w, w * order[k].first);
      }
      const auto centre = set_.find_median();
      node_deviation_ +=
          static_cast<double>(set_.measure_deviation(centre, sorted_[o * n + centre.place]));
    }
    ranked_ = true;
  }

  void list_boundaries(const SortedRows& rows, std::size_t n_values, bool missing_right) {
    boundaries_.clear();
    for (std::size_t i = 1; i < n_values; ++i) {
      const u32 before = code_of(rows, i - 1), after = code_of(rows, i);
      if (before == after) continue;
      if (rows.only_bin == kNone || (before <= rows.only_bin && after > rows.only_bin)) {
        boundaries_.push_back({i, before, after, 0.0, 0, 0.0, 0.0});
      }
    }
    const bool constant = code_of(rows, 0) == code_of(rows, n_values - 1);
    if (rows.n_missing > 0 && missing_right && (rows.only_bin == kNone || constant)) {
      boundaries_.push_back({n_values, code_of(rows, n_values - 1), kNone, 0.0, 0, 0.0, 0.0});
    }
  }

  void insert_row(const SortedRows& rows, const Item* items, std::size_t i, u32 output) {
    const std::size_t index = index_of(rows, i);
    const i64 w = items[index].weight;
    set_.insert(places_[output * rows.keyed.size() + index], w, w * target(items[index], output));
  }

  void sweep(const SortedRows& rows, const Item* items, std::size_t n_values, bool missing_left) {
    const std::size_t n = rows.keyed.size();
    for (u32 o = 0; o < n_outputs(); ++o) {
      set_.reset(n);
      i64 weight = 0;
      if (missing_left) {
        for (std::size_t i = n_values; i < n; ++i) {
          insert_row(rows, items, i, o);
          weight += items[index_of(rows, i)].weight;
        }
      }
      std::size_t done = 0;
      for (auto& b : boundaries_) {
        for (; done < b.position; ++done) {
          insert_row(rows, items, done, o);
          weight += items[index_of(rows, done)].weight;
        }
        b.left_weight = weight;
        settle(b, o, n, b.left_median);
      }
      set_.reset(n);
      const std::size_t end = missing_left ? n_values : n;
      std::size_t left = end;
      for (std::size_t k = boundaries_.size(); k-- > 0;) {
        for (; left > boundaries_[k].position; --left) insert_row(rows, items, left - 1, o);
        settle(boundaries_[k], o, n, boundaries_[k].right_median);
      }
    }
  }

  void settle(SortedBoundary& b, u32 output, std::size_t n, double& median) {
    const auto centre = set_.find_median();
    const i64 value = sorted_[output * n + centre.place];
    b.deviation += static_cast<double>(set_.measure_deviation(centre, value));
    if (output == 0) median = static_cast<double>(value);
  }

  void consider(const SortedRows& rows, std::size_t k, bool missing_left, const FeatureView& view,
                Candidate& best) const {
    const SortedBoundary& b = boundaries_[k];
    const std::size_t count = b.position + (missing_left ? rows.n_missing : 0);
    const double wl = static_cast<double>(b.left_weight), wr = total_weight_ - wl;
    if (wl < limits_.min_weight_leaf || wr < limits_.min_weight_leaf) return;
    if (count < limits_.min_samples_leaf || rows.keyed.size() - count < limits_.min_samples_leaf)
      return;
    if (limits_.bounded) {
      const double a = b.left_median, c = b.right_median;
      if (a < limits_.lower || a > limits_.upper || c < limits_.lower || c > limits_.upper) return;
      if ((c - a) * view.monotonic < 0.0) return;
    }
    const double score = -b.deviation;
    if (!best.loses_to(score, view.priority, b.bin)) return;
    take_boundary(best, score, view, {b.bin, b.next, missing_left, rows.n_missing > 0});
    best.middle = b.left_median / 2 + b.right_median / 2;
  }

  const Accumulator& accumulator_;
  NodeLimits limits_;
  double total_weight_ = 0.0, node_deviation_ = 0.0;
  bool ranked_ = false;
  MedianTree set_;
  std::vector<u32> places_;
  std::vector<i64> sorted_;
  std::vector<SortedBoundary> boundaries_;
};

}  // namespace committee
