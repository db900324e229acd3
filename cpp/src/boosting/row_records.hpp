// The table as boosting reads it: a row's bins and, behind them, its gradient and hessian in one
// word, so that adding a row to a histogram touches one cache line. Private to a fit, because the
// words change with every tree; the shared BinnedMatrix stays as it is.
//
// A byte of a record is a bundle: the bin of one column, or the number of a combination of the bins
// of several columns of few values (one-hot blocks above all), which costs one update instead of
// one a column and is taken apart again, exactly, before a column is looked at.
#pragma once
#include "boosting/gradients.hpp"
#include "committee/binning.hpp"

namespace committee {

struct ColumnEncoding {
  static constexpr u32 kNoBundle = 0xFFFFFFFFu;
  u32 bundle = kNoBundle;    // byte of the record; kNoBundle: a constant or wide column
  u32 n_bins = 0;            // entries 0 .. n_bins - 1 hold values
  bool has_missing = false;  // entry n_bins holds the missing ones
  bool joint = false;
  // Joint only: the bin that most combinations have, and (combination, bin) of all others.
  u8 rest = 0;
  std::vector<std::pair<u8, u8>> codes;
  u32 n_entries() const { return n_bins + (has_missing ? 1 : 0); }
};

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

class Records {
 public:
  struct Layout {
    bool join = true;      // columns of few values may share a byte
    bool precise = false;  // words of 8 bytes and as fine, because weights will change
  };
  Records(const BinnedMatrix& data, const RowWeights& weights, const Layout& layout, int n_threads);
  // A copy has words of its own.
  Records(const Records& other);
  Records& operator=(const Records&) = delete;
  const ColumnEncoding& encoding(u32 column) const { return encodings_[column]; }
  std::size_t n_columns() const { return encodings_.size(); }
  std::size_t n_bundles() const { return n_bundles_; }
  std::size_t entries_per_bundle() const { return entries_per_bundle_; }
  std::size_t n_entries() const { return n_bundles_ * entries_per_bundle_; }
  std::size_t bytes() const;
  const WordPlan& words() const { return words_; }
  // Other weights for the next trees; words are of 8 bytes.
  void change_weights(const RowWeights& weights) { words_ = plan_words(weights, false); }

  // Writes the words of rows begin .. end - 1 behind their bins: u32 where they are narrow, or i64.
  template <class Word>
  void write_words(std::size_t begin, std::size_t end, const Word* words);
  // The same word, times a row's weight (none: one), added to those of some rows; words are of 8
  // bytes.
  void change_words(std::span<const RowItem> rows, i64 change, std::span<const u32> weights);
  // Adds rows to histogram[n_entries()]: those listed, or begin .. end - 1.
  void add_listed(const RowItem* rows, std::size_t n, i64* histogram) const;
  void add_range(std::size_t begin, std::size_t end, i64* histogram) const;
  // The same for entries of `width` words each, of which those of a row are at words[row * width].
  struct Words {
    const i64* words;
    u32 width;
  };
  void add_listed(const RowItem* rows, std::size_t n, const Words& of_rows, i64* histogram) const;
  void add_range(std::size_t begin, std::size_t end, const Words& of_rows, i64* histogram) const;
  i64 word(std::size_t row) const;
  // Histogram of a column; where the column shares its byte it is put together in `room` from the
  // node's total.
  const i64* column_histogram(u32 column, const i64* histogram, i64 total, i64* room) const;
  // The same for entries of several words, total.size() of them.
  const i64* column_histogram(u32 column, const i64* histogram, std::span<const i64> total,
                              std::vector<i64>& room) const;

 private:
  struct Joint {
    std::vector<u32> columns;
    std::vector<u8> codes;                   // per row
    std::vector<u32> n_rows;                 // of each code, that weigh something
    std::vector<std::vector<u8>> code_bins;  // of each code: the bin in every column
  };
  std::vector<Joint> join_columns(const BinnedMatrix& data, const RowWeights& weights) const;
  // False, and nothing done, if more than most_codes combinations would occur.
  bool join_column(Joint& joint, u32 column, const u8* bins, const RowWeights& weights,
                   u32 most_codes) const;
  // Whether that is less work, for so many rows, than a byte for every column.
  bool pays_to_join(const BinnedMatrix& data, const std::vector<Joint>& joints,
                    double n_copies) const;
  void encode_joint(const Joint& joint, u32 bundle);
  void lay_out(const RowWeights& weights, bool precise);
  void copy_bytes(const BinnedMatrix& data, const std::vector<Joint>& joints, int n_threads);

  std::size_t n_rows_ = 0;
  std::vector<ColumnEncoding> encodings_;
  std::size_t n_bundles_ = 0, entries_per_bundle_ = 0;
  std::vector<BundleBlock> blocks_;
  WordPlan words_;
};

}  // namespace committee
