// Minimal cost-complexity pruning [Breiman1984, ch. 3]. R(t) is the impurity of node t weighted by
// its share of the training weight, R(T_t) the sum of R over the leaves below t. Collapsing t costs
// alpha(t) = (R(t) - R(T_t)) / (leaves below t - 1) per leaf saved; the cheapest node, the weakest
// link, goes first (ties: the node with the lowest number).
#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "committee/tree.hpp"

namespace committee {

namespace {

class WeakestLinks {
 public:
  explicit WeakestLinks(const GrownTree& tree)
      : tree_(tree),
        parent_(tree.size(), GrownTree::kNoChild),
        leaves_(tree.size(), 1),
        risk_(tree.size()),
        branch_risk_(tree.size()),
        state_(tree.size(), State::leaf) {
    const double total = tree.weight[0];
    for (std::size_t i = 0; i < tree.size(); ++i) {
      risk_[i] = tree.weight[i] * tree.impurity[i] / total;
      branch_risk_[i] = risk_[i];
    }
    const std::vector<u32> order = order_from_root();
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const u32 node = *at;
      if (tree.is_leaf(node)) continue;
      const u32 left = tree.left[node], right = tree.right[node];
      leaves_[node] = leaves_[left] + leaves_[right];
      branch_risk_[node] = branch_risk_[left] + branch_risk_[right];
      state_[node] = State::inner;
      links_.emplace(alpha(node), node);
    }
  }

  bool empty() const { return state_[0] != State::inner; }
  bool is_inner(u32 node) const { return state_[node] == State::inner; }
  double root_risk() const { return branch_risk_[0]; }

  // The smallest alpha of all inner nodes that are left; there must be one.
  double weakest() {
    while (is_stale(links_.top())) links_.pop();
    return links_.top().first;
  }

  void collapse_weakest() {
    weakest();
    const u32 node = links_.top().second;
    links_.pop();
    drop_below(node);
    const u32 saved = leaves_[node] - 1;
    const double rise = risk_[node] - branch_risk_[node];
    state_[node] = State::leaf;
    leaves_[node] = 1;
    branch_risk_[node] = risk_[node];
    for (u32 up = parent_[node]; up != GrownTree::kNoChild; up = parent_[up]) {
      leaves_[up] -= saved;
      branch_risk_[up] += rise;
      links_.emplace(alpha(up), up);
    }
  }

 private:
  enum class State : u8 { leaf, inner, gone };
  using Link = std::pair<double, u32>;

  // Of risks beyond all bounds the difference is no number: such a node goes last.
  double alpha(u32 node) const {
    const double rise = risk_[node] - branch_risk_[node];
    return rise == rise ? rise / (leaves_[node] - 1) : std::numeric_limits<double>::infinity();
  }

  // A link is stale if its node is no longer inner or its alpha has changed since (a newer link is
  // queued).
  bool is_stale(const Link& link) const {
    return !is_inner(link.second) || link.first != alpha(link.second);
  }

  std::vector<u32> order_from_root() {
    std::vector<u32> order{0};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const u32 node = order[i];
      if (tree_.is_leaf(node)) continue;
      for (const u32 child : {tree_.left[node], tree_.right[node]}) {
        parent_[child] = node;
        order.push_back(child);
      }
    }
    return order;
  }

  void drop_below(u32 node) {
    std::vector<u32> open{node};
    while (!open.empty()) {
      const u32 top = open.back();
      open.pop_back();
      if (!is_inner(top)) continue;
      for (const u32 child : {tree_.left[top], tree_.right[top]}) open.push_back(child);
      state_[top] = State::gone;
    }
  }

  const GrownTree& tree_;
  std::vector<u32> parent_, leaves_;
  std::vector<double> risk_, branch_risk_;
  std::vector<State> state_;
  std::priority_queue<Link, std::vector<Link>, std::greater<>> links_;
};

// The nodes that can still be reached, in their old relative order, as a tree of their own;
// `former` gets the old number of each.
GrownTree keep_reachable(GrownTree& tree, std::vector<u32>& former) {
  std::vector<u8> reached(tree.size(), 0);
  std::vector<u32> open{0};
  while (!open.empty()) {
    const u32 node = open.back();
    open.pop_back();
    reached[node] = 1;
    if (tree.is_leaf(node)) continue;
    open.push_back(tree.left[node]);
    open.push_back(tree.right[node]);
  }
  std::vector<u32> renamed(tree.size(), GrownTree::kNoChild);
  GrownTree kept;
  kept.width = tree.width;
  kept.depth_first = tree.depth_first;
  for (u32 node = 0; node < tree.size(); ++node) {
    if (!reached[node]) continue;
    former.push_back(node);
    const std::span<const double> value(tree.values.data() + std::size_t{node} * tree.width,
                                        tree.width);
    renamed[node] =
        kept.add_node(tree.n_samples[node], tree.weight[node], tree.impurity[node], value);
    if (!tree.is_leaf(node)) kept.splits.back() = std::move(tree.splits[node]);
  }
  for (u32 node = 0; node < tree.size(); ++node) {
    if (!reached[node] || tree.is_leaf(node)) continue;
    kept.left[renamed[node]] = renamed[tree.left[node]];
    kept.right[renamed[node]] = renamed[tree.right[node]];
  }
  return kept;
}

}  // namespace

PruningPath find_pruning_path(const GrownTree& tree) {
  WeakestLinks links(tree);
  PruningPath path{{0.0}, {links.root_risk()}};
  while (!links.empty()) {
    path.alphas.push_back(links.weakest());
    links.collapse_weakest();
    path.impurities.push_back(links.root_risk());
  }
  return path;
}

std::vector<u32> prune_tree(GrownTree& tree, double ccp_alpha) {
  std::vector<u32> former;
  if (!(ccp_alpha > 0.0)) return former;
  WeakestLinks links(tree);
  bool changed = false;
  while (!links.empty() && links.weakest() <= ccp_alpha) {
    links.collapse_weakest();
    changed = true;
  }
  if (!changed) return former;
  for (u32 node = 0; node < tree.size(); ++node) {
    if (!links.is_inner(node)) tree.left[node] = tree.right[node] = GrownTree::kNoChild;
  }
  tree = keep_reachable(tree, former);
  return former;
}

}  // namespace committee
