// Records of a table with many columns of two values, which take a bit each: rows of a node that
// lie far apart are read from fewer cache lines, and more of a subtree fits the first cache.
#pragma once
#include <memory>

#include "committee/binning.hpp"

namespace committee {

// Where a feature's bin lies in a record: min(byte & mask, most).
struct FieldPlace {
  u8 byte = 0, mask = 255, most = 255;
};

class PackedRecords {
 public:
  // Null where they would save little: fewer than half of the bytes.
  static std::unique_ptr<const PackedRecords> make(const BinnedMatrix& data, int n_threads);

  const u8* bytes() const { return bytes_.data(); }
  std::size_t stride() const { return stride_; }               // 16 or 32
  const FieldPlace* places() const { return places_.data(); }  // one a feature
  u64 bits() const { return bits_; }                           // a bit a feature that takes one

 private:
  PackedRecords() = default;
  void write_rows(const BinnedMatrix& data, std::size_t first, std::size_t last);

  std::size_t stride_ = 0;
  AlignedBuffer<u8> bytes_;
  std::vector<FieldPlace> places_;
  u64 bits_ = 0;
};

}  // namespace committee
