#include <numeric>
#include <vector>

#include "additive/leaf_rules.hpp"

namespace committee {

namespace {

// Categories are ordered as if each had so many further rows of gradient zero.
constexpr double kOrderingRows = 10.0;

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

// Sums of the first places of the order, one more than places.
class LineSums {
 public:
  LineSums(const CellLine& line, std::span<const u32> order)
      : n_(static_cast<u32>(order.size())), sums_(3 * (order.size() + 1)), scores_(order.size()) {
    double *const g = sums_.data(), *const h = g + n_ + 1, *const count = h + n_ + 1;
    for (u32 k = 0; k < n_; ++k) {
      const CellSums& own = line.sums[order[k]];
      g[k + 1] = g[k] + static_cast<double>(own.gradient);
      h[k + 1] = h[k] + static_cast<double>(own.hessian);
      count[k + 1] = count[k] + line.counts[order[k]];
    }
  }
  u32 n() const { return n_; }
  LeafSums before(u32 place) const {
    return {sums_[place], sums_[n_ + 1 + place], sums_[2 * (n_ + 1) + place]};
  }
  LeafSums sum(u32 begin, u32 end) const { return before(end) - before(begin); }
  LineLeaf find_cut(const LeafRules& rules, u32 begin, u32 end) {
    const LeafSums first = before(begin), all = sum(begin, end);
    const double *const g = sums_.data(), *const h = g + n_ + 1, *const count = h + n_ + 1;
    double* const scores = scores_.data();
    for (u32 cut = begin + 1; cut < end; ++cut) {
      const LeafSums left = LeafSums{g[cut], h[cut], count[cut]} - first;
      scores[cut] = rules.score_cut(left, all - left);
    }
    const BestCut best = find_best(scores, begin + 1, end);
    const double gain = best.place ? best.score - rules.score(all) : 0.0;
    return gain > 0.0 ? LineLeaf{begin, end, best.place, gain} : LineLeaf{begin, end, 0, 0.0};
  }

 private:
  u32 n_;
  std::vector<double> sums_;    // gradients, hessians, counts
  std::vector<double> scores_;  // by cut
};

// The nearest steps that ascend (or descend), in squares weighted by hessians: neighbours that do
// not are pooled.
void pool_steps(std::span<const LineLeaf> leaves, const LineSums& sums, int sign,
                std::vector<double>& steps) {
  struct Pool {
    double sum, weight;
    std::size_t n;
  };
  std::vector<Pool> pools;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const double weight = std::max(sums.sum(leaves[k].begin, leaves[k].end).hessian, 1e-300);
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

LeafSums sum_missing(const CellLine& line) {
  const CellSums& own = line.sums[line.missing_slot];
  return {static_cast<double>(own.gradient), static_cast<double>(own.hessian),
          static_cast<double>(line.counts[line.missing_slot])};
}

}  // namespace

double update_line(const CellLine& line, const CellUnits& units, const AdditiveParams& params,
                   std::span<double> steps) {
  const LeafRules rules(units, params, params.learning_rate);
  std::fill(steps.begin(), steps.end(), 0.0);
  const LeafSums absent = sum_missing(line);
  steps[line.missing_slot] = rules.step(absent);
  double worth = rules.allows(absent) ? rules.score(absent) : 0.0;
  const std::vector<u32> order = order_slots(line);
  if (order.empty()) return worth * rules.score_unit();
  LineSums sums(line, order);
  std::vector<LineLeaf> leaves{sums.find_cut(rules, 0, sums.n())};
  while (leaves.size() < params.max_leaves) {
    const auto best =
        std::max_element(leaves.begin(), leaves.end(),
                         [](const LineLeaf& a, const LineLeaf& b) { return a.gain < b.gain; });
    if (!(best->gain > 0.0)) break;
    const LineLeaf split = *best;
    if (leaves.size() + 1 == params.max_leaves) {  // cuts of the last two are not needed
      *best = LineLeaf{split.begin, split.cut, 0, 0.0};
      leaves.insert(best + 1, LineLeaf{split.cut, split.end, 0, 0.0});
      break;
    }
    *best = sums.find_cut(rules, split.begin, split.cut);
    leaves.insert(best + 1, sums.find_cut(rules, split.cut, split.end));
  }
  std::vector<double> values(leaves.size());
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const LeafSums own = sums.sum(leaves[k].begin, leaves[k].end);
    values[k] = rules.step(own);
    worth += rules.score(own);
  }
  if (line.sign != 0) pool_steps(leaves, sums, line.sign, values);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    for (u32 place = leaves[k].begin; place < leaves[k].end; ++place)
      steps[order[place]] = values[k];
  }
  return worth * rules.score_unit();
}

void smooth_line(const CellLine& line, const CellUnits& units, const AdditiveParams& params,
                 std::span<double> steps) {
  const LeafRules rules(units, params, params.smooth_rate);
  std::fill(steps.begin(), steps.end(), 0.0);
  steps[line.missing_slot] = rules.step(sum_missing(line));
  const std::vector<u32> order = order_slots(line);
  if (order.empty()) return;
  const LineSums sums(line, order);
  const u32 n = sums.n();
  const LeafSums all = sums.before(n);
  std::vector<double> left(n, 0.0), right(n, 0.0), values(n, 0.0);  // by cut
  u32 n_cuts = 0;
  for (u32 cut = 1; cut < n; ++cut) {
    const LeafSums low = sums.before(cut), high = all - low;
    if (!rules.allows(low) || !rules.allows(high)) continue;
    left[cut] = rules.step(low);
    right[cut] = rules.step(high);
    ++n_cuts;
  }
  if (n_cuts == 0) {
    std::fill(values.begin(), values.end(), rules.step(all));
  } else {
    // A place is on the right of the cuts up to it, and on the left of the others.
    double sum = 0.0;
    for (u32 place = 0; place < n; ++place) values[place] = sum += right[place];
    sum = 0.0;
    for (u32 place = n; place-- > 0;) {
      values[place] = (values[place] + sum) / n_cuts;
      sum += left[place];
    }
  }
  if (line.sign != 0) {
    std::vector<LineLeaf> places(n);
    for (u32 place = 0; place < n; ++place) places[place] = {place, place + 1, 0, 0.0};
    pool_steps(places, sums, line.sign, values);
  }
  for (u32 place = 0; place < n; ++place) steps[order[place]] = values[place];
}

}  // namespace committee
