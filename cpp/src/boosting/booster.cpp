#include <algorithm>
#include <mutex>
#include <numeric>

#include "boosting/incremental_residuals.hpp"
#include "committee/boosting.hpp"
#include "committee/exact_sum.hpp"
#include "committee/row_sampling.hpp"

namespace committee {

namespace {

// Updates of histogram entries that are worth a thread of its own for a tree where nobody says how
// many there are to be, and those that more than two threads need each: with less they wait for one
// another longer than they work.
constexpr double kWorkPerThread = 400'000.0, kLeastWork = 48'000.0;

int count_threads(const BinnedMatrix& data, int n_jobs) {
  const double work = static_cast<double>(data.n_rows) * static_cast<double>(data.n_cols);
  return choose_threads(n_jobs, work, kWorkPerThread, kLeastWork);
}

// Bytes that copies of the records may take, so that trees of a round can be grown side by side.
constexpr std::size_t kMostCopied = std::size_t{64} << 20;

}  // namespace

// Where one of several trees is grown at a time, by one thread.
struct GrowWorker {
  GrowWorker(const BinnedMatrix& data, const Records& all, const RowWeights& weights,
             const BoostingParams& params)
      : records(all), grower(data, records, weights, params, 1, 1) {}
  Records records;
  BoostingGrower grower;
};

struct Boosting::State {
  State(BoostingInput given, std::unique_ptr<Loss> function, const BoostingParams& told)
      : input(std::move(given)),
        loss(std::move(function)),
        params(told),
        n_threads(count_threads(*input.data, told.n_jobs)),
        weights(input.weights, input.data->n_rows),
        drawn(weights),
        records(*input.data, weights, {told.joint_columns, told.goss_other > 0.0}, n_threads),
        gradients(input.data->n_rows, loss->n_scores()),
        grower(*input.data, records, drawn, params, told.vector_leaves ? loss->n_scores() : 1,
               n_threads),
        residuals(records, grower, drawn, n_threads),
        scores(input.data->n_rows * loss->n_scores(), 0.0),
        gains(input.data->n_cols, 0.0),
        n_splits(input.data->n_cols, 0) {
    const std::size_t n_benches = std::min(count_apart(), static_cast<std::size_t>(n_threads));
    for (std::size_t k = 0; k < n_benches; ++k)
      workers.push_back(std::make_unique<GrowWorker>(*input.data, records, drawn, params));
  }

  std::size_t count_apart() const;
  bool updates_residuals() const {
    return !gradients_given && held_out.empty() && Residuals::suit(*loss, drawn, params, records);
  }
  Round plan_round() const;
  void grow_tree(Round& round, std::size_t t, BoostingGrower& where, int n_at_work,
                 InterruptWatch& watch);
  void choose_rows(const std::vector<u32>& sample);
  void sum_gains(const GrownTree& tree, std::span<const double> node_gains);
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
  Residuals residuals;
  AlignedBuffer<double> scores;  // [score][row]
  std::vector<std::unique_ptr<GrowWorker>> workers;
  std::vector<StoredTree> trees;
  std::vector<double> gains;  // per feature, of all trees
  std::vector<u64> n_splits;
  std::vector<u32> held_out;
  bool gradients_given = false;  // those of this round are the caller's
  u64 n_grown = 0;               // trees ever grown, for the random keys
};

Boosting::Boosting(BoostingInput input, std::unique_ptr<Loss> loss, const BoostingParams& params)
    : state_(std::make_unique<State>(std::move(input), std::move(loss), params)) {}

Boosting::~Boosting() = default;

std::size_t Boosting::n_rows() const {
  return state_->input.data->n_rows;
}
std::size_t Boosting::n_features() const {
  return state_->input.data->n_cols;
}
bool Boosting::has_target() const {
  return !state_->input.target.empty();
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
  state_->residuals.forget();
}

void Boosting::add_constant(std::span<const double> per_score) {
  for (u32 k = 0; k < n_scores(); ++k)
    for (std::size_t i = 0; i < n_rows(); ++i) state_->scores[k * n_rows() + i] += per_score[k];
  state_->residuals.forget();
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
  s.choose_rows(sample);
}

void Boosting::State::choose_rows(const std::vector<u32>& sample) {
  grower.choose_rows(sample, held_out);
  for (const auto& worker : workers) worker->grower.choose_rows(sample, held_out);
}

void Boosting::compute_gradients() {
  State& s = *state_;
  s.loss->adapt(s.view(), n_rows(), s.weights.values);
  s.gradients_given = false;
  if (s.updates_residuals()) {
    s.residuals.prepare(s.view());
    return;
  }
  s.gradients.compute(*s.loss, s.view(), s.weights, s.n_threads);
  s.draw_by_gradient();
}

void Boosting::take_gradients(const double* gradients, const double* hessians) {
  state_->gradients_given = true;
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
      sizes[row] += std::abs(static_cast<double>(gradients.pairs(k)[row].gradient)) *
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
  for (const auto& worker : workers) worker->records.change_weights(drawn);
  choose_rows(sample);
}

// Trees of a round that are grown side by side, a thread each: they never wait for one another. Of
// those that are left over when every thread has had as many as the others, a few are grown one
// after the other by all threads.
std::size_t Boosting::State::count_apart() const {
  const std::size_t n_trees = params.vector_leaves ? 1 : loss->n_scores();
  const auto n = static_cast<std::size_t>(n_threads);
  // Other rules look at the scores while leaves are settled.
  if (n < 2 || n_trees < 2 || loss->shape().rule != LeafRule::newton ||
      std::min(n_trees, n) * records.bytes() > kMostCopied)
    return 0;
  const std::size_t n_left_over = n_trees % n;
  return n_left_over * n_left_over < n ? n_trees - n_left_over : n_trees;
}

void Boosting::State::sum_gains(const GrownTree& tree, std::span<const double> node_gains) {
  for (u32 node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) continue;
    gains[tree.splits[node].feature] += node_gains[node];
    ++n_splits[tree.splits[node].feature];
  }
}

// What the trees of a round are grown for, and what becomes of them.
struct Boosting::Round {
  std::vector<TreeScore> scores;
  u32 width = 1;  // scores of a tree
  std::vector<StoredTree> trees;
  std::vector<std::vector<double>> gains;  // per tree and node
};

Boosting::Round Boosting::State::plan_round() const {
  Round round;
  const LossShape& shape = loss->shape();
  SearchPlan plan;
  plan.params = &params;
  plan.largest_step = shape.largest_step;
  plan.by_values =
      params.reg_alpha > 0.0 ||
      std::any_of(params.monotonic.begin(), params.monotonic.end(), [](i32 m) { return m != 0; });
  plan.constant_hessian = gradients.constant_hessian();
  plan.weight_unit = drawn.unit;
  const WordPlan& words = records.words();
  const u32 n_scores = loss->n_scores();
  for (u32 k = 0; k < n_scores; ++k) {
    plan.gradient_unit = std::ldexp(gradients.gradient_unit(k), words.gradient_shift) * drawn.unit;
    plan.hessian_unit = std::ldexp(gradients.hessian_unit(k), words.hessian_shift) * drawn.unit;
    round.scores.push_back({gradients.pairs(k), plan});
  }
  if (updates_residuals()) residuals.plan(round.scores[0].plan);
  round.width = params.vector_leaves ? n_scores : 1;
  round.trees.resize(n_scores / round.width);
  round.gains.resize(round.trees.size());
  return round;
}

// Grows a tree of the round, gives its leaves their values and adds these to the scores.
void Boosting::State::grow_tree(Round& round, std::size_t t, BoostingGrower& where, int n_at_work,
                                InterruptWatch& watch) {
  StoredTree& stored = round.trees[t];
  const u32 first = stored.slot = static_cast<u32>(t) * round.width;
  stored.tree = where.grow(std::span(round.scores).subspan(first, round.width), n_grown + t, watch);
  stored.split_bins = where.split_bins();
  round.gains[t] = where.gains();
  if (round.scores[0].plan.incremental) {
    residuals.settle(round.scores[0].plan, params.learning_rate, stored.tree, scores.data());
    return;
  }
  for (u32 k = first; k < first + round.width; ++k) {
    const LeafUpdate update{
        *loss, view(), gradients, drawn, round.scores[k].plan, params.learning_rate, k, n_at_work};
    set_leaf_values(update, where, k - first, stored.tree, scores.data() + k * input.data->n_rows);
  }
}

void Boosting::grow_trees(InterruptWatch& watch) {
  State& s = *state_;
  Round round = s.plan_round();
  if (!round.scores[0].plan.incremental) s.residuals.forget();  // the words will be others
  const std::size_t n_trees = round.trees.size(), n_apart = s.count_apart();
  std::vector<GrowWorker*> free;
  for (const auto& worker : s.workers) free.push_back(worker.get());
  std::mutex free_mutex;
  parallel_for(n_apart, s.n_threads, [&](std::size_t t) {
    std::unique_lock lock(free_mutex);
    GrowWorker* const worker = free.back();
    free.pop_back();
    lock.unlock();
    s.grow_tree(round, t, worker->grower, 1, watch);
    lock.lock();
    free.push_back(worker);
  });
  for (std::size_t t = n_apart; t < n_trees; ++t)
    s.grow_tree(round, t, s.grower, s.n_threads, watch);
  s.n_grown += n_trees;
  for (std::size_t t = 0; t < n_trees; ++t) {
    s.sum_gains(round.trees[t].tree, round.gains[t]);
    s.trees.push_back(std::move(round.trees[t]));
  }
}

double Boosting::State::measure(std::span<const u32> rows) const {
  constexpr std::size_t kTaskRows = 32 * kLossBlock;
  const std::size_t n = input.data->n_rows;
  std::vector<u8> chosen(rows.empty() ? 0 : n, 0);
  for (const u32 row : rows) chosen[row] = 1;
  ExactMean mean;  // of all tasks, in any order
  std::mutex mutex;
  parallel_for((n + kTaskRows - 1) / kTaskRows, n_threads, [&](std::size_t task) {
    double values[kLossBlock], own_weights[kLossBlock];
    ExactMean own;
    const std::size_t last = std::min(n, (task + 1) * kTaskRows);
    for (std::size_t begin = task * kTaskRows; begin < last; begin += kLossBlock) {
      const std::size_t size = std::min(last - begin, kLossBlock);
      loss->find_values(view(), begin, begin + size, values);
      for (std::size_t i = 0; i < size; ++i) {
        const double weight = input.weights.empty() ? 1.0 : input.weights[begin + i];
        own_weights[i] = chosen.empty() || chosen[begin + i] != 0 ? weight : 0.0;
      }
      const bool equal = input.weights.empty() && chosen.empty();
      own.add({values, size}, equal ? std::span<const double>() : std::span(own_weights, size));
    }
    const std::lock_guard lock(mutex);
    mean.add(own);
  });
  return mean.find();
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
  state_->residuals.forget();
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
  return state_->gains;
}

std::vector<u64> Boosting::split_counts() const {
  return state_->n_splits;
}

std::size_t Boosting::bytes() const {
  std::size_t bytes = state_->records.bytes() + state_->grower.bytes();
  for (const auto& worker : state_->workers)
    bytes += worker->records.bytes() + worker->grower.bytes();
  return bytes + state_->scores.size() * sizeof(double) +
         n_rows() * n_scores() * sizeof(FixedGradientPair);
}

}  // namespace committee
