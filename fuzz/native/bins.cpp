// The readers of bins and of summaries of tables: whatever their bytes say, they are refused, or
// what was read bins any rows, and its bytes are read again as the same.
//
// The first byte chooses the reader. Driven by guided.cpp, or by libFuzzer.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "binning/byte_stream.hpp"
#include "changes.hpp"
#include "committee/block_binning.hpp"
#include "committee/parallel.hpp"
#include "guided.hpp"

namespace {

using namespace fuzz;

constexpr std::size_t kMostColumns = 64, kRows = 33;

[[noreturn]] void fail(const char* sentence) {
  std::fprintf(stderr, "finding: %s\n", sentence);
  std::abort();
}

std::vector<double> draw_table(std::size_t n_rows, std::size_t n_cols, std::mt19937& draw) {
  std::vector<double> x(n_rows * n_cols);
  for (double& value : x) {
    switch (below(draw, 6)) {
      case 0:
        value = std::numeric_limits<double>::quiet_NaN();
        break;
      case 1:
        value = (below(draw, 2) ? 1.0 : -1.0) * std::numeric_limits<double>::max();
        break;
      case 2:
        value = below(draw, 400);
        break;
      default:
        value = below(draw, 1000) / 100.0 - 5.0;
    }
  }
  return x;
}

MatrixView view_table(const std::vector<double>& x, std::size_t n_rows, std::size_t n_cols) {
  return {x.data(), n_rows, n_cols, static_cast<std::ptrdiff_t>(n_cols), 1, true};
}

void ask_bins(std::span<const u8> bytes) {
  const BinMapper mapper = load_bins(bytes);
  const std::vector<u8> saved = save_bins(mapper);
  if (!std::equal(saved.begin(), saved.end(), bytes.begin(), bytes.end()))
    fail("bins are saved as other bytes than they were read from");
  const std::size_t n_cols = mapper.columns().size();
  if (n_cols == 0 || n_cols > kMostColumns) return;
  std::mt19937 draw(static_cast<unsigned>(bytes.size()));
  const std::vector<double> x = draw_table(kRows, n_cols, draw);
  InterruptWatch watch({}, kAskEveryNs);
  const auto binned = mapper.transform(view_table(x, kRows, n_cols), 1, watch);
  for (std::size_t c = 0; c < n_cols; ++c) {
    const ColumnBins& bins = mapper.columns()[c];
    for (std::size_t r = 0; r < kRows; ++r) {
      const u8 bin = binned->bin(r, c);
      if (bin != kMissingBin && bin >= std::max<u32>(1, bins.n_bins))
        fail("a row lies in a bin that is not there");
    }
  }
  binned->make_records(1);
  const std::vector<u32> last = {static_cast<u32>(n_cols - 1)};
  if (select_columns(*binned, last)->n_cols != 1) fail("a column is lost");
  if (slice_rows(*binned, kRows, kRows)->n_rows != 0) fail("no rows are some");
}

void ask_summary(std::span<const u8> bytes) {
  TableSummary summary = TableSummary::load(bytes);
  const std::vector<u8> saved = summary.save();
  TableSummary again = TableSummary::load(saved);
  if (again.save() != saved) fail("a summary is saved as other bytes");
  again.merge(summary);
  if (again.is_all_missing() != summary.is_all_missing()) fail("a summary changes with itself");
  ByteReader in(bytes);  // the columns, as the summary has them
  const bool is_double = in.get_flag();
  const i32 max_bins = in.get<i32>();
  const std::vector<u32> n_levels = in.get_list<u32>(bytes.size());
  const std::size_t n_cols = n_levels.size();
  if (n_cols == 0 || n_cols > kMostColumns) return;
  std::mt19937 draw(static_cast<unsigned>(bytes.size()));
  const std::vector<double> x = draw_table(kRows, n_cols, draw);
  std::vector<float> singles;
  constexpr double kMost = std::numeric_limits<float>::max();
  for (const double value : x)
    singles.push_back(static_cast<float>(std::clamp(value, -kMost, kMost)));
  MatrixView view = view_table(x, kRows, n_cols);
  if (!is_double) {
    view.data = singles.data();
    view.is_double = false;
  }
  InterruptWatch watch({}, kAskEveryNs);
  const BinMapper learnt = learn_bins(view, {}, n_levels, max_bins, &again, 1, watch);
  learnt.transform(view, 1, watch);
  load_bins(save_bins(learnt));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<u8> own(data + 1, data + size);  // of exactly this length
  try {
    data[0] % 2 ? ask_summary(own) : ask_bins(own);
  } catch (const std::invalid_argument& error) {
    if (std::string(error.what()).size() < 10) fail("a refusal says nothing");
  }
  return 0;
}

namespace fuzz {

std::vector<u8> draw_input(std::mt19937& draw) {
  const std::size_t n_rows = 1 + below(draw, 300), n_cols = 1 + below(draw, 5);
  std::vector<u32> n_levels(n_cols);
  for (u32& levels : n_levels) levels = below(draw, 3) ? 0 : 401 + below(draw, 2) * 200;
  const std::vector<double> x = draw_table(n_rows, n_cols, draw);
  std::vector<double> coded = x;  // categories are codes, or missing
  for (std::size_t i = 0; i < coded.size(); ++i) {
    if (n_levels[i % n_cols] > 0) coded[i] = below(draw, n_levels[i % n_cols]);
  }
  const MatrixView view = view_table(coded, n_rows, n_cols);
  const int max_bins = static_cast<int>(2 + below(draw, 30));
  InterruptWatch watch({}, kAskEveryNs);
  std::vector<u8> bytes;
  const bool summarised = below(draw, 2);
  if (summarised) {
    TableSummary summary(true, n_levels, max_bins);
    summary.add(view, {}, 1, watch);
    bytes = summary.save();
  } else {
    bytes = save_bins(BinMapper::fit(view, {}, n_levels, max_bins, 1, watch));
  }
  bytes.insert(bytes.begin(), static_cast<u8>(summarised));
  return bytes;
}

void change_input(std::vector<u8>& bytes, std::mt19937& draw) {
  change_bytes(bytes, 4, draw);
}

}  // namespace fuzz
