// One tree over blocks of rows that lie elsewhere. The driver has the columns' bins, the queue of
// nodes and the search; a TreeBlock has rows, weights and targets, and answers by sums of integers,
// maxima, or numbers that go from block to block in the order of the rows. So the tree is that of
// grow_tree over all rows, to the bit.
#pragma once
#include "block_calls.hpp"
#include "grower.hpp"

namespace committee {

struct BlockTreeInput {
  std::shared_ptr<const std::vector<ColumnBins>> bins;
  std::vector<u32> n_classes;  // of the target; empty: one number
  std::size_t n_rows = 0, n_blocks = 0;
};

struct BlockTree {
  GrowResult grown;
  std::vector<u32> leaf_names;      // of the leaves, as TreeBlock::find_leaves takes them
  std::vector<double> leaf_values;  // [leaf][width]
};

// Whether it can: histograms decide, and no column has more categories than a byte holds.
bool grows_over_blocks(const std::vector<ColumnBins>& bins, const GrowParams& params);
BlockTree grow_over_blocks(const BlockTreeInput& input, const GrowParams& params,
                           BlockCaller& caller, InterruptWatch& watch);

// The rows of one block. Commands are answered in tree/tree_block.cpp.
class TreeBlock {
 public:
  TreeBlock(const BinnedMatrix& data, int n_jobs);
  ~TreeBlock();
  TreeBlock(const TreeBlock&) = delete;
  TreeBlock& operator=(const TreeBlock&) = delete;
  // Of the trees that come; one entry a row.
  void set_labels(std::span<const u32> labels, u32 n_classes);
  void set_values(std::span<const double> values);
  void set_weights(std::span<const double> weights);
  // std::invalid_argument for an unknown command, or arguments of other types.
  BlockValues run(const std::string& name, const BlockValues& args);
  // Of each row, also of those without weight: which of these leaves it lies in.
  std::vector<u32> find_leaves(std::span<const u32> names) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace committee
