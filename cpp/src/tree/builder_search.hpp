// The search for a node's best split over all of its features. Included by builder_<family>.cpp.
#pragma once
#include <algorithm>
#include <numeric>

#include "split/feature_sampler.hpp"
#include "tree/builder_loop.hpp"
#include "tree/dense_histograms.hpp"
#include "tree/search_bounds.hpp"
#include "tree/search_entries.hpp"
#include "tree/search_random.hpp"
#include "tree/search_small.hpp"
#include "tree/search_sorted.hpp"

namespace committee {

inline constexpr std::size_t kParallelWork = std::size_t{1}
                                             << 20;  // row-features that pay for several threads

// Rows of nodes where a few features often have a split into pure children: they are drawn and
// searched a few at a time.
inline constexpr std::size_t kFewForPure = 12;

template <class Accumulator>
NodeLimits TreeBuilder<Accumulator>::limits_of(const Node& node) const {
  NodeLimits limits = context_.limits;
  limits.bounded = plan_.bounded;
  limits.lower = node.lower;
  limits.upper = node.upper;
  return limits;
}

// Finds node.best and node.decrease; false if the node must stay a leaf.
template <class Accumulator>
bool TreeBuilder<Accumulator>::find_split(Node& node, Worker& worker) {
  Found found;
  worker.search.begin(worker.total.data(), limits_of(node));
  if (plan_.draws_features) {
    search_drawn(node, worker, found);
  } else {
    search_all(node, worker, found);
  }
  if (node.dense) worker.search.use(Route::dense_histograms);
  if (!node.has_lists())
    node.lists =
        worker.search.wants_lists() ? NodePosition::Lists::wanted : NodePosition::Lists::none;
  worker.search.count_used();
  if (!found.best.found()) return false;
  node.decrease = found.decrease * plan_.decrease_unit / plan_.total_weight;
  node.best = std::move(found.best);
  return node.decrease + std::numeric_limits<double>::epsilon() >= params_.min_impurity_decrease;
}

template <class Accumulator>
void TreeBuilder<Accumulator>::search_all(Node& node, Worker& worker, Found& found) {
  if (context_.entry_columns) narrow_features(node, worker);
  const std::vector<u32>& features = features_of(node);
  if (node.parent == kNone && !node.dense && node.size() == context_.sample.n &&
      context_.fits_dense(node.size()))
    build_dense(node);
  worker.varies.assign(features.size(), 0);
  if (plan_.n_threads > 1 && !inside_parallel_region() &&
      features.size() > worker.search.batch_size() &&
      node.size() * features.size() >= kParallelWork) {
    search_in_parallel(node, features, worker, found);
  } else {
    worker.search.scan_features(node, node.dense ? node.dense->data() : nullptr, features,
                                found.best, worker.varies.data());
    if (found.best.found()) found.decrease = worker.search.finder().measure_decrease(found.best);
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

// A batch of features a task, each on a worker of its own.
template <class Accumulator>
void TreeBuilder<Accumulator>::search_in_parallel(const Node& node, std::span<const u32> features,
                                                  Worker& worker, Found& found) {
  // Features of entries are many and take little time.
  const std::size_t share =
      features.size() / (kTasksPerThread * static_cast<std::size_t>(plan_.n_threads));
  const std::size_t batch =
      std::max(worker.search.batch_size(), context_.data.entries ? share : std::size_t{0});
  std::vector<Found> results((features.size() + batch - 1) / batch);
  parallel_for(results.size(), plan_.n_threads, [&](std::size_t b) {
    PooledWorker pooled(*this);
    TreeNodeSearch<Accumulator>& own = (*pooled).search;
    own.begin(worker.total.data(), limits_of(node));
    const std::size_t first = b * batch, n = std::min(batch, features.size() - first);
    own.scan_features(node, node.dense ? node.dense->data() : nullptr, features.subspan(first, n),
                      results[b].best, worker.varies.data() + first);
    if (results[b].best.found())
      results[b].decrease = own.finder().measure_decrease(results[b].best);
  });
  for (Found& result : results) {
    const Candidate& best = result.best;
    if (best.found() && found.best.loses_to(best.score, best.priority, best.bin))
      found = std::move(result);
  }
}

// Draws features without replacement until max_features were looked at and one of them varies.
template <class Accumulator>
void TreeBuilder<Accumulator>::search_drawn(const Node& node, Worker& worker, Found& found) {
  if (context_.data.entries) return search_drawn_entries(node, worker, found);
  const std::vector<u32>& pool = features_of(node);
  const u32 n_pool = static_cast<u32>(pool.size());
  std::vector<u32>& identity = worker.permutation;
  for (u32 k = static_cast<u32>(identity.size()); k < n_pool; ++k) identity.push_back(k);
  FeatureSampler<u32, true> sampler(identity.data(), n_pool, context_.numbers_of(node));
  std::vector<u32>& drawn = worker.drawn;
  // Only nodes whose rows lie elsewhere have them where features are drawn.
  const Element* dense = node.dense ? node.dense->data() : nullptr;
  const std::size_t n_groups = context_.data.groups.size();
  std::size_t n_varying = 0;
  const bool is_small = node.size() <= kFewForPure;
  // Equal splits go to the feature that was drawn first: once none can be better, the search ends.
  const double enough = params_.shuffle_ties ? worker.search.finder().best_possible()
                                             : std::numeric_limits<double>::infinity();
  while (!sampler.is_over() && (sampler.n_drawn() < params_.max_features || n_varying == 0) &&
         found.best.score < enough) {
    u32 n_wanted = std::max(params_.max_features, sampler.n_drawn() + 1);
    if (is_small) n_wanted = std::min(n_wanted, sampler.n_drawn() + kBatch);
    worker.search.draw_features(sampler, pool, n_wanted, drawn);
    // In the order of their record groups, where a run may find several features of one.
    if (n_groups > 1 && drawn.size() >= kBatch / 2 * n_groups) sort_ascending(drawn);
    worker.varies.assign(drawn.size(), 0);
    n_varying += worker.search.scan_features(node, dense, drawn, found.best, worker.varies.data());
  }
  if (found.best.found()) found.decrease = worker.search.finder().measure_decrease(found.best);
}

// The same over a table of entries, most of whose columns may be empty: these are drawn, too. Where
// the node has few entries, the columns that can vary are known before they are drawn.
template <class Accumulator>
void TreeBuilder<Accumulator>::search_drawn_entries(const Node& node, Worker& worker,
                                                    Found& found) {
  const u64* may_vary = context_.data.entries->occupied.data();
  if (context_.entry_columns->guess_entries(node.size()) <= params_.max_features) {
    worker.columns.collect(*context_.entry_columns, context_.data.n_cols,
                           std::span<const Item>(context_.items + node.begin, node.size()));
    if (worker.columns.columns().empty()) return;
    may_vary = worker.columns.bits();
  }
  const u32* pool = node.features ? node.features->data() : nullptr;  // null: all features
  const auto n_pool =
      static_cast<u32>(node.features ? node.features->size() : context_.data.n_cols);
  WideSampler sampler(worker.swapped, n_pool, context_.numbers_of(node));
  std::vector<u32>& drawn = worker.drawn;
  std::size_t n_varying = 0;
  while (!sampler.is_over() && (sampler.n_drawn() < params_.max_features || n_varying == 0)) {
    worker.search.draw_columns(sampler, pool, may_vary, drawn);
    worker.varies.assign(drawn.size(), 0);
    n_varying +=
        worker.search.scan_features(node, nullptr, drawn, found.best, worker.varies.data());
  }
  if (found.best.found()) found.decrease = worker.search.finder().measure_decrease(found.best);
}

// In a table of entries a small node need not look at every column that varies above it.
template <class Accumulator>
void TreeBuilder<Accumulator>::narrow_features(Node& node, Worker& worker) const {
  constexpr std::size_t kStepsPerFeature = 4;
  if (node.groups || kStepsPerFeature * context_.entry_columns->guess_entries(node.size()) >=
                         features_of(node).size())
    return;
  worker.columns.collect(*context_.entry_columns, context_.data.n_cols,
                         std::span<const Item>(context_.items + node.begin, node.size()));
  auto features = std::make_shared<std::vector<u32>>(worker.columns.columns());
  sort_ascending(*features);
  node.features = std::move(features);
}

template <class Accumulator>
void TreeBuilder<Accumulator>::build_dense(Node& node) {
  const std::size_t feature_cells = static_cast<std::size_t>(kHistogramBins) * accumulator_.cell();
  node.dense = std::make_unique<AlignedBuffer<Element>>(context_.data.n_cols * feature_cells);
  const std::vector<u32>& features = features_of(node);
  const bool parallel = !inside_parallel_region() && node.size() * features.size() >= kParallelWork;
  fill_dense<Accumulator>(accumulator_, context_.fill_features, context_.data,
                          {context_.items + node.begin, node.size()}, features, node.dense->data(),
                          parallel ? plan_.n_threads : 1, plan_.watch);
}

// Histograms of the children: the smaller one is counted, the larger one is what remains of the
// parent.
template <class Accumulator>
void TreeBuilder<Accumulator>::share_histograms(Node& node, Node& left, Node& right) {
  Node& small = left.size() <= right.size() ? left : right;
  Node& large = left.size() <= right.size() ? right : left;
  if (!context_.fits_dense(large.size())) return;
  build_dense(small);
  large.dense = std::move(node.dense);
  const std::size_t feature_cells = static_cast<std::size_t>(kHistogramBins) * accumulator_.cell();
  const std::vector<u32>& features = features_of(small);
  for (const u32 feature : features) {
    Element* from = large.dense->data() + feature * feature_cells;
    const Element* minus = small.dense->data() + feature * feature_cells;
    for (std::size_t i = 0; i < feature_cells; ++i) from[i] -= minus[i];
  }
}

}  // namespace committee
