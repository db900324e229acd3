// What becomes of a grown tree: values of its leaves, and their way into the scores.
#pragma once
#include "boosting_grower.hpp"

namespace committee {

// A tree with what going through it by bins needs.
struct StoredTree {
  GrownTree tree;
  std::vector<u32> cuts;  // per node: largest bin that goes left, where the split is numeric
  u32 slot = 0;           // score that it adds to
};

struct LeafUpdate {
  const Loss& loss;
  ScoreView view;
  const Gradients& gradients;
  const RowWeights& weights;
  const SearchPlan& plan;
  double learning_rate;
  u32 score;  // that the tree is for
  int n_threads;
};

// Sets the values of the tree grown last, from exact sums over the rows of each leaf or, where the
// loss asks for it, from their residuals, and adds them to scores[row].
void settle_leaves(const LeafUpdate& update, const BoostingGrower& grower, GrownTree& tree,
                   double* scores);

// factor * value of the leaf of each row, added to scores[row].
void add_stored_tree(const StoredTree& stored, const BinnedMatrix& data, double factor,
                     int n_threads, double* scores);

}  // namespace committee
