#include <vector>

#include "additive/leaf_rules.hpp"

namespace committee {

namespace {

// Sums of all rectangles from the first cell on, one more of each than cells: [a][b], a along the
// axis of the first cut.
class GridSums {
 public:
  explicit GridSums(const CellGrid& grid) : GridSums(grid.n_rows, grid.n_columns) {
    const std::size_t width = n_other_ + 1;
    for (std::size_t a = 0; a < n_; ++a) {
      double g = 0.0, h = 0.0, count = 0.0;
      for (std::size_t b = 0; b < n_other_; ++b) {
        const std::size_t slot = a * n_other_ + b, above = a * width + b + 1;
        gradients_[above + width] =
            gradients_[above] + (g += static_cast<double>(grid.sums[slot].gradient));
        hessians_[above + width] =
            hessians_[above] + (h += static_cast<double>(grid.sums[slot].hessian));
        counts_[above + width] = counts_[above] + (count += grid.counts[slot]);
      }
    }
  }
  GridSums turned() const {
    GridSums other(n_other_, n_);
    for (std::size_t a = 0; a <= n_; ++a) {
      for (std::size_t b = 0; b <= n_other_; ++b) {
        const std::size_t from = a * (n_other_ + 1) + b, to = b * (n_ + 1) + a;
        other.gradients_[to] = gradients_[from];
        other.hessians_[to] = hessians_[from];
        other.counts_[to] = counts_[from];
      }
    }
    return other;
  }
  u32 n() const { return n_; }
  u32 n_other() const { return n_other_; }
  // Of the first cells along the axis, by the end along the other one.
  struct Line {
    const double *gradients, *hessians, *counts;
    LeafSums operator[](u32 b) const { return {gradients[b], hessians[b], counts[b]}; }
  };
  Line before(u32 a) const {
    const std::size_t place = std::size_t{a} * (n_other_ + 1);
    return {gradients_.data() + place, hessians_.data() + place, counts_.data() + place};
  }
  LeafSums before(u32 a, u32 b) const { return before(a)[b]; }
  LeafSums all() const { return before(n_, n_other_); }
  LeafSums sum(u32 a0, u32 a1, u32 b0, u32 b1) const {
    return before(a1, b1) - before(a0, b1) - (before(a1, b0) - before(a0, b0));
  }

 private:
  GridSums(u32 n, u32 n_other)
      : n_(n),
        n_other_(n_other),
        gradients_((std::size_t{n} + 1) * (std::size_t{n_other} + 1)),
        hessians_(gradients_.size()),
        counts_(gradients_.size()) {}
  u32 n_, n_other_;
  std::vector<double> gradients_, hessians_, counts_;
};

// One side of the first cut, and its own cut along the other axis (0: none).
struct GridSide {
  u32 cut = 0;
  double score = 0.0;
};

struct GridCuts {
  bool by_rows = true;  // whether the first cut is between rows
  u32 cut = 0;          // 0: there is none
  u32 low = 0, high = 0;
  double gain = 0.0;
};

GridSide cut_side(const GridSums& sums, const LeafRules& rules, u32 a0, u32 a1, double* scores) {
  const u32 n = sums.n_other();
  const GridSums::Line from = sums.before(a0), to = sums.before(a1);
  const LeafSums all = to[n] - from[n];
  for (u32 cut = 1; cut < n; ++cut) {
    const LeafSums low = to[cut] - from[cut];
    scores[cut] = rules.score_cut(low, all - low);
  }
  const BestCut best = find_best(scores, 1, n);
  const double whole = rules.score(all);
  return best.score > whole ? GridSide{best.place, best.score} : GridSide{0, whole};
}

void find_grid_cuts(const GridSums& sums, const LeafRules& rules, bool by_rows, GridCuts& best) {
  const u32 n = sums.n(), m = sums.n_other();
  const LeafSums all = sums.all();
  const double whole = rules.score(all);
  std::vector<double> scores(m + 1);
  double count = 0.0;
  for (u32 cut = 1; cut < n; ++cut) {
    const LeafSums low_rows = sums.before(cut, m);
    if (low_rows.count == count) continue;  // no row lies between this cut and the one before
    count = low_rows.count;
    if (!rules.allows(low_rows) || !rules.allows(all - low_rows)) continue;
    const GridSide low = cut_side(sums, rules, 0, cut, scores.data());
    const GridSide high = cut_side(sums, rules, cut, n, scores.data());
    const double gain = low.score + high.score - whole;
    if (gain > best.gain) best = {by_rows, cut, low.cut, high.cut, gain};
  }
}

// The cuts along an axis that have rows on both sides.
std::vector<u32> list_cuts(const GridSums& sums, bool by_rows) {
  std::vector<u32> cuts;
  const u32 n = by_rows ? sums.n() : sums.n_other();
  const double all = sums.all().count;
  for (u32 cut = 1; cut < n; ++cut) {
    const double count =
        by_rows ? sums.before(cut, sums.n_other()).count : sums.before(sums.n(), cut).count;
    if (count > 0.0 && count < all) cuts.push_back(cut);
  }
  return cuts;
}

// Adds to every cell the values of the cuts that have it in one quarter: those after it (or up to
// it) along each axis.
void add_quarter(std::span<const double> values, u32 n, u32 m, bool after_a, bool after_b,
                 std::span<double> totals) {
  std::vector<double> sums(m, 0.0);  // of the cuts of earlier lines, by place along the other axis
  for (u32 k = 0; k < n; ++k) {
    const u32 a = after_a ? n - 1 - k : k, cut_a = after_a ? a + 1 : a;
    double line = 0.0;
    for (u32 l = 0; l < m; ++l) {
      const u32 b = after_b ? m - 1 - l : l, cut_b = after_b ? b + 1 : b;
      if (cut_a < n && cut_b < m) line += values[std::size_t{cut_a} * m + cut_b];
      totals[std::size_t{a} * m + b] += sums[b] += line;
    }
  }
}

}  // namespace

double update_grid(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params,
                   std::span<double> steps) {
  const LeafRules rules(units, params, params.learning_rate);
  const GridSums rows(grid), columns = rows.turned();
  std::fill(steps.begin(), steps.end(), 0.0);
  GridCuts cuts;
  find_grid_cuts(rows, rules, true, cuts);
  find_grid_cuts(columns, rules, false, cuts);
  if (cuts.cut == 0) return 0.0;
  const GridSums& sums = cuts.by_rows ? rows : columns;
  const std::size_t a_step = cuts.by_rows ? grid.n_columns : 1,
                    b_step = cuts.by_rows ? 1 : grid.n_columns;
  const auto fill = [&](u32 a0, u32 a1, u32 b0, u32 b1) {
    const double step = rules.step(sums.sum(a0, a1, b0, b1));
    for (std::size_t a = a0; a < a1; ++a) {
      for (std::size_t b = b0; b < b1; ++b) steps[a * a_step + b * b_step] = step;
    }
  };
  const auto fill_side = [&](u32 a0, u32 a1, u32 cut) {
    fill(a0, a1, 0, cut == 0 ? sums.n_other() : cut);
    if (cut != 0) fill(a0, a1, cut, sums.n_other());
  };
  fill_side(0, cuts.cut, cuts.low);
  fill_side(cuts.cut, sums.n(), cuts.high);
  return cuts.gain * rules.score_unit();
}

void smooth_grid(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params,
                 std::span<double> steps) {
  const LeafRules rules(units, params, params.smooth_rate);
  const GridSums sums(grid);
  const u32 n = sums.n(), m = sums.n_other();
  std::fill(steps.begin(), steps.end(), 0.0);
  const std::vector<u32> rows = list_cuts(sums, true), columns = list_cuts(sums, false);
  if (rows.empty() || columns.empty()) return;
  std::vector<double> values(std::size_t{n} * m);  // by cuts
  for (const bool after_a : {true, false}) {
    for (const bool after_b : {true, false}) {
      for (const u32 a : rows) {
        for (const u32 b : columns) {
          const LeafSums quarter =
              sums.sum(after_a ? 0 : a, after_a ? a : n, after_b ? 0 : b, after_b ? b : m);
          values[std::size_t{a} * m + b] = rules.step(quarter);
        }
      }
      add_quarter(values, n, m, after_a, after_b, steps);
    }
  }
  const double n_cuts = static_cast<double>(rows.size()) * static_cast<double>(columns.size());
  for (double& step : steps) step /= n_cuts;
}

double find_grid_gain(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params) {
  const LeafRules rules(units, params, params.learning_rate);
  const GridSums sums(grid);
  const u32 n = sums.n(), m = sums.n_other();
  const LeafSums all = sums.all();
  const double whole = rules.score(all);
  double best = 0.0;
  std::vector<double> top_scores(m + 1), rest_scores(m + 1);
  for (u32 r = 1; r < n; ++r) {
    const GridSums::Line top_rows = sums.before(r), whole_rows = sums.before(n);
    const LeafSums top = top_rows[m], rest = all - top;
    for (u32 c = 1; c < m; ++c) {
      const LeafSums a = top_rows[c], d = whole_rows[c] - a;
      top_scores[c] = rules.score_cut(a, top - a);
      rest_scores[c] = rules.score_cut(d, rest - d);
    }
    for (u32 c = 1; c < m; ++c) {
      if (top_scores[c] >= 0.0 && rest_scores[c] >= 0.0)
        best = std::max(best, top_scores[c] + rest_scores[c] - whole);
    }
  }
  return best * rules.score_unit();
}

}  // namespace committee
