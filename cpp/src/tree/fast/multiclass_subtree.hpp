// Subtrees of some thousand rows of forests of up to eight classes, by Gini. Records lie in the
// order of the nodes' rows and move with them; the class weights of a set of rows are one word, so
// that a row is one addition; and the scores of four boundaries at once are estimated,
// in single precision. Most nodes of a tree have a few rows, and what they cost is neither sorting
// nor counting, but whatever else happens.
#pragma once
#include "binning/packed_records.hpp"
#include "split/histogram.hpp"
#include "tree/fast/block_rules.hpp"
#include "tree/fast/class_tree.hpp"

namespace committee {

// What the rules depend on besides data and parameters.
struct MulticlassSample {
  std::size_t n_rows;
  bool draws_features;
};

struct MulticlassRules : BlockRules {
  MulticlassRules(const KeyPrefix& key, const GrowParams& params, std::span<const u32> features,
                  const BinnedMatrix& data, const RecordBlock& block,
                  const MulticlassSample& sample)
      : BlockRules(key, params, features),
        bins(data.bins.get()),
        n_rows(sample.n_rows),
        draws_features(sample.draws_features),
        shuffle_ties(params.shuffle_ties) {
    for (u32 f = 0; f < data.n_cols; ++f) places[f] = block.place(f);
  }
  const std::vector<ColumnBins>* bins;
  std::size_t n_rows;                     // of the sample
  FieldPlace places[kMostBlockFeatures];  // of every feature in it
  bool draws_features, shuffle_ties;
};

// The root of such a subtree, which is no leaf as far as known.
struct MulticlassRoot {
  u64 key;
  u32 depth;
  PackedCounts16 total;
};

class MulticlassSubtree {
 public:
  using Item = ClassAccumulator<u32>::Item;
  // What a row, and a block, weigh at most.
  static constexpr u32 kHeaviestRow = kMostWordWeight<PackedCounts8>;
  static constexpr u32 kMostWeight = kMostWordWeight<PackedCounts16>;

  virtual ~MulticlassSubtree() = default;
  // Of a growth to come, whose rules must outlive it.
  virtual void begin(const MulticlassRules& rules) = 0;
  virtual std::size_t most_rows() const = 0;
  // Grows the subtree of some rows, whose records they number, and adds its nodes to the tree.
  // False: nothing was done, since a value is missing.
  virtual bool finish(const MulticlassRoot& top, const u8* records, std::span<const Item> items,
                      ClassTree& tree) = 0;

  // Of records of 16, 32 or 64 bytes.
  static std::unique_ptr<MulticlassSubtree> make(std::size_t stride);
};

}  // namespace committee
