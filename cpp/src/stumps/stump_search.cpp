// A round: the best of what the columns offer, as a tree; and how the weights change after it.
#include "stumps/stump_search.hpp"

#include <algorithm>
#include <cmath>

#include "split/threshold.hpp"

namespace committee {

StumpSearch::StumpSearch(const std::vector<ColumnBins>& bins, u32 n_classes,
                         const std::string& criterion, int n_jobs, double n_counted,
                         const StumpRows* rows)
    : bins_(bins),
      n_classes_(n_classes),
      criterion_(criterion),
      threads_(n_jobs),
      layout_(rows ? rows->layout() : StumpLayout(bins)),
      n_counted_(n_counted),
      rows_(rows),
      presort_(rows ? rows->presort() : nullptr),
      found_(layout_.columns.size()),
      scales_(n_classes) {
  accumulator_.n_elements = n_classes_;
  accumulator_.outputs = {n_classes_};
  accumulator_.offsets = {0};
  if (presort_) index_order();
  const std::size_t n_workers = std::min<std::size_t>(
      static_cast<std::size_t>(std::max({threads_.asked, threads_.most, 1})), bins.size());
  for (std::size_t w = 0; w < n_workers; ++w) {
    workers_.push_back({make_column_search(criterion_, n_classes_),
                        make_finder(accumulator_, criterion_),
                        {},
                        {}});
  }
}

std::vector<u64> StumpSearch::total_up() const {
  // Every row is in one bin of the first column.
  std::vector<u64> total(n_classes_, 0);
  if (layout_.entries) {
    for (u32 k = 0; k < n_classes_; ++k) total[k] = slots_[(k + 1) * layout_.plane_size - 1];
    return total;
  }
  const std::size_t n = bins_[0].wide ? bins_[0].n_bins + 1 : kHistogramBins;
  for (u32 k = 0; k < n_classes_; ++k) {
    for (std::size_t b = 0; b < n; ++b)
      total[k] += slots_[k * layout_.plane_size + layout_.offsets[0] + b];
  }
  return total;
}

std::vector<u64> StumpSearch::scale(std::vector<u64> sums) const {
  for (u32 k = 0; k < n_classes_; ++k) sums[k] = scales_.apply(k, sums[k]);
  return sums;
}

bool StumpSearch::begin_round(std::span<const u64> histograms) {
  if (histograms.size() != layout_.plane_size * n_classes_)
    throw std::invalid_argument("the histograms are not those of these columns and classes");
  slots_ = histograms.data();
  sums_ = total_up();
  total_ = scale(sums_);
  best_ = FoundSplit();
  return *std::max_element(total_.begin(), total_.end()) < accumulator_.total(total_.data());
}

const Candidate& StumpSearch::keep_best() {
  best_ = pick_best();
  if (!best_.best.found()) return best_.best;
  if (!presort_) settle_split_bin(best_.best, bins_[best_.best.feature]);
  if (!best_.best.has_missing) {
    const u64 left = accumulator_.total(scale(best_.left).data());
    const u64 all = accumulator_.total(total_.data());
    best_.best.missing_left = 2 * left > all;
  }
  return best_.best;
}

// [leaf][class]
std::vector<double> StumpSearch::sum_leaves() const {
  const bool split = best_.best.found();
  const std::vector<u64> lefts = split ? scale(best_.left) : total_;
  std::vector<double> sums((split ? 2 : 1) * n_classes_, 0.0);
  for (u32 k = 0; k < n_classes_; ++k) {
    const u64 left = lefts[k];
    sums[k] = static_cast<double>(left);
    if (split) sums[n_classes_ + k] = static_cast<double>(total_[k] - left);
  }
  return sums;
}

GrownStump StumpSearch::describe(const StumpLeaves& leaves) const {
  double all = 0.0;
  for (const u64 w : total_) all += static_cast<double>(w);
  GrownStump stump;
  stump.importances.assign(bins_.size(), 0.0);
  stump.tree.width = n_classes_;
  stump.leaf_shares = sum_leaves();
  for (double& share : stump.leaf_shares) share /= all;
  const u32 n_nodes = leaves.n_leaves == 2 ? 3 : 1;
  for (u32 node = 0; node < n_nodes; ++node) {
    std::vector<double> value(n_classes_, 0.0);
    double weight = 0.0;
    std::size_t n_rows = 0;
    for (u32 leaf = 0; leaf < leaves.n_leaves; ++leaf) {
      if (node != 0 && node != leaf + 1) continue;
      for (u32 k = 0; k < n_classes_; ++k) {
        value[k] += stump.leaf_shares[leaf * n_classes_ + k];
        weight += stump.leaf_shares[leaf * n_classes_ + k];
        n_rows += leaves.rows[leaf * n_classes_ + k];
      }
    }
    const double impurity = measure_class_impurity(criterion_, value, {&n_classes_, 1});
    stump.tree.add_node(static_cast<u32>(n_rows), weight, impurity, value);
  }
  if (n_nodes == 3) {
    stump.tree.left[0] = 1;
    stump.tree.right[0] = 2;
    const u32 feature = best_.best.feature;
    stump.tree.splits[0] = describe_split(best_.best, bins_[feature], presort_);
    const double decrease = stump.tree.weight[0] * stump.tree.impurity[0] -
                            stump.tree.weight[1] * stump.tree.impurity[1] -
                            stump.tree.weight[2] * stump.tree.impurity[2];
    stump.importances[feature] = std::max(0.0, decrease);
  }
  return stump;
}

StumpStep StumpSearch::plan(std::span<const double> factors, const StumpLeaves& leaves) {
  if (factors.size() != leaves.rows.size() || factors.empty())
    throw std::invalid_argument("factors must have one entry for each leaf and class");
  for (const double factor : factors) {
    if (!(factor > 0.0) || !std::isfinite(factor))
      throw std::invalid_argument("factors must be finite and above zero");
  }
  std::vector<u64> sums = best_.best.found() ? best_.left : sums_;
  for (u32 k = 0; k < n_classes_ && best_.best.found(); ++k) sums.push_back(sums_[k] - sums[k]);
  if (sums.size() != factors.size())
    throw std::invalid_argument("the leaves are not those of the stump found last");
  return scales_.take_step(factors, sums, leaves.units);
}

}  // namespace committee
