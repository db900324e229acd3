// The arguments that say what sum of trees a question is about.
#pragma once
#include <optional>
#include <string>

#include "arrays.hpp"
#include "bound_trees.hpp"
#include "committee/shap.hpp"

namespace committee {

struct SumArguments {
  const BoundTrees& trees;
  std::string combine;
  std::optional<Vector<double>> tree_weights;
  std::optional<Vector<u32>> slots;
  std::size_t out_width;

  TreeSum view() const {
    TreeSum sum{trees.trees(), Combine::mean, {}, {}, out_width};
    if (combine == "sum") {
      sum.combine = Combine::sum;
    } else if (combine == "vote") {
      sum.combine = Combine::vote;
    } else if (combine != "mean") {
      throw nb::value_error("combine must be 'sum', 'mean' or 'vote'.");
    }
    if (tree_weights) sum.tree_weights = view_vector(*tree_weights);
    if (slots) sum.slots = view_vector(*slots);
    return sum;
  }
};

}  // namespace committee
