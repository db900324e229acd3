// The arguments that say what sum of trees a question is about.
#pragma once
#include <initializer_list>
#include <limits>
#include <new>
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
    if (out_width > std::numeric_limits<u32>::max())
      throw nb::value_error("out_width must be below 2^32.");
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

// Entries of an array of doubles of this shape; throws std::bad_alloc where none can have so many.
inline std::size_t count_entries(std::initializer_list<std::size_t> shape) {
  std::size_t count = 1, room = std::numeric_limits<std::size_t>::max() / sizeof(double);
  for (const std::size_t length : shape) {
    if (length > room) throw std::bad_alloc();
    if (length > 0) room /= length;
    count *= length;
  }
  return count;
}

}  // namespace committee
