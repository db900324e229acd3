// The search for a node's best split. Included by builder_<family>.cpp.
#pragma once
#include <algorithm>
#include <numeric>

#include "split/feature_sampler.hpp"
#include "tree/builder_loop.hpp"
#include "tree/fast/extra_trees_entry.hpp"
#include "tree/fast/subtree_builder.hpp"
#include "tree/search_random.hpp"
#include "tree/search_small.hpp"
#include "tree/search_sorted.hpp"

namespace committee {

inline constexpr std::size_t kBatchBytes = std::size_t{64}
                                           << 10;  // of histograms filled in one pass
inline constexpr std::size_t kParallelWork = std::size_t{1}
                                             << 20;  // row-features worth several threads
inline constexpr std::size_t kPollRows = 4096;       // a feature of so many rows may take a while

template <class Accumulator>
std::unique_ptr<typename TreeBuilder<Accumulator>::Worker> TreeBuilder<Accumulator>::make_worker()
    const {
  auto worker = std::make_unique<Worker>();
  worker->finder = make_finder(sample_.accumulator, params_.criterion);
  worker->hist = AlignedBuffer<Element>(batch_size() * kHistogramBins * sample_.accumulator.cell(),
                                        Element{0});
  worker->total.resize(sample_.accumulator.cell());
  if (plan_.draws_features) worker->places.resize(data_.n_cols);
  return worker;
}

template <class Accumulator>
std::size_t TreeBuilder<Accumulator>::batch_size() const {
  const std::size_t bytes = kHistogramBins * sample_.accumulator.cell() * sizeof(Element);
  return std::clamp<std::size_t>(kBatchBytes / bytes, 1, kBatch);
}

template <class Accumulator>
void TreeBuilder<Accumulator>::sum_items(const OpenNode& node, Worker& worker) const {
  CellSum<Accumulator> sum(sample_.accumulator, worker.total);
  sum.set(sample_.accumulator, nullptr);
  for (std::size_t i = node.begin; i < node.end; ++i)
    sample_.accumulator.add(sum.data(), items_[i]);
  if constexpr (Accumulator::kFixedCell > 0)
    std::copy_n(sum.data(), Accumulator::kFixedCell, worker.total.data());
}

template <class Accumulator>
NodeLimits TreeBuilder<Accumulator>::limits_of(const OpenNode& node) const {
  NodeLimits limits = limits_;
  limits.bounded = plan_.bounded;
  limits.lower = node.lower;
  limits.upper = node.upper;
  return limits;
}

// The node's rows with the record group of a feature.
template <class Accumulator>
typename TreeBuilder<Accumulator>::NodeRows TreeBuilder<Accumulator>::rows_of(const OpenNode& node,
                                                                              u32 feature) const {
  const RecordGroup& group = data_.group_of(feature);
  return {{group.bytes.data(), group.stride, group.first_col},
          {items_ + node.begin, node.size()},
          numbers_of(node)};
}

// Finds node.best and node.decrease; false if the node must stay a leaf.
template <class Accumulator>
bool TreeBuilder<Accumulator>::find_split(OpenNode& node, Worker& worker) {
  Found found;
  worker.finder->begin_node(worker.total.data(), limits_of(node));
  if (plan_.draws_features) {
    search_drawn(node, worker, found);
  } else {
    search_all(node, worker, found);
  }
  if (node.dense) worker.use(Route::dense_histograms);
  worker.count_used();
  if (!found.best.found()) return false;
  node.decrease = found.decrease * plan_.decrease_unit / plan_.total_weight;
  node.best = std::move(found.best);
  return node.decrease + std::numeric_limits<double>::epsilon() >= params_.min_impurity_decrease;
}

template <class Accumulator>
void TreeBuilder<Accumulator>::search_all(OpenNode& node, Worker& worker, Found& found) {
  const std::vector<u32>& features = node.features ? *node.features : all_features_;
  if (node.parent == kNone && !node.dense && node.size() == sample_.n && fits_dense(node.size())) {
    build_dense(node);
  }
  worker.varies.assign(features.size(), 0);
  const std::size_t batch = batch_size();
  const std::size_t n_batches = (features.size() + batch - 1) / batch;
  if (plan_.n_threads > 1 && !inside_parallel_region() && n_batches > 1 &&
      node.size() * features.size() >= kParallelWork) {
    std::vector<Found> results(n_batches);
    parallel_for(n_batches, plan_.n_threads, [&](std::size_t b) {
      PooledWorker pooled(*this);
      Worker& own = *pooled;
      own.finder->begin_node(worker.total.data(), limits_of(node));
      const std::size_t first = b * batch, n = std::min(batch, features.size() - first);
      scan_features(node, {features.data() + first, n}, own, results[b].best,
                    worker.varies.data() + first);
      if (results[b].best.found())
        results[b].decrease = own.finder->measure_decrease(results[b].best);
    });
    for (Found& result : results) {
      const Candidate& best = result.best;
      if (best.found() && found.best.loses_to(best.score, best.place, best.cut))
        found = std::move(result);
    }
  } else {
    scan_features(node, features, worker, found.best, worker.varies.data());
    if (found.best.found()) found.decrease = worker.finder->measure_decrease(found.best);
  }
  // A feature that is constant here is constant below: the children need not look at it again.
  const auto n_varying =
      static_cast<std::size_t>(std::count(worker.varies.begin(), worker.varies.end(), u8{1}));
  if (!node.groups && n_varying + n_varying / 4 < features.size()) {
    auto shorter = std::make_shared<std::vector<u32>>();
    shorter->reserve(n_varying);
    for (std::size_t k = 0; k < features.size(); ++k) {
      if (worker.varies[k]) shorter->push_back(features[k]);
    }
    node.features = std::move(shorter);
  }
}

// Draws features without replacement until max_features were looked at and one of them varies.
template <class Accumulator>
void TreeBuilder<Accumulator>::search_drawn(OpenNode& node, Worker& worker, Found& found) {
  const std::vector<u32>& pool = node.features ? *node.features : all_features_;
  const u32 n_pool = static_cast<u32>(pool.size());
  Shuffle shuffle(worker.permutation, n_pool, numbers_of(node));
  std::vector<u32>& drawn = worker.drawn;
  u32 visited = 0;
  std::size_t n_varying = 0;
  while (visited < n_pool && (visited < params_.max_features || n_varying == 0)) {
    const u32 wanted = visited < params_.max_features ? params_.max_features - visited : 1;
    const u32 last = std::min(n_pool, visited + wanted);
    drawn.clear();
    for (; visited < last; ++visited) {
      drawn.push_back(pool[shuffle.draw()]);
      worker.places[drawn.back()] = visited;
    }
    if (data_.groups.size() > 1) std::sort(drawn.begin(), drawn.end());
    worker.varies.assign(drawn.size(), 0);
    n_varying += scan_features(node, drawn, worker, found.best, worker.varies.data());
  }
  if (found.best.found()) found.decrease = worker.finder->measure_decrease(found.best);
}

// Looks at the features one after the other; varies[k] tells whether feature k is not constant
// here.
template <class Accumulator>
std::size_t TreeBuilder<Accumulator>::scan_features(const OpenNode& node,
                                                    std::span<const u32> features, Worker& worker,
                                                    Candidate& best, u8* varies) {
  std::size_t n_varying = 0;
  auto note = [&](std::size_t k, bool varying) {
    varies[k] = varying;
    n_varying += varying;
  };
  const std::size_t batch = batch_size();
  const std::size_t feature_cells =
      static_cast<std::size_t>(kHistogramBins) * sample_.accumulator.cell();
  const bool few = takes(Route::few_rows) && node.size() <= worker.finder->most_few();
  u64 touched[kBatch];
  for (std::size_t k = 0; k < features.size();) {
    if (node.size() >= kPollRows) plan_.watch.poll();
    const u32 feature = features[k];
    if ((*data_.bins)[feature].wide) {
      note(k++, scan_wide(node, feature, worker, best));
    } else if (plan_.sorts_rows && (is_numeric(feature) || takes_medians_)) {
      note(k, is_numeric(feature) ? scan_in_order(node, feature, worker, best)
                                  : scan_categories_in_order(node, feature, worker, best));
      ++k;
    } else if (node.dense) {
      const Element* hist = node.dense->data() + feature * feature_cells;
      note(k++, scan_filled(numbers_of(node), feature, hist, dense_groups(feature), worker, best));
    } else {
      // A run of features of one record group, filled in one pass over the rows.
      std::size_t end = k + 1;
      while (
          end < features.size() && end - k < batch && features[end] / 64 == feature / 64 &&
          !(*data_.bins)[features[end]].wide &&
          (is_numeric(feature) == is_numeric(features[end]) || !(few || params_.random_splits)) &&
          !(plan_.sorts_rows && is_numeric(features[end]))) {
        ++end;
      }
      const auto run = features.subspan(k, end - k);
      const NodeRows rows = rows_of(node, feature);
      if (params_.random_splits && is_numeric(feature)) {
        scan_single_cuts(rows, run, worker, best, varies + k);
        for (; k < end; ++k) n_varying += varies[k];
        continue;
      }
      if (few && is_numeric(feature)) {
        worker.use(Route::few_rows);
        n_varying += scan_few_rows(rows, run, worker, best, varies + k);
        k = end;
        continue;
      }
      fill_histograms(sample_.accumulator, rows.block, rows.items, run, worker.hist.data(),
                      touched);
      for (std::size_t j = 0; j < run.size(); ++j) {
        Element* hist = worker.hist.data() + j * feature_cells;
        note(k + j, scan_filled(numbers_of(node), run[j], hist, touched[j], worker, best));
        clear_touched(hist, touched[j], sample_.accumulator.cell());
      }
      k = end;
    }
  }
  return n_varying;
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::scan_filled(const NodeNumbers& numbers, u32 feature,
                                           const Element* hist, u64 touched, Worker& worker,
                                           Candidate& best) {
  const FeatureView view = view_feature(numbers, feature, worker);
  if (!is_numeric(feature)) {
    collect_category_cells(feature, hist, touched, worker);
    return worker.finder->scan_categories(worker.cells, params_.random_splits, view, best);
  }
  return worker.finder->scan_bins(hist, touched, view, best);
}

template <class Accumulator>
void TreeBuilder<Accumulator>::collect_category_cells(u32 feature, const Element* hist, u64 touched,
                                                      Worker& worker) const {
  const u32 cell = sample_.accumulator.cell();
  worker.cells.clear();
  for (; touched; touched &= touched - 1) {
    const u32 first = static_cast<u32>(__builtin_ctzll(touched)) * 4;
    for (u32 bin = first; bin < first + 4; ++bin) {
      if (bin >= (*data_.bins)[feature].n_bins && bin != kMissingBin) continue;
      const Element* at = hist + static_cast<std::size_t>(bin) * cell;
      if (!sample_.accumulator.is_empty(at))
        worker.cells.push_back({bin == kMissingBin ? kMissingCode : bin, at});
    }
  }
}

// Categories beyond 255 levels: cells of the levels that occur, in a table of their own.
template <class Accumulator>
void TreeBuilder<Accumulator>::accumulate_wide(const OpenNode& node, u32 feature,
                                               Worker& worker) const {
  const u32 cell = sample_.accumulator.cell(), n_levels = (*data_.bins)[feature].n_bins;
  const u32* codes = data_.wide[feature].data();
  worker.wide_cells.assign((static_cast<std::size_t>(n_levels) + 1) * cell, Element{0});
  for (std::size_t i = node.begin; i < node.end; ++i) {
    const u32 code =
        std::min(codes[items_[i].row], n_levels);  // missing: the place behind the last level
    sample_.accumulator.add(worker.wide_cells.data() + static_cast<std::size_t>(code) * cell,
                            items_[i]);
  }
  worker.cells.clear();
  for (u32 code = 0; code <= n_levels; ++code) {
    const Element* at = worker.wide_cells.data() + static_cast<std::size_t>(code) * cell;
    if (!sample_.accumulator.is_empty(at))
      worker.cells.push_back({code == n_levels ? kMissingCode : code, at});
  }
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::scan_wide(const OpenNode& node, u32 feature, Worker& worker,
                                         Candidate& best) {
  if (takes_medians_) return scan_categories_in_order(node, feature, worker, best);
  accumulate_wide(node, feature, worker);
  return worker.finder->scan_categories(worker.cells, params_.random_splits,
                                        view_feature(numbers_of(node), feature, worker), best);
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::fits_dense(std::size_t n_rows) const {
  return takes(Route::dense_histograms) && n_rows >= kDenseRows;
}

// Groups of four bins that a column can occupy. The missing bin is always looked at: a table that
// the bins were not learnt from may have missing values where the one that taught them had none.
template <class Accumulator>
u64 TreeBuilder<Accumulator>::dense_groups(u32 feature) const {
  const ColumnBins& bins = (*data_.bins)[feature];
  const u32 n_groups = (bins.n_bins + 3) / 4;
  const u64 values = n_groups >= 64 ? ~u64{0} : (u64{1} << n_groups) - 1;
  return values | u64{1} << 63;
}

template <class Accumulator>
void TreeBuilder<Accumulator>::build_dense(OpenNode& node) {
  const std::size_t feature_cells =
      static_cast<std::size_t>(kHistogramBins) * sample_.accumulator.cell();
  node.dense = std::make_unique<AlignedBuffer<Element>>(data_.n_cols * feature_cells);
  Element* hist = node.dense->data();
  const std::vector<u32>& features = node.features ? *node.features : all_features_;
  const std::size_t batch = batch_size();
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
  const bool parallel = !inside_parallel_region() && node.size() * features.size() >= kParallelWork;
  parallel_for(runs.size(), parallel ? plan_.n_threads : 1, [&](std::size_t r) {
    plan_.watch.poll();
    const auto [first, end] = runs[r];
    Element* own = hist + features[first] * feature_cells;
    std::memset(own, 0, (end - first) * feature_cells * sizeof(Element));
    u64 touched[kBatch];
    const NodeRows rows = rows_of(node, features[first]);
    fill_histograms(sample_.accumulator, rows.block, rows.items,
                    {features.data() + first, end - first}, own, touched);
  });
}

// Histograms of the children: the smaller one is counted, the larger one is what remains of the
// parent.
template <class Accumulator>
void TreeBuilder<Accumulator>::share_histograms(OpenNode& node, OpenNode& left, OpenNode& right) {
  OpenNode& small = left.size() <= right.size() ? left : right;
  OpenNode& large = left.size() <= right.size() ? right : left;
  if (!fits_dense(large.size())) return;
  build_dense(small);
  large.dense = std::move(node.dense);
  const std::size_t feature_cells =
      static_cast<std::size_t>(kHistogramBins) * sample_.accumulator.cell();
  const std::vector<u32>& features = small.features ? *small.features : all_features_;
  for (const u32 feature : features) {
    Element* from = large.dense->data() + feature * feature_cells;
    const Element* minus = small.dense->data() + feature * feature_cells;
    for (std::size_t i = 0; i < feature_cells; ++i) from[i] -= minus[i];
  }
}

template <class Accumulator>
std::shared_ptr<const std::vector<u32>> TreeBuilder<Accumulator>::allowed_features(
    const std::vector<u64>& groups) const {
  auto features = std::make_shared<std::vector<u32>>();
  const auto& candidates =
      params_.member_features.empty() ? all_features_ : params_.member_features;
  for (const u32 f : candidates) {
    const auto& own = plan_.feature_groups[f];
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (own[k] & groups[k]) {
        features->push_back(f);
        break;
      }
    }
  }
  return features;
}

}  // namespace committee
