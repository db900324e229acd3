// Boosting over blocks of rows that lie elsewhere. The driver (a Boosting with BlockedRows) sends
// commands to all blocks at once and gets back sums of integers, maxima, or lists by block; a
// BoostingBlock answers them for its rows. Messages are plain arrays: whoever carries them needs to
// know nothing of their meaning.
#pragma once
#include "block_calls.hpp"
#include "boosting.hpp"

namespace committee {

struct ColumnBins;

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

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace committee
