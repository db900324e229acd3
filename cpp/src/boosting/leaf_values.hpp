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

struct LeafUpdate {
  const Loss& loss;
  ScoreView view;
  const Gradients& gradients;
  const RowWeights& weights;
  const SearchPlan& plan;
  double learning_rate;
  u32 score;  // that the values are for: all of the tree's, or one of the vector
  int n_threads;
};

// The rows of a leaf that lie in a block of all rows. They ascend: a thread that takes a block
// finds its rows of every leaf, and what it has of them in its cache.
std::span<const RowItem> select_block(std::span<const RowItem> rows, std::size_t begin,
                                      std::size_t end);

// Sets the values of the tree grown last, from exact sums over the rows of each leaf or, where the
// loss asks for it, from their residuals, and adds them to scores[row]. `column`: of the score in
// the leaves, which may be vectors.
void set_leaf_values(const LeafUpdate& update, const BoostingGrower& grower, u32 column,
                     GrownTree& tree, double* scores);

// factor * value of the leaf of each row, added to scores[row]; of vectors to scores[k * n_rows +
// row].
void add_stored_tree(const StoredTree& stored, const BinnedMatrix& data, double factor,
                     int n_threads, double* scores);

}  // namespace committee
