// How columns lie in the records of boosting. A byte of a record is a bundle: the bin of one
// column, or the number of a combination of the bins of several columns of few values (one-hot
// blocks above all), which costs one update instead of one a column and is taken apart again,
// exactly, before a column is looked at. A layout knows no rows: all blocks of a table have the
// same one.
//
// Columns that a table keeps as entries are in no record: a row lists the histogram entries that it
// is added to. Some neighbouring ones of these columns are a bundle, too, whose histogram leaves
// out the bin of the rows that have no entry.
#pragma once

#include "binning/entry_slots.hpp"
#include "boosting/gradients.hpp"
#include "committee/binning.hpp"
#include "committee/function_view.hpp"

namespace committee {

struct ColumnEncoding {
  static constexpr u32 kNoBundle = 0xFFFFFFFFu;
  u32 bundle = kNoBundle;    // byte of the record; kNoBundle: a constant or wide column
  u32 n_bins = 0;            // entries 0 .. n_bins - 1 hold values
  bool has_missing = false;  // entry n_bins holds the missing ones
  bool joint = false;
  bool listed = false;  // kept as entries
  u32 first_slot = 0;   // of a listed column
  // Joint: the bin that most combinations have, and (combination, bin) of all others. Listed: the
  // bin of all rows that have no entry.
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
  // Of a table of entries. `joints`: of all its columns, if they were bytes. None of them is joined
  // here, but the precision of the words goes by the number of bytes, and must not depend on how a
  // table is kept.
  RecordLayout(const BinnedMatrix& data, std::shared_ptr<const EntrySlots> slots,
               const std::vector<JointColumns>& joints, const WeightFacts& weights, bool precise);
  // Some of the columns alone, their bytes in the same order and histograms of the same size; null
  // where that is all, or more than such a share of the bytes, or where a table is kept as entries.
  std::shared_ptr<const RecordLayout> select(std::span<const u32> columns, double most) const;
  // Of a bundle of bytes: its number in the layout of all columns.
  std::size_t origin(std::size_t bundle) const {
    return origins_.empty() ? bundle : origins_[bundle];
  }
  const ColumnEncoding& encoding(u32 column) const { return encodings_[column]; }
  std::size_t n_columns() const { return encodings_.size(); }
  // Those of bytes come first.
  std::size_t n_bundles() const { return n_bundles_ + slot_bundles_.size() - 1; }
  std::size_t n_byte_bundles() const { return n_bundles_; }
  std::size_t entries_per_bundle() const { return entries_per_bundle_; }  // of bytes
  // From the first entry of a bundle of bytes to that of the next one.
  std::size_t bundle_step() const { return find_step(entries_per_bundle_); }
  // Entries of the same number 2 KiB apart would be at the same place of every other page, where
  // what a row adds to waits for what was just stored, if bins are few.
  static constexpr std::size_t find_step(std::size_t n_entries) {
    return n_entries == kHistogramBins ? kHistogramBins + 8 : n_entries;
  }
  // The entries of a bundle, at most 256.
  std::pair<std::size_t, std::size_t> entries_of(std::size_t bundle) const {
    if (bundle < n_bundles_)
      return {bundle * bundle_step(), bundle * bundle_step() + entries_per_bundle_};
    return {n_byte_entries() + slot_starts(bundle)[0],
            n_byte_entries() + slot_starts(bundle + 1)[0]};
  }
  // Of a bundle of listed columns: the first slot of each column, and one more.
  const u32* slot_starts(std::size_t bundle) const {
    return slots_->starts().data() + slot_bundles_[bundle - n_bundles_];
  }
  std::size_t n_byte_entries() const { return n_bundles_ * bundle_step(); }
  std::size_t n_entries() const { return n_byte_entries() + (slots_ ? slots_->n_slots() : 0); }
  // What it would be if no column were listed.
  std::size_t n_planned_entries() const { return n_planned_entries_; }
  std::size_t bundles_per_block() const { return bundles_per_block_; }
  // Bytes of all records of a row.
  std::size_t bytes_per_row() const;
  const std::vector<JointColumns>& joints() const { return joints_; }
  const WordPlan& words() const { return words_; }  // with the weights at the start of the fit
  // Histogram of a column; where the column shares its byte it is put together in `room` from the
  // node's total.
  const i64* column_histogram(u32 column, const i64* histogram, i64 total, i64* room) const;
  // The same for entries of several words, total.size() of them.
  const i64* column_histogram(u32 column, const i64* histogram, std::span<const i64> total,
                              std::vector<i64>& room) const;

 private:
  RecordLayout() = default;
  void encode_joint(const JointColumns& joint, u32 bundle);
  void list_columns(const BinnedMatrix& data);
  // n_planned: bundles that the precision of a word goes by.
  void plan_blocks(const WeightFacts& weights, bool precise, std::size_t n_planned);

  std::vector<ColumnEncoding> encodings_;
  std::vector<JointColumns> joints_;
  std::size_t n_bundles_ = 0, entries_per_bundle_ = 0, bundles_per_block_ = 0;  // of bytes
  std::size_t n_planned_entries_ = 0;
  std::vector<u32> origins_;  // of some columns alone
  std::shared_ptr<const EntrySlots> slots_;
  std::vector<u32> slot_bundles_ = {0};  // where each begins in slots_->columns(), and one more
  WordPlan words_;
};

// Bytes of a record that holds so many.
constexpr std::size_t round_stride(std::size_t bytes) {
  return bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
}

std::vector<ColumnEncoding> describe_columns(const std::vector<ColumnBins>& bins);

// Takes a column into a joint, or returns false and does nothing if more than so many combinations
// of bins would occur in rows that weigh something. A joint without columns is a new one.
using TryJoin = FunctionView<bool(JointColumns& joint, u32 column, u32 most_codes)>;
// Columns of few values that had better share bytes.
std::vector<JointColumns> join_columns(const std::vector<ColumnBins>& bins,
                                       const WeightFacts& weights, TryJoin try_join);

inline u8 read_bin(u8 bin, const ColumnEncoding& encoding) {
  return find_entry(bin, encoding.n_bins, encoding.has_missing);
}

}  // namespace committee
