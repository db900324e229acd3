// The trainer in one process, and its two halves for blocks of rows.
#include "committee/stump.hpp"
#include "stumps/stump_search.hpp"

namespace committee {

namespace {

void check_input(const StumpInput& input) {
  const std::size_t n = input.data->n_rows;
  if (n >= kMissingCode) throw std::invalid_argument("there must be fewer than 2^32 - 1 rows");
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

struct StumpTrainer::State {
  State(const StumpInput& input, const StumpOptions& options)
      : rows(input, start_stump_weights(input.weights, input.data->n_rows), options.n_jobs),
        search(*input.data->bins, input.n_classes, options.criterion, options.n_jobs,
               options.n_counted > 0.0 ? options.n_counted : static_cast<double>(rows.n_units()),
               &rows) {}
  StumpRows rows;
  StumpSearch search;
  StumpLeaves leaves;  // of the stump grown last
};

StumpTrainer::StumpTrainer(const StumpInput& input, const StumpOptions& options) {
  check_input(input);
  if (input.data->n_rows == 0) throw std::invalid_argument("there must be one row at least");
  state_ = std::make_unique<State>(input, options);
}

StumpTrainer::~StumpTrainer() = default;

GrownStump StumpTrainer::grow() {
  state_->leaves = state_->rows.assign(state_->search.find(state_->rows.histograms()));
  return state_->search.describe(state_->leaves);
}

void StumpTrainer::multiply(std::span<const double> factors) {
  state_->rows.multiply(factors, state_->search.plan(factors, state_->leaves));
}

std::vector<double> StumpTrainer::weights() const {
  std::vector<double> weights = state_->rows.list_weights();
  ExactSum sum;
  sum.add(weights);
  const double total = sum.round();
  for (double& w : weights) w /= total;
  return weights;
}

struct StumpBlock::State {
  State(const StumpInput& input, StumpWeights weights, int n_jobs)
      : rows(input, std::move(weights), n_jobs) {}
  StumpRows rows;
};

StumpBlock::StumpBlock(const StumpInput& input, StumpWeights weights, int n_jobs) {
  check_input(input);
  const std::size_t n = input.data->n_rows;
  if ((!weights.units.empty() && weights.units.size() != n) ||
      (!weights.levels.empty() && weights.levels.size() != n))
    throw std::invalid_argument("units and levels must have one entry a row");
  state_ = std::make_unique<State>(input, std::move(weights), n_jobs);
}

StumpBlock::~StumpBlock() = default;

std::span<const u64> StumpBlock::histograms() const {
  return state_->rows.histograms();
}

StumpLeaves StumpBlock::assign(const StumpSplit& split) {
  const BinnedMatrix& data = state_->rows.data();
  Candidate best;
  if (split.feature != kNone) {
    if (split.feature >= data.n_cols)
      throw std::invalid_argument("there is no feature " + std::to_string(split.feature));
    const ColumnBins& bins = (*data.bins)[split.feature];
    for (const u32 code : split.left_codes)
      if (code >= bins.n_bins) throw std::invalid_argument("a code is beyond the levels");
    if (!bins.categorical && split.bin >= kHistogramBins)
      throw std::invalid_argument("a bin is beyond the bins");
    best.feature = split.feature;
    best.categorical = bins.categorical;
    best.bin = split.bin;
    best.missing_left = split.missing_left;
    best.left_codes = split.left_codes;
  }
  leaves_ = state_->rows.assign(best);
  return leaves_;
}

void StumpBlock::multiply(std::span<const double> factors, const StumpStep& step) {
  if (factors.size() != leaves_.rows.size() || factors.empty())
    throw std::invalid_argument("factors must have one entry for each leaf and class");
  if (step.common.size() != step.scales.size() ||
      step.common.size() * leaves_.n_leaves != factors.size())
    throw std::invalid_argument("a step has a factor and a scale for each class");
  state_->rows.multiply(factors, step);
}

std::vector<double> StumpBlock::weights() const {
  return state_->rows.list_weights();
}

struct StumpDriver::State {
  State(std::vector<ColumnBins> columns, u32 n_classes, const StumpOptions& options)
      : bins(std::move(columns)),
        search(bins, n_classes, options.criterion, options.n_jobs, options.n_counted, nullptr) {}
  const std::vector<ColumnBins> bins;
  StumpSearch search;
};

StumpDriver::StumpDriver(std::vector<ColumnBins> bins, u32 n_classes, const StumpOptions& options)
    : state_(std::make_unique<State>(std::move(bins), n_classes, options)) {}

StumpDriver::~StumpDriver() = default;

StumpSplit StumpDriver::find(std::span<const u64> histograms) {
  const Candidate& best = state_->search.find(histograms);
  return {best.feature, best.bin, best.missing_left, best.left_codes};
}

GrownStump StumpDriver::describe(const StumpLeaves& leaves) const {
  return state_->search.describe(leaves);
}

StumpStep StumpDriver::plan(std::span<const double> factors, const StumpLeaves& leaves) {
  return state_->search.plan(factors, leaves);
}

}  // namespace committee
