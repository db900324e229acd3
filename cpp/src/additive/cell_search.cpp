#include "additive/cell_search.hpp"

#include <algorithm>
#include <numeric>

namespace committee {

namespace {

constexpr double kLeastHessian = 1e-4;
// Categories are ordered as if each had so many further rows of gradient zero.
constexpr double kOrderingRows = 10.0;

struct RangeSums {
  i64 gradient = 0, hessian = 0;
  u64 count = 0;
  RangeSums operator-(const RangeSums& other) const {
    return {gradient - other.gradient, hessian - other.hessian, count - other.count};
  }
  RangeSums operator+(const RangeSums& other) const {
    return {gradient + other.gradient, hessian + other.hessian, count + other.count};
  }
};

// What a leaf of these rows is worth, and whether it may be one.
class LeafRules {
 public:
  LeafRules(const CellUnits& units, const AdditiveParams& params)
      : units_(units), params_(params) {}
  bool allows(const RangeSums& s) const {
    return s.count >= params_.min_samples_leaf &&
           static_cast<double>(s.hessian) * units_.hessian >= kLeastHessian;
  }
  double score(const RangeSums& s) const {
    const double g = static_cast<double>(s.gradient) * units_.gradient,
                 h = static_cast<double>(s.hessian) * units_.hessian + params_.reg_lambda;
    return h > 0.0 ? g * g / h : 0.0;
  }
  double step(const RangeSums& s) const {
    if (!allows(s)) return 0.0;
    const double g = static_cast<double>(s.gradient) * units_.gradient,
                 h = static_cast<double>(s.hessian) * units_.hessian + params_.reg_lambda;
    return params_.learning_rate * std::clamp(-g / h, -units_.largest_step, units_.largest_step);
  }

 private:
  const CellUnits& units_;
  const AdditiveParams& params_;
};

struct LineLeaf {
  u32 begin = 0, end = 0;  // places in the order of the cells
  u32 cut = 0;             // the first place of the right side
  double gain = 0.0;       // 0: there is no cut
};

// Slots in the order in which cuts are looked for.
std::vector<u32> order_slots(const CellLine& line) {
  std::vector<u32> order;
  if (line.order == CellOrder::numeric) {
    order.resize(line.n_values);
    std::iota(order.begin(), order.end(), 0u);
    return order;
  }
  i64 hessian = 0;
  u64 count = 0;
  for (u32 slot = 0; slot < line.n_values; ++slot) {
    if (line.counts[slot] == 0) continue;
    order.push_back(slot);
    hessian += line.sums[slot].hessian;
    count += line.counts[slot];
  }
  const double more = count ? kOrderingRows * static_cast<double>(hessian) / count : 0.0;
  std::vector<double> keys(line.n_values);
  for (const u32 slot : order) {
    const double h = static_cast<double>(line.sums[slot].hessian) + more;
    keys[slot] = h > 0.0 ? static_cast<double>(line.sums[slot].gradient) / h : 0.0;
  }
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return keys[a] < keys[b]; });
  return order;
}

LineLeaf find_cut(const std::vector<RangeSums>& before, const LeafRules& rules, u32 begin,
                  u32 end) {
  LineLeaf leaf{begin, end, 0, 0.0};
  const RangeSums all = before[end] - before[begin];
  const double whole = rules.score(all);
  for (u32 cut = begin + 1; cut < end; ++cut) {
    const RangeSums left = before[cut] - before[begin], right = all - left;
    if (!rules.allows(left) || !rules.allows(right)) continue;
    const double gain = rules.score(left) + rules.score(right) - whole;
    if (gain > leaf.gain) {
      leaf.gain = gain;
      leaf.cut = cut;
    }
  }
  return leaf;
}

// The nearest steps that ascend (or descend), in squares weighted by hessians: neighbours that do
// not are pooled.
void pool_steps(std::span<const LineLeaf> leaves, const std::vector<RangeSums>& before,
                const CellUnits& units, int sign, std::vector<double>& steps) {
  struct Pool {
    double sum, weight;
    std::size_t n;
  };
  std::vector<Pool> pools;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const RangeSums own = before[leaves[k].end] - before[leaves[k].begin];
    const double weight = std::max(static_cast<double>(own.hessian) * units.hessian, 1e-300);
    pools.push_back({weight * steps[k], weight, 1});
    while (pools.size() > 1) {
      const Pool last = pools.back(), earlier = pools[pools.size() - 2];
      if (sign * (last.sum / last.weight - earlier.sum / earlier.weight) >= 0.0) break;
      pools.pop_back();
      pools.back() = {earlier.sum + last.sum, earlier.weight + last.weight, earlier.n + last.n};
    }
  }
  std::size_t k = 0;
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.n; ++i) steps[k++] = pool.sum / pool.weight;
  }
}

// Sums of all rectangles from the first cell on, one more of each than cells: [a][b], a along the
// axis of the first cut.
class GridSums {
 public:
  GridSums(const CellGrid& grid, bool by_rows)
      : n_(by_rows ? grid.n_rows : grid.n_columns),
        n_other_(by_rows ? grid.n_columns : grid.n_rows),
        sums_((n_ + 1) * (n_other_ + 1)) {
    const std::size_t a_step = by_rows ? grid.n_columns : 1, b_step = by_rows ? 1 : grid.n_columns;
    const std::size_t width = n_other_ + 1;
    for (std::size_t a = 0; a < n_; ++a) {
      RangeSums line;
      for (std::size_t b = 0; b < n_other_; ++b) {
        const std::size_t slot = a * a_step + b * b_step;
        line =
            line + RangeSums{grid.sums[slot].gradient, grid.sums[slot].hessian, grid.counts[slot]};
        sums_[(a + 1) * width + b + 1] = sums_[a * width + b + 1] + line;
      }
    }
  }
  u32 n() const { return static_cast<u32>(n_); }
  u32 n_other() const { return static_cast<u32>(n_other_); }
  // Of the first cells along the axis, by the end along the other one.
  const RangeSums* before(u32 a) const { return sums_.data() + a * (n_other_ + 1); }
  RangeSums sum(u32 a0, u32 a1, u32 b0, u32 b1) const {
    return before(a1)[b1] - before(a0)[b1] - (before(a1)[b0] - before(a0)[b0]);
  }

 private:
  std::size_t n_, n_other_;
  std::vector<RangeSums> sums_;
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

GridSide cut_side(const GridSums& sums, const LeafRules& rules, u32 a0, u32 a1) {
  const RangeSums *const from = sums.before(a0), *const to = sums.before(a1);
  const u32 n = sums.n_other();
  const RangeSums all = to[n] - from[n];
  GridSide side{0, rules.score(all)};
  u64 count = 0;
  for (u32 cut = 1; cut < n; ++cut) {
    const RangeSums low = to[cut] - from[cut];
    if (low.count == count) continue;  // no row lies between this cut and the one before
    count = low.count;
    const RangeSums high = all - low;
    if (!rules.allows(low) || !rules.allows(high)) continue;
    const double score = rules.score(low) + rules.score(high);
    if (score > side.score) side = {cut, score};
  }
  return side;
}

void find_grid_cuts(const GridSums& sums, const LeafRules& rules, bool by_rows, GridCuts& best) {
  const u32 n = sums.n(), m = sums.n_other();
  const double whole = rules.score(sums.before(n)[m]);
  for (u32 cut = 1; cut < n; ++cut) {
    const RangeSums low_rows = sums.before(cut)[m];
    if (!rules.allows(low_rows) || !rules.allows(sums.before(n)[m] - low_rows)) continue;
    const GridSide low = cut_side(sums, rules, 0, cut), high = cut_side(sums, rules, cut, n);
    const double gain = low.score + high.score - whole;
    if (gain > best.gain) best = {by_rows, cut, low.cut, high.cut, gain};
  }
}

}  // namespace

double update_line(const CellLine& line, const CellUnits& units, const AdditiveParams& params,
                   std::span<double> steps) {
  const LeafRules rules(units, params);
  std::fill(steps.begin(), steps.end(), 0.0);
  const CellSums& missing = line.sums[line.missing_slot];
  const RangeSums absent{missing.gradient, missing.hessian, line.counts[line.missing_slot]};
  steps[line.missing_slot] = rules.step(absent);
  double worth = rules.allows(absent) ? rules.score(absent) : 0.0;
  const std::vector<u32> order = order_slots(line);
  if (order.empty()) return worth;
  std::vector<RangeSums> before(order.size() + 1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const CellSums& own = line.sums[order[k]];
    before[k + 1] = before[k] + RangeSums{own.gradient, own.hessian, line.counts[order[k]]};
  }
  std::vector<LineLeaf> leaves{find_cut(before, rules, 0, static_cast<u32>(order.size()))};
  while (leaves.size() < params.max_leaves) {
    const auto best =
        std::max_element(leaves.begin(), leaves.end(),
                         [](const LineLeaf& a, const LineLeaf& b) { return a.gain < b.gain; });
    if (!(best->gain > 0.0)) break;
    const LineLeaf split = *best;
    *best = find_cut(before, rules, split.begin, split.cut);
    leaves.insert(best + 1, find_cut(before, rules, split.cut, split.end));
  }
  std::vector<double> values(leaves.size());
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const RangeSums own = before[leaves[k].end] - before[leaves[k].begin];
    values[k] = rules.step(own);
    worth += rules.score(own);
  }
  if (line.sign != 0) pool_steps(leaves, before, units, line.sign, values);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    for (u32 place = leaves[k].begin; place < leaves[k].end; ++place)
      steps[order[place]] = values[k];
  }
  return worth;
}

double update_grid(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params,
                   std::span<double> steps) {
  const LeafRules rules(units, params);
  const GridSums rows(grid, true), columns(grid, false);
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
  return cuts.gain;
}

double find_grid_gain(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params) {
  const LeafRules rules(units, params);
  const GridSums sums(grid, true);
  const u32 n = sums.n(), m = sums.n_other();
  const RangeSums* const whole_rows = sums.before(n);
  const RangeSums all = whole_rows[m];
  const double whole = rules.score(all);
  double best = 0.0;
  for (u32 r = 1; r < n; ++r) {
    const RangeSums* const top_rows = sums.before(r);
    const RangeSums top = top_rows[m];
    for (u32 c = 1; c < m; ++c) {
      const RangeSums a = top_rows[c], b = top - a, d = whole_rows[c] - a, e = all - top - d;
      if (!rules.allows(a) || !rules.allows(b) || !rules.allows(d) || !rules.allows(e)) continue;
      best =
          std::max(best, rules.score(a) + rules.score(b) + rules.score(d) + rules.score(e) - whole);
    }
  }
  return best;
}

}  // namespace committee
