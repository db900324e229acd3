// The finished tree: flat, compact, immutable. One arena holds all trees of an ensemble; it is what
// is predicted from, pickled, saved and memory-mapped.
#pragma once
#include <bit>
#include <memory>
#include <optional>

#include "types.hpp"

namespace committee {

// A node of 12 bytes (float thresholds) or 16 (double). Children are neighbours: left, left + 1.
// A row goes left iff x <= threshold; a missing x goes left iff the kMissingLeft bit is set.
// Categorical: the threshold's bits hold the index of a category set; codes in the set go left.
// Leaf: kLeaf is set, `left` is the leaf's number within its tree, feature is 0.
template <class T>
struct Node {
  static constexpr u32 kLeaf = 1u << 31, kCategorical = 1u << 30, kMissingLeft = 1u << 29;
  static constexpr u32 kFeatureMask = (1u << 28) - 1;
  T threshold;
  u32 left;  // relative to the tree's first node
  u32 tag;
  bool is_leaf() const { return tag & kLeaf; }
  bool is_categorical() const { return tag & kCategorical; }
  bool missing_left() const { return tag & kMissingLeft; }
  u32 feature() const { return tag & kFeatureMask; }
  u32 category_set() const {
    u32 index;
    std::memcpy(&index, &threshold, sizeof index);  // little-endian, as the file format is
    return index;
  }
};
static_assert(sizeof(Node<float>) == 12 && sizeof(Node<double>) == 16);

// Leaf values are stored in the narrowest type that holds them exactly: class weights that are
// integers as counts (u8, u16, u32), everything else as double.
enum class ValueType : u8 { count8 = 0, count16 = 1, count32 = 2, real64 = 3 };

// Whether the bit set holds the code that x, no NaN, is; codes beyond its words are not held.
inline bool holds_code(std::span<const u32> words, double x) {
  if (!(x >= 0.0 && x < 32.0 * static_cast<double>(words.size()))) return false;
  const u32 code = static_cast<u32>(x);
  return (words[code / 32] >> (code % 32) & 1) != 0;
}

// A view of flat arrays; `owner` keeps them alive (vectors of the grower, numpy arrays, a mapped
// file).
struct Trees {
  std::size_t n_trees = 0;
  std::size_t n_features = 0;
  bool double_thresholds = false;
  std::span<const u64> node_offsets;  // n_trees + 1
  std::span<const u64> leaf_offsets;  // n_trees + 1
  const void* nodes = nullptr;        // Node<float> or Node<double>, breadth-first within a tree
  // Leaf values, row-major [leaf][width]; width = number of classes over all outputs, or of
  // outputs.
  u32 width = 1;
  ValueType value_type = ValueType::real64;
  const void* values = nullptr;
  std::span<const u32>
      outputs;  // classes of each output (sum = width) for class weights; empty for plain values
  // Category sets, for all trees: set s is the bit set category_words[category_offsets[s] .. [s +
  // 1]).
  std::span<const u32> category_offsets;  // n_sets + 1 (or empty)
  std::span<const u32> category_words;
  // What training knew and prediction does not need; empty in stripped models.
  std::span<const u32> leaf_samples;     // rows in each leaf
  std::span<const double> leaf_weights;  // weight in each leaf; empty: as the values or samples say
  std::span<const double>
      node_impurity;  // per node; empty for class weights, where the values give it
  std::shared_ptr<const void> owner;

  std::size_t n_nodes(std::size_t tree) const {
    return node_offsets[tree + 1] - node_offsets[tree];
  }
  std::size_t n_leaves(std::size_t tree) const {
    return leaf_offsets[tree + 1] - leaf_offsets[tree];
  }
  std::span<const u32> category_set(u32 set) const {
    return category_words.subspan(category_offsets[set],
                                  category_offsets[set + 1] - category_offsets[set]);
  }
  double value(std::size_t leaf, u32 column) const {  // leaf: number in the arena
    const std::size_t at = leaf * width + column;
    switch (value_type) {
      case ValueType::count8:
        return static_cast<const u8*>(values)[at];
      case ValueType::count16:
        return static_cast<const u16*>(values)[at];
      case ValueType::count32:
        return static_cast<const u32*>(values)[at];
      default:
        return static_cast<const double*>(values)[at];
    }
  }
};

// Node by node, as a grower hands it over: full information, any order, then made compact.
struct GrownTree {
  struct Split {
    double threshold = 0.0;  // numeric
    u32 feature = 0;
    bool categorical = false, missing_left = false;
    // Categorical: bit set of the codes that go left; null in numeric splits.
    std::shared_ptr<const std::vector<u32>> left_categories;
  };
  static constexpr u32 kNoChild = 0xFFFFFFFFu;
  u32 width = 1;
  // One entry a node; node 0 is the root.
  std::vector<u32> left, right;  // kNoChild in leaves
  std::vector<Split> splits;     // meaningful in inner nodes
  std::vector<u32> n_samples;
  std::vector<double> weight, impurity;
  std::vector<double> values;  // [node][width]; class weights or outputs
  bool depth_first = false;    // numbered depth-first, left before right

  u32 add_node(u32 samples, double node_weight, double node_impurity,
               std::span<const double> value) {
    left.push_back(kNoChild);
    right.push_back(kNoChild);
    splits.emplace_back();
    n_samples.push_back(samples);
    weight.push_back(node_weight);
    impurity.push_back(node_impurity);
    for (const double v : value) values.push_back(v);
    return static_cast<u32>(left.size() - 1);
  }
  // Forgets all nodes, but not their memory.
  void clear() {
    for (auto* column : {&left, &right, &n_samples}) column->clear();
    for (auto* column : {&weight, &impurity, &values}) column->clear();
    splits.clear();
    width = 1;
    depth_first = false;
  }
  // Room for so many nodes; pages that are not written cost nothing.
  void reserve(std::size_t n_nodes, std::size_t most_width) {
    for (auto* column : {&left, &right, &n_samples}) column->reserve(n_nodes);
    for (auto* column : {&weight, &impurity}) column->reserve(n_nodes);
    splits.reserve(n_nodes);
    values.reserve(n_nodes * most_width);
  }
  bool is_leaf(u32 node) const { return left[node] == kNoChild; }
  std::size_t size() const { return left.size(); }
};

// The nodes breadth-first, so that siblings are neighbours: the order of the arena.
std::vector<u32> order_nodes(const GrownTree& tree);

struct ArenaOptions {
  std::size_t n_features = 0;
  std::vector<u32> outputs;        // as Trees::outputs
  bool keep_training_info = true;  // leaf_samples, leaf_weights, node_impurity
};

// Breadth-first, narrowest value type, float thresholds if every threshold is a float32 number.
Trees compact_trees(std::span<const GrownTree> grown, const ArenaOptions& options);
// Trees of one or more arenas (same features, width and outputs) in one.
Trees concatenate_trees(std::span<const Trees> parts, int n_threads = 1);
// Trees first .. last - 1 of an arena as an arena of their own (a view of the nodes and values that
// shares the owner; only the offsets are made anew, to start at zero).
Trees select_trees(const Trees& trees, std::size_t first, std::size_t last);
// The same trees over some features only: features[i] becomes feature i (the first i that names
// it). std::invalid_argument if a node splits by a feature that is not among them.
Trees renumber_features(const Trees& trees, std::span<const u32> features);
// The same splits with other numbers, [leaf][width], as leaf values. `leaf_weights`: of each leaf,
// or empty; numbers of rows and impurities, which belong to the former values, are dropped.
Trees replace_leaf_values(const Trees& trees, std::span<const double> values, u32 width,
                          std::span<const double> leaf_weights);
// The weight in a leaf (its number in the arena): stored, or the sum of the first output's class
// weights, or the number of its rows. Not known (NaN) for plain values without leaf_samples.
double leaf_weight(const Trees& trees, std::size_t leaf);
// Throws std::invalid_argument with a sentence if any index, offset or size is out of place, so
// that prediction needs no check: called on everything that did not come from compact_trees.
void validate_trees(const Trees& trees);

// Minimal cost-complexity pruning [Breiman1984, ch. 3], on the grown form.
struct PruningPath {
  std::vector<double> alphas, impurities;
};
PruningPath find_pruning_path(const GrownTree& tree);
// Returns the former number of each node that is left; empty: the tree has not changed.
std::vector<u32> prune_tree(GrownTree& tree, double ccp_alpha);

}  // namespace committee
