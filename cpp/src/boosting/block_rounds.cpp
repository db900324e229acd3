// Rounds that run where all blocks of a fit lie: a Boosting like the driver's, whose commands go to
// the blocks beside it.
#include <algorithm>

#include "boosting/remote_rows.hpp"

namespace committee {

namespace {

// Leaves that are split in one step, for blocks of several threads.
constexpr int kMostAhead = 4;

void add_up(BlockValue& sum, const BlockValue& part) {
  auto& numbers = std::get<std::vector<i64>>(sum);
  const auto& others = std::get<std::vector<i64>>(part);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += others.at(i);
}

void take_larger(BlockValue& most, const BlockValue& part) {
  std::visit(
      [&]<class T>(T& own) {
        if constexpr (requires { own.size(); }) {
          const T& others = std::get<T>(part);
          for (std::size_t i = 0; i < own.size(); ++i) own[i] = std::max(own[i], others.at(i));
        }
      },
      most);
}

}  // namespace

class BlockRounds::BlocksHere final : public BlockCaller {
 public:
  BlockValues call(std::span<const BlockCommand> commands, BlockReduction how, bool) override {
    BlockValues answer;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      BlockValues own = run_all(commands, b);
      if (how == BlockReduction::list || b == 0) {
        for (BlockValue& value : own) answer.push_back(std::move(value));
        continue;
      }
      for (std::size_t k = 0; k < own.size(); ++k)
        how == BlockReduction::sum ? add_up(answer.at(k), own[k])
                                   : take_larger(answer.at(k), own[k]);
    }
    return answer;
  }
  void keep(std::vector<BlockCommand>, std::vector<BlockCommand>) override {}  // the driver does

  std::vector<BoostingBlock*> blocks;

 private:
  BlockValues run_all(std::span<const BlockCommand> commands, std::size_t block) const {
    BlockValues answers;
    for (const BlockCommand& command : commands) {
      BlockValues args = command.args;
      if (!command.by_block.empty())
        args.insert(args.end(), command.by_block[block].begin(), command.by_block[block].end());
      for (BlockValue& value : blocks[block]->run(command.name, args))
        answers.push_back(std::move(value));
    }
    return answers;
  }
};

BlockRounds::BlockRounds() : here_(std::make_shared<BlocksHere>()) {}

BlockRounds::~BlockRounds() = default;

BlockValues BlockRounds::run(std::vector<BoostingBlock*> blocks, const BlockValues& request) {
  if (blocks.empty()) throw std::invalid_argument("rounds need blocks to run on");
  here_->blocks = std::move(blocks);
  if (!boosting_) {
    const RoundsRequest asked = read_request(request);
    std::vector<std::size_t> offsets{0};
    for (const BoostingBlock* block : here_->blocks)
      offsets.push_back(offsets.back() + block->data().n_rows);
    BoostingParams params = asked.params;
    params.n_jobs = here_->blocks[0]->n_threads();
    const auto& name = take_value<std::vector<u8>>(asked.loss, 0);
    const BlockedRows rows{here_->blocks[0]->data().bins,
                           std::move(offsets),
                           here_,
                           static_cast<std::size_t>(std::clamp(params.n_jobs, 1, kMostAhead)),
                           1,
                           {name.begin(), name.end()},
                           take_value<double>(asked.loss, 1),
                           take_value<std::vector<double>>(asked.loss, 3),
                           std::make_shared<const WeightFacts>(asked.weights)};
    boosting_ = std::make_unique<Boosting>(BoostingInput{}, read_loss(asked.loss, 0), params, rows);
  }
  InterruptWatch watch;
  return boosting_->grow_for(request, watch);
}

}  // namespace committee
