// The table as boosting reads it: a row's bins and, behind them, its gradient and hessian in one
// word, so that adding a row to a histogram touches one cache line. Private to a fit, because the
// words change with every tree; the shared BinnedMatrix stays as it is.
#pragma once
#include <set>
#include <string>

#include "boosting/record_layout.hpp"

namespace committee {

struct BundleBlock {
  std::size_t stride = 0;  // bytes of a record: 16, 32 or 64
  std::size_t tail = 0;    // where its word begins
  u32 first_bundle = 0, n_bundles = 0;
  AlignedBuffer<u8> bytes;
};

// A row in the order of the leaves.
struct RowItem {
  u32 row;
};

struct RowsToAdd {
  const RowItem* listed;  // null: rows from `begin` on
  std::size_t begin, n;
};

// The columns that a tree may look at, ascending. Records hold these alone if they are at most such
// a share of the bytes, else all; words are kept or lost.
struct ColumnChoice {
  std::span<const u32> columns;
  double most_share = 1.0;
  bool keeps_words = false;
};

class Records {
 public:
  struct Options {
    bool join = true;      // columns of few values may share a byte
    bool precise = false;  // words of 8 bytes and as fine, because weights will change
    bool draws = false;    // columns will be chosen before bins are read
  };
  Records(const BinnedMatrix& data, const RowWeights& weights, const Options& options,
          int n_threads);
  // Those of a block of rows, in the layout of all blocks.
  Records(const BinnedMatrix& data, std::shared_ptr<const RecordLayout> layout, int n_threads);
  // A copy has words and columns of its own.
  Records(const Records& other);
  Records(Records&&) = default;
  Records& operator=(const Records&) = delete;
  const RecordLayout& layout() const { return *layout_; }         // of all columns
  const RecordLayout& chosen_layout() const { return *chosen_; }  // of those in the records
  // `sample`: the rows whose bins will be read, ascending; empty: all of them.
  void choose_columns(const ColumnChoice& choice, std::span<const u32> sample, int n_threads);
  std::size_t bytes() const;
  const WordPlan& words() const { return words_; }
  // Other weights for the next trees; words are of 8 bytes.
  void change_weights(const WeightFacts& weights) { words_ = plan_words(weights, false); }

  // Writes the words of rows begin .. end - 1 behind their bins: u32 where they are narrow, or i64.
  template <class Word>
  void write_words(std::size_t begin, std::size_t end, const Word* words);
  // The same, and adds the rows to histogram[n_entries()].
  template <class Word>
  void write_and_add(std::size_t begin, std::size_t end, const Word* words, i64* histogram);
  // The same word, times a row's weight (none: one), added to those of some rows; words are of 8
  // bytes.
  void change_words(std::span<const RowItem> rows, i64 change, std::span<const u32> weights);
  // Words of the rows: behind their bins or, `width` of them for each row, at words[row * width].
  // Of those but the last, the first used[row] are all that are not zero.
  struct Words {
    const i64* words = nullptr;
    u32 width = 1;
    const u32* used = nullptr;
  };
  // Adds rows to histogram[n_entries() * width].
  void add_rows(const RowsToAdd& rows, const Words& of_rows, i64* histogram) const;
  i64 word(std::size_t row) const;

 private:
  struct Sources;
  void lay_out();
  void find_sources(std::vector<std::vector<u8>> joint_codes);
  void copy_bytes(std::span<const u32> sample, int n_threads);

  const BinnedMatrix* data_;
  std::size_t n_rows_ = 0;
  std::shared_ptr<const RecordLayout> layout_, chosen_;
  std::shared_ptr<const Sources> sources_;   // null where the records hold all columns, and will
  std::shared_ptr<const EntrySlots> slots_;  // null: the table is bytes
  std::vector<BundleBlock> blocks_;
  WordPlan words_;
};

// The number of the combination of bins that each row has, by joint; padded to whole eights.
std::vector<std::vector<u8>> find_joint_codes(const BinnedMatrix& data, const RecordLayout& layout);
// Combinations of the bins of some columns, a character each, that occur in rows that weigh
// something; with more than `most` of them, the first that were found.
std::set<std::string> list_combinations(const BinnedMatrix& data, const RowWeights& weights,
                                        std::span<const u32> columns, std::size_t most);

}  // namespace committee
