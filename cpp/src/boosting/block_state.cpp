// What a block of rows does: the rows' side of remote_rows.cpp.
#include "boosting/block_state.hpp"

#include <algorithm>
#include <numeric>

namespace committee {

// --- before the first round -------------------------------------------------------------------

void BoostingBlock::State::take(const BlockValues& args) {
  WeightFacts facts;
  facts.total = static_cast<u64>(take_value<i64>(args, 0));
  facts.unit = take_value<double>(args, 1);
  facts.integral = (take_value<i64>(args, 2) & 1) != 0;
  facts.weighted = (take_value<i64>(args, 2) & 2) != 0;
  target = take_value<std::vector<double>>(args, 4);
  input.data = data.get();
  input.target = target;
  input.weights = take_value<std::vector<double>>(args, 5);
  weights = std::make_unique<RowWeights>(facts, take_value<std::vector<u32>>(args, 6),
                                         take_value<std::vector<u32>>(args, 7),
                                         static_cast<std::size_t>(take_value<i64>(args, 3)));
}

BlockValues BoostingBlock::State::list_combinations(const BlockValues& args) const {
  std::vector<u8> bytes;
  for (const std::string& bins : committee::list_combinations(
           *data, *weights, take_value<std::vector<u32>>(args, 0), read_u32(args, 1)))
    bytes.insert(bytes.end(), bins.begin(), bins.end());
  return {std::move(bytes)};
}

void BoostingBlock::State::start(const BlockValues& args) {
  loss = read_loss(args, 0);
  params.vector_leaves = take_value<i64>(args, 4) != 0;
  width = params.vector_leaves && loss->n_scores() > 1 ? loss->n_scores() + 1 : 1;
  const auto& numbers = take_value<std::vector<u32>>(args, 6);
  auto code = take_value<std::vector<u8>>(args, 7).begin();
  std::vector<JointColumns> joints;
  for (std::size_t at = 0; at < numbers.size();) {
    const u32 n_columns = numbers[at], n_codes = numbers[at + 1];
    JointColumns& joint = joints.emplace_back();
    const auto columns = numbers.begin() + static_cast<std::ptrdiff_t>(at + 2);
    joint.columns.assign(columns, columns + n_columns);
    for (u32 k = 0; k < n_codes; ++k, code += n_columns)
      joint.code_bins.emplace_back(code, code + n_columns);
    at += 2 + n_columns;
  }
  auto layout = std::make_shared<const RecordLayout>(*data->bins, std::move(joints), *weights,
                                                     take_value<i64>(args, 5) != 0);
  rows = std::make_unique<LocalRows>(input, *weights, *loss, params, std::move(layout), n_threads);
  const i64 n_together = take_value<i64>(args, 8);
  if (n_together > 1) rows->add_leaves_apart(static_cast<std::size_t>(n_together - 1));
}

// --- growing ----------------------------------------------------------------------------------

// Over the levels of all wide columns, one after the other.
std::vector<i64> BoostingBlock::State::sum_levels(u32 leaf) const {
  std::vector<i64> all, own;
  for (u32 f = 0; f < data->n_cols; ++f) {
    if (!(*data->bins)[f].wide) continue;
    leaves().sum_levels(leaf, f, own);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

// All columns where the list is empty.
void BoostingBlock::State::choose_columns(const BlockValues& args) {
  std::vector<u32> columns = take_value<std::vector<u32>>(args, 0);
  if (columns.empty()) {
    columns.resize(data->n_cols);
    std::iota(columns.begin(), columns.end(), 0u);
  }
  leaves().choose_columns({columns, take_value<double>(args, 1), take_value<i64>(args, 2) != 0});
}

BlockValues BoostingBlock::State::open_root(const BlockValues& args) {
  std::vector<i64> histogram(std::max<std::size_t>(1, n_entries()));
  const RootSums sums = leaves().open_root(
      {read_u32(args, 0), width > 1 ? width - 1 : 1, static_cast<u64>(take_value<i64>(args, 1))},
      histogram.data());
  for (const i64* part : leaves().partial_histograms())
    for (std::size_t i = 0; i < n_entries(); ++i) histogram[i] += part[i];
  return {
      std::vector<i64>{static_cast<i64>(sums.n_rows), static_cast<i64>(sums.weight), sums.total},
      sum_levels(0), std::move(histogram)};
}

BlockValues BoostingBlock::State::reopen_root() {
  const RootSums sums = leaves().reopen_root();
  return {std::vector<i64>{static_cast<i64>(sums.n_rows), static_cast<i64>(sums.weight), 0},
          sum_levels(0)};
}

BlockValues BoostingBlock::State::split(const BlockValues& args) {
  const SplitMessage message = read_splits(args);
  std::size_t n_built = 0;
  for (const LeafSplit& how : message.splits) n_built += how.built != Side::none;
  std::vector<i64> sums, histograms(n_built * n_entries(), 0), levels;
  std::vector<StepSplit> splits;
  i64* next = histograms.data();
  for (const LeafSplit& how : message.splits) {
    splits.push_back({how, next, {}, {}});
    if (how.built != Side::none) next += n_entries();
  }
  leaves().split_leaves(splits);
  for (const StepSplit& split : splits) {
    sums.push_back(static_cast<i64>(split.sums.n_left));
    sums.push_back(static_cast<i64>(split.sums.left_weight));
  }
  std::vector<std::vector<i64>> own_levels(splits.size());
  parallel_for(splits.size(), n_threads, [&](std::size_t s) {
    const LeafSplit& how = splits[s].how;
    if (how.built == Side::none) return;
    for (const i64* part : splits[s].parts)
      for (std::size_t i = 0; i < n_entries(); ++i) splits[s].histogram[i] += part[i];
    own_levels[s] = sum_levels(how.built == Side::left ? how.left : how.right);
  });
  for (const std::vector<i64>& own : own_levels)
    levels.insert(levels.end(), own.begin(), own.end());
  return {std::move(sums), std::move(levels), std::move(histograms)};
}

BlockValues BoostingBlock::State::count_bins(const BlockValues& args) {
  std::vector<u32> counts;
  std::vector<u64> summed;
  leaves().count_bins(read_u32(args, 0), read_u32(args, 1), counts, summed);
  if (rows->weights().weighted && summed.empty()) summed.assign(counts.size(), 0);
  return {std::vector<i64>(counts.begin(), counts.end()),
          std::vector<i64>(summed.begin(), summed.end())};
}

// --- values of leaves -------------------------------------------------------------------------

BlockValues BoostingBlock::State::sum_leaves(const BlockValues& args) {
  std::vector<i64> sums;
  for (const FixedSums& own : leaves().sum_leaves(take_value<std::vector<u32>>(args, 0),
                                                  read_u32(args, 1), read_u32(args, 2) != 0))
    sums.insert(sums.end(), {own.gradient, own.hessian, own.weight});
  return {std::move(sums)};
}

void BoostingBlock::State::list_residuals(u32 leaf, u32 score, std::vector<double>& residuals,
                                          std::vector<u32>& own_weights) const {
  const ScoreView view = rows->view();
  const std::size_t offset = score * view.stride;
  const std::vector<u32>& values = rows->drawn_weights().values;
  residuals.clear();
  own_weights.clear();
  for (const RowItem& item : leaves().rows_of(leaf)) {
    residuals.push_back(view.y[offset + item.row] - view.scores[offset + item.row]);
    if (!values.empty()) own_weights.push_back(values[item.row]);
  }
}

BlockValues BoostingBlock::State::count_residuals(const BlockValues& args) const {
  const auto& numbers = take_value<std::vector<u32>>(args, 0);
  const DigitStep step = read_step(args, 2);
  std::vector<i64> counts(step.n_counts(), 0);
  std::vector<double> residuals;
  std::vector<u32> own_weights;
  for (u32 l = 0; l < numbers.size(); ++l) {
    list_residuals(numbers[l], read_u32(args, 1), residuals, own_weights);
    count_digits(step, l, residuals, own_weights, counts.data());
  }
  return {std::move(counts)};
}

// Of Huber's leaves: the distances from their middles, held within delta.
BlockValues BoostingBlock::State::sum_distances(const BlockValues& args) const {
  const auto& numbers = take_value<std::vector<u32>>(args, 0);
  const auto& middles = take_value<std::vector<double>>(args, 2);
  const double delta = take_value<double>(args, 3);
  std::vector<i64> limbs;
  std::vector<double> residuals;
  std::vector<u32> own_weights;
  for (std::size_t l = 0; l < numbers.size(); ++l) {
    list_residuals(numbers[l], read_u32(args, 1), residuals, own_weights);
    for (double& residual : residuals) residual = std::clamp(residual - middles[l], -delta, delta);
    ExactMean mean;
    mean.add(residuals, std::vector<double>(own_weights.begin(), own_weights.end()));
    write_mean(mean, limbs);
  }
  return {std::move(limbs)};
}

// Of all rows that weigh something from their scores, by score.
BlockValues BoostingBlock::State::count_distances(const BlockValues& args) const {
  const DigitStep step = read_step(args, 0);
  const ScoreView view = rows->view();
  std::vector<i64> counts(step.n_counts(), 0);
  std::vector<double> distances(view.stride);
  for (u32 k = 0; k < loss->n_scores(); ++k) {
    for (std::size_t i = 0; i < view.stride; ++i)
      distances[i] = std::abs(view.y[k * view.stride + i] - view.scores[k * view.stride + i]);
    count_digits(step, k, distances, weights->values, counts.data());
  }
  return {std::move(counts)};
}

// --- residuals that are followed from tree to tree
// ------------------------------------------------

BlockValues BoostingBlock::State::sum_words() {
  std::vector<i64> histogram(std::max<std::size_t>(1, n_entries()));
  const i64 total = leaves().sum_words(histogram.data());
  for (const i64* part : leaves().partial_histograms())
    for (std::size_t i = 0; i < n_entries(); ++i) histogram[i] += part[i];
  return {std::vector<i64>{total}, std::move(histogram)};
}

// What `settle` did when the tree was grown: a leaf's value is a multiple of the words' unit.
void BoostingBlock::State::settle_tree(const BlockValues& args) {
  const StoredTree stored = read_tree(args, 0);
  rows->add_tree(stored, 1.0);
  std::vector<std::vector<RowItem>> by_node(stored.tree.size());
  for (u32 row = 0; row < data->n_rows; ++row)
    by_node[find_stored_leaf(stored, *data, row)].push_back({row});
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    const auto steps = static_cast<i64>(stored.tree.values[node] * residual_words.scale);
    leaves().change_words(by_node[node], static_cast<i64>(static_cast<u64>(steps)
                                                          << residual_words.halves.hessian_bits));
  }
}

// --- samples, losses, gradients ---------------------------------------------------------------

void BoostingBlock::State::choose_rows(const BlockValues& args) {
  std::vector<u32> sample;
  held_out.clear();
  read_places(take_value<std::vector<u8>>(args, 0), {0, data->n_rows}, sample, held_out);
  rows->choose_rows(sample, held_out);
}

BlockValues BoostingBlock::State::count_sizes(const BlockValues& args) const {
  const DigitStep step = read_step(args, 0);
  std::vector<i64> counts(step.n_counts(), 0);
  std::vector<u32> present;
  for (const u32 value : weights->values) present.push_back(value > 0 ? 1 : 0);
  count_digits(step, 0, sizes, present, counts.data());
  return {std::move(counts)};
}

// How many rows have larger gradients, and how many such gradients.
BlockValues BoostingBlock::State::compare_sizes(const BlockValues& args) const {
  const double border = take_value<double>(args, 0);
  i64 n_larger = 0, n_equal = 0;
  for (std::size_t row = 0; row < sizes.size(); ++row) {
    if ((*weights)[row] == 0) continue;
    n_larger += sizes[row] > border ? 1 : 0;
    n_equal += sizes[row] == border ? 1 : 0;
  }
  return {std::vector<i64>{n_larger, n_equal}};
}

BlockValues BoostingBlock::State::draw_by_gradient(const BlockValues& args) {
  BoostingParams how;
  how.goss_top = take_value<double>(args, 0);
  how.goss_other = take_value<double>(args, 1);
  how.seed = static_cast<u64>(take_value<i64>(args, 2));
  const GradientBorder border{take_value<double>(args, 4),
                              static_cast<std::size_t>(take_value<i64>(args, 5))};
  GradientSample drawn = sample_at_border(
      sizes, *weights, border, how, static_cast<u64>(take_value<i64>(args, 3)), weights->first_row);
  const u64 total = weights->multiplied(drawn.factors).total;
  std::vector<u8> places(data->n_rows, 0);
  for (const u32 row : drawn.sample) places[row] = 1;
  for (const u32 row : drawn.held_out) places[row] = 2;
  factors = std::move(drawn.factors);
  held_out = std::move(drawn.held_out);
  rows->choose_rows(drawn.sample, held_out);
  return {std::vector<i64>{static_cast<i64>(total)}, write_places(places)};
}

BlockValues BoostingBlock::State::sum_losses(const BlockValues& args) const {
  ExactMean mean;
  const bool all = take_value<i64>(args, 0) == 0;
  if (all || !held_out.empty()) mean = rows->sum_losses(all ? std::span<const u32>() : held_out);
  std::vector<i64> limbs;
  write_mean(mean, limbs);
  return {std::move(limbs)};
}

std::vector<GradientPowers> BoostingBlock::State::read_powers(const BlockValues& args) const {
  const auto& numbers = take_value<std::vector<i64>>(args, 0);
  std::vector<GradientPowers> powers;
  for (std::size_t k = 0; k + 1 < numbers.size(); k += 2)
    powers.push_back({static_cast<int>(numbers[k]), static_cast<int>(numbers[k + 1])});
  return powers;
}

BoostingBlock::BoostingBlock(std::shared_ptr<const BinnedMatrix> data, int n_jobs)
    : state_(std::make_unique<State>(std::move(data), n_jobs)) {}

BoostingBlock::~BoostingBlock() = default;

const BinnedMatrix& BoostingBlock::data() const {
  return *state_->data;
}

int BoostingBlock::n_threads() const {
  return state_->n_threads;
}

}  // namespace committee
