#include "boosting/split_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "boosting/entry_sums.hpp"

namespace committee {

namespace {

// With this many histogram entries for each row of a node, and more, empty ones are left out.
constexpr double kSparse = 4.0;
// What the roundings of a gain in double may be off by, relatively, and more.
constexpr double kSlack = 0x1p-40;

// How many of the first of n sums satisfy `is_before`, which those behind them do not. Without
// branches: the answer differs from column to column.
template <class IsBefore>
u32 count_first(u32 n, IsBefore&& is_before) {
  if (n == 0) return 0;
  u32 count = 0;
  for (; n > 1; n -= n / 2) count += n / 2 * static_cast<u32>(is_before(count + n / 2 - 1));
  return count + static_cast<u32>(is_before(count));
}

}  // namespace

double find_leaf_value(const SearchPlan& plan, double gradient, double hessian, double lower,
                       double upper) {
  const StepLimits limits{plan.params->reg_lambda, plan.params->reg_alpha, plan.largest_step};
  return find_bounded_step(limits, gradient, hessian, lower, upper);
}

NodeSearch::NodeSearch(const SearchPlan& plan, const NodeFacts& node)
    : plan_(plan),
      params_(*plan.params),
      node_(node),
      numbers_(KeyPrefix(combine_keys(plan.params->seed, node.tree)), node.key),
      n_copies_(static_cast<double>(node.weight) * plan.weight_unit) {
  gain_unit_ = find_gain_unit(plan.gradient_unit, plan.hessian_unit);
  const double hessian = static_cast<double>(plan_.halves.hessian(node.total));
  least_hessian_ = find_least_hessian(params_.min_child_weight, plan.hessian_unit);
  least_for_rows_ =
      find_least_for_rows(params_.min_samples_leaf, hessian, static_cast<double>(node.n_rows));
  balance_ = make_balance(params_.reg_lambda / plan.hessian_unit);
  if (plan.incremental) {
    // What the sums of this node may need of an int's 31 bits is cut off.
    const u64 largest = static_cast<u64>(plan.largest_gradient) * static_cast<u64>(hessian);
    const int n_cut = std::max(0, static_cast<int>(std::bit_width(largest)) - 31);
    shift_ = plan.halves.hessian_bits + n_cut;
    gradient_scale_ = std::ldexp(1.0, -n_cut);
  }
  if (plan.by_values) {
    const double g = static_cast<double>(plan_.halves.gradient(node.total)) * plan.gradient_unit;
    const double h = hessian * plan.hessian_unit;
    parent_objective_ = objective(g, h, find_leaf_value(plan, g, h, node.lower, node.upper));
  }
}

SplitBalance NodeSearch::make_balance(double l2) const {
  return SplitBalance::make(static_cast<double>(plan_.halves.gradient(node_.total)),
                            static_cast<double>(plan_.halves.hessian(node_.total)), l2,
                            params_.reg_lambda / plan_.hessian_unit);
}

double NodeSearch::measure(i64 left) const {
  return gain_unit_ * balance_.gain(static_cast<double>(plan_.halves.gradient(left)),
                                    static_cast<double>(plan_.halves.hessian(left))) -
         params_.gamma;
}

// As Balance::gain computes it, with more than what rounding can take off.
bool NodeSearch::is_beaten(i64 sum, const BoostSplit& best) const {
  constexpr double kRounding = 1e-12;
  if (plan_.by_values) return false;
  const double g = static_cast<double>(plan_.halves.gradient(sum)),
               a = static_cast<double>(plan_.halves.hessian(sum)) + balance_.l2;
  const double d =
      std::abs(g - balance_.ratio * a) + kRounding * (std::abs(g) + std::abs(balance_.ratio * a));
  const double gain = d * d * balance_.whole / (a * (balance_.whole - a));
  return (gain * (1.0 + kRounding) + balance_.shift + kRounding * std::abs(balance_.shift)) *
                 gain_unit_ -
             params_.gamma <
         best.gain;
}

void NodeSearch::scan(const ColumnView& column, BoostSplit& best) {
  if (column.categorical) {
    scan_categories(column, best);
  } else {
    scan_numeric(column, best);
  }
}

void NodeSearch::scan_numeric(const ColumnView& column, BoostSplit& best) {
  const i64 missing = column.has_missing ? column.histogram[column.n_bins] : 0;
  const u32 n_missing = column.has_missing && column.counts ? column.counts[column.n_bins] : 0;
  const bool occurs = missing != 0 || n_missing > 0;
  // Missing values right (all values left is a split then), and again with them left.
  const u32 n_thresholds = occurs ? column.n_bins : column.n_bins - 1;
  if (params_.random_thresholds) return scan_random(column, occurs, best);
  if (plan_.by_values || column.counts) {
    Side left;
    scan_by_values(column, left, n_thresholds, false, best);
    if (!occurs) return;
    left.add(column, column.n_bins);
    scan_by_values(column, left, column.n_bins - 1, true, best);
  } else {
    scan_fast(column, 0, n_thresholds, false, best);
    if (occurs) scan_fast(column, missing, column.n_bins - 1, true, best);
  }
}

// Missing values go to the side where they gain more; all values left of them is a split as well.
void NodeSearch::scan_random(const ColumnView& column, bool occurs, BoostSplit& best) {
  const auto is_empty = [&](u32 bin) { return column.histogram[bin] == 0; };
  u32 first = 0, last = column.n_bins;
  while (first < last && is_empty(first)) ++first;
  while (first < last && is_empty(last - 1)) --last;
  if (last - first < (occurs ? 1 : 2)) return;
  const u32 split_bin = first + draw_below(column, last - first - (occurs ? 0 : 1));
  Side left;
  for (u32 bin = first; bin <= split_bin; ++bin) left.add(column, bin);
  try_threshold(column, left, split_bin, false, best);
  if (!occurs || split_bin + 1 == last) return;
  left.add(column, column.n_bins);
  try_threshold(column, left, split_bin, true, best);
}

void NodeSearch::try_threshold(const ColumnView& column, const Side& left, u32 split_bin,
                               bool missing_left, BoostSplit& best) const {
  if (!is_allowed(column, left)) return;
  const double gain = plan_.by_values
                          ? measure_by_values(left.sum, column.monotonic) - params_.gamma
                          : measure(left.sum);
  take(column, gain, left.sum, split_bin, missing_left, best);
}

void NodeSearch::scan_fast(const ColumnView& column, i64 base, u32 n_thresholds, bool missing_left,
                           BoostSplit& best) {
  const i64 least = std::max(least_hessian_, least_for_rows_);
  const i64 most = plan_.halves.hessian(node_.total) - least;
  const bool sparse = kSparse * n_copies_ < n_thresholds;
  u32 n = n_thresholds;
  if (sparse) {
    n = list_sums(column, base, n_thresholds);
  } else {
    add_up_entries(column.histogram, n_thresholds, base, sums_);
  }
  const auto hessian = [&](u32 i) { return plan_.halves.hessian(sums_[i]); };  // ascends
  const u32 first = count_first(n, [&](u32 i) { return hessian(i) < least; });
  const u32 last = count_first(n, [&](u32 i) { return hessian(i) <= most; });
  if (first >= last) return;
  for (u32 pad = 0; pad < 7; ++pad) sums_[last + pad] = sums_[last - 1];

  // What a split must reach to be looked at in double.
  FoundSum found{std::max(best.gain, 0.0)};
  if (plan_.incremental) {
    const int bits = plan_.halves.hessian_bits;
    screen_sums({shift_, (1 << bits) - 1, true}, first, last, gradient_scale_, found);
  } else {
    screen_sums({}, first, last, 1.0, found);
  }
  if (found.at >= 0)
    take(column, found.gain, sums_[found.at],
         sparse ? positions_[found.at] : static_cast<u32>(found.at), missing_left, best);
}

// The first of the best of the sums first .. last - 1 that reach the gain found before, if any.
// `scale`: of the gradients as floats.
void NodeSearch::screen_sums(const SumHalves& halves, u32 first, u32 last, double scale,
                             FoundSum& found) {
  SumScreen screen(balance_, scale, halves);
  // gain = (x whole + shift) gain_unit - gamma, solved for x; shift is not positive.
  const double slack = kSlack * (found.gain + std::abs(params_.gamma));
  const double sum = (found.gain + params_.gamma - slack) / gain_unit_ - balance_.shift;
  screen.raise(sum / balance_.whole * (1.0 - kSlack) * scale * scale);
  first = screen.find_passing(sums_, first, last);
  if (first == last) return;
  const i64 good = screen.find_good(sums_, first, last);
  if (good >= 0) {
    const double a = static_cast<double>(plan_.halves.hessian(sums_[good])) + balance_.l2;
    const double d = static_cast<double>(plan_.halves.gradient(sums_[good])) - balance_.ratio * a;
    const double x = d * d / (a * (balance_.whole - a)) * (1.0 - kSlack) * scale * scale;
    if (x > screen.least()) screen.raise(x);
  }
  u32 passing[kHistogramBins];
  const u32 n_passing = screen.list_passing(sums_, first, last, passing);
  for (u32 k = 0; k < n_passing; ++k) {
    const double gain = measure(sums_[passing[k]]);
    if (gain > found.gain || (gain == found.gain && found.at < 0)) found = {gain, passing[k]};
  }
}

// The sums after each entry that is not empty, and after the first one: an empty bin splits as the
// one before it does. Returns how many.
u32 NodeSearch::list_sums(const ColumnView& column, i64 base, u32 n_thresholds) {
  const i64* const histogram = column.histogram;
  i64 sum = base;
  u32 n = 0;
  for (u32 begin = 0; begin < n_thresholds; begin += 4) {
    const u32 end = std::min(begin + 4, n_thresholds);
    if (begin > 0 && end == begin + 4 &&
        (histogram[begin] | histogram[begin + 1] | histogram[begin + 2] | histogram[begin + 3]) ==
            0)
      continue;
    for (u32 b = begin; b < end; ++b) {
      sums_[n] = sum += histogram[b];
      positions_[n] = b;
      n += histogram[b] != 0 || b == 0;
    }
  }
  return n;
}

bool NodeSearch::is_allowed(const ColumnView& column, const Side& left) const {
  const i64 h = plan_.halves.hessian(left.sum), rest = plan_.halves.hessian(node_.total) - h;
  if (h < least_hessian_ || rest < least_hessian_) return false;
  if (!column.counts) return h >= least_for_rows_ && rest >= least_for_rows_;
  if (std::min(left.n_rows, node_.n_rows - left.n_rows) < params_.min_samples_leaf) return false;
  const u64 lightest = std::min(left.weight, column.total_weight - left.weight);
  return !column.weights || static_cast<double>(lightest) >= column.least_weight;
}

double NodeSearch::objective(double gradient, double hessian, double value) const {
  return measure_objective({params_.reg_lambda, params_.reg_alpha, plan_.largest_step}, gradient,
                           hessian, value);
}

// What the split takes off the objective with the values that its leaves may have; minus infinity
// where their order breaks a constraint.
double NodeSearch::measure_by_values(i64 left, i32 direction) const {
  const i64 right = node_.total - left;
  const double gl = static_cast<double>(plan_.halves.gradient(left)) * plan_.gradient_unit,
               hl = static_cast<double>(plan_.halves.hessian(left)) * plan_.hessian_unit,
               gr = static_cast<double>(plan_.halves.gradient(right)) * plan_.gradient_unit,
               hr = static_cast<double>(plan_.halves.hessian(right)) * plan_.hessian_unit;
  const double vl = find_leaf_value(plan_, gl, hl, node_.lower, node_.upper),
               vr = find_leaf_value(plan_, gr, hr, node_.lower, node_.upper);
  if (!keep_direction(direction, vl, vr)) return -std::numeric_limits<double>::infinity();
  return parent_objective_ - objective(gl, hl, vl) - objective(gr, hr, vr);
}

void NodeSearch::scan_by_values(const ColumnView& column, Side left, u32 n_thresholds,
                                bool missing_left, BoostSplit& best) {
  for (u32 b = 0; b < n_thresholds; ++b) {
    // An empty bin splits as the one before it does.
    if (b > 0 && column.histogram[b] == 0 && (!column.counts || column.counts[b] == 0)) continue;
    left.add(column, b);
    try_threshold(column, left, b, missing_left, best);
  }
}

void NodeSearch::take(const ColumnView& column, double gain, i64 left, u32 split_bin,
                      bool missing_left, BoostSplit& best) const {
  if (!(gain > best.gain) && !(gain == best.gain && column.feature < best.feature)) return;
  best.gain = gain;
  best.feature = column.feature;
  best.split_bin = split_bin;
  best.categorical = false;
  best.missing_left = missing_left;
  best.has_missing = column.has_missing && (column.histogram[column.n_bins] != 0 ||
                                            (column.counts && column.counts[column.n_bins] > 0));
  best.left = left;
}

std::vector<std::pair<double, u32>> key_categories(const SearchPlan& plan, const ColumnView& column,
                                                   i64 total, double n_copies) {
  const BoostingParams& params = *plan.params;
  // Hessian of an average row.
  const double row = static_cast<double>(plan.halves.hessian(total)) / n_copies;
  const u32 n_entries = column.n_bins + (column.has_missing ? 1 : 0);
  std::vector<std::pair<double, u32>> keyed;
  for (u32 category = 0; category < n_entries; ++category) {
    const double h = static_cast<double>(plan.halves.hessian(column.histogram[category]));
    const double n_rows = column.weights
                              ? static_cast<double>(column.weights[category]) * plan.weight_unit
                          : column.counts ? column.counts[category]
                                          : h / row;
    const bool enough = n_rows >= params.min_samples_level - 0.5;
    if (column.histogram[category] == 0 || !enough) continue;
    const double g = static_cast<double>(plan.halves.gradient(column.histogram[category]));
    keyed.emplace_back(find_category_key(g, h, params.category_smooth, row), category);
  }
  return keyed;
}

void NodeSearch::scan_categories(const ColumnView& column, BoostSplit& best) {
  std::vector<std::pair<double, u32>> keyed = key_categories(plan_, column, node_.total, n_copies_);
  if (keyed.empty()) return;
  // How many go left in either order, where that is drawn.
  const std::size_t n_drawn = 1 + draw_below(column, static_cast<u32>(keyed.size()));
  scan_both_ways(keyed, [&](std::span<const u32> order) {
    const bool drawn = params_.random_thresholds;
    scan_prefixes(column, drawn ? order.first(n_drawn) : order, drawn ? n_drawn : 1, best);
  });
}

// Splits by category are regularised more.
SplitBalance NodeSearch::choose_balance(const ColumnView& column) const {
  if (!column.categorical) return balance_;
  return make_balance((params_.reg_lambda + params_.category_l2) / plan_.hessian_unit);
}

double NodeSearch::measure_side(const ColumnView& column, const SplitBalance& balance,
                                const Side& left, double least) const {
  if (!is_allowed(column, left)) return 0.0;
  const double gain =
      plan_.by_values
          ? measure_by_values(left.sum, column.monotonic)
          : gain_unit_ * balance.gain(static_cast<double>(plan_.halves.gradient(left.sum)),
                                      static_cast<double>(plan_.halves.hessian(left.sum)));
  return gain - params_.gamma > least ? gain - params_.gamma : 0.0;
}

NodeSearch::SharedGain NodeSearch::measure_shared(const ColumnView& column,
                                                  std::span<const u32> bins, double least) const {
  Side left;
  for (const u32 bin : bins) left.add(column, bin);
  return {left.sum, measure_side(column, choose_balance(column), left, least)};
}

void NodeSearch::add_gains(const ColumnView& column, std::span<const u32> bins, double least,
                           double* totals) const {
  const SplitBalance balance = choose_balance(column);
  Side left;
  double gain = 0.0;
  for (std::size_t k = 0; k < bins.size(); ++k) {
    // An empty bin splits as the one before it does.
    if (column.histogram[bins[k]] != 0) {
      left.add(column, bins[k]);
      gain = measure_side(column, balance, left, least);
    }
    totals[k] += gain;
  }
}

// Those of so many categories and more.
void NodeSearch::scan_prefixes(const ColumnView& column, std::span<const u32> order,
                               std::size_t shortest, BoostSplit& best) {
  const SplitBalance balance = choose_balance(column);
  Side left;
  i64 best_sum = 0;
  std::size_t length = 0;
  double found = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < order.size(); ++k) {
    left.add(column, order[k]);
    if (k + 1 < shortest || !is_allowed(column, left)) continue;
    const double gain =
        plan_.by_values
            ? measure_by_values(left.sum, 0)
            : gain_unit_ * balance.gain(static_cast<double>(plan_.halves.gradient(left.sum)),
                                        static_cast<double>(plan_.halves.hessian(left.sum)));
    if (gain > found) found = gain, length = k + 1, best_sum = left.sum;
  }
  best.take_categories(found - params_.gamma, column.feature, best_sum, order.first(length),
                       column.n_bins);
}

void BoostSplit::take_categories(double found, u32 of_feature, i64 left_sum,
                                 std::span<const u32> categories, u32 n_bins) {
  if (categories.empty() || !(found > gain || (found == gain && of_feature < feature))) return;
  gain = found;
  feature = of_feature;
  left = left_sum;
  split_bin = static_cast<u32>(categories.size() - 1);
  categorical = has_missing = true;
  missing_left = false;
  left_codes.assign((n_bins + 31) / 32, 0u);
  for (const u32 category : categories) {
    if (category == n_bins) {
      missing_left = true;
    } else {
      left_codes[category / 32] |= 1u << (category % 32);
    }
  }
}

}  // namespace committee
