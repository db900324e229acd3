#include "explain/shap_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace committee {

GaussPoints find_gauss_points(std::size_t size) {
  GaussPoints points{std::vector<double>(size), std::vector<double>(size)};
  const double n = static_cast<double>(size);
  for (std::size_t i = 0; i < (size + 1) / 2; ++i) {
    // Roots of the Legendre polynomial by Newton's method; they are symmetric about 0.
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5));
    double slope = 1.0;
    for (int round = 0; round < 100; ++round) {
      double value = 1.0, before = 0.0;
      for (std::size_t k = 1; k <= size; ++k) {
        const double degree = static_cast<double>(k);
        const double next = ((2.0 * degree - 1.0) * x * value - (degree - 1.0) * before) / degree;
        before = value;
        value = next;
      }
      slope = n * (x * value - before) / (x * x - 1.0);
      const double step = value / slope;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    const double weight = 1.0 / ((1.0 - x * x) * slope * slope);
    points.at[i] = 0.5 - 0.5 * x;
    points.at[size - 1 - i] = 0.5 + 0.5 * x;
    points.weight[i] = points.weight[size - 1 - i] = weight;
  }
  return points;
}

namespace {

// Walks a tree depth-first and writes its plan; no recursion, since a tree may be a long chain.
class Planner {
 public:
  Planner(ShapPlan& plan, std::span<const u32> slot_of_feature)
      : plan_(plan), slot_of_feature_(slot_of_feature) {}

  void run() {
    if (plan_.tree[0].is_leaf()) return;
    open(0, false);
    while (!path_.empty()) {
      Place& place = path_.back();
      const u32 split = place.split;
      const u32 node = plan_.splits[split].node;
      if (place.next == 2) {
        plan_.steps.push_back({split, ShapPlan::Move::leave});
        close();
        continue;
      }
      const bool right = place.next++ == 1;
      const u32 child = plan_.tree[node].left + (right ? 1 : 0);
      const double share = plan_.splits[split].share;
      place.share = plan_.splits[split].share_above * (right ? 1.0 - share : share);
      if (plan_.tree[child].is_leaf()) continue;
      plan_.steps.push_back({split, right ? ShapPlan::Move::go_right : ShapPlan::Move::go_left});
      open(child, right);
    }
    plan_.n_points = (most_features_ + 1) / 2;
  }

 private:
  struct Place {
    u32 split;
    int next = 0;        // child to go to: 0, 1; 2: none
    double share = 1.0;  // product of the feature's shares down the side that is being walked
  };

  void open(u32 node, bool is_right) {
    PlannedSplit split;
    const WeightedNode& from = plan_.tree[node];
    split.node = node;
    split.slot = slot_of_feature_[from.feature];
    split.level = static_cast<u32>(path_.size());
    split.share = from.share;
    split.is_right = is_right;
    for (u32 level = split.level; level-- > 0;) {
      if (plan_.splits[path_[level].split].slot != split.slot) continue;
      split.above = level;
      split.share_above = path_[level].share;
      break;
    }
    for (u32 side = 0; side < 2; ++side) {
      if (plan_.tree[from.left + side].is_leaf())
        split.leaf[side] = plan_.tree[from.left + side].leaf;
    }
    n_features_ += split.above == PlannedSplit::kNone ? 1 : 0;
    most_features_ = std::max(most_features_, n_features_);
    plan_.n_levels = std::max(plan_.n_levels, path_.size() + 1);
    path_.push_back({static_cast<u32>(plan_.splits.size())});
    plan_.splits.push_back(split);
    plan_.steps.push_back({path_.back().split, ShapPlan::Move::look});
  }

  void close() {
    n_features_ -= plan_.splits[path_.back().split].above == PlannedSplit::kNone ? 1 : 0;
    path_.pop_back();
  }

  ShapPlan& plan_;
  std::span<const u32> slot_of_feature_;
  std::vector<Place> path_;
  std::size_t n_features_ = 0, most_features_ = 0;  // distinct ones on the path
};

}  // namespace

ShapPlan::ShapPlan(const TreeSum& sum, std::size_t tree_number,
                   std::span<const u32> slot_of_feature, std::span<const u32> columns)
    : tree(sum.trees, tree_number),
      n_columns(columns.size()),
      first_column(committee::first_column(sum, tree_number)) {
  const std::vector<double> all = weigh_leaves(sum, tree_number);
  const std::size_t n_leaves = sum.trees.n_leaves(tree_number);
  for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
    for (const u32 column : columns) values.push_back(all[leaf * sum.trees.width + column]);
  }
  expected.assign(n_columns, 0.0);
  std::vector<double> reached(tree.nodes().size(), 1.0);  // share of the root's weight
  for (std::size_t k = 0; k < reached.size(); ++k) {
    const WeightedNode& node = tree[k];
    if (node.is_leaf()) {
      for (std::size_t c = 0; c < n_columns; ++c)
        expected[c] += reached[k] * values[node.leaf * n_columns + c];
      continue;
    }
    reached[node.left] = reached[k] * node.share;
    reached[node.left + 1] = reached[k] * (1.0 - node.share);
  }
  Planner(*this, slot_of_feature).run();
  for (const PlannedSplit& split : splits) slots.push_back(split.slot);
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
}

std::vector<u32> choose_columns(const TreeSum& sum) {
  std::vector<u32> columns;
  if (sum.trees.outputs.empty() || sum.combine == Combine::sum) {
    for (u32 c = 0; c < sum.trees.width; ++c) columns.push_back(c);
    return columns;
  }
  u32 first = 0;
  for (const u32 n_classes : sum.trees.outputs) {
    for (u32 c = 0; c + 1 < n_classes; ++c) columns.push_back(first + c);
    first += n_classes;
  }
  return columns;
}

void complete_columns(const TreeSum& sum, double whole, double* at) {
  if (sum.trees.outputs.empty() || sum.combine == Combine::sum) return;
  for (const u32 n_classes : sum.trees.outputs) {
    double others = 0.0;
    for (u32 c = 0; c + 1 < n_classes; ++c) others += at[c];
    at[n_classes - 1] = whole - others;
    at += n_classes;
  }
}

std::vector<u32> list_used_features(const Trees& trees) {
  std::vector<u8> used(trees.n_features, 0);
  const auto look = [&]<class T>(const Node<T>* nodes) {
    for (std::size_t k = trees.node_offsets[0]; k < trees.node_offsets[trees.n_trees]; ++k) {
      if (!nodes[k].is_leaf()) used[nodes[k].feature()] = 1;
    }
  };
  if (trees.double_thresholds) {
    look(static_cast<const Node<double>*>(trees.nodes));
  } else {
    look(static_cast<const Node<float>*>(trees.nodes));
  }
  std::vector<u32> features;
  for (u32 f = 0; f < used.size(); ++f) {
    if (used[f]) features.push_back(f);
  }
  return features;
}

}  // namespace committee
