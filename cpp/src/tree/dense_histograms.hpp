// Histograms of all features of a node, 256 cells a feature, from the records of its rows.
#pragma once
#include <algorithm>
#include <utility>

#include "committee/parallel.hpp"
#include "split/histogram.hpp"

namespace committee {

inline constexpr std::size_t kBatchBytes = std::size_t{64}
                                           << 10;  // of histograms filled in one pass

// Features that are filled in one pass over the rows.
template <class Accumulator>
std::size_t count_batch(const Accumulator& accumulator) {
  using Element = typename Accumulator::Element;
  const std::size_t bytes = kHistogramBins * accumulator.cell() * sizeof(Element);
  return std::clamp<std::size_t>(kBatchBytes / bytes, 1, kBatch);
}

// Some features, ascending; the others of hist[feature][bin][cell] stay as they are.
template <class Accumulator>
void fill_dense(const Accumulator& accumulator, const FillTable<Accumulator>& fills,
                const BinnedMatrix& data, std::span<const typename Accumulator::Item> items,
                std::span<const u32> features, typename Accumulator::Element* hist, int n_threads,
                InterruptWatch& watch) {
  using Element = typename Accumulator::Element;
  const std::size_t feature_cells = static_cast<std::size_t>(kHistogramBins) * accumulator.cell();
  const std::size_t batch = count_batch(accumulator);
  std::vector<std::pair<std::size_t, std::size_t>> runs;  // neighbours in one record group
  for (std::size_t k = 0; k < features.size();) {
    std::size_t end = k + 1;
    while (end < features.size() && end - k < batch && features[end] == features[end - 1] + 1 &&
           features[end] / 64 == features[k] / 64) {
      ++end;
    }
    runs.emplace_back(k, end);
    k = end;
  }
  parallel_for(runs.size(), n_threads, [&](std::size_t r) {
    watch.poll();
    const auto [first, end] = runs[r];
    Element* own = hist + features[first] * feature_cells;
    std::memset(own, 0, (end - first) * feature_cells * sizeof(Element));
    u64 touched[kBatch];
    const RecordGroup& group = data.group_of(features[first]);
    const RecordBlock block{group.bytes.data(), group.stride, group.first_col};
    const RunBytes bytes(block, features.subspan(first, end - first));
    fills[end - first - 1](accumulator, bytes, items, end - first, own, touched);
  });
}

}  // namespace committee
