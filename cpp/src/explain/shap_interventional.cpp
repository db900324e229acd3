// Interventional Shapley values: every row against every row of the background.
//
// For a pair (x, z) the worth of a set S is the prediction of the row with the values of x in S and
// those of z elsewhere. Along the path to a leaf of value v, features where only x goes the path's
// way (A) must be in S, those where only z does (B) must not, and the others do not matter: each
// member of A gets v (a - 1)! b! / (a + b)!, each of B -v a! (b - 1)! / (a + b)! [Lundberg2020].
// Only leaves that such a mixture can reach are visited.
#include <algorithm>

#include "committee/shap.hpp"
#include "explain/shap_plan.hpp"

namespace committee {

namespace {

constexpr double kPairCost = 60.0, kAnswerCost = 2.0;  // nanoseconds
constexpr std::size_t kTaskRows = 64;

// (a - 1)! b! / (a + b)! = 1 / (a * binomial(a + b, a)) for a >= 1.
class PairWeights {
 public:
  explicit PairWeights(std::size_t most) : size_(most + 1), weights_(size_ * size_, 0.0) {
    std::vector<double> binomial{1.0};
    for (std::size_t n = 1; n <= most; ++n) {
      binomial.push_back(1.0);
      for (std::size_t a = n - 1; a > 0; --a) binomial[a] += binomial[a - 1];
      for (std::size_t a = 1; a <= n; ++a)
        weights_[a * size_ + (n - a)] = 1.0 / (static_cast<double>(a) * binomial[a]);
    }
  }
  double operator()(std::size_t own, std::size_t other) const {
    return weights_[own * size_ + other];
  }

 private:
  std::size_t size_;
  std::vector<double> weights_;
};

// Answers of many rows to all splits of a tree: [row][node], 1 goes left.
std::vector<u8> answer_splits(const WeightedTree& tree, const MatrixView& x, std::size_t first,
                              std::size_t n, WorkPolls& polls) {
  const std::size_t n_nodes = tree.nodes().size();
  std::vector<u8> answers(n * n_nodes, 0);
  for (std::size_t r = 0; r < n; ++r) {
    polls.add(kAnswerCost * static_cast<double>(n_nodes));
    for (std::size_t k = 0; k < n_nodes; ++k) {
      if (!tree[k].is_leaf())
        answers[r * n_nodes + k] = tree.goes_left(tree[k], x(first + r, tree[k].feature)) ? 1 : 0;
    }
  }
  return answers;
}

// The walk of one pair through one tree.
class PairWalk {
 public:
  PairWalk(const PairWeights& weights, std::size_t n_features)
      : weights_(weights), side_(n_features, Side::same) {}

  // Adds scale * values to out: [feature][out_width].
  void add(const WeightedTree& tree, std::span<const double> values, std::span<const u8> own,
           std::span<const u8> other, double scale, std::size_t width, std::size_t out_width,
           double* out) {
    open_.assign(1, {0, 0, kNobody, Side::same});
    while (!open_.empty()) {
      const Visit visit = open_.back();
      open_.pop_back();
      while (path_.size() > visit.depth) {
        side_[path_.back()] = Side::same;
        path_.pop_back();
      }
      if (visit.feature != kNobody) {
        path_.push_back(visit.feature);
        side_[visit.feature] = visit.side;
      }
      const u32 leaf = descend(tree, own, other, visit.node);
      if (leaf == kNobody || path_.empty()) continue;
      share_out(&values[std::size_t{leaf} * width], scale, width, out_width, out);
    }
    for (const u32 feature : path_) side_[feature] = Side::same;
    path_.clear();
  }

 private:
  enum class Side : u8 { same, own, other };
  static constexpr u32 kNobody = 0xFFFFFFFFu;
  struct Visit {
    u32 node;
    std::size_t depth;  // of path_ above
    u32 feature;        // that this way decides on
    Side side;
  };

  // Down to a leaf, or to a split that separates the two, whose sides are then to be visited.
  u32 descend(const WeightedTree& tree, std::span<const u8> own, std::span<const u8> other,
              u32 node) {
    while (!tree[node].is_leaf()) {
      const u32 left = tree[node].left, feature = tree[node].feature;
      const Side side = side_[feature];
      if (side == Side::same && own[node] != other[node]) {
        open_.push_back({left + (other[node] ? 0 : 1), path_.size(), feature, Side::other});
        open_.push_back({left + (own[node] ? 0 : 1), path_.size(), feature, Side::own});
        return kNobody;
      }
      node = left + ((side == Side::other ? other[node] : own[node]) ? 0 : 1);
    }
    return tree[node].leaf;
  }

  void share_out(const double* value, double scale, std::size_t width, std::size_t out_width,
                 double* out) const {
    std::size_t n_own = 0;
    for (const u32 feature : path_) n_own += side_[feature] == Side::own ? 1 : 0;
    const std::size_t n_other = path_.size() - n_own;
    const double gain = n_own ? scale * weights_(n_own, n_other) : 0.0;
    const double loss = n_other ? -scale * weights_(n_other, n_own) : 0.0;
    for (const u32 feature : path_) {
      const double weight = side_[feature] == Side::own ? gain : loss;
      for (std::size_t c = 0; c < width; ++c) out[feature * out_width + c] += weight * value[c];
    }
  }

  const PairWeights& weights_;
  std::vector<Side> side_;  // [feature]
  std::vector<u32> path_;   // features on which the two rows differ
  std::vector<Visit> open_;
};

std::size_t find_depth(const Trees& trees, std::size_t tree) {
  const WeightedTree weighed(trees, tree, false);
  std::vector<std::size_t> depth(weighed.nodes().size(), 0);
  std::size_t most = 0;
  for (std::size_t k = 0; k < depth.size(); ++k) {
    most = std::max(most, depth[k]);
    if (!weighed[k].is_leaf()) depth[weighed[k].left] = depth[weighed[k].left + 1] = depth[k] + 1;
  }
  return most;
}

std::vector<double> normalize_weights(const Background& background) {
  std::vector<double> weights(background.rows.n_rows, 1.0);
  if (!background.weights.empty())
    weights.assign(background.weights.begin(), background.weights.end());
  double total = 0.0;
  for (const double weight : weights) total += weight;
  if (weights.size() != background.rows.n_rows || !(total > 0.0))
    throw std::invalid_argument("The background must have rows, with weights of a positive sum.");
  for (double& weight : weights) weight /= total;
  return weights;
}

void predict_background(const TreeSum& sum, const Background& background,
                        std::span<const double> weights, int n_jobs, InterruptWatch& watch,
                        double* base) {
  PredictOptions options;
  options.combine = sum.combine;
  options.tree_weights = sum.tree_weights;
  options.slots = sum.slots;
  options.n_jobs = n_jobs;
  options.watch = &watch;
  std::vector<double> answers(background.rows.n_rows * sum.out_width);
  predict_trees(sum.trees, background.rows, options, answers.data(), sum.out_width);
  std::fill_n(base, sum.out_width, 0.0);
  for (std::size_t r = 0; r < weights.size(); ++r) {
    for (std::size_t c = 0; c < sum.out_width; ++c)
      base[c] += weights[r] * answers[r * sum.out_width + c];
  }
}

}  // namespace

void explain_against(const TreeSum& sum, const MatrixView& x, const Background& background,
                     int n_jobs, InterruptWatch& watch, double* values, double* base) {
  check_sum(sum, x.n_cols);
  check_sum(sum, background.rows.n_cols);
  const std::vector<double> weights = normalize_weights(background);
  predict_background(sum, background, weights, n_jobs, watch, base);
  const Trees& trees = sum.trees;
  std::size_t most = 0;
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    watch.poll();
    most = std::max(most, find_depth(trees, t));
  }
  const PairWeights pair_weights(std::min(most, trees.n_features));
  const std::size_t n_z = weights.size(), row_width = x.n_cols * sum.out_width;
  std::fill_n(values, x.n_rows * row_width, 0.0);
  const double pairs =
      static_cast<double>(x.n_rows) * static_cast<double>(n_z) * static_cast<double>(trees.n_trees);
  const std::size_t n_tasks = (x.n_rows + kTaskRows - 1) / kTaskRows;
  parallel_for(
      n_tasks, choose_threads(n_jobs, kPairCost * pairs, kThreadCost), [&](std::size_t task) {
        const std::size_t first = task * kTaskRows, n = std::min(kTaskRows, x.n_rows - first);
        PairWalk walk(pair_weights, trees.n_features);
        WorkPolls polls(watch);
        for (std::size_t t = 0; t < trees.n_trees; ++t) {
          const WeightedTree tree(trees, t, false);
          const std::size_t n_nodes = tree.nodes().size();
          const std::vector<double> leaves = weigh_leaves(sum, t);
          const std::vector<u8> own = answer_splits(tree, x, first, n, polls);
          const std::vector<u8> other = answer_splits(tree, background.rows, 0, n_z, polls);
          for (std::size_t r = 0; r < n; ++r) {
            double* const out = values + (first + r) * row_width + first_column(sum, t);
            for (std::size_t z = 0; z < n_z; ++z) {
              polls.add(kPairCost);
              walk.add(tree, leaves, std::span(own).subspan(r * n_nodes, n_nodes),
                       std::span(other).subspan(z * n_nodes, n_nodes), weights[z], trees.width,
                       sum.out_width, out);
            }
          }
        }
      });
}

}  // namespace committee
