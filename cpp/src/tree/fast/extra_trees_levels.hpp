// Subtrees of extra-trees of two classes, of any number of rows of equal weight: as in
// extra_trees_blocks.hpp a node is a set of rows, a byte each, over columns of bins. A node that
// fills less than a third of its columns becomes a list of rows, and gets columns of its own one
// level deeper; one of few rows becomes a block.
#pragma once
#include "committee/parallel.hpp"
#include "tree/fast/extra_trees_blocks.hpp"
#include "tree/fast/extra_trees_wide.hpp"

namespace committee {

// Its memory serves one tree after the other.
class ExtraTreesLevels {
 public:
  // Before anything is grown.
  void begin(const ExtraTreesRules& rules, InterruptWatch& watch) {
    rules_ = &rules;
    watch_ = &watch;
    is_wide_ = may_use(Instructions::avx512);
  }
  // Grows the subtree of some items, whose rows are numbers of records, as a tree. False: nothing
  // was done, since a value is missing.
  bool finish(const ExtraTreesNode& top, const ExtraTreesRecords& records,
              std::span<const BinaryAccumulator::Item> items);
  // What was grown last.
  const CompactTree& tree() const { return tree_; }

 private:
  // A set of a level's rows, or where that is null the last of the listed rows.
  struct Node : ExtraTreesNode {
    u32 level = 0;  // of the set, or the one that its rows may get
    AlignedBuffer<RowLanes> set;
  };
  struct Level {
    std::size_t n_rows = 0, n_vectors = 0;
    const RowLanes* columns = nullptr;
    std::size_t step = 0;  // vectors from column to column
    AlignedBuffer<RowLanes> own_columns, positives;
    std::vector<u32> rows;
  };
  struct Best;

  Level& open_level(const Node& node, std::size_t n_rows);
  void spread(Node& node, std::span<const BinaryAccumulator::Item> items);
  void fill(Node& node);
  void fill_columns(Level& level, RowLanes* columns) const;
  void look_at(const Node& node, std::span<const u8> features, const NodeNumbers& numbers,
               Best& best) const;
  void partition(Node& node, const ExtraTreesSide& best, Node& right);
  bool stays(const ExtraTreesNode& node, const Level& level) const;
  void list(Node& node, const Level& level);
  void list_set(const Node& node, const Level& level, u32* to) const;
  void finish_listed(const ExtraTreesNode& node);

  const ExtraTreesRules* rules_ = nullptr;
  InterruptWatch* watch_ = nullptr;
  bool is_wide_ = false;  // by AVX-512
  ExtraTreesBlocks blocks_;
#if defined(COMMITTEE_AVX512)
  ExtraTreesWide wide_;
#endif
  std::vector<Level> levels_;
  std::vector<u32> listed_;  // rows of open nodes, the one that is next last
  std::vector<Node> open_;
  ExtraTreesRecords records_;
  CompactTree tree_;
};

}  // namespace committee
