// Commands to blocks of rows as Python objects: a command is a tuple (name, arguments, None or
// further arguments of each block); values are int, float or arrays of int64, float64, uint32 or
// uint8.
#pragma once
#include "arrays.hpp"
#include "committee/block_calls.hpp"

namespace committee {

BlockValues read_values(const nb::handle& given);
nb::object write_values(const BlockValues& values);

// Runs a command on a block, without the GIL, and answers it.
template <class Block>
nb::object run_command(Block& block, const std::string& name, const nb::tuple& args) {
  const BlockValues given = read_values(args);
  BlockValues answer;
  {
    const nb::gil_scoped_release released;
    answer = block.run(name, given);
  }
  return write_values(answer);
}

// Commands go to the methods `call` and `keep` of a Python object.
class PythonCaller final : public BlockCaller {
 public:
  explicit PythonCaller(nb::object target) : target_(std::move(target)) {}
  ~PythonCaller() override {
    const nb::gil_scoped_acquire held;
    target_.reset();
  }
  BlockValues call(std::span<const BlockCommand> commands, BlockReduction how,
                   bool changes) override;
  bool lie_together() override;
  void keep(std::vector<BlockCommand> kept, std::vector<BlockCommand> state) override;

 private:
  nb::object target_;
};

}  // namespace committee
