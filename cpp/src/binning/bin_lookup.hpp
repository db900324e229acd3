// The search for a value's bin, over many values at a time, and the layouts the bins are written
// to.
#pragma once
#include <bit>
#include <cstring>
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
// An 8 x 8 block of bytes, word r holding row r: afterwards word c holds column c. Joins pairs of
// rows byte by byte, these pairs by two bytes, and these by four.
inline void transpose_block(u64* w) {
  using Words COMMITTEE_VECTOR(16) = u64;
  using Bytes COMMITTEE_VECTOR(16) = u8;
  using Twos COMMITTEE_VECTOR(16) = u16;
  using Fours COMMITTEE_VECTOR(16) = u32;
  const auto join = [w](int row) {  // all of rows `row` and `row` + 1
    const Bytes a = std::bit_cast<Bytes>(Words{w[row], 0});
    const Bytes b = std::bit_cast<Bytes>(Words{w[row + 1], 0});
    return std::bit_cast<Twos>(
        shuffle_lanes<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b));
  };
  const Twos a = join(0), b = join(2), c = join(4), d = join(6);
  // Columns 0 to 3 and 4 to 7, of four rows.
  const auto low = [](Twos x, Twos y) {
    return std::bit_cast<Fours>(shuffle_lanes<0, 8, 1, 9, 2, 10, 3, 11>(x, y));
  };
  const auto high = [](Twos x, Twos y) {
    return std::bit_cast<Fours>(shuffle_lanes<4, 12, 5, 13, 6, 14, 7, 15>(x, y));
  };
  const auto put = [w](int column, Fours x, Fours y) {  // two columns each
    const Fours first = shuffle_lanes<0, 4, 1, 5>(x, y);
    const Fours second = shuffle_lanes<2, 6, 3, 7>(x, y);
    std::memcpy(w + column, &first, sizeof first);
    std::memcpy(w + column + 2, &second, sizeof second);
  };
  put(0, low(a, b), low(c, d));
  put(4, high(a, b), high(c, d));
}
// Copies rows [first, last) of layout 1 to layout 2, for one group of columns.
void write_records(const BinnedMatrix& matrix, RecordGroup& group, std::size_t first,
                   std::size_t last);

// Rows that one task transforms: a multiple of 64, so that no two tasks write to one cache line.
inline constexpr std::size_t kTaskRows = 8192;
inline constexpr double kMinValuesPerTransformThread = 131'072;  // about half a millisecond

}  // namespace committee
