#include "boosting/remote_rows.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "boosting/block_messages.hpp"
#include "boosting/gradient_sampling.hpp"

namespace committee {

namespace {

// Bytes that trees grown together may take beyond what one of them does: in copies of the records
// of a block, and in histograms here. And the most of these trees.
constexpr std::size_t kMostTogetherBytes = std::size_t{256} << 20, kMostTogether = 64;
// Open leaves of a tree that may have any number of them.
constexpr std::size_t kLeavesWithoutLimit = 256;
// Seconds of a call below which the next one runs twice as many rounds.
constexpr double kShortCall = 0.1;

}  // namespace

RemoteRows::RemoteRows(const BlockedRows& blocks, const BoostingInput& input,
                       const RowWeights& weights, Loss& loss, const BoostingParams& params)
    : facts_{*blocks.bins, blocks.offsets, std::max<std::size_t>(1, blocks.leaves_per_step), false},
      weights_(weights),
      loss_(loss),
      params_(params),
      link_(blocks.caller),
      drawn_(weights) {
  gradients_.powers.resize(loss.n_scores());
  loss_message_ = {std::vector<u8>(blocks.loss.begin(), blocks.loss.end()), blocks.parameter,
                   i64{loss.n_scores()}, blocks.levels};
  if (!blocks.started) send_targets(input);
  std::vector<JointColumns> joints;
  if (params.joint_columns)
    joints = join_columns(facts_.bins, weights, [&](JointColumns& joint, u32 column, u32 most) {
      return try_join(joint, column, most);
    });
  layout_ = std::make_shared<const RecordLayout>(facts_.bins, std::move(joints), weights,
                                                 params.goss_other > 0.0);
  const std::size_t n_together = count_together(blocks);
  if (!blocks.started) start(n_together);
  const u32 width = params.vector_leaves && loss.n_scores() > 1 ? loss.n_scores() + 1 : 1;
  leaves_ = std::make_unique<RemoteLeafRows>(link_, facts_, *layout_, loss, width);
  if (n_together > 1) steps_ = std::make_unique<TreeSteps>(link_, n_together);
  for (std::size_t tree = 0; steps_ && tree < n_together; ++tree)
    leaves_together_.push_back(
        std::make_unique<RemoteLeafRows>(steps_->channel(tree), facts_, *layout_, loss, width));
}

std::vector<double> RemoteRows::cut_columns(const double* values, std::size_t n_columns,
                                            std::size_t block) const {
  const std::size_t begin = facts_.offsets[block], end = facts_.offsets[block + 1];
  std::vector<double> part;
  for (std::size_t k = 0; k < n_columns; ++k)
    part.insert(part.end(), values + k * n_rows() + begin, values + k * n_rows() + end);
  return part;
}

// Targets and weights of each block.
void RemoteRows::send_targets(const BoostingInput& input) {
  const i64 flags = (weights_.integral ? 1 : 0) | (weights_.weighted ? 2 : 0);
  BlockCommand command{"take", {static_cast<i64>(weights_.total), weights_.unit, flags}, {}};
  const auto cut = [&](const std::vector<u32>& values, std::size_t block) {
    if (values.empty()) return values;
    return std::vector<u32>(
        values.begin() + static_cast<std::ptrdiff_t>(facts_.offsets[block]),
        values.begin() + static_cast<std::ptrdiff_t>(facts_.offsets[block + 1]));
  };
  for (std::size_t block = 0; block < facts_.n_blocks(); ++block) {
    command.by_block.push_back(
        {static_cast<i64>(facts_.offsets[block]),
         cut_columns(input.target.data(), input.target.size() / n_rows(), block),
         cut_columns(input.weights.data(), input.weights.empty() ? 0 : 1, block),
         cut(weights_.values, block), cut(weights_.positions(), block)});
  }
  link_.post(std::move(command), true);
}

bool RemoteRows::try_join(JointColumns& joint, u32 column, u32 most_codes) {
  std::vector<u32> columns = joint.columns;
  columns.push_back(column);
  const BlockValues found =
      link_.ask({"list_combinations", {columns, i64{most_codes}}, {}}, BlockReduction::list);
  std::set<std::string> all;
  for (std::size_t block = 0; block < found.size(); ++block) {
    const auto& bytes = take_value<std::vector<u8>>(found, block);
    for (std::size_t at = 0; at < bytes.size(); at += columns.size())
      all.emplace(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + columns.size()));
  }
  if (all.size() > most_codes) return false;
  joint.columns = std::move(columns);
  joint.code_bins.clear();
  for (const std::string& bins : all) joint.code_bins.emplace_back(bins.begin(), bins.end());
  return true;
}

// Trees of a round that are grown together. Blocks copy their records for each but one of them, and
// histograms stay with the open leaves of all.
std::size_t RemoteRows::count_together(const BlockedRows& blocks) const {
  const std::size_t n_trees = params_.vector_leaves ? 1 : loss_.n_scores();
  if (blocks.trees_per_step > 0) return std::min(n_trees, blocks.trees_per_step);
  std::size_t longest = 1;
  for (std::size_t block = 0; block < facts_.n_blocks(); ++block)
    longest = std::max(longest, facts_.offsets[block + 1] - facts_.offsets[block]);
  const std::size_t n_leaves =
      params_.max_leaf_nodes == 0 ? kLeavesWithoutLimit : params_.max_leaf_nodes;
  const std::size_t copied = longest * (layout_->bytes_per_row() + 2 * sizeof(u32));
  const std::size_t held = std::max<std::size_t>(1, n_leaves * layout_->n_entries() * sizeof(i64));
  return std::min(
      {n_trees, 1 + kMostTogetherBytes / copied, 1 + kMostTogetherBytes / held, kMostTogether});
}

void RemoteRows::start(std::size_t n_together) {
  std::vector<u32> joints;
  std::vector<u8> codes;
  for (const JointColumns& joint : layout_->joints()) {
    joints.push_back(static_cast<u32>(joint.columns.size()));
    joints.push_back(static_cast<u32>(joint.code_bins.size()));
    joints.insert(joints.end(), joint.columns.begin(), joint.columns.end());
    for (const std::vector<u8>& bins : joint.code_bins)
      codes.insert(codes.end(), bins.begin(), bins.end());
  }
  BlockCommand command{"start", loss_message_, {}};
  for (BlockValue value :
       BlockValues{i64{params_.vector_leaves}, i64{params_.goss_other > 0.0}, std::move(joints),
                   std::move(codes), static_cast<i64>(n_together)})
    command.args.push_back(std::move(value));
  link_.post(std::move(command), true);
}

std::vector<LeafRows*> RemoteRows::leaves_together() {
  std::vector<LeafRows*> leaves;
  for (const auto& own : leaves_together_) leaves.push_back(own.get());
  return leaves;
}

// --- scores -----------------------------------------------------------------------------------

const double* RemoteRows::scores() {
  const BlockValues parts = link_.ask({"get_scores", {}, {}}, BlockReduction::list);
  scores_.resize(n_rows() * loss_.n_scores());
  for (std::size_t block = 0; block < facts_.n_blocks(); ++block) {
    const auto& part = take_value<std::vector<double>>(parts, block);
    const std::size_t begin = facts_.offsets[block], size = facts_.offsets[block + 1] - begin;
    for (u32 k = 0; k < loss_.n_scores(); ++k)
      std::copy_n(part.data() + k * size, size, scores_.data() + k * n_rows() + begin);
  }
  return scores_.data();
}

void RemoteRows::set_scores(const double* scores) {
  BlockCommand command{"set_scores", {}, {}};
  for (std::size_t block = 0; block < facts_.n_blocks(); ++block)
    command.by_block.push_back({cut_columns(scores, loss_.n_scores(), block)});
  link_.post(std::move(command), true);
}

void RemoteRows::add_constant(std::span<const double> per_score) {
  link_.post({"add_constant", {std::vector<double>(per_score.begin(), per_score.end())}, {}}, true);
}

void RemoteRows::add_tree(const StoredTree& stored, double factor) {
  BlockCommand command{"add_tree", {factor}, {}};
  for (BlockValue& value : write_tree(stored)) command.args.push_back(std::move(value));
  link_.post(std::move(command), true);
}

void RemoteRows::finish_round(std::span<const StoredTree> trees) {
  keep_trees(trees, leaves_->follows_residuals());
}

void RemoteRows::keep_trees(std::span<const StoredTree> trees, bool follows_residuals) {
  std::vector<BlockCommand> commands, state;
  for (const StoredTree& stored : trees) {
    BlockCommand command{"settle_tree", {}, {}};
    if (!follows_residuals) command = {"add_tree", {1.0}, {}};
    for (BlockValue& value : write_tree(stored)) command.args.push_back(std::move(value));
    commands.push_back(std::move(command));
  }
  for (const std::vector<BlockCommand>* latest : {&choice_, &adapted_})
    state.insert(state.end(), latest->begin(), latest->end());
  link_.finish_round(std::move(commands), std::move(state));
}

void RemoteRows::forget_columns() {
  leaves_->forget_columns();
  for (const auto& own : leaves_together_) own->forget_columns();
}

// As many rounds in a call as take a moment: between two of them other hosts may come, and a host
// that is lost takes those of one call with it. Trees do not depend on it.
std::vector<TreeOfRound> RemoteRows::grow_elsewhere(std::size_t most_rounds, u64 n_grown) {
  RoundsRequest request{std::min(most_rounds, rounds_at_once_),
                        n_grown,
                        facts_.held_out,
                        params_,
                        drawn_,
                        loss_message_};
  request.params.follow_residuals = false;
  forget_columns();
  const auto start = std::chrono::steady_clock::now();
  const BlockValues answer = link_.ask_together({"run_rounds", write_request(request), {}});
  if (answer.empty()) return {};
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (taken.count() < kShortCall && request.n_rounds == rounds_at_once_) rounds_at_once_ *= 2;
  if (taken.count() > 4 * kShortCall)
    rounds_at_once_ = std::max<std::size_t>(1, rounds_at_once_ / 2);
  std::vector<TreeOfRound> grown = read_trees(answer);
  if (loss_.adapts()) {
    const auto& deltas = take_value<std::vector<double>>(answer, 0);
    for (u32 k = 0; k < loss_.n_scores(); ++k) loss_.set_delta(k, deltas.at(k));
    adapted_ = {{"set_deltas", {deltas}, {}}};
  }
  std::vector<StoredTree> trees;
  for (const TreeOfRound& tree : grown) trees.push_back(tree.stored);
  keep_trees(trees, false);
  link_.settle_round();
  return grown;
}

double RemoteRows::measure_loss(std::span<const u32> rows) {
  const BlockValues answer =
      link_.ask({"sum_losses", {i64{!rows.empty()}}, {}}, BlockReduction::sum);
  return read_mean(take_value<std::vector<i64>>(answer, 0).data()).find();
}

// --- gradients --------------------------------------------------------------------------------

void RemoteRows::adapt_loss() {
  if (!loss_.adapts()) return;
  std::vector<double> levels;
  for (u32 k = 0; k < loss_.n_scores(); ++k) levels.push_back(loss_.adapted_level(k));
  const std::vector<double> deltas =
      find_quantiles(link_, levels, [&](const DigitStep& step) -> BlockCommand {
        return {"count_distances", write_step(step), {}};
      });
  for (u32 k = 0; k < loss_.n_scores(); ++k) loss_.set_delta(k, deltas[k]);
  adapted_ = {{"set_deltas", {deltas}, {}}};
  link_.post(adapted_[0]);
}

void RemoteRows::fix_powers(const char* measure, const char* fix,
                            std::vector<GradientPowers> known) {
  if (known.empty()) {
    const BlockValues answer = link_.ask({measure, {}, {}}, BlockReduction::max);
    known = find_powers(take_value<std::vector<double>>(answer, 0), gradients_.constant_hessian);
  }
  std::vector<i64> powers;
  for (const GradientPowers& power : known) {
    powers.push_back(power.gradient);
    powers.push_back(power.hessian);
  }
  gradients_.powers = std::move(known);
  link_.post({fix, {std::move(powers)}, {}});
}

void RemoteRows::compute_gradients() {
  gradients_.constant_hessian = loss_.shape().constant_hessian && !weights_.weighted;
  fix_powers("measure_gradients", "fix_gradients", find_fixed_powers(loss_));
}

void RemoteRows::take_gradients(const double* gradients, const double* hessians) {
  BlockCommand command{"take_gradients", {}, {}};
  for (std::size_t block = 0; block < facts_.n_blocks(); ++block)
    command.by_block.push_back({cut_columns(gradients, loss_.n_scores(), block),
                                cut_columns(hessians, loss_.n_scores(), block)});
  link_.post(std::move(command));
  gradients_.constant_hessian = false;
  fix_powers("measure_taken", "fix_taken", {});
}

// --- samples ----------------------------------------------------------------------------------

// Two bits a row travel: whether it grows the trees, or is only partitioned.
void RemoteRows::choose_rows(std::vector<u32> sample, const std::vector<u32>& held_out) {
  std::vector<u8> places(n_rows(), 0);
  for (const u32 row : sample) places[row] = 1;
  for (const u32 row : held_out) places[row] = 2;
  BlockCommand command{"choose_rows", {}, {}};
  for (std::size_t block = 0; block < facts_.n_blocks(); ++block) {
    const std::size_t begin = facts_.offsets[block], end = facts_.offsets[block + 1];
    command.by_block.push_back({write_places(std::span(places).subspan(begin, end - begin))});
  }
  facts_.held_out = !held_out.empty();
  choice_ = {command};
  link_.post(std::move(command));
}

// The border of the n_top rows with the largest gradients, for each block: of rows with equal
// gradients the first ones are taken. The sizes stay with the blocks, which count them.
std::vector<GradientBorder> RemoteRows::find_borders(std::size_t n_top, std::size_t n_present) {
  constexpr int kSizeBits = 16;
  std::vector<GradientBorder> borders(facts_.n_blocks());
  if (n_top == 0) return borders;
  const u64 rank = n_present - n_top + 1;
  QuantileSearch search = QuantileSearch::at_ranks({&rank, 1}, kSizeBits);
  while (!search.finished())
    search.take(take_value<std::vector<i64>>(
        link_.ask({"count_sizes", write_step(search.step()), {}}, BlockReduction::sum), 0));
  const double size = search.values()[0];
  const BlockValues counts = link_.ask({"compare_sizes", {size}, {}}, BlockReduction::list);
  std::size_t n_left = n_top;
  for (std::size_t block = 0; block < borders.size(); ++block)
    n_left -= static_cast<std::size_t>(take_value<std::vector<i64>>(counts, block)[0]);
  for (std::size_t block = 0; block < borders.size(); ++block) {
    const auto n_equal = static_cast<std::size_t>(take_value<std::vector<i64>>(counts, block)[1]);
    borders[block] = {size, std::min(n_left, n_equal)};
    n_left -= borders[block].n_equal;
  }
  return borders;
}

// Blocks draw their own rows; two bits a row come back, and the weight of all that were drawn.
std::vector<u32> RemoteRows::draw_by_gradient(u64 tree) {
  std::size_t n_present = 0;
  for (u32 row = 0; row < n_rows(); ++row) n_present += weights_[row] > 0 ? 1 : 0;
  link_.post({"measure_sizes", {}, {}});
  const auto draw = [&](std::size_t n_top, double other) {
    BlockCommand command{
        "draw_by_gradient",
        {params_.goss_top, other, static_cast<i64>(params_.seed), static_cast<i64>(tree)},
        {}};
    for (const GradientBorder& border : find_borders(n_top, n_present))
      command.by_block.push_back({border.size, static_cast<i64>(border.n_equal)});
    return link_.ask(std::move(command), BlockReduction::list, true);
  };
  std::vector<u32> sample, held_out;
  u64 total = 0;
  const auto read = [&](const BlockValues& drawn) {
    sample.clear();
    held_out.clear();
    total = 0;
    BlockCommand chosen{"choose_rows", {}, {}};
    for (std::size_t block = 0; block < facts_.n_blocks(); ++block) {
      const std::size_t first = facts_.offsets[block], end = facts_.offsets[block + 1];
      const auto& places = take_value<std::vector<u8>>(drawn, 2 * block + 1);
      total += static_cast<u64>(take_value<std::vector<i64>>(drawn, 2 * block)[0]);
      read_places(places, {first, end}, sample, held_out);
      chosen.by_block.push_back({places});
    }
    choice_ = {std::move(chosen)};  // for a block that is lost when the gradients are others
  };
  read(draw(static_cast<std::size_t>(params_.goss_top * static_cast<double>(n_present)),
            params_.goss_other));
  if (sample.empty()) read(draw(1, 0.0));  // the row with the largest gradient
  drawn_ = weights_.describe_multiplied(total);
  facts_.held_out = !held_out.empty();
  link_.post({"multiply_weights", {static_cast<i64>(total)}, {}});
  return held_out;
}

}  // namespace committee
