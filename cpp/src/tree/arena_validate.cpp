// Everything that did not come from compact_trees passes here once, so that prediction needs no
// check.
#include <cmath>

#include "committee/tree.hpp"

namespace committee {

namespace {

void require(bool holds, const char* sentence) {
  if (!holds) throw std::invalid_argument(std::string("Not a valid set of trees: ") + sentence);
}

void check_offsets(const Trees& trees) {
  require(trees.n_features >= 1 && trees.n_features <= Node<float>::kFeatureMask,
          "n_features is out of range.");
  require(trees.node_offsets.size() == trees.n_trees + 1,
          "node_offsets must have one entry a tree and one more.");
  require(trees.leaf_offsets.size() == trees.n_trees + 1,
          "leaf_offsets must have one entry a tree and one more.");
  require(trees.node_offsets[0] == 0 && trees.leaf_offsets[0] == 0, "offsets must start at 0.");
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    require(trees.node_offsets[t] < trees.node_offsets[t + 1], "node_offsets must rise.");
    require(trees.leaf_offsets[t] < trees.leaf_offsets[t + 1], "leaf_offsets must rise.");
    require(trees.n_nodes(t) < GrownTree::kNoChild, "a tree has too many nodes.");
    require(trees.n_nodes(t) == 2 * trees.n_leaves(t) - 1,
            "a tree of n leaves must have 2 n - 1 nodes.");
  }
}

void check_sizes(const Trees& trees) {
  const u64 n_nodes = trees.node_offsets.back(), n_leaves = trees.leaf_offsets.back();
  require(trees.width >= 1, "width must be at least 1.");
  u64 classes = 0;
  for (const u32 n : trees.outputs) {
    require(n >= 1, "an output must have at least one class.");
    classes += n;
  }
  require(trees.outputs.empty() || classes == trees.width,
          "the classes of the outputs must add up to width.");
  require(!trees.outputs.empty() || trees.value_type == ValueType::real64,
          "plain values must be float64.");
  const auto sized = [](std::size_t size, u64 wanted) { return size == 0 || size == wanted; };
  require(sized(trees.leaf_samples.size(), n_leaves), "leaf_samples must have one entry a leaf.");
  require(sized(trees.leaf_weights.size(), n_leaves), "leaf_weights must have one entry a leaf.");
  require(sized(trees.node_impurity.size(), n_nodes), "node_impurity must have one entry a node.");
  for (const double w : trees.leaf_weights)
    require(std::isfinite(w) && w >= 0.0, "leaf_weights must be finite and >= 0.");
  for (const double i : trees.node_impurity)
    require(std::isfinite(i), "node_impurity must be finite.");
}

void check_categories(const Trees& trees) {
  if (trees.category_offsets.empty()) {
    require(trees.category_words.empty(), "category_words without category_offsets.");
    return;
  }
  require(trees.category_offsets.front() == 0, "category_offsets must start at 0.");
  for (std::size_t s = 0; s + 1 < trees.category_offsets.size(); ++s) {
    require(trees.category_offsets[s] <= trees.category_offsets[s + 1],
            "category_offsets must not fall.");
  }
  require(trees.category_offsets.back() == trees.category_words.size(),
          "category_offsets must end with category_words.");
}

void check_values(const Trees& trees) {
  const std::size_t n_leaves = trees.leaf_offsets.back();
  for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
    if (trees.outputs.empty()) {
      for (u32 c = 0; c < trees.width; ++c)
        require(std::isfinite(trees.value(leaf, c)), "values must be finite.");
      continue;
    }
    u32 c = 0;
    for (const u32 n_classes : trees.outputs) {
      double total = 0.0;
      for (const u32 end = c + n_classes; c < end; ++c) {
        require(trees.value(leaf, c) >= 0.0, "class weights must be >= 0.");
        total += trees.value(leaf, c);
      }
      require(total > 0.0 && std::isfinite(total),
              "the class weights of a leaf must have a positive, finite sum.");
    }
  }
}

// `seen` has a zero for each node of the largest tree, and has so again afterwards.
template <class T>
void check_tree(const Trees& trees, std::size_t tree, std::vector<u8>& seen) {
  using N = Node<T>;
  const N* const nodes = static_cast<const N*>(trees.nodes) + trees.node_offsets[tree];
  const std::size_t n_nodes = trees.n_nodes(tree), n_leaves = trees.n_leaves(tree);
  const std::size_t n_sets = trees.category_offsets.empty() ? 0 : trees.category_offsets.size() - 1;
  constexpr u8 kHasParent = 1, kLeafTaken = 2;
  for (std::size_t k = 0; k < n_nodes; ++k) {
    const N& node = nodes[k];
    if (node.is_leaf()) {
      require(node.tag == N::kLeaf, "a leaf must have feature 0 and no other flag.");
      require(node.left < n_leaves && !(seen[node.left] & kLeafTaken),
              "leaf numbers must be 0 .. n_leaves - 1, each once.");
      seen[node.left] |= kLeafTaken;
      continue;
    }
    require((node.tag & ~(N::kCategorical | N::kMissingLeft | N::kFeatureMask)) == 0,
            "a node has an unknown flag.");
    require(node.feature() < trees.n_features, "a node asks for a feature that does not exist.");
    require(node.left > k && node.left + u64{1} < n_nodes,
            "children must lie within the tree, after their parent.");
    require(!(seen[node.left] & kHasParent) && !(seen[node.left + 1] & kHasParent),
            "a node has two parents.");
    seen[node.left] |= kHasParent;
    seen[node.left + 1] |= kHasParent;
    if (node.is_categorical()) {
      require(node.category_set() < n_sets, "a node asks for a category set that does not exist.");
    } else {
      require(node.threshold == node.threshold, "a threshold is not a number.");
    }
  }
  for (std::size_t k = 1; k < n_nodes; ++k) require(seen[k] & kHasParent, "a node has no parent.");
  std::fill(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(n_nodes), u8{0});
}

}  // namespace

void validate_trees(const Trees& trees) {
  check_offsets(trees);
  check_sizes(trees);
  check_categories(trees);
  check_values(trees);
  std::size_t largest = 0;
  for (std::size_t t = 0; t < trees.n_trees; ++t) largest = std::max(largest, trees.n_nodes(t));
  std::vector<u8> seen(largest, 0);
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    trees.double_thresholds ? check_tree<double>(trees, t, seen)
                            : check_tree<float>(trees, t, seen);
  }
}

}  // namespace committee
