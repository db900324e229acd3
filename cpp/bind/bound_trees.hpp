// The Python class Trees: an arena and what prediction derives from it. A binding that makes trees
// returns BoundTrees(std::move(trees)).
#pragma once
#include <memory>

#include "committee/predict.hpp"

namespace committee {

struct BoundTrees {
  explicit BoundTrees(Trees trees)
      : predictor(std::make_shared<const Predictor>(std::move(trees))) {}
  const Trees& trees() const { return predictor->trees(); }
  std::shared_ptr<const Predictor> predictor;
};

}  // namespace committee
