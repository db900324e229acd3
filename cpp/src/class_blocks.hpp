// Subtrees of forests of up to eight classes that weigh at most 255, by Gini. Their records lie in
// the order of the nodes' rows and move with them; the class weights of a set of rows are the bytes
// of a word, so that a row is one addition; and what a boundary is worth is estimated for four of
// them at once, in single precision. Such nodes are most of a tree, and what they cost is neither
// sorting nor counting, but whatever else happens.
#pragma once
#include "committee/narrow_records.hpp"
#include "committee/split.hpp"
#include "committee/tally.hpp"
#include "committee/tree.hpp"
#include "row_lanes.hpp"

namespace committee {

// What stays the same during a growth.
struct ClassRules {
  explicit ClassRules(const KeyPrefix& key) : tree_key(key) {}
  const KeyPrefix tree_key;
  const std::vector<ColumnBins>* bins = nullptr;
  std::size_t stride = 0;        // of a record: 16, 32 or 64 bytes
  FieldPlace places[64];         // of every feature in it
  u8 pool[64] = {};              // features that are drawn from, or looked at
  u32 n_pool = 0, n_wanted = 0;  // features there, features that a node looks at
  bool draws_features = false, shuffle_ties = false;
  u32 max_depth = 0, min_samples_split = 2;
  u32 n_classes = 0;
  double weight_unit = 1.0;
};

// The root of such a subtree.
struct ClassTop {
  u64 key;
  u32 parent, depth;
  bool is_right;
  u64 total;  // a byte a class
};

class ClassBlock {
 public:
  using Item = ClassTally<u32>::Item;
  static constexpr u32 kMostWeight = 255, kMostClasses = 8;

  virtual ~ClassBlock() = default;
  // Grows the subtree of some rows, whose records they number, and appends it to the tree. False:
  // nothing was done, since a value is missing.
  virtual bool finish(const ClassTop& top, const u8* records, std::span<const Item> items,
                      GrownTree& tree) = 0;

  // The rules must outlive the block.
  static std::shared_ptr<ClassBlock> make(const ClassRules& rules);
};

}  // namespace committee
