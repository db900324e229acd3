// A loss as boosting uses it: the scalar functions of losses/<name>.hpp over blocks of rows.
// Life of a loss in a fit: baseline once; before each round adapt, then gradients of every row;
// values whenever someone asks how far it has come; means turn scores into predictions.
#pragma once
#include "losses/shape.hpp"

namespace committee {

// Targets and scores of all rows: the score of row i for class (or output) k is
// scores[k * stride + i], its target y[i], for several outputs y[k * stride + i].
struct ScoreView {
  const double* y = nullptr;
  const double* scores = nullptr;
  std::size_t stride = 0;
};

// Rows of a block: gradients are computed this many at a time, in memory that stays in the cache.
inline constexpr std::size_t kLossBlock = 256;

class Loss {
 public:
  virtual ~Loss() = default;
  const LossShape& shape() const { return shape_; }
  u32 n_scores() const { return n_scores_; }  // scores of a row
  // Whether a target is the number of a class, whose scores are all of the row's.
  virtual bool has_classes() const { return false; }
  // Of the quantile that leaves of score k are, where they are one.
  virtual double level(u32) const { return 0.5; }
  // Gradient and hessian of score k of rows begin .. end - 1 (at most kLossBlock) at
  // gradients[k * kLossBlock + i], for all k. Null hessians where all of them are one: not wanted.
  virtual void find_gradients(const ScoreView& view, std::size_t begin, std::size_t end,
                              double* gradients, double* hessians) const = 0;
  // Loss of each of these rows.
  virtual void find_values(const ScoreView& view, std::size_t begin, std::size_t end,
                           double* values) const = 0;
  // Scores to predictions, in place: scores[k * stride + i], i < n.
  virtual void find_means(double* scores, std::size_t stride, std::size_t n) const = 0;
  // The constant scores with the least loss (of Huber's, whose delta is not known yet, the median).
  // `weights` may be empty (all one).
  virtual std::vector<double> find_baseline(const ScoreView& view, std::size_t n,
                                            std::span<const double> weights,
                                            int n_threads) const = 0;
  // What a loss learns from the residuals before a round: Huber's delta. Weights are whole numbers,
  // in proportion to those of the rows; empty: all one.
  virtual void adapt(const ScoreView&, std::size_t, std::span<const u32>) {}
  // The same where rows lie in blocks: whether there is something to learn, the quantile of the
  // distances of targets and scores that it is, and its value.
  virtual bool adapts() const { return false; }
  virtual double adapted_level(u32) const { return 0.5; }
  virtual void set_delta(u32, double) {}
  // Where Huber's loss of score k turns from squared to linear; infinity for all others.
  virtual double delta(u32) const { return std::numeric_limits<double>::infinity(); }

 protected:
  Loss(const LossShape& shape, u32 n_scores) : shape_(shape), n_scores_(n_scores) {}
  const LossShape shape_;
  const u32 n_scores_;
};

// `parameter`: level of the quantile, quantile of Huber's delta, power of Tweedie's variance; NaN
// for the loss's own default. `n_scores`: classes of softmax, or outputs that are each fitted by
// the same loss. `levels`: one quantile a score, ascending, of one and the same target, which is
// repeated for each; their predictions never cross. std::invalid_argument for an unknown name.
std::unique_ptr<Loss> make_loss(const std::string& name, double parameter, u32 n_scores,
                                std::span<const double> levels = {});

struct LossInfo {
  std::string name;
  LossShape shape;
};
// All losses that make_loss knows.
std::vector<LossInfo> describe_losses();
const char* name_link(Link link);
const char* name_target_range(TargetRange range);

}  // namespace committee
