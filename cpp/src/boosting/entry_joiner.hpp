// Which columns of a table of entries could share a byte of a record, if they were bytes.
#pragma once
#include <utility>

#include "boosting/record_layout.hpp"

namespace committee {

// Joins columns by the entries of a table, and counts the combinations of bins that occur: a code
// has no bins here.
class EntryJoiner {
 public:
  EntryJoiner(const BinnedMatrix& data, const RowWeights& weights)
      : data_(data), weights_(weights), codes_(data.n_rows, 0) {
    for (std::size_t i = 0; i < data.n_rows; ++i) n_present_ += weights[i] > 0;
    counts_.resize(kMostCodes * kMostJointBins);
  }
  // As TryJoin says.
  bool try_join(JointColumns& joint, u32 column, u32 most_codes) {
    if (joint.columns.empty()) {
      std::fill(codes_.begin(), codes_.end(), u8{0});
      n_rows_ = {n_present_};
    }
    list_others(column);
    // Rows of each combination and bin; of the bin of all other rows, what is left.
    seen_.clear();
    for (const auto& [row, entry] : others_) {
      u32& count = counts_[key_of(codes_[row], entry)];
      if (count++ == 0) seen_.push_back({codes_[row], entry});
      if (n_others_[codes_[row]]++ == 0) touched_.push_back(codes_[row]);
    }
    std::size_t n_codes = n_rows_.size() + seen_.size();
    for (const u8 code : touched_) n_codes -= n_others_[code] == n_rows_[code] ? 1 : 0;
    const bool fits = n_codes <= most_codes;
    if (fits) {
      renumber();
      joint.columns.push_back(column);
      joint.code_bins.resize(n_rows_.size());
    }
    for (const auto& [code, entry] : seen_) counts_[key_of(code, entry)] = 0;
    for (const u8 code : touched_) n_others_[code] = 0;
    touched_.clear();
    return fits;
  }

 private:
  struct Other {
    u32 row;
    u8 entry;
  };
  static std::size_t key_of(u8 code, u8 entry) {
    return std::size_t{code} * kMostJointBins + entry;
  }

  // Rows that weigh something and are in another bin than most.
  void list_others(u32 column) {
    const ColumnBins& own = (*data_.bins)[column];
    others_.clear();
    const auto add = [&](u32 row, u8 bin, u8 rest) {
      const u8 entry = find_entry(bin, own.n_bins, own.has_missing);
      if (entry != rest && weights_[row] > 0) others_.push_back({row, entry});
    };
    if (data_.has_bytes(column)) {
      const u8* const bytes = data_.column(column);
      for (u32 row = 0; row < data_.n_rows; ++row) add(row, bytes[row], 0);
    } else {
      const ColumnEntries::View listed = data_.entries->column(column);
      for (std::size_t e = 0; e < listed.rows.size(); ++e)
        add(listed.rows[e], listed.bins[e], listed.rest);
    }
  }

  // One bin keeps the code: that of all other rows if it occurs, else the first one seen.
  void renumber() {
    bool is_free[kMostCodes] = {};
    for (const u8 code : touched_) {
      is_free[code] = n_others_[code] == n_rows_[code];
      n_rows_[code] -= n_others_[code];
    }
    for (const auto& [code, entry] : seen_) {
      u32& count = counts_[key_of(code, entry)];
      if (std::exchange(is_free[code], false)) {
        n_rows_[code] = std::exchange(count, code);
      } else {
        n_rows_.push_back(count);
        count = static_cast<u32>(n_rows_.size() - 1);
      }
    }
    for (const auto& [row, entry] : others_)
      codes_[row] = static_cast<u8>(counts_[key_of(codes_[row], entry)]);
  }

  static constexpr u32 kMostCodes = 256, kMostJointBins = 32;
  const BinnedMatrix& data_;
  const RowWeights& weights_;
  u32 n_present_ = 0;
  std::vector<u8> codes_;    // per row
  std::vector<u32> n_rows_;  // of each code
  std::vector<Other> others_;
  std::vector<u32> counts_;
  u32 n_others_[kMostCodes] = {};
  struct Combination {
    u8 code, entry;
  };
  std::vector<Combination> seen_;
  std::vector<u8> touched_;
};

}  // namespace committee
