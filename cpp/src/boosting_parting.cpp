// The rows of a node, parted by its best split.
#include "boosting_grower.hpp"

namespace committee {

namespace {

// As partition_items, four rows at a time: where each of them goes is then known after one step
// instead of four.
template <class GoesLeft>
std::size_t part_by_fours(RowItem* rows, std::size_t n, RowItem* spare, GoesLeft&& goes_left) {
  std::size_t n_left = 0, i = 0;
  for (; i + 4 <= n; i += 4) {
    const RowItem a = rows[i], b = rows[i + 1], c = rows[i + 2], d = rows[i + 3];
    const std::size_t to_b = n_left + goes_left(a.row), to_c = to_b + goes_left(b.row),
                      to_d = to_c + goes_left(c.row), next = to_d + goes_left(d.row);
    rows[n_left] = a;
    spare[i - n_left] = a;
    rows[to_b] = b;
    spare[i + 1 - to_b] = b;
    rows[to_c] = c;
    spare[i + 2 - to_c] = c;
    rows[to_d] = d;
    spare[i + 3 - to_d] = d;
    n_left = next;
  }
  for (; i < n; ++i) {
    const RowItem item = rows[i];
    rows[n_left] = item;
    spare[i - n_left] = item;
    n_left += goes_left(item.row);
  }
  std::memcpy(rows + n_left, spare, (n - n_left) * sizeof(RowItem));
  return n_left;
}

}  // namespace

std::size_t BoostingGrower::part_rows(RowItem* rows, std::size_t n, RowItem* spare,
                                      const BoostSplit& best, const Parting& how) const {
  const auto part = [&](auto&& goes_left) {
    if (!how.parallel) return part_by_fours(rows, n, spare, goes_left);
    const std::size_t n_blocks = static_cast<std::size_t>(n_threads_);
    std::vector<std::size_t> n_left(n_blocks);
    const auto bound = [&](std::size_t block) { return n * block / n_blocks; };
    parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
      const std::size_t begin = bound(block), size = bound(block + 1) - begin;
      const std::size_t left = part_by_fours(rows + begin, size, spare + begin, goes_left);
      n_left[block] = left;
      if (how.built == Side::none) return;
      i64* cells = block == 0 ? how.cells : thread_cells_[block - 1];
      std::fill_n(cells, n_cells_, i64{0});
      const bool is_left = how.built == Side::left;
      add_rows(rows + begin + (is_left ? 0 : left), is_left ? left : size - left, cells);
    });
    return join_parts(rows, n, spare, n_left);
  };
  const ColumnBins& bins = (*data_.bins)[best.feature];
  const bool missing_left = best.missing_left;
  if (best.categorical) {
    const auto is_left = [&](u32 code) { return (best.left_codes[code / 32] >> (code % 32)) & 1u; };
    if (bins.wide) {
      const u32* codes = data_.wide[best.feature].data();
      return part([=](u32 row) {
        return codes[row] == kMissingCode ? missing_left : is_left(codes[row]) != 0;
      });
    }
    u8 table[kHistogramBins] = {};
    for (u32 code = 0; code < bins.n_bins; ++code) table[code] = is_left(code) != 0;
    table[kMissingBin] = missing_left;
    const u8* column = data_.column(best.feature);
    return part([=, &table](u32 row) { return table[column[row]] != 0; });
  }
  const u8* column = data_.column(best.feature);
  const u32 cut = best.cut;
  // Missing is code 255: to the right of every cut, or, one further, code 0 and to the left.
  if (!missing_left) return part([=](u32 row) { return column[row] <= cut; });
  return part([=](u32 row) { return static_cast<u8>(column[row] + 1) <= cut + 1; });
}

// Blocks that were parted each by itself: all that is left comes first, then all that is right,
// both in their old order.
std::size_t BoostingGrower::join_parts(RowItem* rows, std::size_t n, RowItem* spare,
                                       std::span<const std::size_t> n_left) {
  std::size_t n_right = 0, out = 0;
  for (std::size_t block = 0; block < n_left.size(); ++block) {
    const std::size_t begin = n * block / n_left.size(), end = n * (block + 1) / n_left.size();
    const std::size_t left = n_left[block], right = end - begin - left;
    if (end < n) {  // what is right of the last block is where it belongs
      std::memcpy(spare + n_right, rows + begin + left, right * sizeof(RowItem));
      n_right += right;
    }
    std::memmove(rows + out, rows + begin, left * sizeof(RowItem));
    out += left;
  }
  std::memcpy(rows + out, spare, n_right * sizeof(RowItem));
  return out;
}

}  // namespace committee
