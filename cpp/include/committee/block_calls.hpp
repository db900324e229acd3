// Commands to blocks of rows that lie elsewhere, and their answers: plain arrays, so that whoever
// carries them needs to know nothing of their meaning.
#pragma once
#include <stdexcept>
#include <string>
#include <variant>

#include "types.hpp"

namespace committee {

using BlockValue = std::variant<i64, double, std::vector<i64>, std::vector<double>,
                                std::vector<u32>, std::vector<u8>>;
using BlockValues = std::vector<BlockValue>;

struct BlockCommand {
  std::string name;
  BlockValues args;
  std::vector<BlockValues> by_block;  // further arguments, of each block
  std::size_t n_answers = 1;          // values of the answer, where one is waited for
};

// `together`: the last command is run once, on all blocks, which lie in one place.
enum class BlockReduction : u8 { sum, max, list, together };

// The way to the blocks.
class BlockCaller {
 public:
  virtual ~BlockCaller() = default;
  // Runs commands on all blocks, one after the other, and returns their answers, one after the
  // other: put together, or block after block. `changes`: blocks are no longer what they were.
  virtual BlockValues call(std::span<const BlockCommand> commands, BlockReduction how,
                           bool changes) = 0;
  // Whether all blocks lie in one place, so that they can be asked for something together. The
  // answer to that is empty, and nothing has been run, where they no longer do.
  virtual bool lie_together() { return false; }
  // A lost block comes to its state before the next call by the commands kept so far, `kept` and
  // then `state`, whose predecessor is forgotten.
  virtual void keep(std::vector<BlockCommand> kept, std::vector<BlockCommand> state) = 0;
};

// std::invalid_argument where the message has no such value, or one of another type.
template <class T>
const T& take_value(const BlockValues& values, std::size_t at) {
  if (at >= values.size() || !std::holds_alternative<T>(values[at]))
    throw std::invalid_argument("a message to or from a block lacks value " + std::to_string(at) +
                                ", or it is of another type");
  return std::get<T>(values[at]);
}

}  // namespace committee
