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

// Measured: below, insertion is faster than buckets, and buckets than digits.
constexpr std::size_t kBucketRows = 20, kRadixRows = 1024;
constexpr std::size_t kByteRows = 48;  // the same for codes of one byte

// Sorts keyed rows by codes below 256; stable.
void sort_by_byte(std::vector<u64>& keyed, std::vector<u64>& spare) {
  spare.resize(keyed.size());
  u32 count[257] = {};
  for (const u64 key : keyed) ++count[(key >> 32) + 1];
  for (int d = 0; d < 256; ++d) count[d + 1] += count[d];
  for (const u64 key : keyed) spare[count[key >> 32]++] = key;
  keyed.swap(spare);
}

void insert_keys(std::span<u64> keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const u64 key = keys[i];
    std::size_t at = i;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

// Fewer than kRadixRows: as many buckets as rows over the codes that occur. The ranks of a node's
// values lie about evenly, so that most buckets have a row or two; one of many rows is sorted by
// comparison, unless it is one value, whose rows are in order.
void sort_by_bucket(std::vector<u64>& keyed, std::vector<u64>& spare) {
  constexpr std::size_t kFullBucket = 24;
  const std::size_t n = keyed.size();
  u64 lo = keyed[0] >> 32, hi = lo;
  for (const u64 key : keyed) {
    lo = std::min(lo, key >> 32);
    hi = std::max(hi, key >> 32);
  }
  const u64 scale = (static_cast<u64>(n) << 32) / (hi - lo + 1);
  const auto bucket = [&](u64 key) { return ((key >> 32) - lo) * scale >> 32; };
  u16 ends[kRadixRows + 1] = {};
  for (const u64 key : keyed) ++ends[bucket(key) + 1];
  for (std::size_t b = 0; b < n; ++b) ends[b + 1] = static_cast<u16>(ends[b + 1] + ends[b]);
  spare.resize(n);
  for (const u64 key : keyed) spare[ends[bucket(key)]++] = key;
  keyed.swap(spare);
  std::size_t begin = 0;
  for (std::size_t b = 0; b < n; ++b) {
    const std::span<u64> keys(keyed.data() + begin, ends[b] - begin);
    begin = ends[b];
    if (keys.size() <= kFullBucket) {
      insert_keys(keys);
    } else if (!std::is_sorted(keys.begin(), keys.end())) {
      std::sort(keys.begin(), keys.end());
    }
  }
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
  if (keyed.size() < kBucketRows) return insert_keys(keyed);
  if (keyed.size() < kRadixRows) return sort_by_bucket(keyed, spare);
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
