// Extra-trees of two classes on a wide table, many trees at once. A node draws a few of thousands
// of columns, so that a tree by itself waits for memory at nearly every column it looks at. Here
// all open nodes of all trees draw, and then the columns are gone through one after the other: a
// column and the ends of its bins are read once for all the nodes that drew it.
#pragma once
#include <vector>

#include "base/rng.hpp"
#include "base/u8x16.hpp"
#include "committee/grower.hpp"
#include "tree/ends_table.hpp"
#include "tree/leaf_test.hpp"

namespace committee {

class ExtraTreesColumns {
 public:
  // Rows of a table whose columns stay in a first cache: a number of 15 bits, and one for the
  // class.
  static constexpr std::size_t kMostRows = std::size_t{1} << 15;

  // All columns are numeric, and no value is missing.
  ExtraTreesColumns(const BinnedMatrix& data, const EndsTable& ends, InterruptWatch& watch);
  // A tree on the rows that count (input.counts: each once or not at all), two classes, Gini.
  void add_tree(const GrowInput& input, const GrowParams& params);
  void grow();
  // Of the tree that was added so: its nodes, parents before children.
  GrownTree& tree(std::size_t k) { return members_[k].tree; }

 private:
  static constexpr u32 kNone = ~0u;
  // A tree and what its nodes go by.
  struct Member {
    KeyPrefix key;
    LeafTest leaf_test;
    std::vector<u32> pool;  // features that are drawn from; empty: all
    u32 n_wanted;           // that a node looks at
    GrownTree tree;
  };
  // A node without a split so far: what all draws look at. Small, so that those of a turn stay in
  // the second cache.
  struct Node {
    u32 begin, n_rows, n_positive;  // rows: [begin, begin + n_rows)
    u32 priority = kNone;           // of the best cut so far; kNone: there is none
    double score = -1.0;            // of that cut
    NodeNumbers numbers;
  };
  // The rest of it.
  struct Place {
    u32 feature = 0, bin = 0, n_left = 0, left_positive = 0;  // of the best cut
    u32 n_drawn = 0;                                          // features
    u32 member, id = 0, depth = 0;
    u64 key;
  };
  struct OpenNode {
    Node node;
    Place place;
  };
  // A node that has drawn a feature, as the priority-th. kLate: nothing varied among those that it
  // wanted, and the next one that varies wins.
  struct Draw {
    u32 node, priority;
  };
  static constexpr u32 kLate = 1u << 31;
  // A cut of a column in such a node: where its bins are in bins_, and what lies left.
  struct Cut {
    Draw draw;
    u32 at, n_left, n_positive;
    double score;
  };

  void open(OpenNode open);
  void take_nodes();
  void draw();
  void draw_features(u32 number);
  void sort_draws();
  void search();
  void search_column(u32 feature, std::span<const Draw> draws);
  void gather(const u8* column, const Node& node, RowLanes* bins, u32& lo, u32& hi) const;
  void count_left(u32 bin, Cut& cut) const;
  void take_cut(u32 feature, u32 bin, const Cut& cut);
  void prefetch_rows(const Node& node) const;
  bool is_settled(std::size_t k) const;
  void prefetch_splits(std::size_t k) const;
  void settle();
  void split(const Node& node, const Place& place);
  void partition(const Node& node, const Place& place);
  void prefetch_some();
  u32 count_pool(const Member& member) const {
    return static_cast<u32>(member.pool.empty() ? data_.n_cols : member.pool.size());
  }

  const BinnedMatrix& data_;
  const EndsTable& ends_;
  InterruptWatch& watch_;
  std::vector<Member> members_;
  std::vector<u16> rows_, right_rows_;  // of all trees, those of a node together
  std::vector<Node> nodes_;             // of this turn
  std::vector<Place> places_;           // theirs
  std::vector<OpenNode> next_;          // that are open besides
  std::vector<u32> order_, swaps_;      // of features: a list, and the places that draws swap
  std::vector<u32> drawn_features_;     // by draws_
  std::vector<Draw> draws_, sorted_;
  std::vector<u32> starts_;  // per feature, in sorted_
  std::vector<RowLanes> bins_;
  // The column that comes next, the ends of its bins, and how many of its bytes were prefetched.
  const u8 *coming_column_ = nullptr, *coming_ends_ = nullptr;
  std::size_t coming_ = 0, n_coming_ = 0;
};

}  // namespace committee
