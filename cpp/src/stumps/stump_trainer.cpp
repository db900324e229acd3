// A round: the best of what the columns offer, and the weights for the next one.
#include "stumps/stump_trainer.hpp"

#include "committee/stump.hpp"
#include "split/threshold.hpp"

namespace committee {

namespace {

void check_input(const StumpInput& input) {
  const std::size_t n = input.data->n_rows;
  if (n == 0 || n >= kMissingCode)
    throw std::invalid_argument("the number of rows must be at least 1 and below 2^32 - 1");
  if (input.labels.size() != n) throw std::invalid_argument("labels must have one entry a row");
  if (!input.weights.empty() && input.weights.size() != n)
    throw std::invalid_argument("weights must have one entry a row");
  if (input.presort && (input.presort->n_rows != n || input.presort->n_cols != input.data->n_cols))
    throw std::invalid_argument("the presort must be that of the table");
  for (const u32 label : input.labels) {
    if (label >= input.n_classes)
      throw std::invalid_argument("a label is not below the number of classes");
  }
}

}  // namespace

StumpTrainer::Rounds::Rounds(const StumpInput& input, const StumpOptions& options)
    : data_(*input.data),
      presort_(input.presort),
      n_classes_(input.n_classes),
      criterion_(options.criterion),
      n_jobs_(options.n_jobs > 0 ? choose_threads(options.n_jobs, 1.0, 1.0) : 0),
      labels_(input.labels.begin(), input.labels.end()),
      weights_(input.weights, input.data->n_rows),
      offsets_(input.data->n_cols),
      found_(input.data->n_cols),
      leaf_of_row_(input.data->n_rows, 0) {
  n_threads_ = choose_threads(options.n_jobs, std::numeric_limits<double>::max(), 1.0);
  accumulator_.n_elements = n_classes_;
  accumulator_.outputs = {n_classes_};
  accumulator_.offsets = {0};
  plane_size_ = data_.n_cols * kHistogramBins;
  for (std::size_t col = 0; col < data_.n_cols; ++col) {
    offsets_[col] = bins(col).wide ? plane_size_ : col * kHistogramBins;
    if (bins(col).wide) plane_size_ += bins(col).n_bins + 1;
  }
  slots_ = AlignedBuffer<u64>(plane_size_ * n_classes_);
  sort_by_class(input);
  n_counted_ = static_cast<double>(n_units_);
  if (options.row_weight > 0.0 && !input.weights.empty()) {
    ExactSum sum;
    sum.add(input.weights);
    n_counted_ = sum.round() / options.row_weight;
  }
  if (presort_) index_order();
  const std::size_t n_workers = std::min<std::size_t>(
      static_cast<std::size_t>(std::max({n_jobs_, n_threads_, 1})), data_.n_cols);
  for (std::size_t w = 0; w < n_workers; ++w) {
    workers_.push_back({make_column_search(criterion_, n_classes_),
                        make_finder(accumulator_, criterion_),
                        {},
                        {}});
  }
  data_.make_records(n_threads_);
  rebuild();
}

void StumpTrainer::Rounds::sort_by_class(const StumpInput& input) {
  std::vector<std::size_t> next(n_classes_ + 1, 0);
  for (std::size_t i = 0; i < data_.n_rows; ++i) next[labels_[i] + 1] += weights_[i] > 0;
  for (u32 k = 0; k < n_classes_; ++k) next[k + 1] += next[k];
  for (u32 k = 0; k < n_classes_; ++k) {
    for (std::size_t j = next[k]; j < next[k + 1]; j += kChunkRows)
      chunks_.push_back({j, std::min(j + kChunkRows, next[k + 1]), k});
  }
  rows_.resize(next[n_classes_]);
  changed_.resize(rows_.size());
  deltas_.resize(rows_.size());
  for (std::size_t i = 0; i < input.labels.size(); ++i) {
    if (weights_[i] == 0) continue;
    rows_[next[labels_[i]]++] = static_cast<u32>(i);
    n_units_ += weights_.units(i);
  }
}

GrownStump StumpTrainer::Rounds::grow() {
  const std::vector<u64> total = total_up();
  FoundSplit found;
  u64 all = 0, largest = 0;
  for (const u64 w : total) all += w, largest = std::max(largest, w);
  if (largest < all) {
    search_bins(total);
    if (presort_) search_within(total);
    found = pick_best();
  }
  if (found.best.found()) {
    if (!presort_) settle_split_bin(found.best, bins(found.best.feature));
    u64 left = 0;
    for (const u64 w : found.left) left += w;
    if (!found.best.has_missing) found.best.missing_left = 2 * left > all;
  }
  assign_leaves(found);
  return describe(found, total);
}

void StumpTrainer::Rounds::assign_leaves(const FoundSplit& found) {
  const Candidate& best = found.best;
  const std::size_t n = data_.n_rows;
  u8* leaf = leaf_of_row_.data();
  n_leaves_ = best.found() ? 2 : 1;
  if (!best.found()) {
    std::fill_n(leaf, n, u8{0});
  } else if (best.categorical && bins(best.feature).wide) {
    std::vector<u8> side(bins(best.feature).n_bins + 1, 1);
    for (const u32 code : best.left_codes) side[code] = 0;
    side.back() = !best.missing_left;
    const u32* codes = data_.wide[best.feature].data();
    for (std::size_t i = 0; i < n; ++i)
      leaf[i] = side[std::min<std::size_t>(codes[i], side.size() - 1)];
  } else if (presort_ && !best.categorical) {
    const u32* rank = presort_->rank.data() + best.feature * n;
    const u32 cut = best.bin;
    const u8 missing = !best.missing_left;
    for (std::size_t i = 0; i < n; ++i)
      leaf[i] = rank[i] == kMissingCode ? missing : static_cast<u8>(rank[i] > cut);
  } else {
    std::array<u8, kHistogramBins> side;
    side.fill(1);
    if (best.categorical) {
      for (const u32 code : best.left_codes) side[code] = 0;
    } else {
      std::fill_n(side.begin(), best.bin + 1, u8{0});
    }
    side[kMissingBin] = !best.missing_left;
    const u8* column = data_.column(best.feature);
    for (std::size_t i = 0; i < n; ++i) leaf[i] = side[column[i]];
  }
  count_leaves();
}

void StumpTrainer::Rounds::count_leaves() {
  leaf_rows_.assign(n_leaves_ * n_classes_, 0);
  leaf_units_.assign(n_leaves_ * n_classes_, 0);
  share_chunks([&](Chunk& chunk) {
    std::size_t right = 0;
    u64 units[2] = {0, 0};
    for (std::size_t j = chunk.begin; j < chunk.end; ++j) right += leaf_of_row_[rows_[j]];
    for (std::size_t j = chunk.begin; !weights_.all_one() && j < chunk.end; ++j)
      units[leaf_of_row_[rows_[j]]] += weights_.units(rows_[j]);
    const std::size_t left = chunk.end - chunk.begin - right;
    chunk.n_right = right;
    chunk.units_left = weights_.all_one() ? left : units[0];
    chunk.units_right = weights_.all_one() ? right : units[1];
  });
  for (const Chunk& chunk : chunks_) {
    leaf_rows_[chunk.label] += chunk.end - chunk.begin - chunk.n_right;
    leaf_units_[chunk.label] += chunk.units_left;
    if (n_leaves_ == 1) continue;
    leaf_rows_[n_classes_ + chunk.label] += chunk.n_right;
    leaf_units_[n_classes_ + chunk.label] += chunk.units_right;
  }
}

GrownStump StumpTrainer::Rounds::describe(const FoundSplit& found, const std::vector<u64>& total) {
  double all = 0.0;
  for (const u64 w : total) all += static_cast<double>(w);
  leaf_sums_.assign(n_leaves_ * n_classes_, 0.0);
  for (u32 k = 0; k < n_classes_; ++k) {
    const u64 left = n_leaves_ == 2 ? found.left[k] : total[k];
    leaf_sums_[k] = static_cast<double>(left);
    if (n_leaves_ == 2) leaf_sums_[n_classes_ + k] = static_cast<double>(total[k] - left);
  }
  GrownStump stump;
  stump.importances.assign(data_.n_cols, 0.0);
  stump.tree.width = n_classes_;
  stump.leaf_shares = leaf_sums_;
  for (double& share : stump.leaf_shares) share /= all;
  const u32 n_nodes = n_leaves_ == 2 ? 3 : 1;
  for (u32 node = 0; node < n_nodes; ++node) {
    std::vector<double> value(n_classes_, 0.0);
    double weight = 0.0;
    std::size_t n_rows = 0;
    for (u32 leaf = 0; leaf < n_leaves_; ++leaf) {
      if (node != 0 && node != leaf + 1) continue;
      for (u32 k = 0; k < n_classes_; ++k) {
        value[k] += stump.leaf_shares[leaf * n_classes_ + k];
        weight += stump.leaf_shares[leaf * n_classes_ + k];
        n_rows += leaf_rows_[leaf * n_classes_ + k];
      }
    }
    const double impurity = measure_class_impurity(criterion_, value, {&n_classes_, 1});
    stump.tree.add_node(static_cast<u32>(n_rows), weight, impurity, value);
  }
  if (n_nodes == 3) {
    stump.tree.left[0] = 1;
    stump.tree.right[0] = 2;
    const u32 feature = found.best.feature;
    stump.tree.splits[0] = describe_split(found.best, bins(feature), presort_);
    const double decrease = stump.tree.weight[0] * stump.tree.impurity[0] -
                            stump.tree.weight[1] * stump.tree.impurity[1] -
                            stump.tree.weight[2] * stump.tree.impurity[2];
    stump.importances[feature] = std::max(0.0, decrease);
  }
  return stump;
}

// The factor of most rows (a row of weight k counts k times): weights matter up to a common factor,
// so that these need no change.
double StumpTrainer::Rounds::choose_common_factor(std::span<const double> factors) const {
  u64 most = 0;
  double common = factors[0];
  for (std::size_t a = 0; a < factors.size(); ++a) {
    u64 n = 0;
    for (std::size_t b = 0; b < factors.size(); ++b)
      n += factors[b] == factors[a] ? leaf_units_[b] : 0;
    if (n > most) most = n, common = factors[a];
  }
  return common;
}

void StumpTrainer::Rounds::multiply(std::span<const double> factors) {
  if (factors.size() != leaf_rows_.size() || factors.empty())
    throw std::invalid_argument("factors must have one entry for each leaf and class");
  for (const double factor : factors) {
    if (!(factor > 0.0) || !std::isfinite(factor))
      throw std::invalid_argument("factors must be finite and above zero");
  }
  const double common = choose_common_factor(factors);
  double total = 0.0;
  for (std::size_t c = 0; c < factors.size(); ++c) total += leaf_sums_[c] * (factors[c] / common);
  share_chunks([&](Chunk& chunk) {
    const double own[2] = {factors[chunk.label] / common,
                           factors[(n_leaves_ - 1) * n_classes_ + chunk.label] / common};
    const bool changes[2] = {own[0] != 1.0, own[1] != 1.0};
    std::size_t n = chunk.begin;
    for (std::size_t j = chunk.begin; j < chunk.end; ++j) {
      changed_[n] = rows_[j];
      n += changes[leaf_of_row_[rows_[j]]];
    }
    for (std::size_t j = chunk.begin; j < n; ++j)
      deltas_[j] = weights_.multiply(changed_[j], own[leaf_of_row_[changed_[j]]]);
    chunk.n_changed = n - chunk.begin;
  });
  if (BoostedWeights::fits(total)) {
    add_changes();
  } else {
    weights_.rescale(BoostedWeights::to_levels(total));
    rebuild();
  }
}

std::vector<double> StumpTrainer::Rounds::weights() const {
  std::vector<double> out(data_.n_rows, 0.0);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (weights_[i] > 0) out[i] = weights_.exact(i);
  ExactSum sum;
  sum.add(out);
  const double total = sum.round();
  for (double& w : out) w /= total;
  return out;
}

StumpTrainer::StumpTrainer(const StumpInput& input, const StumpOptions& options) {
  check_input(input);
  rounds_ = std::make_unique<Rounds>(input, options);
}

StumpTrainer::~StumpTrainer() = default;
GrownStump StumpTrainer::grow() {
  return rounds_->grow();
}

void StumpTrainer::multiply(std::span<const double> factors) {
  rounds_->multiply(factors);
}

std::vector<double> StumpTrainer::weights() const {
  return rounds_->weights();
}

}  // namespace committee
