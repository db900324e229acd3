// The way of a fit's commands to its blocks. Those without an answer wait for the next one that has
// one.
#pragma once
#include "committee/block_boosting.hpp"

namespace committee {

// What the rows of a tree's leaves need of it.
class BlockChannel {
 public:
  virtual ~BlockChannel() = default;
  // Without an answer: sent with the next one. `kept`: a lost block needs it for good.
  virtual void post(BlockCommand command, bool kept = false) = 0;
  virtual BlockValues ask(BlockCommand command, BlockReduction how, bool changes = false) = 0;
};

class BlockLink final : public BlockChannel {
 public:
  explicit BlockLink(std::shared_ptr<BlockCaller> caller) : caller_(std::move(caller)) {}
  void post(BlockCommand command, bool kept = false) override;
  BlockValues ask(BlockCommand command, BlockReduction how, bool changes = false) override;
  // Several at once, which change the blocks: their answers one after the other.
  BlockValues ask_all(std::vector<BlockCommand> commands, BlockReduction how);
  bool lie_together() { return caller_->lie_together(); }
  // Of all blocks at once; empty where they do not lie together. `finish_round` and `settle_round`
  // have to follow: what they say stands for all that was run.
  BlockValues ask_together(BlockCommand command);
  // A round is over: what its commands have done is done by these, in a block that is lost later.
  void finish_round(std::vector<BlockCommand> trees, std::vector<BlockCommand> state);

  // The commands of a round that is over are sent, if any are waiting.
  void settle_round();

 private:
  void keep_round();
  std::shared_ptr<BlockCaller> caller_;
  std::vector<BlockCommand> waiting_, kept_, state_;
  bool due_ = false;        // a round is over, and its commands may still be waiting
  std::size_t n_done_ = 0;  // of those that wait, the ones that belong to that round
};

}  // namespace committee
