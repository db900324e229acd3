// The subtrees of extra_trees_blocks.hpp for AVX-512: 64 rows a vector of bins, and a set of rows
// has a bit a row. A comparison gives the bits of 64 rows at once and counting them is one
// instruction, so that blocks are not made smaller below 64 rows.
#pragma once
#include <tuple>

#include "base/x86_vectors.hpp"
#include "tree/fast/extra_trees_rules.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

template <int kVectors>
struct WideBlock {
  static constexpr std::size_t kRows = 64 * kVectors;
  struct Node : ExtraTreesNode {
    u64 rows[kVectors];
  };
  alignas(64) u8 columns[kMostBlockFeatures][kVectors][64];
  u64 positives[kVectors];
  u32 rows[kRows + 16];  // and what list_rows writes behind them
  std::vector<Node> open;
};

class ExtraTreesWide {
 public:
  // As ExtraTreesBlocks::finish, with the same tree.
  COMMITTEE_AVX512 void finish(const ExtraTreesNode& top, const ExtraTreesRules& rules,
                               const ExtraTreesRecords& records, std::span<const u32> rows,
                               CompactTree& tree);

 private:
  template <int kVectors>
  using Node = typename WideBlock<kVectors>::Node;
  template <int kVectors>
  struct HandOver;
  template <int kVectors>
  struct Split;
  template <int kVectors>
  struct LookAt;
  template <int kVectors>
  struct Partition;

  template <int kVectors>
  COMMITTEE_AVX512 void finish_in(const ExtraTreesNode& top, std::span<const u32> rows);
  template <int kVectors>
  COMMITTEE_AVX512 void fill(Node<kVectors>& node);
  template <int kVectors>
  COMMITTEE_AVX512 void grow(Node<kVectors> node);
  template <int kVectors, int kFrom>
  COMMITTEE_AVX512 void hand_over(const Node<kFrom>& node);

  template <int kVectors>
  WideBlock<kVectors>& block() {
    return std::get<WideBlock<kVectors>>(blocks_);
  }

  const ExtraTreesRules* rules_ = nullptr;
  ExtraTreesRecords records_;
  CompactTree* tree_ = nullptr;
  std::tuple<WideBlock<8>, WideBlock<4>, WideBlock<2>, WideBlock<1>> blocks_;
};

}  // namespace committee
#endif
