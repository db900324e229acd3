// The fast path for trees of few leaves. The splits of a tree are replayed in the order of growth
// on columns of bytes: split k sends the rows that are in leaf L and whose code is above the
// split's to the new leaf k + 1. Every split looks at every row, so the cost is linear in the
// leaves, but 16 rows share an instruction and nothing branches.
#pragma once
#include "binning/bin_lookup.hpp"
#include "committee/predict.hpp"

namespace committee {

// Made from an arena whose trees have at most 256 leaves and whose category sets hold codes below
// 254.
//
// A code column is a feature, a run of at most kThresholds of the thresholds that the arena's trees
// ask of it, and a side for the missing. The code of x is the number of those thresholds below x,
// so that "x <= threshold[b]" and "code <= b" are the same split_key. As signed bytes: where
// missing values go right, codes are -128 .. 126 and missing is 127; where they go left, -127 ..
// 127 and missing is -128.
//
// The code of a category is itself, 254 where no set holds it and 255 where it is missing: two
// columns, the byte of a set in which its bit is, and the bit. The set of a split is of 32 bytes,
// with the bit of missing where that goes left.
class SplitSequence {
 public:
  static constexpr std::size_t kRows = 64;  // rows replayed together; blocks are multiples of it
  static constexpr std::size_t kThresholds = 254;
  static constexpr std::size_t kMostLeaves = 256;
  static constexpr u32 kOtherCode = 254, kMissingCode = 255;  // of categories
  using CodeSet = std::array<u8, 32>;

  // Null if the arena has no such form.
  static std::unique_ptr<const SplitSequence> make(const Trees& trees);

  std::size_t n_columns() const { return n_columns_; }

  // codes[column * stride + i] for rows first_row + i of x, i < n_rows; codes up to the next
  // multiple of kRows are written (with those of zero rows), so stride must be at least that.
  void encode(const MatrixView& x, std::size_t first_row, std::size_t n_rows, std::int8_t* codes,
              std::size_t stride) const;

  // Groups of kRows that are replayed at a time, where there are so many.
  static std::size_t count_groups_together();
  // ids[i]: the leaf of row i by its number in the sequence, for all rows of n_groups * kRows.
  void replay(std::size_t tree, const std::int8_t* codes, std::size_t stride, std::size_t n_groups,
              u8* ids) const;

  // leaf_of_id(tree)[id]: the leaf's number within its tree.
  std::span<const u8> leaf_of_id(std::size_t tree) const {
    return {leaf_of_id_.data() + leaf_offsets_[tree],
            leaf_offsets_[tree + 1] - leaf_offsets_[tree]};
  }

 private:
  struct Split {
    u16 column;
    std::int8_t code;
    u8 from, to;
    bool categorical;
  };
  // A feature with categories, and the first of its columns.
  struct Categories {
    u32 feature;
    std::size_t column;
  };
  // A run of thresholds of one feature.
  struct Run {
    u32 feature = 0;
    BinTable<float> floats;
    BinTable<double> doubles;
    i32 column_right = -1,
        column_left = -1;  // where its codes go, by the side of the missing; -1: unused
  };
  // A threshold that some node asks of a feature.
  using SplitKey = std::pair<u32, double>;

  SplitSequence() = default;
  template <class T>
  void build(const Trees& trees);
  void make_runs(std::span<const SplitKey> split_keys);
  template <class T>
  void append_tree(const Trees& trees, std::size_t tree, std::span<const SplitKey> split_keys);
  template <class T>
  Split make_split(const Trees& trees, const Node<T>& node, std::span<const SplitKey> split_keys);
  std::size_t find_categories(u32 feature);
  // The forms of a replay; kCategories: some splits may be by categories, which have no form for
  // AVX-512.
  struct Replay {
    std::span<const Split> splits;
    const CodeSet* sets;  // of the tree
    const std::int8_t* codes;
    std::size_t stride;
    u8* ids;
  };
#if defined(COMMITTEE_AVX512)
  template <int kGroups>
  COMMITTEE_AVX512 static void replay_avx512(const Replay& replay);
  template <int kGroups, bool kCategories>
  COMMITTEE_AVX2 static void replay_avx2(const Replay& replay);
#endif
  template <bool kCategories>
  static void replay_plain(const Replay& replay, std::size_t n_groups);
  template <bool kCategories>
  static void replay_groups(Replay replay, std::size_t n_groups);
  template <class X>
  void encode_as(const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                 BinTable<X> Run::* table, std::int8_t* codes, std::size_t stride) const;

  std::size_t n_columns_ = 0;
  std::vector<Run> runs_;
  std::vector<Categories> categories_;
  std::vector<CodeSet> sets_;  // of the splits by categories, in their order
  struct Place {
    u32 run;
    u32 code;
  };
  std::vector<Place> places_;  // of each split_key; emptied when the sequences are made
  std::vector<Split> splits_;  // all trees, one after the other
  std::vector<u64> split_offsets_{0}, set_offsets_{0}, leaf_offsets_{0};
  std::vector<u8> leaf_of_id_;
};

}  // namespace committee
