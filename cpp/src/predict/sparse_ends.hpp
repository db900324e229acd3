// Sparse rows through deep trees: the cost goes with the entries of a row, not with the depth.
#pragma once
#include "committee/binning.hpp"
#include "predict/tree_walk.hpp"

namespace committee {

// Nodes that lead to one another where a value is zero are a chain; it is named by its first node.
// A row follows a chain until one of its entries goes the other way, and the other child begins
// another chain. Where on a chain a feature is asked for, a table knows.
class ZeroChains {
 public:
  ZeroChains(const Trees& trees, std::size_t tree);
  // The node where a row ends. Columns and values of its entries; all others are zero.
  template <class X, class I>
  u32 find_end(std::span<const I> columns, const X* values) const;

 private:
  struct Question {
    double threshold;
    u32 feature, left;
    u32 next;  // that asks for the same feature on the same chain; kMissingCode: none
    u32 set;   // of categories; kMissingCode: a number
    bool missing_left, zero_right;
  };
  bool goes_right(const Question& question, double x) const;
  std::size_t find_slot(u32 chain, u32 feature) const;

  const Trees& trees_;
  std::vector<Question> questions_;         // per node; of inner nodes
  std::vector<u32> ends_;                   // per node that begins a chain: its leaf
  std::vector<std::pair<u64, u32>> table_;  // chain and feature, and the first node that asks
  u32 bits_ = 1;
};

}  // namespace committee
