// Squared error, round after round, without finding a gradient twice. The gradient of a row is its
// score less its target: a tree changes it by the value of the row's leaf. With values that are
// multiples of the gradients' unit this holds to the last bit, so that
//
//   the words of the rows         get their leaf's value added,
//   the histogram of the root     gets, for each leaf, that value times the leaf's rows in a bin,
//   the leaves' values            come from the sums that the histograms have anyway,
//
// and what is left of a round is to partition rows and to add up those of the smaller children.
// Words have as many bits for the gradient as their number of rows leaves. A row of weight w is w
// rows: its word is w times that of one.
#pragma once
#include "boosting/leaf_values.hpp"

namespace committee {

class Residuals {
 public:
  // Whether the words of the round before may be updated for the next round.
  static bool suit(const Loss& loss, const WeightFacts& weights, const BoostingParams& params,
                   const RecordLayout& layout);
  Residuals(BoostingGrower& grower, const WeightFacts& weights)
      : grower_(grower), weights_(weights) {}

  // Scores, or words, were changed by others.
  void forget() { current_ = false; }
  // Makes sure that the words are those of the scores, and that their unit suits them.
  void prepare();
  void plan(SearchPlan& plan) const;
  // As set_leaf_values, of the tree grown last.
  void settle(const SearchPlan& plan, double learning_rate, GrownTree& tree);

 private:
  void start();

  BoostingGrower& grower_;
  const WeightFacts& weights_;
  bool current_ = false;
  int gradient_bits_ = 0;  // no gradient is larger than 2^gradient_bits_ units
  WordHalves halves_;
  double unit_ = 1.0;
  i64 bound_ = 0;  // no gradient is larger, in units
};

}  // namespace committee
