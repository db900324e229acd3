// How columns lie in the records of boosting. A byte of a record is a bundle: the bin of one
// column, or the number of a combination of the bins of several columns of few values (one-hot
// blocks above all), which costs one update instead of one a column and is taken apart again,
// exactly, before a column is looked at. A layout knows no rows: all blocks of a table have the
// same one.
#pragma once
#include <functional>

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

// Columns that share a byte, and the combinations of their bins that occur.
struct JointColumns {
  std::vector<u32> columns;
  std::vector<std::vector<u8>> code_bins;  // of each code: the bin in every column
};

class RecordLayout {
 public:
  // `precise`: words of 8 bytes and as fine, because weights will change.
  RecordLayout(const std::vector<ColumnBins>& bins, std::vector<JointColumns> joints,
               const WeightFacts& weights, bool precise);
  const ColumnEncoding& encoding(u32 column) const { return encodings_[column]; }
  std::size_t n_columns() const { return encodings_.size(); }
  std::size_t n_bundles() const { return n_bundles_; }
  std::size_t entries_per_bundle() const { return entries_per_bundle_; }
  std::size_t n_entries() const { return n_bundles_ * entries_per_bundle_; }
  std::size_t bundles_per_block() const { return bundles_per_block_; }
  const std::vector<JointColumns>& joints() const { return joints_; }
  const WordPlan& words() const { return words_; }  // with the weights at the start of the fit
  // Histogram of a column; where the column shares its byte it is put together in `room` from the
  // node's total.
  const i64* column_histogram(u32 column, const i64* histogram, i64 total, i64* room) const;
  // The same for entries of several words, total.size() of them.
  const i64* column_histogram(u32 column, const i64* histogram, std::span<const i64> total,
                              std::vector<i64>& room) const;

 private:
  void encode_joint(const JointColumns& joint, u32 bundle);
  void plan_blocks(const WeightFacts& weights, bool precise);

  std::vector<ColumnEncoding> encodings_;
  std::vector<JointColumns> joints_;
  std::size_t n_bundles_ = 0, entries_per_bundle_ = 0, bundles_per_block_ = 0;
  WordPlan words_;
};

// Bytes of a record that holds so many.
inline std::size_t round_stride(std::size_t bytes) {
  return bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
}

std::vector<ColumnEncoding> describe_columns(const std::vector<ColumnBins>& bins);

// Takes a column into a joint, or returns false and does nothing if more than so many combinations
// of bins would occur in rows that weigh something. A joint without columns is a new one.
using TryJoin = std::function<bool(JointColumns& joint, u32 column, u32 most_codes)>;
// Columns of few values that had better share bytes.
std::vector<JointColumns> join_columns(const std::vector<ColumnBins>& bins,
                                       const WeightFacts& weights, const TryJoin& try_join);

// Rows that were absent from the learning of the bins may miss a value where no other row does;
// they add nothing to any entry, but the entry must exist.
inline u8 read_bin(u8 bin, const ColumnEncoding& encoding) {
  return bin != kMissingBin ? bin : encoding.has_missing ? static_cast<u8>(encoding.n_bins) : u8{0};
}

}  // namespace committee
