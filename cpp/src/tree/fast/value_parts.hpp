// A tree of numbers by best splits: its large nodes come from the general loop, in the order that
// this opens them in; each subtree below them is a run of a list of nodes. At the end all of them
// become one list.
#pragma once
#include "tree/fast/value_tree.hpp"

namespace committee {

// The nodes above the subtrees, and what their leaves add up to: two numbers a node.
struct ValueTop {
  const GrownTree& tree;
  std::span<const double> moments;
};

class ValueParts {
 public:
  // Forgets all nodes, but not their memory.
  void begin(std::size_t n_rows) {
    subtrees_.begin(n_rows, 0);
    runs_.clear();
  }
  // The nodes that are added to subtrees() from here on are a subtree: a child of a node of the
  // top, or the whole tree where that is kNoChild.
  void begin_subtree(u32 parent, bool is_right) {
    runs_.push_back({parent, subtrees_.size(), is_right});
  }
  ValueTree& subtrees() { return subtrees_; }
  // Of the subtree at hand.
  u32 first_node() const { return runs_.back().begin; }
  // Puts the top and its subtrees together, as whole(). No value is missing anywhere.
  void join(const ValueTop& top, const std::vector<ColumnBins>& bins);
  ValueTree& whole() { return is_run_ ? subtrees_ : joined_; }
  const ValueTree& whole() const { return is_run_ ? subtrees_ : joined_; }

 private:
  struct Run {
    u32 parent, begin;
    bool is_right;
  };

  ValueTree subtrees_, joined_;
  std::vector<Run> runs_;
  bool is_run_ = false;  // whether the whole tree is one run
};

}  // namespace committee
