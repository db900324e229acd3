// Boosting over blocks of rows that lie elsewhere. The driver (a Boosting with BlockedRows) sends
// commands to all blocks at once and gets back sums of integers, maxima, or lists by block; a
// BoostingBlock answers them for its rows. Messages are plain arrays: whoever carries them needs to
// know nothing of their meaning.
#pragma once
#include <string>
#include <variant>

#include "boosting.hpp"

namespace committee {

struct ColumnBins;

using BlockValue = std::variant<i64, double, std::vector<i64>, std::vector<double>,
                                std::vector<u32>, std::vector<u8>>;
using BlockValues = std::vector<BlockValue>;

struct BlockCommand {
  std::string name;
  BlockValues args;
  std::vector<BlockValues> by_block;  // further arguments, of each block
  std::size_t n_answers = 1;          // values of the answer, where one is waited for
};

enum class BlockReduction : u8 { sum, max, list };

// The way to the blocks.
class BlockCaller {
 public:
  virtual ~BlockCaller() = default;
  // Runs commands on all blocks, one after the other, and returns their answers, one after the
  // other: put together, or block after block. `changes`: blocks are no longer what they were.
  virtual BlockValues call(std::span<const BlockCommand> commands, BlockReduction how,
                           bool changes) = 0;
  // A lost block comes to its state before the next call by the commands kept so far, `kept` and
  // then `state`, whose predecessor is forgotten.
  virtual void keep(std::vector<BlockCommand> kept, std::vector<BlockCommand> state) = 0;
};

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
