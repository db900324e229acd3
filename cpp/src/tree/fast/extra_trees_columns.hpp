// Extra-trees of two classes on a wide table, many trees at once. A node draws a few of thousands
// of columns, so that a tree by itself waits for memory at nearly every column it looks at. Here
// all open nodes of all trees draw, and then the columns are gone through one after the other: a
// column and the ends of its bins are read once for all the nodes that drew it.
#pragma once
#include <vector>

#include "committee/grower.hpp"
#include "tree/fast/column_cuts.hpp"
#include "tree/leaf_test.hpp"

namespace committee {

class ExtraTreesColumns {
 public:
  // Rows of a table whose columns stay in a first cache.
  static constexpr std::size_t kMostRows = std::size_t{1} << 15;

  // All columns are numeric, and no value is missing.
  ExtraTreesColumns(const BinnedMatrix& data, const EndsTable& ends, InterruptWatch& watch);
  // A tree on the rows that count (input.counts: each once or not at all), two classes, Gini.
  void add_tree(const GrowInput& input, const GrowParams& params);
  void grow();
  // Of the tree that was added so: its nodes, parents before children.
  GrownTree& tree(std::size_t k) { return members_[k].tree; }

 private:
  // A tree and what its nodes go by.
  struct Member {
    KeyPrefix key;
    LeafTest leaf_test;
    std::vector<u32> pool;  // features that are drawn from; empty: all
    u32 n_wanted;           // that a node looks at
    GrownTree tree;
  };
  using Node = ColumnNode;
  using Draw = ColumnDraw;
  // What draws do not look at.
  struct Place {
    u32 n_drawn = 0;  // features
    u32 member, id = 0, depth = 0;
    u64 key;
  };
  // A split whose threshold is not in its tree so far.
  struct Cut {
    u32 feature, bin, member, id;
  };
  struct OpenNode {
    Node node;
    Place place;
  };

  void open(OpenNode open);
  void take_nodes();
  void take_words();
  void draw();
  void draw_features(u32 number);
  void sort_draws();
  void search();
  bool is_settled(std::size_t k) const;
  void prefetch_splits(std::size_t k) const;
  void settle();
  void split(Node& node, const Place& place);
  void write_thresholds();
  u32 count_pool(const Member& member) const {
    return static_cast<u32>(member.pool.empty() ? data_.n_cols : member.pool.size());
  }

  const BinnedMatrix& data_;
  InterruptWatch& watch_;
  ColumnCuts search_;
  std::vector<Member> members_;
  std::vector<u16> rows_, right_rows_;  // of all trees, those of a node together
  std::vector<Node> nodes_;             // of this turn
  std::vector<Place> places_;           // theirs
  std::vector<OpenNode> next_;          // that are open besides
  std::vector<u64> left_, sets_;        // the nodes' bits of rows
  std::vector<Cut> cuts_;               // of all splits
  std::vector<u32> order_, swaps_;      // of features: a list, and the places that draws swap
  std::vector<u32> drawn_features_;     // by draws_
  std::vector<Draw> draws_, sorted_;
  std::vector<u32> starts_;  // per feature, in sorted_
};

}  // namespace committee
