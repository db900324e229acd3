// Histograms of some columns of a leaf, from the columns themselves: for nodes that look at few.
#include <algorithm>
#include <array>
#include <utility>

#include "boosting/local_leaf_rows.hpp"

namespace committee {

namespace {

// Side by side: rows with the same bin of a single column would wait for one another.
template <std::size_t kColumns>
void sum_bins(const u8* const* columns, std::span<const RowItem> rows, const i64* words,
              i64* histograms) {
  std::array<const u8*, kColumns> own;
  std::copy_n(columns, kColumns, own.begin());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = rows[i].row;
    const i64 word = words[i];
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      ((histograms[k * ColumnSums::kStep + own[k][row]] += word), ...);
    }(std::make_index_sequence<kColumns>());
  }
}

constexpr auto kSumBins = []<std::size_t... k>(std::index_sequence<k...>) {
  return std::array{sum_bins<k + 1>...};
}(std::make_index_sequence<ColumnSums::kMost>());

}  // namespace

void LocalLeafRows::copy_words(u32 leaf, std::vector<i64>& words) const {
  const std::span<const RowItem> rows = rows_of(leaf);
  words.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) words[i] = records_.word(rows[i].row);
}

void LocalLeafRows::sum_columns(u32 leaf, const i64* words, std::span<const u32> columns,
                                ColumnSums& sums) const {
  std::array<const u8*, ColumnSums::kMost> bytes;
  for (std::size_t k = 0; k < columns.size(); ++k) bytes[k] = shared_.data->column(columns[k]);
  std::fill_n(sums.histograms, columns.size() * ColumnSums::kStep, i64{0});
  kSumBins[columns.size() - 1](bytes.data(), rows_of(leaf), words, sums.histograms);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const ColumnEncoding& encoding = records_.layout().encoding(columns[k]);
    i64* const own = sums.of(k);
    const u8 entry = read_bin(kMissingBin, encoding);
    if (entry != kMissingBin) own[entry] += std::exchange(own[kMissingBin], i64{0});
  }
}

}  // namespace committee
