// Arenas made of an arena: other feature numbers, other leaf values.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "committee/tree.hpp"

namespace committee {

namespace {

constexpr u32 kAbsent = 0xFFFFFFFFu;

// Arrays of an edited arena, and the arena that it shares the others with.
template <class T>
struct EditedArena {
  std::vector<T> replaced;
  std::vector<double> leaf_weights;
  std::shared_ptr<const void> shared;
};

template <class T>
Trees renumber_nodes(const Trees& trees, std::span<const u32> numbers) {
  using N = Node<T>;
  auto arena = std::make_shared<EditedArena<N>>();
  const N* const nodes = static_cast<const N*>(trees.nodes);
  arena->replaced.assign(nodes, nodes + trees.node_offsets[trees.n_trees]);
  for (N& node : arena->replaced) {
    if (node.is_leaf()) continue;
    const u32 number = numbers[node.feature()];
    if (number == kAbsent)
      throw std::invalid_argument("The trees split by feature " + std::to_string(node.feature()) +
                                  ", which is not among the given features.");
    node.tag = (node.tag & ~N::kFeatureMask) | number;
  }
  Trees edited = trees;
  edited.nodes = arena->replaced.data();
  arena->shared = trees.owner;
  edited.owner = std::move(arena);
  return edited;
}

}  // namespace

Trees renumber_features(const Trees& trees, std::span<const u32> features) {
  std::vector<u32> numbers(trees.n_features, kAbsent);
  for (std::size_t i = features.size(); i-- > 0;) {
    if (features[i] >= trees.n_features)
      throw std::invalid_argument("There is no feature " + std::to_string(features[i]) + ".");
    numbers[features[i]] = static_cast<u32>(i);
  }
  Trees edited = trees.double_thresholds ? renumber_nodes<double>(trees, numbers)
                                         : renumber_nodes<float>(trees, numbers);
  edited.n_features = features.size();
  return edited;
}

Trees replace_leaf_values(const Trees& trees, std::span<const double> values, u32 width,
                          std::span<const double> leaf_weights) {
  const std::size_t n_leaves = trees.leaf_offsets[trees.n_trees];
  if (width == 0 || values.size() != n_leaves * width)
    throw std::invalid_argument("There must be one row of values for each of the " +
                                std::to_string(n_leaves) + " leaves.");
  if (!leaf_weights.empty() && leaf_weights.size() != n_leaves)
    throw std::invalid_argument("There must be one weight for each of the " +
                                std::to_string(n_leaves) + " leaves.");
  auto arena = std::make_shared<EditedArena<double>>();
  arena->replaced.assign(values.begin(), values.end());
  arena->leaf_weights.assign(leaf_weights.begin(), leaf_weights.end());
  Trees edited = trees;
  edited.width = width;
  edited.value_type = ValueType::real64;
  edited.values = arena->replaced.data();
  edited.outputs = {};
  edited.leaf_samples = {};
  edited.leaf_weights = arena->leaf_weights;
  edited.node_impurity = {};
  arena->shared = trees.owner;
  edited.owner = std::move(arena);
  validate_trees(edited);
  return edited;
}

}  // namespace committee
