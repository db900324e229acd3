#include "boosting/block_link.hpp"

#include <iterator>
#include <utility>

namespace committee {

void BlockLink::post(BlockCommand command, bool kept) {
  if (kept) {
    settle_round();
    kept_.push_back(command);
  }
  waiting_.push_back(std::move(command));
}

BlockValues BlockLink::ask(BlockCommand command, BlockReduction how, bool changes) {
  const bool any = changes || !waiting_.empty();
  waiting_.push_back(std::move(command));
  BlockValues answer = caller_->call(waiting_, how, any);
  if (!changes) waiting_.pop_back();
  keep_round();
  return answer;
}

BlockValues BlockLink::ask_all(std::vector<BlockCommand> commands, BlockReduction how) {
  waiting_.insert(waiting_.end(), std::make_move_iterator(commands.begin()),
                  std::make_move_iterator(commands.end()));
  BlockValues answers = caller_->call(waiting_, how, true);
  keep_round();
  return answers;
}

BlockValues BlockLink::ask_together(BlockCommand command) {
  waiting_.push_back(std::move(command));
  BlockValues answer = caller_->call(waiting_, BlockReduction::together, true);
  waiting_.pop_back();
  if (answer.empty()) return answer;
  waiting_.clear();
  due_ = false;  // of a round before: its trees are in kept_, and come before those that follow
  return answer;
}

void BlockLink::finish_round(std::vector<BlockCommand> trees, std::vector<BlockCommand> state) {
  settle_round();
  for (BlockCommand& tree : trees) kept_.push_back(std::move(tree));
  state_ = std::move(state);
  n_done_ = waiting_.size();
  due_ = true;
}

void BlockLink::settle_round() {
  if (!due_) return;
  if (!waiting_.empty()) caller_->call(waiting_, BlockReduction::list, true);
  keep_round();
}

// All commands have been sent. What is kept stands for those of the round that is over; those that
// came after it follow.
void BlockLink::keep_round() {
  if (std::exchange(due_, false)) {
    state_.insert(state_.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(n_done_),
                  waiting_.end());
    caller_->keep(std::exchange(kept_, {}), std::exchange(state_, {}));
  }
  waiting_.clear();
}

}  // namespace committee
