#include "tree/fast/value_parts.hpp"

#include <algorithm>

namespace committee {

namespace {

// The last bin that goes left; thresholds ascend.
u8 find_bin(const GrownTree::Split& split, const std::vector<ColumnBins>& bins) {
  const auto& thresholds = bins[split.feature].thresholds;
  const auto at = std::lower_bound(thresholds.begin(), thresholds.end(), split.threshold);
  return static_cast<u8>(at - thresholds.begin());
}

}  // namespace

void ValueParts::join(const ValueTop& top, const std::vector<ColumnBins>& bins) {
  is_run_ = top.tree.size() == 0;
  if (is_run_) return;
  // Children: nodes of the top, and behind these the runs.
  const u32 n_top = static_cast<u32>(top.tree.size());
  std::vector<u32> left(top.tree.left), right(top.tree.right);
  for (std::size_t k = 0; k < runs_.size(); ++k)
    (runs_[k].is_right ? right : left)[runs_[k].parent] = n_top + static_cast<u32>(k);
  joined_.begin_joined(subtrees_, n_top);
  struct Open {
    u32 child, depth, parent;  // the parent of a right child
  };
  for (std::vector<Open> open{{0, 0, GrownTree::kNoChild}}; !open.empty();) {
    const Open node = open.back();
    open.pop_back();
    if (node.parent != GrownTree::kNoChild) joined_[node.parent].right = joined_.size();
    if (node.child >= n_top) {
      const std::size_t k = node.child - n_top;
      const u32 end = k + 1 < runs_.size() ? runs_[k + 1].begin : subtrees_.size();
      joined_.append_nodes(subtrees_, runs_[k].begin, end);
      continue;
    }
    const u32 id = joined_.add_node(top.tree.n_samples[node.child], node.depth);
    ValueTree::Node& own = joined_[id];
    if (left[node.child] == GrownTree::kNoChild) {
      own.weight = top.tree.weight[node.child];
      own.sum = top.moments[2 * std::size_t{node.child}];
      own.second = top.moments[2 * std::size_t{node.child} + 1];
      own.value = top.tree.values[node.child];
      continue;
    }
    const GrownTree::Split& split = top.tree.splits[node.child];
    own.feature = static_cast<u8>(split.feature);
    own.bin = find_bin(split, bins);
    own.missing_left = split.missing_left;
    open.push_back({right[node.child], node.depth + 1, id});
    open.push_back({left[node.child], node.depth + 1, GrownTree::kNoChild});
  }
}

}  // namespace committee
