#include "boosting/multi_output.hpp"

#include <algorithm>

namespace committee {

void VectorWords::write(const Gradients& gradients, u32 first_score, const RowWeights& weights,
                        const WordPlan& plan, u64 key, std::size_t begin, std::size_t end) {
  for (; begin < end; begin += kBlock)
    write_block(gradients, first_score, weights, plan, key, begin, std::min(end, begin + kBlock));
}

void VectorWords::write_block(const Gradients& gradients, u32 first_score,
                              const RowWeights& weights, const WordPlan& plan, u64 key,
                              std::size_t begin, std::size_t end) {
  i64 words[kBlock];
  const u32 n_scores = width_ - 1;
  u32* const used = used_.data() + begin;
  std::fill_n(used, end - begin, u32{0});
  for (u32 k = 0; k < n_scores; ++k) {
    make_words(gradients.pairs(first_score + k), weights, plan, combine_keys(key, k), begin, end,
               words);
    i64* at = words_.data() + begin * width_ + k;
    for (std::size_t i = 0; i < end - begin; ++i, at += width_) *at = words[i];
    for (std::size_t i = 0; i < end - begin; ++i) used[i] = words[i] != 0 ? k + 1 : used[i];
  }
  for (std::size_t i = begin; i < end; ++i)
    words_[i * width_ + n_scores] = (i64{weights[i]} << 32) + 1;
}

VectorSearch::VectorSearch(std::span<const SearchPlan> scores, std::vector<i64> total)
    : scores_(scores), params_(*scores[0].params), total_(std::move(total)), left_(total_.size()) {
  for (u32 k = 0; k < scores_.size(); ++k) own_sum_ += measure(k, total_[k]);
  own_hessian_ = sum_hessians(total_);
}

double VectorSearch::measure(u32 score, i64 word) const {
  const SearchPlan& plan = scores_[score];
  const double g = static_cast<double>(gradient_of(word)) * plan.gradient_unit,
               h = static_cast<double>(hessian_of(word)) * plan.hessian_unit;
  const double whole = h + params_.reg_lambda + extra_l2_;
  if (!plan.by_values) return whole > 0.0 ? g * g / whole : 0.0;
  constexpr double kFree = std::numeric_limits<double>::infinity();
  const double value = find_leaf_value(plan, g, h, -kFree, kFree);
  return -2.0 * (g * value + 0.5 * whole * value * value + params_.reg_alpha * std::abs(value));
}

double VectorSearch::count_copies(i64 word) const {
  return static_cast<double>(gradient_of(word)) * scores_[0].weight_unit;
}

double VectorSearch::sum_hessians(const std::vector<i64>& sums) const {
  double whole = 0.0;
  for (std::size_t k = 0; k < scores_.size(); ++k)
    whole += static_cast<double>(hessian_of(sums[k])) * scores_[k].hessian_unit;
  return whole;
}

bool VectorSearch::has_rows() const {
  const std::size_t last = total_.size() - 1;
  const i64 n_left = hessian_of(left_[last]), n_right = hessian_of(total_[last]) - n_left;
  return std::min(n_left, n_right) >= std::max<i64>(1, params_.min_samples_leaf);
}

bool VectorSearch::has_weight() const {
  // A side's sum of hessians is the mean over the scores.
  const double least = params_.min_child_weight * static_cast<double>(scores_.size());
  const double left = sum_hessians(left_);
  return left >= least && own_hessian_ - left >= least;
}

double VectorSearch::measure_gain() const {
  double sum = 0.0;
  for (u32 k = 0; k < scores_.size(); ++k)
    sum += measure(k, left_[k]) + measure(k, total_[k] - left_[k]);
  return 0.5 * (sum - own_sum_) - params_.gamma;
}

void VectorSearch::add(const i64* entry) {
  for (std::size_t k = 0; k < left_.size(); ++k) left_[k] += entry[k];
}

void VectorSearch::scan(const VectorColumn& column, BoostSplit& best) {
  if (column.categorical) {
    scan_categories(column, best);
    return;
  }
  scan_numeric(column, false, best);
  const std::size_t width = total_.size();
  if (column.has_missing && column.histogram[(column.n_bins + 1) * width - 1] != 0)
    scan_numeric(column, true, best);
}

void VectorSearch::scan_numeric(const VectorColumn& column, bool missing_left, BoostSplit& best) {
  const std::size_t width = total_.size();
  const i64* const missing = column.histogram + column.n_bins * width;
  const bool occurs = column.has_missing && missing[width - 1] != 0;
  std::fill(left_.begin(), left_.end(), i64{0});
  if (missing_left) add(missing);
  // With missing values on the right, all values on the left are a split, too.
  const u32 n_thresholds = occurs && !missing_left ? column.n_bins : column.n_bins - 1;
  for (u32 b = 0; b < n_thresholds; ++b) {
    const i64* const entry = column.histogram + b * width;
    if (entry[width - 1] == 0) continue;  // empty: the same split as before
    add(entry);
    if (!has_rows()) continue;
    const double gain = measure_gain();
    if (!(gain > best.gain) && !(gain == best.gain && column.feature < best.feature)) continue;
    if (!has_weight()) continue;
    best.gain = gain;
    best.feature = column.feature;
    best.split_bin = b;
    best.categorical = false;
    best.missing_left = missing_left;
    best.has_missing = occurs;
    best.left = hessian_of(left_[width - 1]);
  }
}

// The best subset of categories is a prefix in the order of one score's ratios where there is one
// score [Fisher1958]; here the order of each score is tried. As with one score, categories of few
// rows stay together on the right.
void VectorSearch::scan_categories(const VectorColumn& column, BoostSplit& best) {
  const std::size_t width = total_.size(), last = width - 1;
  const u32 n_entries = column.n_bins + (column.has_missing ? 1 : 0);
  std::vector<std::pair<double, u32>> keyed;
  extra_l2_ = params_.category_l2;
  for (std::size_t k = 0; k < last; ++k) {
    const double row = static_cast<double>(hessian_of(total_[k])) / count_copies(total_[last]);
    keyed.clear();
    for (u32 category = 0; category < n_entries; ++category) {
      const i64* const entry = column.histogram + category * width;
      if (entry[last] == 0 || count_copies(entry[last]) < params_.min_samples_level - 0.5) continue;
      keyed.emplace_back(static_cast<double>(gradient_of(entry[k])) /
                             (static_cast<double>(hessian_of(entry[k])) +
                              std::max(params_.category_smooth * row, 1.0)),
                         category);
    }
    scan_both_ways(keyed, [&](std::span<const u32> order) { scan_prefixes(column, order, best); });
  }
  extra_l2_ = 0.0;
}

void VectorSearch::scan_prefixes(const VectorColumn& column, std::span<const u32> order,
                                 BoostSplit& best) {
  const std::size_t width = total_.size();
  std::fill(left_.begin(), left_.end(), i64{0});
  double found = -std::numeric_limits<double>::infinity();
  std::size_t length = 0;
  i64 n_left = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    add(column.histogram + order[k] * width);
    if (!has_rows()) continue;
    const double gain = measure_gain();
    if (gain > found && has_weight())
      found = gain, length = k + 1, n_left = hessian_of(left_[width - 1]);
  }
  best.take_categories(found, column.feature, n_left, order.first(length), column.n_bins);
}

}  // namespace committee
