// A node of a forest as another engine hands it over: by bins, in any order in which children come
// after their parents.
#pragma once
#include "scalar.hpp"

namespace committee {

struct ForestNode {
  static constexpr u32 kMissingLeft = 1u << 31;
  static constexpr u32 kNoBin = 0xFFFFu;
  u32 left;   // 0: a leaf; the right child is the next one
  u32 split;  // feature, and kMissingLeft
  u32 bins;   // the last bin that goes left, and << 16 the next one that occurs or kNoBin
  u32 n_rows;
  u32 begin;  // its rows among those of the tree, where leaves hold numbers
};

// What the rows of a tree are added up in (split/accumulators.hpp).
enum class SampleKind : u32 { binary = 0, classes = 1, wide_classes = 2, moments = 3 };

}  // namespace committee
