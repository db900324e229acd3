// The Python class Trees: an arena and what prediction derives from it. A binding that makes trees
// returns BoundTrees(std::move(trees)).
#pragma once
#include <memory>
#include <mutex>

#include "committee/predict.hpp"
#include "committee/tree_summary.hpp"

namespace committee {

struct BoundTrees {
  explicit BoundTrees(Trees trees)
      : predictor(std::make_shared<const Predictor>(std::move(trees))) {}
  const Trees& trees() const { return predictor->trees(); }
  // Made at the first call and kept: the leaves of a single row need the numbers of all nodes.
  const std::vector<u32>& depth_first_numbers() const {
    std::call_once(numbering->once, [&] { numbering->numbers = number_depth_first(trees()); });
    return numbering->numbers;
  }

  std::shared_ptr<const Predictor> predictor;

 private:
  struct Numbering {
    std::once_flag once;
    std::vector<u32> numbers;
  };
  std::shared_ptr<Numbering> numbering = std::make_shared<Numbering>();
};

}  // namespace committee
