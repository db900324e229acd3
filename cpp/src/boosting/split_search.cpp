#include "boosting/split_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace committee {

namespace {

using Floats [[gnu::vector_size(16)]] = float;
using Ints [[gnu::vector_size(16)]] = int;

// Four words' halves as float: which of many splits is best is found in single precision, its gain
// is then computed in double.
struct FourWords {
  Floats gradient, hessian;
};

struct EvenHalves {
  FourWords read(const i64* at) const {
    Ints low, high;
    std::memcpy(&low, at, sizeof low);
    std::memcpy(&high, at + 2, sizeof high);
    return {__builtin_convertvector(__builtin_shufflevector(low, high, 1, 3, 5, 7), Floats),
            __builtin_convertvector(__builtin_shufflevector(low, high, 0, 2, 4, 6), Floats)};
  }
};

// Of a gradient that has more bits than an int the first ones.
struct UnevenHalves {
  int shift, hessian_mask;
  FourWords read(const i64* at) const {
    using Words [[gnu::vector_size(16)]] = i64;
    Words low, high;
    std::memcpy(&low, at, sizeof low);
    std::memcpy(&high, at + 2, sizeof high);
    const Ints hessian = __builtin_shufflevector((Ints)low, (Ints)high, 0, 2, 4, 6) & hessian_mask;
    low >>= shift;
    high >>= shift;
    return {
        __builtin_convertvector(__builtin_shufflevector((Ints)low, (Ints)high, 0, 2, 4, 6), Floats),
        __builtin_convertvector(hessian, Floats)};
  }
};

// The largest num / den so far, in each lane by itself. Compared by products: no division.
struct BestFraction {
  Floats num = {}, den = {1.0f, 1.0f, 1.0f, 1.0f};
  Ints at = {-1, -1, -1, -1};
  void offer(Floats other_num, Floats other_den, Ints index) {
    const Ints more = other_num * den > num * other_den;
    num = more ? other_num : num;
    den = more ? other_den : den;
    at = more ? index : at;
  }
};

struct FloatBalance {
  FloatBalance(double a, double b, double c)
      : l2(static_cast<float>(a)), whole(static_cast<float>(b)), ratio(static_cast<float>(c)) {}
  float l2, whole, ratio;
};

// The best of the sums first .. last - 1, eight at a time: there are seven more to be read.
template <class Halves>
void compare_sums(const i64* sums, u32 first, u32 last, const FloatBalance& by,
                  const Halves& halves, BestFraction (&best_of)[2]) {
  const float l2 = by.l2, whole = by.whole, ratio = by.ratio;
  Ints index = {0, 1, 2, 3};
  index += static_cast<int>(first);
  for (u32 b = first; b < last; b += 8, index += 8) {
    const FourWords one = halves.read(sums + b), two = halves.read(sums + b + 4);
    const Floats a1 = one.hessian + l2, a2 = two.hessian + l2;
    const Floats d1 = one.gradient - ratio * a1, d2 = two.gradient - ratio * a2;
    best_of[0].offer(d1 * d1, a1 * (whole - a1), index);
    best_of[1].offer(d2 * d2, a2 * (whole - a2), index + 4);
  }
}

// With this many histogram entries for each row of a node, and more, empty ones are left out.
constexpr double kSparse = 4.0;
// Candidates within single precision of the best one are compared in double.
constexpr float kNearBest = 0.9999f;

double soften(double gradient, double alpha) {
  return gradient > alpha ? gradient - alpha : gradient < -alpha ? gradient + alpha : 0.0;
}

}  // namespace

double find_leaf_value(const SearchPlan& plan, double gradient, double hessian, double lower,
                       double upper) {
  const double whole = hessian + plan.params->reg_lambda;
  if (!(whole > 0.0)) return std::clamp(0.0, lower, upper);
  const double step = -soften(gradient, plan.params->reg_alpha) / whole;
  return std::clamp(std::clamp(step, -plan.largest_step, plan.largest_step), lower, upper);
}

NodeSearch::NodeSearch(const SearchPlan& plan, const NodeFacts& node)
    : plan_(plan),
      params_(*plan.params),
      node_(node),
      n_copies_(static_cast<double>(node.weight) * plan.weight_unit) {
  gain_unit_ = 0.5 * plan.gradient_unit * plan.gradient_unit / plan.hessian_unit;
  const double hessian = static_cast<double>(plan_.halves.hessian(node.total));
  least_hessian_ =
      std::max<i64>(1, static_cast<i64>(std::ceil(params_.min_child_weight / plan.hessian_unit)));
  // Half a row less: where all hessians are equal this is exactly min_samples_leaf rows.
  least_for_rows_ = static_cast<i64>(
      std::ceil((params_.min_samples_leaf - 0.5) * hessian / static_cast<double>(node.n_rows)));
  balance_ = make_balance(params_.reg_lambda / plan.hessian_unit);
  if (plan.incremental) {
    // What the sums of this node may need of an int's 31 bits is cut off.
    const u64 largest = static_cast<u64>(plan.largest_gradient) * static_cast<u64>(hessian);
    shift_ = plan.halves.hessian_bits + std::max(0, static_cast<int>(std::bit_width(largest)) - 31);
  }
  if (plan.by_values) {
    const double g = static_cast<double>(plan_.halves.gradient(node.total)) * plan.gradient_unit;
    const double h = hessian * plan.hessian_unit;
    parent_objective_ = objective(g, h, find_leaf_value(plan, g, h, node.lower, node.upper));
  }
}

NodeSearch::Balance NodeSearch::make_balance(double l2) const {
  const double g = static_cast<double>(plan_.halves.gradient(node_.total)),
               h = static_cast<double>(plan_.halves.hessian(node_.total));
  Balance balance;
  balance.l2 = l2;
  balance.whole = h + 2.0 * l2;
  balance.ratio = g / balance.whole;
  // G_L^2 / a + G_R^2 / c = d^2 (a + c) / (a c) + G^2 / (a + c), d = G_L - G a / (a + c): one
  // division a split, and nothing large is subtracted from anything large.
  const double own = h + params_.reg_lambda / plan_.hessian_unit;
  balance.shift = g * g / balance.whole - g * g / own;
  return balance;
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

void NodeSearch::scan_fast(const ColumnView& column, i64 base, u32 n_thresholds, bool missing_left,
                           BoostSplit& best) {
  const i64 least = std::max(least_hessian_, least_for_rows_);
  const i64 most = plan_.halves.hessian(node_.total) - least;
  const bool sparse = kSparse * n_copies_ < n_thresholds;
  i64 sum = base;
  u32 first = 0, last = n_thresholds;
  if (sparse) {
    last = list_sums(column, base, n_thresholds);
  } else {
    u32 b = 0;
    for (; b + 4 <= n_thresholds; b += 4) {
      const i64* const histogram = column.histogram + b;
      const i64 two = histogram[0] + histogram[1];
      sums_[b] = sum + histogram[0];
      sums_[b + 1] = sum + two;
      sums_[b + 2] = sum + two + histogram[2];
      sums_[b + 3] = sum += two + (histogram[2] + histogram[3]);
    }
    for (; b < n_thresholds; ++b) sums_[b] = sum += column.histogram[b];
  }
  while (first < last && plan_.halves.hessian(sums_[first]) < least) ++first;
  while (last > first && plan_.halves.hessian(sums_[last - 1]) > most) --last;
  if (first >= last) return;
  for (u32 pad = 0; pad < 7; ++pad) sums_[last + pad] = sums_[last - 1];

  BestFraction best_of[2];
  if (plan_.incremental) {
    const int bits = plan_.halves.hessian_bits;
    const FloatBalance balance{balance_.l2, balance_.whole,
                               std::ldexp(balance_.ratio, bits - shift_)};
    compare_sums(sums_, first, last, balance, UnevenHalves{shift_, (1 << bits) - 1}, best_of);
  } else {
    const FloatBalance balance{balance_.l2, balance_.whole, balance_.ratio};
    compare_sums(sums_, first, last, balance, EvenHalves{}, best_of);
  }
  const Floats found[2] = {best_of[0].num / best_of[0].den, best_of[1].num / best_of[1].den};
  float most_found = 0.0f;
  for (int lane = 0; lane < 8; ++lane) most_found = std::max(most_found, found[lane / 4][lane % 4]);
  double gain = -std::numeric_limits<double>::infinity();
  i64 at = -1;
  for (int lane = 0; lane < 8; ++lane) {
    const i64 candidate = best_of[lane / 4].at[lane % 4];
    if (candidate < 0 || found[lane / 4][lane % 4] < kNearBest * most_found) continue;
    const i64 left = sums_[candidate];
    const double exact = balance_.gain(static_cast<double>(plan_.halves.gradient(left)),
                                       static_cast<double>(plan_.halves.hessian(left)));
    if (exact > gain || (exact == gain && candidate < at)) gain = exact, at = candidate;
  }
  if (at >= 0)
    take(column, gain * gain_unit_ - params_.gamma, sums_[at],
         sparse ? positions_[at] : static_cast<u32>(at), missing_left, best);
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
  return gradient * value + 0.5 * (hessian + params_.reg_lambda) * value * value +
         params_.reg_alpha * std::abs(value);
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
  if (direction != 0 && (vr - vl) * direction < 0.0)
    return -std::numeric_limits<double>::infinity();
  return parent_objective_ - objective(gl, hl, vl) - objective(gr, hr, vr);
}

void NodeSearch::scan_by_values(const ColumnView& column, Side left, u32 n_thresholds,
                                bool missing_left, BoostSplit& best) {
  for (u32 b = 0; b < n_thresholds; ++b) {
    // An empty bin splits as the one before it does.
    if (b > 0 && column.histogram[b] == 0 && (!column.counts || column.counts[b] == 0)) continue;
    left.add(column, b);
    if (!is_allowed(column, left)) continue;
    const double gain =
        plan_.by_values
            ? measure_by_values(left.sum, column.monotonic)
            : gain_unit_ * balance_.gain(static_cast<double>(plan_.halves.gradient(left.sum)),
                                         static_cast<double>(plan_.halves.hessian(left.sum)));
    take(column, gain - params_.gamma, left.sum, b, missing_left, best);
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

// Categories in the order of their gradient over hessian, in which the best subset is a prefix
// [Fisher1958]; towards zero for categories of few rows, whose ratio is mostly noise. Categories of
// fewer rows than min_samples_level, and categories that do not occur, stay together on the right.
// Rows are counted by weight, so that a weight means repetition.
void NodeSearch::scan_categories(const ColumnView& column, BoostSplit& best) {
  // Hessian of an average row.
  const double row = static_cast<double>(plan_.halves.hessian(node_.total)) / n_copies_;
  const u32 n_entries = column.n_bins + (column.has_missing ? 1 : 0);
  std::vector<std::pair<double, u32>> keyed;
  for (u32 category = 0; category < n_entries; ++category) {
    const double h = static_cast<double>(plan_.halves.hessian(column.histogram[category]));
    const double n_rows = column.weights
                              ? static_cast<double>(column.weights[category]) * plan_.weight_unit
                          : column.counts ? column.counts[category]
                                          : h / row;
    const bool enough = n_rows >= params_.min_samples_level - 0.5;
    if (column.histogram[category] == 0 || !enough) continue;
    keyed.emplace_back(static_cast<double>(plan_.halves.gradient(column.histogram[category])) /
                           (h + params_.category_smooth * row),
                       category);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<u32> order;
  for (const auto& [key, category] : keyed) order.push_back(category);
  scan_prefixes(column, order, best);
  std::reverse(order.begin(), order.end());
  scan_prefixes(column, order, best);
}

void NodeSearch::scan_prefixes(const ColumnView& column, std::span<const u32> order,
                               BoostSplit& best) {
  const Balance balance =
      make_balance((params_.reg_lambda + params_.category_l2) / plan_.hessian_unit);
  Side left;
  i64 best_sum = 0;
  std::size_t length = 0;
  double found = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < order.size(); ++k) {
    left.add(column, order[k]);
    if (!is_allowed(column, left)) continue;
    const double gain =
        plan_.by_values
            ? measure_by_values(left.sum, 0)
            : gain_unit_ * balance.gain(static_cast<double>(plan_.halves.gradient(left.sum)),
                                        static_cast<double>(plan_.halves.hessian(left.sum)));
    if (gain > found) found = gain, length = k + 1, best_sum = left.sum;
  }
  found -= params_.gamma;
  if (length == 0 || !(found > best.gain || (found == best.gain && column.feature < best.feature)))
    return;
  best = BoostSplit{};
  best.gain = found;
  best.feature = column.feature;
  best.split_bin = static_cast<u32>(length - 1);
  best.left = best_sum;
  best.take_categories(order.first(length), column.n_bins);
}

void BoostSplit::take_categories(std::span<const u32> categories, u32 n_bins) {
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
