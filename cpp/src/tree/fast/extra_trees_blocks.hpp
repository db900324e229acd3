// Subtrees of up to 512 rows of extra-trees of two classes, rows of equal weight. The bins of a
// feature lie side by side, a byte a row, and a node is a set of rows: its ends, what lies left of
// a cut and the partition are a few vectors each, and no row moves. Where a node fills less than
// half of a block its rows get a smaller block of their own.
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
struct ExtraTreesBlock {
  static constexpr std::size_t kRows = kRowLanes * kVectors;
  struct Node : ExtraTreesNode {
    LaneSet<kVectors> rows;
  };
  RowLanes columns[kMostBlockFeatures][kVectors];
  LaneSet<kVectors> positives;
  u32 rows[kRows + kRowLanes];  // and what list_rows writes behind them
  std::vector<Node> open;
};

class ExtraTreesBlocks {
 public:
  static constexpr std::size_t kMostRows = 512;

  // Grows the subtree of some rows (at most kMostRows), none of whose values is missing, and
  // 16-byte multiples of record.
  void finish(const ExtraTreesNode& top, const ExtraTreesRules& rules,
              const ExtraTreesRecords& records, std::span<const u32> rows, CompactTree& tree);

 private:
  template <int kVectors>
  using Node = typename ExtraTreesBlock<kVectors>::Node;

  template <int kVectors>
  void finish_in(const ExtraTreesNode& top, std::span<const u32> rows);
  template <int kVectors>
  void fill(Node<kVectors>& node);
  template <int kVectors>
  void grow(Node<kVectors> node);
  template <int kVectors, int kFrom>
  void hand_over(const Node<kFrom>& node);
  template <int kVectors>
  void look_at(const Node<kVectors>& node, std::span<const u8> features, const NodeNumbers& numbers,
               BlockBest& best);

  template <int kVectors>
  ExtraTreesBlock<kVectors>& block() {
    return std::get<ExtraTreesBlock<kVectors>>(blocks_);
  }

  const ExtraTreesRules* rules_ = nullptr;
  ExtraTreesRecords records_;
  CompactTree* tree_ = nullptr;
  std::tuple<ExtraTreesBlock<32>, ExtraTreesBlock<16>, ExtraTreesBlock<8>, ExtraTreesBlock<4>,
             ExtraTreesBlock<2>, ExtraTreesBlock<1>>
      blocks_;
};

}  // namespace committee
