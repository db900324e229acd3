// The fast path for forests of large trees that were grown from bins: where no feature is asked
// for more than 254 thresholds, rows are turned into bytes once, and a node is a word that holds
// all a step needs, so that a tree of fifteen thousand leaves is an eighth of the second-level
// cache.
#pragma once
#include <atomic>

#include "binning/bin_lookup.hpp"
#include "committee/predict.hpp"
#include "predict/tree_walk.hpp"

namespace committee {

// Made from an arena without categories. The code of x is the number of its feature's thresholds
// below x, so that "x > thresholds[r]" and "code >= r + 1" are the same question.
//
// A word is, from its lowest bits: the feature, the least code that goes right, and half the
// position of the left child; 8, 8 and 16 bits of a u32 or 16, 16 and 32 of a u64. The root is at
// position 1 and a left child at an even one, so that the right child is one further. A leaf leads
// to itself: from an even position nothing goes right, from an odd one everything does; whatever it
// asks for, so a pure leaf has its class for a feature.
class QuantizedTrees {
 public:
  // Null if the arena has no such form.
  static std::unique_ptr<const QuantizedTrees> make(const Trees& trees, int n_threads);

  // Bytes from one row of codes to the next.
  std::size_t stride() const { return stride_; }
  // codes[i * stride() + feature] for rows first_row + i of x. False, and no codes, if one of the
  // values is missing: which side it goes to is not in the words.
  bool encode(const MatrixView& x, std::size_t first_row, std::size_t n_rows, u8* codes) const;

  // Whether each leaf of the tree holds one class only, of one output.
  bool is_pure(std::size_t tree) const { return pure_[tree]; }
  // ends[i]: the number of row i's leaf within the tree; of a pure tree, kClasses, its class.
  template <bool kClasses>
  void end_rows(std::size_t tree, const u8* rows, std::span<u32> ends) const;

 private:
  QuantizedTrees() = default;
  template <class T>
  bool build(const Trees& trees, int n_threads);
  template <class X>
  bool encode_as(const std::vector<BinTable<X>>& tables, const MatrixView& x, std::size_t first_row,
                 std::size_t n_rows, u8* codes) const;
  // A tree's words begin here: one position more than it has nodes.
  std::size_t first_word(std::size_t tree) const { return node_offsets_[tree] + tree; }

  std::size_t stride_ = 0;
  std::vector<u64> node_offsets_;
  std::vector<BinTable<float>> float_tables_;
  std::vector<BinTable<double>> double_tables_;
  std::vector<u32> asked_;  // features that some node asks for
  std::vector<u8> pure_;
  // Either pair; a leaf's number is found by its position.
  AlignedBuffer<u32> words_;
  AlignedBuffer<u16> leaves_;
  AlignedBuffer<u64> wide_words_;
  AlignedBuffer<u32> wide_leaves_;
};

}  // namespace committee
