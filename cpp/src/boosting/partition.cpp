// The rows of a node, partitioned by its best split.
#include "split/partition.hpp"

#include "boosting/local_leaf_rows.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// Blocks that were partitioned each by itself: all that is left comes first, then all that is
// right, both in their old order.
std::size_t join_parts(RowItem* rows, std::size_t n, RowItem* scratch,
                       std::span<const std::size_t> n_left) {
  std::size_t n_right = 0, out = 0;
  for (std::size_t block = 0; block < n_left.size(); ++block) {
    const std::size_t begin = n * block / n_left.size(), end = n * (block + 1) / n_left.size();
    const std::size_t left = n_left[block], right = end - begin - left;
    if (end < n) {  // what is right of the last block is where it belongs
      std::memcpy(scratch + n_right, rows + begin + left, right * sizeof(RowItem));
      n_right += right;
    }
    std::memmove(rows + out, rows + begin, left * sizeof(RowItem));
    out += left;
  }
  std::memcpy(rows + out, scratch, n_right * sizeof(RowItem));
  return out;
}

}  // namespace

std::size_t LocalLeafRows::partition_rows(RowItem* rows, std::size_t n, RowItem* scratch,
                                          const BoostSplit& best, const Partitioning& how) const {
  const auto partition = [&](auto&& goes_left) {
    if (!how.parallel) return partition_items(rows, n, scratch, goes_left);
    const std::size_t n_blocks = static_cast<std::size_t>(n_threads_);
    std::vector<std::size_t> n_left(n_blocks);
    const auto bound = [&](std::size_t block) { return n * block / n_blocks; };
    parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
      const std::size_t begin = bound(block), size = bound(block + 1) - begin;
      const std::size_t left = partition_items(rows + begin, size, scratch + begin, goes_left);
      n_left[block] = left;
      if (how.built == Side::none) return;
      i64* histogram = block == 0 ? how.histogram : thread_histograms_[block - 1];
      std::fill_n(histogram, n_entries_, i64{0});
      const bool is_left = how.built == Side::left;
      add_listed(rows + begin + (is_left ? 0 : left), is_left ? left : size - left, histogram);
    });
    return join_parts(rows, n, scratch, n_left);
  };
  const BinnedMatrix& data = *shared_.data;
  const ColumnBins& bins = (*data.bins)[best.feature];
  const bool missing_left = best.missing_left;
  std::vector<u8> room;
  if (best.categorical) {
    const auto is_left = [&](u32 code) { return (best.left_codes[code / 32] >> (code % 32)) & 1u; };
    if (bins.wide) {
      const u32* codes = data.wide[best.feature].data();
      return partition([=](u32 row) {
        return codes[row] == kMissingCode ? missing_left : is_left(codes[row]) != 0;
      });
    }
    u8 table[kHistogramBins] = {};
    for (u32 code = 0; code < bins.n_bins; ++code) table[code] = is_left(code) != 0;
    table[kMissingBin] = missing_left;
    const u8* column = data.read_column(best.feature, room);
    return partition([=, &table](u32 row) { return table[column[row]] != 0; });
  }
  const u8* column = data.read_column(best.feature, room);
  const u32 split_bin = best.split_bin;
  // Missing is code 255: to the right of every split, or, one further, code 0 and to the left.
  if (!missing_left) return partition([=](u32 row) { return column[row] <= split_bin; });
  return partition([=](u32 row) { return static_cast<u8>(column[row] + 1) <= split_bin + 1; });
}

}  // namespace committee
