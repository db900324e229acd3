// The fast path for a single row: every value becomes a byte once, and the trees are walked by
// comparing bytes, on nodes of four bytes, so that a model of some hundred small trees stays in the
// first-level cache.
#pragma once
#include <array>

#include "committee/predict.hpp"

namespace committee {

// Made from an arena without categories whose trees have at most 2048 leaves and ask at most 255
// thresholds of a feature, as models that were grown from bins do.
//
// The code of x is the number of the feature's thresholds below x, so that "x <= threshold[b]" and
// "code <= b" are the same question. Each feature has two codes, which differ for a missing value:
// 0, which goes left everywhere, and 255, which goes right everywhere.
class CodedTrees {
 public:
  // Null if the arena has no such form.
  static std::unique_ptr<const CodedTrees> make(const Trees& trees);

  using Codes = std::array<u8, 4096>;
  static constexpr std::size_t kMostTrees = 256;  // that a row goes through in one call

  // X: float or double; the columns of the row are neighbours.
  template <class X>
  void encode_row(const X* row, Codes& codes) const;
  // leaves[i]: number of the leaf within tree first + i that the row ends in; at most kMostTrees.
  void end_trees(const Codes& codes, std::size_t first, std::span<u32> leaves) const;

 private:
  // A node's word: its code in the lowest byte, the place of the row's code in the next 12 bits,
  // the distance to the left child (the right one is its neighbour) in the highest 12. A leaf has
  // distance 0 and code 255, which nothing is above, so that a walk stays in it; its number is in
  // the middle.
  static constexpr u32 kCodeBits = 8, kMiddleBits = 12;
  static constexpr u32 kMiddleMask = (1u << kMiddleBits) - 1;
  static constexpr u32 kMostThresholds = 255, kLeafCode = 255;
  static constexpr std::size_t kMostLeaves = 2048, kMostFeatures = 2048;
  // Walks under way at a time: enough to hide the latency of a step.
  static constexpr std::size_t kInFlight = 8;

  struct Feature {
    u32 column = 0;
    u32 first = 0;   // in thresholds_, padded with infinity to a power of two less one
    u32 padded = 1;  // the power of two
  };
  CodedTrees() = default;
  template <class T>
  bool build(const Trees& trees);
  template <class T>
  bool name_thresholds(const Trees& trees);
  template <class T>
  void append_tree(const Trees& trees, std::size_t tree, std::span<const u32> place_of_column);
  template <class X, class T>
  void encode(const X* row, const std::vector<T>& thresholds, u8* codes) const;

  std::vector<Feature> features_;  // those that are asked for; the codes of i are 2i and 2i + 1
  u32 most_leaves_ = 0;
  bool double_thresholds_ = false;
  std::vector<double> thresholds_;
  std::vector<float> float_thresholds_;  // the same, if they are all float32 numbers
  AlignedBuffer<u32> words_;
  std::vector<u32> roots_;  // of each tree in words_
};

}  // namespace committee
