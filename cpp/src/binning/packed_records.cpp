#include "binning/packed_records.hpp"

#include <algorithm>
#include <bit>

#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr std::size_t kBlockRows = 4096;  // of one task
constexpr std::size_t kSpareBytes = 64;   // behind the last record, so that prefetch stays inside

// The bins may be another table's: what counts is what this one holds.
bool has_two_codes(const u8* codes, std::size_t n_rows) {
  u8 all = 0;
  for (std::size_t row = 0; row < n_rows; ++row) all |= codes[row];
  return all <= 1;
}

}  // namespace

std::unique_ptr<const PackedRecords> PackedRecords::make(const BinnedMatrix& data, int n_threads) {
  if (data.groups.size() != 1) return nullptr;
  std::unique_ptr<PackedRecords> made(new PackedRecords);
  const auto has_two_bins = [&](std::size_t col) {
    const ColumnBins& bins = (*data.bins)[col];
    return bins.n_bins <= 2 && !bins.has_missing && !bins.categorical && !bins.wide;
  };
  const auto n_bytes_with = [&](std::size_t n_bits) {
    return data.n_cols - n_bits + (n_bits + 7) / 8;
  };
  std::size_t n_bits = 0;
  for (std::size_t col = 0; col < data.n_cols; ++col) n_bits += has_two_bins(col);
  made->stride_ = std::max<std::size_t>(16, std::bit_ceil(n_bytes_with(n_bits)));
  if (2 * made->stride_ > data.groups[0].stride) return nullptr;
  made->places_.resize(data.n_cols);
  std::size_t byte = 0, bit = 0;
  for (std::size_t col = 0; col < data.n_cols; ++col) {
    if (!has_two_bins(col)) made->places_[col].byte = static_cast<u8>(byte++);
  }
  for (std::size_t col = 0; col < data.n_cols; ++col) {
    if (!has_two_bins(col)) continue;
    if (!has_two_codes(data.column(col), data.n_rows)) return nullptr;
    made->places_[col] = {static_cast<u8>(byte + bit / 8), static_cast<u8>(1u << bit % 8), 1};
    made->bits_ |= u64{1} << col;
    ++bit;
  }
  made->bytes_ = AlignedBuffer<u8>(data.n_rows * made->stride_ + kSpareBytes);
  parallel_for((data.n_rows + kBlockRows - 1) / kBlockRows, n_threads, [&](std::size_t block) {
    const std::size_t first = block * kBlockRows;
    made->write_rows(data, first, std::min(data.n_rows, first + kBlockRows));
  });
  return made;
}

void PackedRecords::write_rows(const BinnedMatrix& data, std::size_t first, std::size_t last) {
  std::fill(bytes_.data() + first * stride_, bytes_.data() + last * stride_, u8{0});
  for (std::size_t col = 0; col < data.n_cols; ++col) {
    const u8* codes = data.column(col);
    const FieldPlace place = places_[col];
    u8* to = bytes_.data() + place.byte;
    // A code is 0 or 1 where the place is a bit: times its mask it is that bit.
    const u32 unit = place.most == 1 ? place.mask : 1;
    for (std::size_t row = first; row < last; ++row)
      to[row * stride_] = static_cast<u8>(to[row * stride_] | codes[row] * unit);
  }
}

}  // namespace committee
