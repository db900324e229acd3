// Boosting over blocks of rows that lie elsewhere. The driver (a Boosting with BlockedRows) sends
// commands to all blocks at once and gets back sums of integers, maxima, or lists by block; a
// BoostingBlock answers them for its rows. Messages are plain arrays: whoever carries them needs to
// know nothing of their meaning.
#pragma once
#include "block_calls.hpp"
#include "boosting.hpp"

namespace committee {

struct ColumnBins;
struct WeightFacts;

struct BlockedRows {
  std::shared_ptr<const std::vector<ColumnBins>> bins;
  std::vector<std::size_t> offsets;  // first row of each block, and the number of all rows
  std::shared_ptr<BlockCaller> caller;
  std::size_t leaves_per_step = 4;  // that are split before any of them is looked at
  // Of a round, that are grown together; 0: as many as take little memory.
  std::size_t trees_per_step = 0;
  // The loss, as make_loss knows it.
  std::string loss;
  double parameter = 0.0;
  std::vector<double> levels;
  // Blocks that have been started by another Boosting have their targets and weights already,
  // whose facts these are.
  std::shared_ptr<const WeightFacts> started;
};

// Sums of words as they travel: blocks of 256, the upper and the lower halves each in as few bytes
// as the largest of the block needs, none where all are zero.
std::vector<u8> pack_words(std::span<const i64> words);
// Adds them to as many sums; std::invalid_argument if the bytes are not those of so many.
void add_packed_words(std::span<const u8> packed, std::span<i64> sums);

// The rows of one block. Its commands are in block_commands.cpp.
class BoostingBlock {
 public:
  BoostingBlock(std::shared_ptr<const BinnedMatrix> data, int n_jobs);
  ~BoostingBlock();
  BoostingBlock(const BoostingBlock&) = delete;
  BoostingBlock& operator=(const BoostingBlock&) = delete;
  // std::invalid_argument for an unknown command, or arguments of other types.
  BlockValues run(const std::string& name, const BlockValues& args);
  const BinnedMatrix& data() const;
  int n_threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Rounds of a fit that run beside its blocks, where all of them lie in one place: the loop of the
// driver, whose commands need not travel. The driver gets the trees.
class BlockRounds {
 public:
  BlockRounds();
  ~BlockRounds();
  BlockRounds(const BlockRounds&) = delete;
  BlockRounds& operator=(const BlockRounds&) = delete;
  // All blocks of the fit, in the order of their rows; the same fit each time.
  BlockValues run(std::vector<BoostingBlock*> blocks, const BlockValues& request);

 private:
  class BlocksHere;
  std::shared_ptr<BlocksHere> here_;
  std::unique_ptr<Boosting> boosting_;
};

}  // namespace committee
