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
// A word is, from its lowest bits: the feature, what is missing from the least code that goes right
// to 256, and the left child; the right child is one further, and the sum of the word and the code,
// at its place, has the child that comes next. A leaf leads to itself, since nothing carries there;
// whatever it asks for, so a pure leaf has its class for a feature. A node has the position that it
// has in the arena.
class QuantizedTrees {
 public:
  // Bits of a feature in words of 32 bits, where 8 are for the code and the rest for the child, and
  // in words of 64 bits.
  static constexpr int kNarrowBits = 7, kMiddleBits = 8, kWideBits = 16;
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
  // Before so many rows go through a tree; `classes` as above.
  void read_ahead(std::size_t tree, std::size_t n_rows, bool classes) const;

 private:
  QuantizedTrees() = default;
  template <class T>
  bool build(const Trees& trees, int n_threads);
  template <class X>
  bool encode_as(const std::vector<BinTable<X>>& tables, const MatrixView& x, std::size_t first_row,
                 std::size_t n_rows, u8* codes) const;
  // Calls use(fields, words, leaves) with those of the layout.
  template <class Self, class Use>
  static auto visit(Self& self, Use&& use);

  enum class Layout : u8 { narrow, middle, wide };
  // So that the number of a leaf fits 16 bits.
  static constexpr std::size_t kMostNarrowNodes = 2 * 65535;

  Layout layout_ = Layout::wide;
  std::size_t stride_ = 0;
  std::vector<u64> node_offsets_;
  std::vector<BinTable<float>> float_tables_;
  std::vector<BinTable<double>> double_tables_;
  std::vector<u32> asked_;  // features that some node asks for
  std::vector<u8> pure_;
  // Either pair; a leaf's number is found by its position, as its word is.
  AlignedBuffer<u32> words_;
  AlignedBuffer<u16> leaves_;
  AlignedBuffer<u64> wide_words_;
  AlignedBuffer<u32> wide_leaves_;
};

}  // namespace committee
