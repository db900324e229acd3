// Subtrees of extra-trees of values. A node looks at one random cut of each of its features: the
// records, which move with their rows, are gone through once for the ends of all features, and once
// for what lies left of the cuts of eight. Most nodes have a few rows; a pair of rows is split
// without either.
#pragma once
#include <memory>

#include "committee/grower.hpp"
#include "tree/fast/value_cuts.hpp"
#include "tree/fast/value_tree.hpp"

namespace committee {

// The root of such a subtree.
struct ValueRoot {
  u64 key;
  u32 depth;
  u64 weight;
  i64 target;  // sum, weighted
};

// Its rows: items number records, and `names` their rows in the table (null: they are these).
struct ValueInput {
  using Item = MomentAccumulator<false>::Item;
  const u8* records;
  std::span<const Item> items;
  const u32* names;
  const GrowInput& table;
};

class ExtraTreesValues {
 public:
  virtual ~ExtraTreesValues() = default;
  // Up to how many rows a subtree is grown here.
  virtual std::size_t most_rows() const = 0;
  // Before the subtrees of a tree; both must outlive them.
  virtual void begin(const ValueRules& rules, InterruptWatch& watch) = 0;
  // Grows the subtree of some rows, as tree(). False: a value is missing.
  virtual bool finish(const ValueRoot& top, const ValueInput& input) = 0;
  ValueTree& tree() { return tree_; }

  // For records of 16, 32 or 64 bytes.
  static std::unique_ptr<ExtraTreesValues> make(std::size_t stride);

 protected:
  ValueTree tree_;
};

}  // namespace committee
