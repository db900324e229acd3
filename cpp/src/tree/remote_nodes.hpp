// The nodes of a tree whose rows lie in blocks elsewhere, by the commands that TreeBlock answers.
#pragma once
#include "committee/block_trees.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// A node becomes two. Codes are bins; those of categories are a bit set, all of them.
struct RemoteSplit {
  u32 name, left, right;  // of the rows
  u32 feature, bin;
  bool categorical, missing_left;
  std::vector<u32> left_words;
};
BlockValues write_remote_splits(std::span<const RemoteSplit> splits);
std::vector<RemoteSplit> read_remote_splits(const BlockValues& values);

class RemoteNodes {
 public:
  RemoteNodes(BlockCaller& caller, std::size_t n_blocks) : caller_(caller), n_blocks_(n_blocks) {}

  // Cells of all columns and bins, one wanted node after the other.
  struct Division {
    std::vector<i64> n_left, histograms;
  };
  // The answers of all blocks, added up.
  BlockValues add_up(BlockCommand command, bool changes);
  // The answers of all blocks, one after the other.
  BlockValues list(BlockCommand command, bool changes);
  double find_largest(BlockCommand command);
  Division divide(std::span<const RemoteSplit> splits, std::vector<u32> wanted);
  // Rows of each node whose target is another one.
  std::vector<i64> count_others(std::vector<u32> names, std::vector<i64> targets);
  // LeafMoments of each leaf, as numbers, from block to block: they are sums of doubles, which
  // depend on the order of the rows.
  std::vector<double> sum_leaves(const std::vector<u32>& names, double offset, bool is_poisson);

  u32 make_name() { return n_names_++; }
  std::size_t n_blocks() const { return n_blocks_; }
  std::vector<u32> names;  // of the tree's nodes, by number

 private:
  BlockCaller& caller_;
  std::size_t n_blocks_;
  u32 n_names_ = 0;
};

}  // namespace committee
