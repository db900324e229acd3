// Subtrees of up to 512 rows of extra-trees of two classes, rows of equal weight. The bins of a
// feature lie side by side, a byte a row, and a node is a set of rows: its ends, what lies left of
// a cut and the parting are a few vectors each, and no row moves. Where a node fills less than half
// of a block its rows get a smaller block of their own.
#pragma once
#include <tuple>

#include "column_cuts.hpp"
#include "committee/split.hpp"
#include "committee/tree.hpp"
#include "row_lanes.hpp"

namespace committee {

// What stays the same during a growth.
struct DrawnRules {
  explicit DrawnRules(const KeyPrefix& key) : tree_key(key) {}
  const KeyPrefix tree_key;
  std::vector<ColumnCuts> columns;        // of every feature
  std::vector<const double*> thresholds;  // of every feature
  u8 pool[64] = {};                       // features that are drawn from
  u32 n_pool = 0, n_wanted = 0;           // features there, features that a node looks at
  u32 max_depth = 0, min_samples_split = 2;
  double weight_unit = 1.0;  // of a row
};

// Rows of a block, a byte each: 255 if it is among them, else 0.
template <int kVectors>
struct RowSet {
  RowLanes lanes[kVectors];
};

template <int kVectors>
struct RowBlock {
  static constexpr std::size_t kRows = kRowLanes * kVectors;
  struct Node {
    RowSet<kVectors> rows;
    u64 key;
    u32 n_rows, n_positive;
    u32 parent, depth;
    bool is_right;
  };
  RowLanes columns[64][kVectors];
  RowSet<kVectors> positives;
  u32 records[kRows];  // of each row
  std::vector<Node> open;
};

class DrawnBlocks {
 public:
  static constexpr std::size_t kMostRows = 512;
  // Where the top of a subtree hangs in the tree.
  struct Top {
    u64 key;
    u32 parent, depth;
    bool is_right;
  };

  explicit DrawnBlocks(const DrawnRules& rules) : rules_(rules) {}

  // Grows the subtree of up to kMostRows rows; an item's row is the number of its record. False:
  // nothing was done, since a value is missing.
  bool finish(const Top& top, const u8* records, std::size_t stride,
              std::span<const BinaryTally::Item> items, GrownTree& tree);

 private:
  template <int kVectors>
  using Node = typename RowBlock<kVectors>::Node;
  struct Best;

  template <int kVectors>
  bool finish_in(const Top& top, std::span<const BinaryTally::Item> items);
  template <int kVectors>
  bool fill_columns(u32 n_rows);
  template <int kVectors>
  void grow(Node<kVectors> node);
  template <int kVectors, int kFrom>
  void hand_over(const Node<kFrom>& node);
  template <int kVectors>
  bool split(Node<kVectors>& node, u32 id, Node<kVectors>& right);
  template <int kVectors>
  bool search(const Node<kVectors>& node, Best& best);
  template <int kVectors>
  void look_at(const Node<kVectors>& node, std::span<const u8> features, const NodeNumbers& numbers,
               Best& best);
  template <int kVectors>
  u32 add_to_tree(const Node<kVectors>& node);
  bool is_leaf(u32 n_rows, u32 n_positive, u32 depth) const;

  template <int kVectors>
  RowBlock<kVectors>& block() {
    return std::get<RowBlock<kVectors>>(blocks_);
  }

  const DrawnRules& rules_;
  const u8* records_ = nullptr;
  std::size_t stride_ = 0;
  GrownTree* tree_ = nullptr;
  std::tuple<RowBlock<32>, RowBlock<16>, RowBlock<8>, RowBlock<4>, RowBlock<2>, RowBlock<1>>
      blocks_;
};

}  // namespace committee
