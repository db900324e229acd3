#include <algorithm>
#include <mutex>
#include <numeric>

#include "boosting/gradient_sampling.hpp"
#include "boosting/incremental_residuals.hpp"
#include "boosting/local_rows.hpp"
#include "boosting/remote_rows.hpp"
#include "committee/function_view.hpp"

namespace committee {

namespace {

// Updates of histogram entries that are worth a thread of its own for a tree where nobody says how
// many there are to be, and those that each of several threads needs: with less they wait for one
// another longer than they work. Trees for residuals take less time, and have more of it to wait.
constexpr double kWorkPerThread = 400'000.0, kLeastWork = 32'000.0, kLeastOfResiduals = 70'000.0;

int count_threads(std::size_t n_rows, std::size_t n_cols, const Loss& loss,
                  const BoostingParams& params) {
  const double work = static_cast<double>(n_rows) * static_cast<double>(n_cols);
  const u32 n_trees = params.vector_leaves ? 1 : loss.n_scores();
  const double least = loss.shape().residual && n_trees == 1 ? kLeastOfResiduals : kLeastWork;
  return choose_threads(params.n_jobs, work, kWorkPerThread, least / n_trees);
}

// Bytes that copies of the records may take, so that trees of a round can be grown side by side.
constexpr std::size_t kMostCopied = std::size_t{64} << 20;

using MakeBoostingRows = FunctionView<std::unique_ptr<BoostingRows>(
    const BoostingInput&, const RowWeights&, Loss&, const BoostingParams&, int n_threads)>;

}  // namespace

struct Boosting::State {
  State(BoostingInput given, std::unique_ptr<Loss> function, const BoostingParams& parameters,
        RowWeights row_weights, int n_at_work, MakeBoostingRows make_rows)
      : input(std::move(given)),
        loss(std::move(function)),
        params(parameters),
        n_threads(n_at_work),
        weights(std::move(row_weights)),
        rows(make_rows(input, weights, *loss, params, n_threads)),
        grower(table(), rows->leaves(), params, parameters.vector_leaves ? loss->n_scores() : 1,
               n_threads),
        residuals(grower, rows->weights()),
        gains(rows->bins().size(), 0.0),
        n_splits(rows->bins().size(), 0) {
    const std::size_t n_apart = std::min(count_apart(), static_cast<std::size_t>(n_threads));
    const std::vector<LeafRows*> apart = rows->make_leaves_apart(n_apart, kMostCopied);
    for (std::size_t k = 1; k < apart.size(); ++k)
      growers_apart.push_back(std::make_unique<BoostingGrower>(table(), *apart[k], params, 1, 1));
    for (LeafRows* leaves : rows->leaves_together())
      growers_together.push_back(
          std::make_unique<BoostingGrower>(table(), *leaves, params, 1, n_threads));
  }

  GrowerTable table() const { return {&rows->bins(), &rows->layout(), &rows->weights()}; }
  std::size_t count_apart() const;
  bool updates_residuals() const {
    return !gradients_given && !draws_by_gradient() && held_out.empty() &&
           Residuals::suit(*loss, rows->weights(), params, rows->layout());
  }
  bool draws_by_gradient() const {
    return params.goss_other > 0.0 && params.goss_top + params.goss_other < 1.0;
  }
  // Whether rounds may run elsewhere: what is left between them is the trees.
  bool may_grow_elsewhere() const {
    return !updates_residuals() && !draws_by_gradient() && rows->lie_together();
  }
  void find_gradients();
  Round plan_round() const;
  void settle_tree(Round& round, std::size_t t, const BoostingGrower& where);
  void sum_gains(const GrownTree& tree, std::span<const double> node_gains);
  void take_tree(TreeOfRound grown);

  BoostingInput input;
  std::unique_ptr<Loss> loss;
  BoostingParams params;
  int n_threads;
  RowWeights weights;
  std::unique_ptr<BoostingRows> rows;
  BoostingGrower grower;
  Residuals residuals;
  // Of one thread each; beside them `grower` has one.
  std::vector<std::unique_ptr<BoostingGrower>> growers_apart;
  std::vector<std::unique_ptr<BoostingGrower>> growers_together;
  std::vector<StoredTree> trees;
  std::vector<double> gains;  // per feature, of all trees
  std::vector<u64> n_splits;
  std::vector<u32> held_out;
  std::vector<u32> groups;  // of the rows that are drawn together
  RowDrawsAhead draws;
  bool gradients_given = false;                   // those of this round are the caller's
  bool gradients_due = false;                     // they are found where the trees grow
  std::vector<TreeOfRound>* grown_for = nullptr;  // trees for a Boosting elsewhere
  u64 n_grown = 0;                                // trees ever grown, for the random keys
};

Boosting::Boosting(BoostingInput input, std::unique_ptr<Loss> loss, const BoostingParams& params) {
  const std::size_t n_rows = input.data->n_rows;
  const int n_threads = count_threads(n_rows, input.data->n_cols, *loss, params);
  RowWeights own(input.weights, n_rows);
  state_ = std::make_unique<State>(
      std::move(input), std::move(loss), params, std::move(own), n_threads,
      [](const BoostingInput& given, const RowWeights& weights, Loss& function,
         const BoostingParams& parameters, int n_at_work) {
        return std::make_unique<LocalRows>(given, weights, function, parameters, n_at_work);
      });
}

Boosting::Boosting(BoostingInput input, std::unique_ptr<Loss> loss, const BoostingParams& params,
                   const BlockedRows& blocks) {
  const std::size_t n_rows = blocks.offsets.back();
  const int n_threads = count_threads(n_rows, blocks.bins->size(), *loss, params);
  RowWeights own =
      blocks.started ? RowWeights(*blocks.started, {}, {}, 0) : RowWeights(input.weights, n_rows);
  state_ = std::make_unique<State>(
      std::move(input), std::move(loss), params, std::move(own), n_threads,
      [&](const BoostingInput& given, const RowWeights& weights, Loss& function,
          const BoostingParams& parameters, int) {
        return std::make_unique<RemoteRows>(blocks, given, weights, function, parameters);
      });
}

Boosting::~Boosting() = default;

std::size_t Boosting::n_rows() const {
  return state_->rows->n_rows();
}
std::size_t Boosting::n_features() const {
  return state_->rows->bins().size();
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
  return state_->rows->scores();
}

std::vector<double> Boosting::find_baseline() const {
  const ScoreView view{state_->input.target.data(), nullptr, n_rows()};
  return state_->loss->find_baseline(view, n_rows(), state_->input.weights, n_threads());
}

void Boosting::set_scores(const double* scores) {
  state_->rows->set_scores(scores);
  state_->residuals.forget();
}

void Boosting::add_constant(std::span<const double> per_score) {
  state_->rows->add_constant(per_score);
  state_->residuals.forget();
}

void Boosting::skip_trees(u64 n_trees) {
  state_->n_grown += n_trees;
}

void Boosting::draw_groups(std::vector<u32> groups) {
  state_->groups = std::move(groups);
  state_->draws = {};
}

void Boosting::draw_rows() {
  State& s = *state_;
  if (!(s.params.subsample < 1.0)) return;
  const u64 n_trees = s.params.vector_leaves ? 1 : s.loss->n_scores();
  const RowPool pool{s.input.weights, s.weights, n_rows(), s.groups};
  RowSample drawn = s.draws.take(pool, s.params, s.n_grown, n_trees, s.n_threads);
  s.held_out = std::move(drawn.held_out);
  s.rows->choose_rows(std::move(drawn.sample), s.held_out);
}

void Boosting::compute_gradients() {
  state_->gradients_given = false;
  state_->gradients_due = state_->may_grow_elsewhere();
  if (!state_->gradients_due) state_->find_gradients();
}

void Boosting::State::find_gradients() {
  rows->adapt_loss();
  if (updates_residuals()) {
    residuals.prepare();
    return;
  }
  rows->compute_gradients();
  if (draws_by_gradient()) held_out = rows->draw_by_gradient(n_grown);
}

void Boosting::take_gradients(const double* gradients, const double* hessians) {
  State& s = *state_;
  s.gradients_given = true;
  s.gradients_due = false;
  s.rows->take_gradients(gradients, hessians);
  if (s.draws_by_gradient()) s.held_out = s.rows->draw_by_gradient(s.n_grown);
}

// Trees of a round that are grown side by side, a thread each: they never wait for one another. Of
// those that are left over when every thread has had as many as the others, a few are grown one
// after the other by all threads.
std::size_t Boosting::State::count_apart() const {
  const std::size_t n_trees = params.vector_leaves ? 1 : loss->n_scores();
  const auto n = static_cast<std::size_t>(n_threads);
  // Other rules look at the scores while leaves are settled.
  if (n < 2 || n_trees < 2 || loss->shape().rule != LeafRule::newton) return 0;
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
  std::vector<SearchPlan> scores;
  u32 width = 1;  // scores of a tree
  std::vector<StoredTree> trees;
  std::vector<std::vector<double>> gains;  // per tree and node
};

Boosting::Round Boosting::State::plan_round() const {
  Round round;
  const LossShape& shape = loss->shape();
  const WeightFacts& drawn = rows->weights();
  const GradientFacts& gradients = rows->gradients();
  SearchPlan plan;
  plan.params = &params;
  plan.largest_step = shape.largest_step;
  plan.by_values =
      params.reg_alpha > 0.0 ||
      std::any_of(params.monotonic.begin(), params.monotonic.end(), [](i32 m) { return m != 0; });
  plan.constant_hessian = gradients.constant_hessian;
  // By the number of the round, so that a fit that is continued goes on with the other kind.
  const u64 n_earlier = n_grown / (params.vector_leaves ? 1 : loss->n_scores());
  plan.symmetric = params.mixed ? n_earlier % 2 == 1 : params.symmetric;
  plan.weight_unit = drawn.unit;
  // Weights that were drawn by gradient have words of their own.
  const WordPlan words = draws_by_gradient() ? plan_words(drawn, false) : rows->layout().words();
  const u32 n_scores = loss->n_scores();
  for (u32 k = 0; k < n_scores; ++k) {
    plan.gradient_unit = std::ldexp(gradients.gradient_unit(k), words.gradient_shift) * drawn.unit;
    plan.hessian_unit = std::ldexp(gradients.hessian_unit(k), words.hessian_shift) * drawn.unit;
    round.scores.push_back(plan);
  }
  if (updates_residuals()) residuals.plan(round.scores[0]);
  round.width = params.vector_leaves ? n_scores : 1;
  round.trees.resize(n_scores / round.width);
  round.gains.resize(round.trees.size());
  return round;
}

// Gives the leaves of a tree their values, where it was grown, and adds these to the scores.
void Boosting::State::settle_tree(Round& round, std::size_t t, const BoostingGrower& where) {
  StoredTree& stored = round.trees[t];
  const u32 first = stored.slot;
  stored.split_bins = where.split_bins();
  round.gains[t] = where.gains();
  if (round.scores[0].incremental) {
    residuals.settle(round.scores[0], params.learning_rate, stored.tree);
    return;
  }
  for (u32 k = first; k < first + round.width; ++k)
    set_leaf_values(
        {*loss, rows->gradients(), rows->weights(), round.scores[k], params.learning_rate, k},
        where, k - first, stored.tree);
}

void Boosting::grow_trees(InterruptWatch& watch) {
  grow_rounds(1, watch);
}

void Boosting::run_rounds(std::size_t n_rounds, InterruptWatch& watch) {
  for (std::size_t done = 0; done < n_rounds;) {
    draw_rows();
    compute_gradients();
    // Rows are drawn here, round by round.
    done += grow_rounds(params().subsample < 1.0 ? 1 : n_rounds - done, watch);
  }
}

BlockValues Boosting::grow_for(const BlockValues& given, InterruptWatch& watch) {
  State& s = *state_;
  const RoundsRequest request = read_request(given);
  const int n_jobs = s.params.n_jobs;
  s.params = request.params;
  s.params.n_jobs = n_jobs;
  s.n_grown = request.n_grown;
  s.rows->expect_held_out(request.held_out);
  std::vector<TreeOfRound> grown;
  s.grown_for = &grown;
  for (std::size_t round = 0; round < request.n_rounds; ++round) {
    s.find_gradients();
    grow_rounds(1, watch);
  }
  s.grown_for = nullptr;
  s.rows->settle();
  std::vector<double> deltas;
  for (u32 k = 0; k < n_scores() && s.loss->adapts(); ++k) deltas.push_back(s.loss->delta(k));
  return write_trees(grown, deltas);
}

// Rounds of which the first has its rows and its gradients, or finds these where it grows; returns
// how many were grown.
std::size_t Boosting::grow_rounds(std::size_t most_rounds, InterruptWatch& watch) {
  State& s = *state_;
  if (std::exchange(s.gradients_due, false)) {
    std::vector<TreeOfRound> grown = s.rows->grow_elsewhere(most_rounds, s.n_grown);
    const std::size_t n_grown = grown.size();
    for (TreeOfRound& tree : grown) s.take_tree(std::move(tree));
    if (n_grown > 0) {
      s.residuals.forget();
      s.n_grown += n_grown;
      return n_grown / (s.params.vector_leaves ? 1 : n_scores());
    }
    s.find_gradients();
  }
  Round round = s.plan_round();
  if (!round.scores[0].incremental) s.residuals.forget();  // the words will be others
  const std::size_t n_trees = round.trees.size();
  const std::size_t n_apart = s.growers_apart.empty() ? 0 : s.count_apart();
  std::vector<BoostingGrower*> free{&s.grower};
  for (const auto& grower : s.growers_apart) free.push_back(grower.get());
  std::mutex free_mutex;
  const auto grow_tree = [&](std::size_t t, BoostingGrower& grower) {
    const u32 first = round.trees[t].slot = static_cast<u32>(t) * round.width;
    const auto scores = std::span(round.scores).subspan(first, round.width);
    round.trees[t].tree = grower.grow(scores, first, s.n_grown + t, watch);
    s.settle_tree(round, t, grower);
  };
  if (n_apart > 0) s.grower.work_with(1);
  parallel_for(n_apart, s.n_threads, [&](std::size_t t) {
    std::unique_lock lock(free_mutex);
    BoostingGrower* const grower = free.back();
    free.pop_back();
    lock.unlock();
    grow_tree(t, *grower);
    lock.lock();
    free.push_back(grower);
  });
  s.grower.work_with(s.n_threads);
  const std::size_t n_together = s.growers_together.size();
  for (std::size_t first = 0; first < n_trees && n_together > 0; first += n_together)
    s.rows->grow_together(std::min(n_together, n_trees - first),
                          [&](std::size_t k) { grow_tree(first + k, *s.growers_together[k]); });
  for (std::size_t t = n_apart; t < n_trees && n_together == 0; ++t) grow_tree(t, s.grower);
  s.n_grown += n_trees;
  s.rows->finish_round(round.trees);
  for (std::size_t t = 0; t < n_trees; ++t)
    s.take_tree({std::move(round.trees[t]), std::move(round.gains[t])});
  return 1;
}

void Boosting::State::take_tree(TreeOfRound grown) {
  if (grown_for) {
    grown_for->push_back(std::move(grown));
    return;
  }
  sum_gains(grown.stored.tree, grown.gains);
  trees.push_back(std::move(grown.stored));
}

double Boosting::measure_loss() const {
  return state_->rows->measure_loss({});
}

double Boosting::measure_held_out_loss() const {
  if (state_->held_out.empty()) return std::numeric_limits<double>::quiet_NaN();
  return state_->rows->measure_loss(state_->held_out);
}

std::pair<double, double> Boosting::measure_losses() const {
  if (state_->held_out.empty()) return {measure_loss(), measure_held_out_loss()};
  return state_->rows->measure_losses(state_->held_out);
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
  for (std::size_t t = first; t < last; ++t) state_->rows->add_tree(state_->trees[t], factor);
  state_->residuals.forget();
}

void Boosting::scale_tree(std::size_t tree, double factor) {
  for (double& value : state_->trees.at(tree).tree.values) value *= factor;
}

void Boosting::truncate(std::size_t n_trees) {
  state_->trees.resize(std::min(n_trees, state_->trees.size()));
}

namespace {

// Trees side by side that are lent, not copied: that would be at the peak of a fit.
class LentTrees {
 public:
  explicit LentTrees(std::span<StoredTree> stored) : stored_(stored), grown_(stored.size()) {
    for (std::size_t t = 0; t < grown_.size(); ++t) std::swap(grown_[t], stored_[t].tree);
  }
  LentTrees(const LentTrees&) = delete;
  LentTrees& operator=(const LentTrees&) = delete;
  ~LentTrees() {
    for (std::size_t t = 0; t < grown_.size(); ++t) std::swap(grown_[t], stored_[t].tree);
  }
  std::span<const GrownTree> trees() const { return grown_; }

 private:
  std::span<StoredTree> stored_;
  std::vector<GrownTree> grown_;
};

}  // namespace

Trees Boosting::finish(std::size_t first, std::size_t last) {
  const std::size_t end = std::min(last, n_trees()), begin = std::min(first, end);
  const LentTrees lent(std::span(state_->trees).subspan(begin, end - begin));
  ArenaOptions options;
  options.n_features = static_cast<u32>(n_features());
  return compact_trees(lent.trees(), options);
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
  std::size_t bytes = state_->rows->bytes() + state_->grower.bytes();
  for (const auto& grower : state_->growers_apart) bytes += grower->bytes();
  for (const auto& grower : state_->growers_together) bytes += grower->bytes();
  return bytes;
}

}  // namespace committee
