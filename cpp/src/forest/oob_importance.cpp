#include "committee/oob_importance.hpp"

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"

namespace committee {

namespace {

constexpr double kMinOobThreadWork = 1e4;  // rows times trees
constexpr double kRowCost = 200.0;         // estimated nanoseconds of a row through a deep tree
constexpr double kShuffleCost = 5.0;

// One tree with raw nodes of either width, and the rows that it is asked about.
class TreeReader {
 public:
  TreeReader(const OobQuestion& question, std::size_t tree)
      : question_(question), trees_(question.trees), tree_(tree) {}

  struct Step {
    u32 feature = 0, left = 0;
    bool leaf = false;
  };
  Step at(u32 node) const {
    return trees_.double_thresholds ? describe<double>(node) : describe<float>(node);
  }
  bool goes_left(u32 node, double value) const {
    return trees_.double_thresholds ? compare<double>(node, value) : compare<float>(node, value);
  }
  double read(u32 row, u32 feature) const { return question_.x(row, feature); }
  // The leaf (numbered in the arena) of a row whose `column` is taken from another row.
  std::size_t find_leaf(u32 row, u32 column, u32 other) const {
    u32 node = 0;
    for (Step step = at(0); !step.leaf; step = at(node)) {
      const bool permuted = question_.column_of(step.feature) == column;
      const double value = read(permuted ? other : row, step.feature);
      node = step.left + (goes_left(node, value) ? 0 : 1);
    }
    return number_leaf(node);
  }
  std::size_t number_leaf(u32 node) const { return trees_.leaf_offsets[tree_] + at(node).left; }
  std::size_t n_nodes() const { return trees_.n_nodes(tree_); }

 private:
  template <class T>
  const Node<T>& node(u32 index) const {
    return static_cast<const Node<T>*>(trees_.nodes)[trees_.node_offsets[tree_] + index];
  }
  template <class T>
  Step describe(u32 index) const {
    const Node<T>& found = node<T>(index);
    return {found.feature(), found.left, found.is_leaf()};
  }
  template <class T>
  bool compare(u32 index, double value) const {
    const Node<T>& found = node<T>(index);
    if (std::isnan(value)) return found.missing_left();
    if (!found.is_categorical()) return value <= static_cast<double>(found.threshold);
    return holds_code(trees_.category_set(found.category_set()), value);
  }

  const OobQuestion& question_;
  const Trees& trees_;
  std::size_t tree_;
};

// Rows of positive weight that the tree's sample does not hold, ascending.
std::vector<u32> list_out_of_bag(const OobQuestion& question, std::size_t tree) {
  std::vector<u32> counts(question.x.n_rows), rows;
  draw_rows(question.plan.sampling, question.seed, question.plan.first_tree + tree, counts);
  for (u32 row = 0; row < counts.size(); ++row) {
    if (counts[row] == 0 && (question.weights.empty() || question.weights[row] > 0.0)) {
      rows.push_back(row);
    }
  }
  return rows;
}

double weigh(const OobQuestion& question, u32 row) {
  return question.weights.empty() ? 1.0 : question.weights[row];
}

// Share of the outputs that the leaf gets wrong, or its mean squared error.
double measure_loss(const OobQuestion& question, std::size_t leaf, u32 row) {
  const Trees& trees = question.trees;
  const Target& target = question.target;
  double loss = 0.0;
  u32 first = 0;
  for (u32 o = 0; o < target.n_outputs; ++o) {
    const std::size_t at = static_cast<std::size_t>(row) * target.n_outputs + o;
    if (target.labels.empty()) {
      const double error = target.values[at] - trees.value(leaf, o);
      loss += error * error;
      continue;
    }
    u32 best = 0;
    for (u32 c = 1; c < target.n_classes[o]; ++c) {
      if (trees.value(leaf, first + c) > trees.value(leaf, first + best)) best = c;
    }
    loss += best == target.labels[at] ? 0.0 : 1.0;
    first += target.n_classes[o];
  }
  return loss / target.n_outputs;
}

// What one tree found: [feature or column of `features`][repeat], or [feature] for the impurity.
struct TreeFinding {
  std::vector<u32> features;
  std::vector<double> growth;
  bool asked = false;
};

// For each column, the out-of-bag rows (by their place in the list) whose path tests it.
std::vector<std::vector<u32>> list_tested(const OobQuestion& question, const TreeReader& reader,
                                          std::span<const u32> rows, WorkPolls& polls,
                                          std::vector<std::size_t>& leaves) {
  std::vector<std::vector<u32>> tested(question.x.n_cols);
  for (u32 i = 0; i < rows.size(); ++i) {
    polls.add(kRowCost);
    u32 node = 0;
    for (auto step = reader.at(0); !step.leaf; step = reader.at(node)) {
      auto& of_column = tested[question.column_of(step.feature)];
      if (of_column.empty() || of_column.back() != i) of_column.push_back(i);
      node = step.left + (reader.goes_left(node, reader.read(rows[i], step.feature)) ? 0 : 1);
    }
    leaves[i] = reader.number_leaf(node);
  }
  return tested;
}

TreeFinding permute_tree(const OobQuestion& question, std::size_t tree, WorkPolls& polls) {
  TreeFinding finding;
  const TreeReader reader(question, tree);
  const std::vector<u32> rows = list_out_of_bag(question, tree);
  finding.asked = !rows.empty();
  std::vector<std::size_t> leaves(rows.size());
  const auto tested = list_tested(question, reader, rows, polls, leaves);
  std::vector<double> losses(rows.size());
  double total = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    losses[i] = measure_loss(question, leaves[i], rows[i]);
    total += weigh(question, rows[i]);
  }
  std::vector<u32> shuffled(rows.size());
  for (u32 column = 0; column < tested.size(); ++column) {
    if (tested[column].empty()) continue;
    finding.features.push_back(column);
    for (u32 repeat = 0; repeat < question.n_repeats; ++repeat) {
      const u64 key = static_cast<u64>(column) * question.n_repeats + repeat;
      Rng rng(question.seed, question.plan.first_tree + tree, key, Purpose::permutation);
      std::copy(rows.begin(), rows.end(), shuffled.begin());
      polls.add(kShuffleCost * static_cast<double>(rows.size()));
      for (std::size_t i = shuffled.size(); i > 1; --i) {
        std::swap(shuffled[i - 1], shuffled[rng.below(static_cast<u32>(i))]);
      }
      double growth = 0.0;
      for (const u32 i : tested[column]) {
        polls.add(kRowCost);
        const std::size_t leaf = reader.find_leaf(rows[i], column, shuffled[i]);
        if (leaf == leaves[i]) continue;
        growth += weigh(question, rows[i]) * (measure_loss(question, leaf, rows[i]) - losses[i]);
      }
      finding.growth.push_back(growth / total);
    }
  }
  return finding;
}

// Mean of the target in every node, from the leaves up: class shares, or values.
std::vector<double> average_nodes(const OobQuestion& question, const TreeReader& reader) {
  const Trees& trees = question.trees;
  const u32 width = trees.width;
  std::vector<double> sums(reader.n_nodes() * width), weights(reader.n_nodes());
  for (u32 node = static_cast<u32>(reader.n_nodes()); node-- > 0;) {
    const auto step = reader.at(node);
    double* own = &sums[static_cast<std::size_t>(node) * width];
    if (step.leaf) {
      const std::size_t leaf = reader.number_leaf(node);
      weights[node] = leaf_weight(trees, leaf);
      // Class weights are sums already, values are means.
      const double factor = trees.outputs.empty() ? weights[node] : 1.0;
      for (u32 c = 0; c < width; ++c) own[c] = factor * trees.value(leaf, c);
      continue;
    }
    weights[node] = weights[step.left] + weights[step.left + 1];
    const double* left = &sums[static_cast<std::size_t>(step.left) * width];
    for (u32 c = 0; c < width; ++c) own[c] = left[c] + left[width + c];
  }
  for (std::size_t node = 0; node < weights.size(); ++node) {
    for (u32 c = 0; c < width; ++c) sums[node * width + c] /= weights[node];
  }
  return sums;
}

// (child's mean - node's mean) * y, summed over the outputs.
double multiply_target(const OobQuestion& question, const double* node, const double* child,
                       u32 row) {
  const Target& target = question.target;
  double sum = 0.0;
  u32 first = 0;
  for (u32 o = 0; o < target.n_outputs; ++o) {
    const std::size_t at = static_cast<std::size_t>(row) * target.n_outputs + o;
    if (target.labels.empty()) {
      sum += (child[o] - node[o]) * target.values[at];
    } else {
      const u32 c = first + target.labels[at];
      sum += child[c] - node[c];
      first += target.n_classes[o];
    }
  }
  return sum / target.n_outputs;
}

TreeFinding debias_tree(const OobQuestion& question, std::size_t tree, WorkPolls& polls) {
  TreeFinding finding;
  const TreeReader reader(question, tree);
  const std::vector<u32> rows = list_out_of_bag(question, tree);
  finding.asked = !rows.empty();
  const std::vector<double> means = average_nodes(question, reader);
  const u32 width = question.trees.width;
  std::vector<double> gains(question.x.n_cols, 0.0);
  double total = 0.0;
  for (const u32 row : rows) {
    polls.add(kRowCost);
    const double weight = weigh(question, row);
    total += weight;
    u32 node = 0;
    for (auto step = reader.at(0); !step.leaf; step = reader.at(node)) {
      const u32 child =
          step.left + (reader.goes_left(node, reader.read(row, step.feature)) ? 0 : 1);
      gains[step.feature] +=
          weight * multiply_target(question, &means[static_cast<std::size_t>(node) * width],
                                   &means[static_cast<std::size_t>(child) * width], row);
      node = child;
    }
  }
  for (u32 feature = 0; feature < gains.size(); ++feature) {
    if (gains[feature] == 0.0) continue;
    finding.features.push_back(feature);
    finding.growth.push_back(gains[feature] / total);
  }
  return finding;
}

// Asks every tree, a tree a thread, and takes the mean in tree order.
template <class Ask>
std::vector<double> ask_trees(const OobQuestion& question, u32 width, InterruptWatch& watch,
                              Ask&& ask) {
  if (question.x.n_cols != question.trees.n_features)
    throw std::invalid_argument("X has another number of columns than the trees");
  const std::size_t n_trees = question.trees.n_trees;
  const double work = static_cast<double>(question.x.n_rows) * static_cast<double>(n_trees);
  std::vector<TreeFinding> findings(n_trees);
  parallel_for(n_trees, choose_threads(question.n_jobs, work, kMinOobThreadWork),
               [&](std::size_t t) {
                 watch.poll();
                 WorkPolls polls(watch);
                 findings[t] = ask(question, t, polls);
               });
  std::vector<double> mean(question.x.n_cols * width, 0.0);
  double n_asked = 0.0;
  for (const TreeFinding& finding : findings) {
    n_asked += finding.asked ? 1.0 : 0.0;
    for (std::size_t k = 0; k < finding.growth.size(); ++k) {
      mean[static_cast<std::size_t>(finding.features[k / width]) * width + k % width] +=
          finding.growth[k];
    }
  }
  for (double& value : mean) value /= std::max(n_asked, 1.0);
  return mean;
}

}  // namespace

std::vector<double> permute_out_of_bag(const OobQuestion& question, InterruptWatch& watch) {
  return ask_trees(question, question.n_repeats, watch, permute_tree);
}

std::vector<double> debias_impurity(const OobQuestion& question, InterruptWatch& watch) {
  return ask_trees(question, 1, watch, debias_tree);
}

}  // namespace committee
