// Subtrees of up to 512 rows of extra-trees of two classes, rows of equal weight. The bins of a
// feature lie side by side, a byte a row, and a node is a set of rows: its ends, what lies left of
// a cut and the parting are a few vectors each, and no row moves. Where a node fills less than half
// of a block its rows get a smaller block of their own.
#pragma once
#include <tuple>

#include "tree/fast/extra_trees_rules.hpp"

namespace committee {

// Rows of a block, a byte each: 255 if it is among them, else 0.
template <int kVectors>
struct LaneSet {
  RowLanes lanes[kVectors];
};

template <int kVectors>
struct DrawnBlock {
  static constexpr std::size_t kRows = kRowLanes * kVectors;
  struct Node : DrawnNode {
    LaneSet<kVectors> rows;
  };
  RowLanes columns[kMostBlockFeatures][kVectors];
  LaneSet<kVectors> positives;
  u32 rows[kRows + kRowLanes];  // and what list_rows writes behind them
  std::vector<Node> open;
};

class DrawnBlocks {
 public:
  static constexpr std::size_t kMostRows = 512;

  // Grows the subtree of some rows (at most kMostRows), none of whose values is missing, and
  // 16-byte multiples of record.
  void finish(const DrawnNode& top, const DrawnRules& rules, const DrawnRecords& records,
              std::span<const u32> rows, CountTree& tree);

 private:
  template <int kVectors>
  using Node = typename DrawnBlock<kVectors>::Node;
  struct Best;

  template <int kVectors>
  void finish_in(const DrawnNode& top, std::span<const u32> rows);
  template <int kVectors>
  void fill(Node<kVectors>& node);
  template <int kVectors>
  void grow(Node<kVectors> node);
  template <int kVectors, int kFrom>
  void hand_over(const Node<kFrom>& node);
  template <int kVectors>
  bool split(Node<kVectors>& node, u32 id, Node<kVectors>& right);
  template <int kVectors>
  void look_at(const Node<kVectors>& node, std::span<const u8> features, const NodeNumbers& numbers,
               Best& best);

  template <int kVectors>
  DrawnBlock<kVectors>& block() {
    return std::get<DrawnBlock<kVectors>>(blocks_);
  }

  const DrawnRules* rules_ = nullptr;
  DrawnRecords records_;
  CountTree* tree_ = nullptr;
  std::tuple<DrawnBlock<32>, DrawnBlock<16>, DrawnBlock<8>, DrawnBlock<4>, DrawnBlock<2>,
             DrawnBlock<1>>
      blocks_;
};

}  // namespace committee
