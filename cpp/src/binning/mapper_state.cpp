// Bins as bytes.
#include <cmath>

#include "binning/byte_stream.hpp"
#include "binning/find_bins.hpp"
#include "committee/block_binning.hpp"

namespace committee {
namespace {

constexpr u32 kFormat = 1;

void check_bins(const ColumnBins& bins) {
  const auto require = [](bool holds) {
    if (!holds) throw ByteReader::damaged();
  };
  if (bins.categorical) {
    require(bins.n_bins <= kMaxLevels);
    require(bins.wide == (bins.n_bins > static_cast<u32>(kMaxValueBins)));
    require(bins.thresholds.empty() && bins.low.empty() && bins.high.empty());
    return;
  }
  require(!bins.wide && bins.n_bins <= static_cast<u32>(kMaxValueBins));
  require(bins.low.size() == bins.n_bins && bins.high.size() == bins.n_bins);
  require(bins.thresholds.size() == (bins.n_bins ? bins.n_bins - 1 : 0));
  for (u32 b = 0; b < bins.n_bins; ++b) {
    require(bins.low[b] <= bins.high[b]);
    if (b + 1 < bins.n_bins)
      require(bins.high[b] <= bins.thresholds[b] && bins.thresholds[b] < bins.low[b + 1]);
  }
}

}  // namespace

std::vector<u8> save_bins(const BinMapper& mapper) {
  ByteWriter out;
  out.put(kFormat);
  out.put<u64>(mapper.columns().size());
  for (const ColumnBins& bins : mapper.columns()) {
    out.put<u8>(bins.categorical);
    out.put<u8>(bins.wide);
    out.put<u8>(bins.has_missing);
    out.put(bins.n_bins);
    out.put_list(bins.thresholds);
    out.put_list(bins.low);
    out.put_list(bins.high);
  }
  return out.take();
}

BinMapper load_bins(std::span<const u8> bytes) {
  ByteReader in(bytes);
  if (in.get<u32>() != kFormat) throw ByteReader::damaged();
  const u64 n_cols = in.get<u64>();
  constexpr std::size_t kLeastBytes = 3 + 4 + 3 * 8;
  if (n_cols > bytes.size() / kLeastBytes) throw ByteReader::damaged();
  std::vector<ColumnBins> columns(static_cast<std::size_t>(n_cols));
  for (ColumnBins& bins : columns) {
    bins.categorical = in.get_flag();
    bins.wide = in.get_flag();
    bins.has_missing = in.get_flag();
    bins.n_bins = in.get<u32>();
    bins.thresholds = in.get_list<double>(kMaxValueBins);
    bins.low = in.get_list<double>(kMaxValueBins);
    bins.high = in.get_list<double>(kMaxValueBins);
    check_bins(bins);
  }
  in.expect_end();
  return BinMapper(std::move(columns));
}

}  // namespace committee
