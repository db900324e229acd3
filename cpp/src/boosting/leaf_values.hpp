// What becomes of a grown tree: values of its leaves, and their way into the scores.
#pragma once
#include "boosting/tree_grower.hpp"

namespace committee {

// A tree with what going through it by bins needs.
struct StoredTree {
  GrownTree tree;
  std::vector<u32> split_bins;  // per node: largest bin that goes left, where the split is numeric
  u32 slot = 0;  // score that it adds to, or the first of all where leaves are vectors
};

// A tree, and the gains of its splits by node.
struct TreeOfRound {
  StoredTree stored;
  std::vector<double> gains;
};

struct LeafUpdate {
  const Loss& loss;
  const GradientFacts& gradients;
  const WeightFacts& weights;
  const SearchPlan& plan;
  double learning_rate;
  u32 score;  // that the values are for: all of the tree's, or one of the vector
};

// Sets the values of the tree grown last, from exact sums over the rows of each leaf or, where the
// loss asks for it, from their residuals, and adds them to the scores. `column`: of the score in
// the leaves, which may be vectors.
void set_leaf_values(const LeafUpdate& update, const BoostingGrower& grower, u32 column,
                     GrownTree& tree);

// The leaf that a row of a table in the same bins ends in.
u32 find_stored_leaf(const StoredTree& stored, const BinnedMatrix& data, std::size_t row);

// factor * value of the leaf of each row, added to scores[row]; of vectors to scores[k * n_rows +
// row].
void add_stored_tree(const StoredTree& stored, const BinnedMatrix& data, double factor,
                     int n_threads, double* scores);

}  // namespace committee
