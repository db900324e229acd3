// The search for a value's bin, over many values at a time, and the layouts the bins are written
// to.
#pragma once
#include <memory>

#include "binning/bin_search.hpp"
#include "binning/find_bins.hpp"

namespace committee {

// A column's thresholds, laid out for search in the input's own precision. A float x lies above a
// double threshold exactly if it lies above the largest float not above that threshold.
template <class T>
class BinTable {
 public:
  BinTable() = default;
  explicit BinTable(const ColumnBins& bins);
  // out[i] = #{ thresholds < values[i] }, kMissingBin for NaN.
  void find_bins(const T* values, std::size_t n, u8* out) const;

 private:
  void count_below(const T* values, std::size_t n, u8* out) const;
  template <int Steps>
  void search(const T* values, std::size_t n, u8* out) const;

  int n_thresholds_ = 0;
  std::vector<T> thresholds_;   // few thresholds: each is compared with each value
  std::vector<KeyOf<T>> keys_;  // many: binary search, padded to 2^steps - 1 keys
#if defined(COMMITTEE_AVX512)
  std::vector<u32> laid_;  // the same for search_wide
#endif
};

// Categories: bin = code, or the code aside where a byte cannot hold it.
template <class T>
void write_codes(const T* values, std::size_t n, u32 n_levels, u8* out);
template <class T>
void write_wide_codes(const T* values, std::size_t n, u32 n_levels, u8* out, u32* codes);

// Memory for the columns; std::bad_alloc if there is not enough.
std::shared_ptr<BinnedMatrix> allocate_binned(std::size_t n_rows, std::size_t n_cols,
                                              std::shared_ptr<const std::vector<ColumnBins>> bins);
// The same without any.
std::shared_ptr<BinnedMatrix> allocate_without_columns(
    std::size_t n_rows, std::size_t n_cols, std::shared_ptr<const std::vector<ColumnBins>> bins);
// An 8 x 8 block of bytes, word r holding row r: afterwards word c holds column c. Swaps ever
// smaller blocks across the diagonal.
inline void transpose_block(u64* w) {
  const auto swap = [&](int distance, int shift, u64 mask) {
    for (int i = 0; i < 8; ++i) {
      if (i & distance) continue;
      const u64 moved = ((w[i] >> shift) ^ w[i + distance]) & mask;
      w[i + distance] ^= moved;
      w[i] ^= moved << shift;
    }
  };
  swap(4, 32, 0x00000000FFFFFFFFull);
  swap(2, 16, 0x0000FFFF0000FFFFull);
  swap(1, 8, 0x00FF00FF00FF00FFull);
}
// Copies rows [first, last) of layout 1 to layout 2, for one group of columns.
void write_records(const BinnedMatrix& matrix, RecordGroup& group, std::size_t first,
                   std::size_t last);

// Rows that one task transforms: a multiple of 64, so that no two tasks write to one cache line.
inline constexpr std::size_t kTaskRows = 8192;
inline constexpr double kMinValuesPerTransformThread = 131'072;  // about half a millisecond

}  // namespace committee
