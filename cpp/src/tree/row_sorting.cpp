#include "tree/row_sorting.hpp"

#include <algorithm>

#include "base/rank_sort.hpp"

namespace committee {

namespace {

// Up to 16 kBlocks rows. `bins` has room for whole blocks. keyed receives bin << 8 | row.
template <std::size_t kBlocks>
void sort_blocks(const u8* bins, std::size_t n, u16* keyed) {
  u8 places[kBlocks * kRowLanes];
  rank_rows<kBlocks>(bins, n, places);
  for (std::size_t row = 0; row < n; ++row)
    keyed[places[row]] = static_cast<u16>(bins[row] << 8 | row);
}

// More rows than that: by counting the rows of each bin.
void sort_counting(const u8* bins, std::size_t n, u16* keyed) {
  u16 place[kHistogramBins + 1] = {};
  for (std::size_t row = 0; row < n; ++row) ++place[bins[row] + 1];
  for (int bin = 0; bin < kHistogramBins; ++bin)
    place[bin + 1] = static_cast<u16>(place[bin + 1] + place[bin]);
  for (std::size_t row = 0; row < n; ++row)
    keyed[place[bins[row]]++] = static_cast<u16>(bins[row] << 8 | row);
}

constexpr std::size_t kRadixRows = 512;  // below, comparison sort is faster
constexpr std::size_t kByteRows = 48;    // the same for codes of one byte

// Sorts keyed rows by codes below 256; stable.
void sort_by_byte(std::vector<u64>& keyed, std::vector<u64>& spare) {
  spare.resize(keyed.size());
  u32 count[257] = {};
  for (const u64 key : keyed) ++count[(key >> 32) + 1];
  for (int d = 0; d < 256; ++d) count[d + 1] += count[d];
  for (const u64 key : keyed) spare[count[key >> 32]++] = key;
  keyed.swap(spare);
}

}  // namespace

void sort_few(const u8* bins, std::size_t n, u16* keyed) {
  if (n <= kRowLanes) return sort_blocks<1>(bins, n, keyed);
  if (n <= 2 * kRowLanes) return sort_blocks<2>(bins, n, keyed);
  if (n <= 3 * kRowLanes) return sort_blocks<3>(bins, n, keyed);
  if (n <= 4 * kRowLanes) return sort_blocks<4>(bins, n, keyed);
  sort_counting(bins, n, keyed);
}

void sort_keyed(std::vector<u64>& keyed, std::vector<u64>& spare, u32 largest_code) {
  if (largest_code < 256 && keyed.size() >= kByteRows) {
    sort_by_byte(keyed, spare);
    return;
  }
  if (keyed.size() < kRadixRows) {
    std::sort(keyed.begin(), keyed.end());
    return;
  }
  constexpr int kDigit = 11;
  spare.resize(keyed.size());
  for (int shift = 32; shift < 64 && (static_cast<u64>(largest_code) >> (shift - 32)) != 0;
       shift += kDigit) {
    u32 count[(1 << kDigit) + 1] = {};
    for (const u64 key : keyed) ++count[((key >> shift) & ((1 << kDigit) - 1)) + 1];
    for (int d = 0; d < (1 << kDigit); ++d) count[d + 1] += count[d];
    for (const u64 key : keyed) spare[count[(key >> shift) & ((1 << kDigit) - 1)]++] = key;
    keyed.swap(spare);
  }
}

void sort_ascending(std::vector<u32>& numbers) {
  std::sort(numbers.begin(), numbers.end());
}

}  // namespace committee
