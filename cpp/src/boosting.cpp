#include "committee/boosting.hpp"

#include <algorithm>
#include <numeric>

#include "boosting_leaves.hpp"
#include "committee/bootstrap.hpp"

namespace committee {

namespace {

// Updates of cells that are worth a thread of its own for a tree where nobody says how many there
// are to be, and those that more than two threads need: below, they wait for one another longer
// than they work, however many the user grants.
constexpr double kWorkPerThread = 400'000.0, kLeastWork = 48'000.0;

int count_threads(const BoostingInput& input, const BoostingParams& params) {
  const double work =
      static_cast<double>(input.data->n_rows) * static_cast<double>(input.data->n_cols);
  const int granted = choose_threads(params.n_jobs, work, kWorkPerThread);
  return std::min(granted, std::max(2, static_cast<int>(std::min(work / kLeastWork, 1e6))));
}

}  // namespace

struct Boosting::State {
  State(BoostingInput given, std::unique_ptr<Loss> function, const BoostingParams& told)
      : input(std::move(given)),
        loss(std::move(function)),
        params(told),
        n_threads(count_threads(input, told)),
        weights(input.weights, input.data->n_rows),
        drawn(weights),
        records(*input.data, weights, {told.joint_columns, told.goss_other > 0.0}, n_threads),
        gradients(input.data->n_rows, loss->n_scores()),
        grower(*input.data, records, drawn, params, told.vector_leaves ? loss->n_scores() : 1,
               n_threads),
        scores(input.data->n_rows * loss->n_scores(), 0.0) {}

  ScoreView view() const { return {input.target.data(), scores.data(), input.data->n_rows}; }
  double measure(std::span<const u32> rows) const;
  void draw_by_gradient();

  BoostingInput input;
  std::unique_ptr<Loss> loss;
  BoostingParams params;
  int n_threads;
  RowWeights weights;
  RowWeights drawn;  // as the trees of this round see them
  Records records;
  Gradients gradients;
  BoostingGrower grower;
  AlignedBuffer<double> scores;  // [score][row]
  std::vector<StoredTree> trees;
  std::vector<u32> held_out;
  u64 n_grown = 0;  // trees ever grown, for the random keys
};

Boosting::Boosting(BoostingInput input, std::unique_ptr<Loss> loss, const BoostingParams& params)
    : state_(std::make_unique<State>(std::move(input), std::move(loss), params)) {}

Boosting::~Boosting() = default;

std::size_t Boosting::n_rows() const {
  return state_->input.data->n_rows;
}
u32 Boosting::n_scores() const {
  return state_->loss->n_scores();
}
std::size_t Boosting::n_trees() const {
  return state_->trees.size();
}
int Boosting::n_threads() const {
  return state_->n_threads;
}
BoostingParams& Boosting::params() {
  return state_->params;
}
const Loss& Boosting::loss() const {
  return *state_->loss;
}
const double* Boosting::scores() const {
  return state_->scores.data();
}

std::vector<double> Boosting::find_baseline() const {
  return state_->loss->find_baseline(state_->view(), n_rows(), state_->input.weights);
}

void Boosting::set_scores(const double* scores) {
  std::copy_n(scores, state_->scores.size(), state_->scores.data());
}

void Boosting::add_constant(std::span<const double> per_score) {
  for (u32 k = 0; k < n_scores(); ++k)
    for (std::size_t i = 0; i < n_rows(); ++i) state_->scores[k * n_rows() + i] += per_score[k];
}

void Boosting::skip_trees(u64 n_trees) {
  state_->n_grown += n_trees;
}

void Boosting::draw_rows() {
  State& s = *state_;
  const double share = s.params.subsample;
  if (!(share < 1.0)) return;
  RowSampling sampling;
  sampling.replace = false;
  sampling.weights = s.input.weights;
  const auto there = static_cast<double>(
      s.weights.values.empty()
          ? n_rows()
          : n_rows() - static_cast<std::size_t>(
                           std::count(s.weights.values.begin(), s.weights.values.end(), 0u)));
  sampling.n_draws = static_cast<u32>(std::max(1.0, std::floor(share * there)));
  std::vector<u32> counts(n_rows());
  committee::draw_rows(sampling, combine_keys(s.params.seed, static_cast<u64>(Purpose::subsample)),
                       s.n_grown, counts);
  std::vector<u32> sample;
  s.held_out.clear();
  for (u32 row = 0; row < n_rows(); ++row) {
    if (counts[row] > 0) {
      sample.push_back(row);
    } else if (s.weights[row] > 0) {
      s.held_out.push_back(row);
    }
  }
  s.grower.choose_rows(std::move(sample), s.held_out);
}

void Boosting::compute_gradients() {
  State& s = *state_;
  s.loss->adapt(s.view(), n_rows(), s.input.weights);
  s.gradients.compute(*s.loss, s.view(), s.weights, s.n_threads);
  s.draw_by_gradient();
}

void Boosting::take_gradients(const double* gradients, const double* hessians) {
  state_->gradients.take(gradients, hessians, state_->weights, state_->n_threads);
  state_->draw_by_gradient();
}

// Gradient-based one-side sampling [Ke2017]: the rows with the largest gradients, and a sample of
// the others, each of which then counts for those that it stands for.
void Boosting::State::draw_by_gradient() {
  const double top = params.goss_top, other = params.goss_other;
  if (!(other > 0.0) || top + other >= 1.0) return;
  const std::size_t n = input.data->n_rows;
  std::vector<double> sizes(n, 0.0);
  std::vector<u32> present;
  for (u32 row = 0; row < n; ++row) {
    if (weights[row] == 0) continue;
    present.push_back(row);
    for (u32 k = 0; k < loss->n_scores(); ++k)
      sizes[row] += std::abs(static_cast<double>(gradients.slopes(k)[row].gradient)) *
                    gradients.gradient_unit(k) * weights[row];
  }
  const auto n_top = static_cast<std::size_t>(top * static_cast<double>(present.size()));
  std::vector<u32> order = present;
  // Equal sizes in the order of the rows.
  std::nth_element(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_top), order.end(),
      [&](u32 a, u32 b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });
  std::vector<double> factors(n, 0.0);
  for (std::size_t i = 0; i < n_top; ++i) factors[order[i]] = 1.0;
  std::vector<u32> sample;
  held_out.clear();
  for (const u32 row : present) {
    Rng rng(params.seed, n_grown, row, Purpose::subsample);
    if (factors[row] == 0.0 && rng.uniform() < other / (1.0 - top))
      factors[row] = (1.0 - top) / other;
    (factors[row] > 0.0 ? sample : held_out).push_back(row);
  }
  if (sample.empty()) {
    sample.push_back(order[0]);
    held_out.erase(std::find(held_out.begin(), held_out.end(), order[0]));
    factors[order[0]] = 1.0;
  }
  drawn = weights.multiplied(factors);
  records.change_weights(drawn);
  grower.choose_rows(std::move(sample), held_out);
}

void Boosting::grow_trees(InterruptWatch& watch) {
  State& s = *state_;
  const LossShape& shape = s.loss->shape();
  SearchPlan plan;
  plan.params = &s.params;
  plan.largest_step = s.params.max_delta_step > 0.0 ? s.params.max_delta_step : shape.largest_step;
  plan.by_values = s.params.reg_alpha > 0.0 || s.params.max_delta_step > 0.0 ||
                   std::any_of(s.params.monotonic.begin(), s.params.monotonic.end(),
                               [](i32 m) { return m != 0; });
  plan.constant_hessian = s.gradients.constant_hessian();
  const WordPlan& words = s.records.words();
  std::vector<TreeScore> scores;
  for (u32 k = 0; k < n_scores(); ++k) {
    plan.gradient_unit =
        std::ldexp(s.gradients.gradient_unit(k), words.gradient_shift) * s.drawn.unit;
    plan.hessian_unit = std::ldexp(s.gradients.hessian_unit(k), words.hessian_shift) * s.drawn.unit;
    scores.push_back({s.gradients.slopes(k), plan});
  }
  const u32 width = s.params.vector_leaves ? n_scores() : 1;  // of a tree's leaves
  for (u32 first = 0; first < n_scores(); first += width) {
    StoredTree stored;
    stored.slot = first;
    stored.tree = s.grower.grow(std::span(scores).subspan(first, width), s.n_grown++, watch);
    stored.cuts = s.grower.cuts();
    for (u32 k = first; k < first + width; ++k) {
      const LeafUpdate update{*s.loss, s.view(),       s.gradients,
                              s.drawn, scores[k].plan, s.params.learning_rate,
                              k,       s.n_threads};
      settle_leaves(update, s.grower, k - first, stored.tree, s.scores.data() + k * n_rows());
    }
    s.trees.push_back(std::move(stored));
  }
}

double Boosting::State::measure(std::span<const u32> rows) const {
  const std::size_t n = input.data->n_rows, n_blocks = (n + kLossBlock - 1) / kLossBlock;
  std::vector<double> sums(2 * n_blocks, 0.0);
  std::vector<u8> chosen(rows.empty() ? 0 : n, 0);
  for (const u32 row : rows) chosen[row] = 1;
  parallel_for(n_blocks, n_threads, [&](std::size_t block) {
    double values[kLossBlock];
    const std::size_t begin = block * kLossBlock, end = std::min(n, begin + kLossBlock);
    loss->find_values(view(), begin, end, values);
    for (std::size_t i = begin; i < end; ++i) {
      const double weight = input.weights.empty() ? 1.0 : input.weights[i];
      if (!(weight > 0.0) || (!chosen.empty() && chosen[i] == 0)) continue;
      sums[2 * block] += weight * values[i - begin];
      sums[2 * block + 1] += weight;
    }
  });
  double sum = 0.0, total = 0.0;
  for (std::size_t block = 0; block < n_blocks; ++block) {
    sum += sums[2 * block];
    total += sums[2 * block + 1];
  }
  return sum / total;
}

double Boosting::measure_loss() const {
  return state_->measure({});
}

double Boosting::measure_held_out_loss() const {
  if (state_->held_out.empty()) return std::numeric_limits<double>::quiet_NaN();
  return state_->measure(state_->held_out);
}

std::span<const u32> Boosting::held_out_rows() const {
  return state_->held_out;
}

void Boosting::add_trees(const BinnedMatrix& data, std::size_t first, std::size_t last,
                         double factor, double* scores) const {
  for (std::size_t t = first; t < last; ++t) {
    const StoredTree& stored = state_->trees[t];
    add_stored_tree(stored, data, factor, state_->n_threads, scores + stored.slot * data.n_rows);
  }
}

void Boosting::readd_trees(std::size_t first, std::size_t last, double factor) {
  add_trees(*state_->input.data, first, last, factor, state_->scores.data());
}

void Boosting::scale_tree(std::size_t tree, double factor) {
  for (double& value : state_->trees.at(tree).tree.values) value *= factor;
}

void Boosting::truncate(std::size_t n_trees) {
  state_->trees.resize(std::min(n_trees, state_->trees.size()));
}

Trees Boosting::finish(std::size_t first, std::size_t last) const {
  std::vector<GrownTree> grown;
  for (std::size_t t = first; t < std::min(last, n_trees()); ++t)
    grown.push_back(state_->trees[t].tree);
  ArenaOptions options;
  options.n_features = state_->input.data->n_cols;
  return compact_trees(grown, options);
}

std::vector<u32> Boosting::slots() const {
  std::vector<u32> slots;
  for (const StoredTree& stored : state_->trees) slots.push_back(stored.slot);
  return slots;
}

std::vector<double> Boosting::gains() const {
  return {state_->grower.gains().begin(), state_->grower.gains().end()};
}

std::vector<u64> Boosting::split_counts() const {
  return {state_->grower.n_splits().begin(), state_->grower.n_splits().end()};
}

std::size_t Boosting::bytes() const {
  return state_->records.bytes() + state_->grower.bytes() + state_->scores.size() * sizeof(double) +
         n_rows() * n_scores() * sizeof(FixedSlope);
}

}  // namespace committee
