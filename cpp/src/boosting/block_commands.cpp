// The commands of a block of rows by their names, and the block that runs them.
#include "boosting/block_state.hpp"

namespace committee {

// Commands that need no more than a line, and the names of all.
void BoostingBlock::State::list_growth(Commands& commands) {
  commands["choose_tree"] = [](State& s, const BlockValues& a) {
    s.tree = read_u32(a, 0);
    return BlockValues{};
  };
  commands["choose_columns"] = [](State& s, const BlockValues& a) {
    s.choose_columns(a);
    return BlockValues{};
  };
  commands["open_root"] = [](State& s, const BlockValues& a) { return s.open_root(a); };
  commands["reopen_root"] = [](State& s, const BlockValues&) { return s.reopen_root(); };
  commands["split"] = [](State& s, const BlockValues& a) { return s.split(a); };
  commands["split_held_out"] = [](State& s, const BlockValues& a) {
    const SplitMessage message = read_splits(a);
    s.leaves().split_held_out(message.splits);
    return BlockValues{};
  };
  commands["unsplit"] = [](State& s, const BlockValues& a) {
    s.leaves().unsplit(std::vector<u32>{read_u32(a, 0)});
    return BlockValues{};
  };
  commands["add_rows"] = [](State& s, const BlockValues& a) {
    std::vector<i64> histogram(s.n_entries(), 0);
    s.leaves().add_rows(read_u32(a, 0), histogram.data());
    return BlockValues{std::move(histogram)};
  };
  commands["count_bins"] = [](State& s, const BlockValues& a) { return s.count_bins(a); };
  commands["sum_vectors"] = [](State& s, const BlockValues& a) {
    std::vector<i64> totals;
    s.leaves().sum_vectors(read_u32(a, 0), totals);
    return BlockValues{std::move(totals)};
  };
}

void BoostingBlock::State::list_values(Commands& commands) {
  using Doubles = std::vector<double>;
  commands["sum_leaves"] = [](State& s, const BlockValues& a) { return s.sum_leaves(a); };
  commands["count_residuals"] = [](State& s, const BlockValues& a) { return s.count_residuals(a); };
  commands["sum_distances"] = [](State& s, const BlockValues& a) { return s.sum_distances(a); };
  commands["count_distances"] = [](State& s, const BlockValues& a) { return s.count_distances(a); };
  commands["add_values"] = [](State& s, const BlockValues& a) {
    s.leaves().add_values(take_value<std::vector<u32>>(a, 0), read_u32(a, 1),
                          take_value<Doubles>(a, 2));
    return BlockValues{};
  };
  commands["find_largest_residual"] = [](State& s, const BlockValues&) {
    return BlockValues{Doubles{s.leaves().find_largest_residual()}};
  };
  commands["write_residuals"] = [](State& s, const BlockValues& a) {
    s.residual_words = {{static_cast<int>(take_value<i64>(a, 0))}, take_value<double>(a, 1)};
    s.leaves().write_residuals(s.residual_words);
    return BlockValues{};
  };
  commands["find_largest_word"] = [](State& s, const BlockValues& a) {
    const WordHalves halves{static_cast<int>(take_value<i64>(a, 0))};
    return BlockValues{std::vector<i64>{s.leaves().find_largest_word(halves)}};
  };
  commands["sum_words"] = [](State& s, const BlockValues&) { return s.sum_words(); };
  commands["settle"] = [](State& s, const BlockValues& a) {
    s.leaves().settle(take_value<std::vector<u32>>(a, 0), take_value<Doubles>(a, 1),
                      take_value<std::vector<i64>>(a, 2));
    return BlockValues{};
  };
  commands["settle_tree"] = [](State& s, const BlockValues& a) {
    s.settle_tree(a);
    return BlockValues{};
  };
}

void BoostingBlock::State::list_scores(Commands& commands) {
  using Doubles = std::vector<double>;
  commands["get_scores"] = [](State& s, const BlockValues&) {
    const double* const scores = s.rows->scores();
    return BlockValues{Doubles(scores, scores + s.data->n_rows * s.loss->n_scores())};
  };
  commands["set_scores"] = [](State& s, const BlockValues& a) {
    s.rows->set_scores(take_value<Doubles>(a, 0).data());
    return BlockValues{};
  };
  commands["add_constant"] = [](State& s, const BlockValues& a) {
    s.rows->add_constant(take_value<Doubles>(a, 0));
    return BlockValues{};
  };
  commands["add_tree"] = [](State& s, const BlockValues& a) {
    s.rows->add_tree(read_tree(a, 1), take_value<double>(a, 0));
    return BlockValues{};
  };
  commands["sum_losses"] = [](State& s, const BlockValues& a) { return s.sum_losses(a); };
  commands["choose_rows"] = [](State& s, const BlockValues& a) {
    s.choose_rows(a);
    return BlockValues{};
  };
  commands["measure_sizes"] = [](State& s, const BlockValues&) {
    s.sizes = s.rows->measure_gradients();
    return BlockValues{};
  };
  commands["count_sizes"] = [](State& s, const BlockValues& a) { return s.count_sizes(a); };
  commands["compare_sizes"] = [](State& s, const BlockValues& a) { return s.compare_sizes(a); };
  commands["draw_by_gradient"] = [](State& s, const BlockValues& a) {
    return s.draw_by_gradient(a);
  };
  commands["multiply_weights"] = [](State& s, const BlockValues& a) {
    s.rows->multiply_weights(s.factors, static_cast<u64>(take_value<i64>(a, 0)));
    return BlockValues{};
  };
}

void BoostingBlock::State::list_gradients(Commands& commands) {
  using Doubles = std::vector<double>;
  commands["set_deltas"] = [](State& s, const BlockValues& a) {
    for (u32 k = 0; k < s.loss->n_scores(); ++k)
      s.loss->set_delta(k, take_value<Doubles>(a, 0).at(k));
    return BlockValues{};
  };
  commands["measure_gradients"] = [](State& s, const BlockValues&) {
    Gradients& pairs = s.rows->gradient_pairs();
    return BlockValues{pairs.measure(*s.loss, s.rows->view(), *s.weights, s.n_threads)};
  };
  commands["fix_gradients"] = [](State& s, const BlockValues& a) {
    s.rows->gradient_pairs().fix(*s.loss, s.rows->view(), *s.weights, s.read_powers(a),
                                 s.n_threads);
    return BlockValues{};
  };
  commands["take_gradients"] = [](State& s, const BlockValues& a) {
    s.taken_gradients = take_value<Doubles>(a, 0);
    s.taken_hessians = take_value<Doubles>(a, 1);
    return BlockValues{};
  };
  commands["measure_taken"] = [](State& s, const BlockValues&) {
    Gradients& pairs = s.rows->gradient_pairs();
    return BlockValues{
        pairs.measure(s.taken_gradients.data(), s.taken_hessians.data(), *s.weights, s.n_threads)};
  };
  commands["fix_taken"] = [](State& s, const BlockValues& a) {
    s.rows->gradient_pairs().fix(s.taken_gradients.data(), s.taken_hessians.data(), *s.weights,
                                 s.read_powers(a), s.n_threads);
    return BlockValues{};
  };
}

BlockValues BoostingBlock::run(const std::string& name, const BlockValues& args) {
  static const State::Commands kCommands = [] {
    State::Commands commands;
    State::list_growth(commands);
    State::list_values(commands);
    State::list_scores(commands);
    State::list_gradients(commands);
    return commands;
  }();
  if (name == "take" || name == "start") {
    name == "take" ? state_->take(args) : state_->start(args);
    return {};
  }
  if (name == "list_combinations") return state_->list_combinations(args);
  const auto found = kCommands.find(name);
  if (found == kCommands.end() || !state_->rows)
    throw std::invalid_argument("a block that has " + std::string(state_->rows ? "" : "not ") +
                                "been started does not know the command '" + name + "'");
  return found->second(*state_, args);
}

}  // namespace committee
