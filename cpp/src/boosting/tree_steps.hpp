// Trees of a round that are grown together over blocks elsewhere: whenever all of them wait for an
// answer, their commands travel in one call. A grower knows nothing of it. Each tree has a thread
// of its own, because growers wait in the middle of what they do; only one of these runs at a time,
// and calls are made by the thread that called `run`.
#pragma once
#include <memory>

#include "boosting/block_link.hpp"
#include "committee/function_view.hpp"

namespace committee {

class TreeSteps {
 public:
  TreeSteps(BlockLink& link, std::size_t n_trees);
  ~TreeSteps();
  std::size_t size() const { return trees_.size(); }
  // Commands of one of the trees go this way; blocks keep the rows of as many trees apart.
  BlockChannel& channel(std::size_t tree);
  // grow(0) .. grow(n - 1), each up to its end. The first exception of any is thrown when all have
  // stopped.
  void run(std::size_t n, FunctionView<void(std::size_t)> grow);

 private:
  class Tree;
  void send(std::size_t n);
  BlockLink& link_;
  std::vector<std::unique_ptr<Tree>> trees_;
};

}  // namespace committee
