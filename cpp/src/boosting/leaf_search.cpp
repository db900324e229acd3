// The search side of the grower: the best split of the features that a node may look at.
#include <algorithm>

#include "boosting/entry_sums.hpp"
#include "boosting/tree_grower.hpp"

namespace committee {

namespace {

// Visits of histogram entries (a scan of two nodes counts eight of each) that pay for waking the
// threads.
constexpr std::size_t kMinParallelVisits = 15'000;
// And those that a task has at least.
constexpr std::size_t kMinTaskVisits = 10'000;
// Rows added to columns that pay for waking the threads.
constexpr std::size_t kMinParallelUpdates = 30'000;

}  // namespace

// The scan estimates the rows of a side by its share of the hessians. Where that was wrong, the
// rows of the best column are counted, until the best column is one whose rows were counted. The
// leaf's gain does not rise by it: otherwise the order of splits would depend on which leaves were
// counted. So the outcome is a function of the leaf's rows alone, and a leaf that is counted before
// its turn, by whomever, is split in the place and in the way in which it would have been anyway.
void BoostingGrower::recount(OpenLeaf& leaf) {
  const double estimated = leaf.best.gain;
  leaf.counted = true;
  leaf.best = BoostSplit{};
  NodeSearch search(*plan_, describe_node(leaf));
  const std::vector<u8> chosen = choose_features(leaf);
  struct Offer {
    BoostSplit split;
    bool counted = false;
  };
  std::vector<Offer> offers;  // of the columns that have any
  const auto offer = [&](BoostSplit split, bool counted) {
    if (split.found()) offers.push_back({std::move(split), counted});
  };
  for (const std::vector<u32>& features : bundle_features_)
    for (const u32 feature : features) {
      if (!chosen.empty() && chosen[feature] == 0) continue;
      BoostSplit split;
      search_feature(leaf, feature, search, split);
      offer(std::move(split), false);
    }
  while (!offers.empty()) {
    const auto best =
        std::max_element(offers.begin(), offers.end(),
                         [](const Offer& a, const Offer& b) { return b.split.beats(a.split); });
    if (best->counted) {
      leaf.best = std::move(best->split);
      break;
    }
    const u32 feature = best->split.feature;
    offers.erase(best);
    BoostSplit split;
    search_counted(leaf, feature, search, split);
    offer(std::move(split), true);
  }
  leaf.best.gain = leaf.best.found() ? std::min(leaf.best.gain, estimated) : 0.0;
}

void BoostingGrower::search_counted(const OpenLeaf& leaf, u32 feature, NodeSearch& search,
                                    BoostSplit& best) const {
  std::vector<u32> counts;
  std::vector<u64> weights;
  rows_.count_bins(leaf.rows, feature, counts, weights);
  ColumnRoom room;
  ColumnView view = view_column(leaf, feature, room);
  view.counts = counts.data();
  view.weights = weights.empty() ? nullptr : weights.data();
  view.least_weight = find_least_weight(params_.min_weight_leaf, weights_.total);
  view.total_weight = leaf.weight;
  search.scan(view, best);
}

ColumnView BoostingGrower::describe_column(u32 feature) const {
  const ColumnEncoding& encoding = table_layout_.encoding(feature);
  const ColumnBins& bins = bins_[feature];
  ColumnView view;
  view.feature = feature;
  view.n_bins = encoding.n_bins;
  view.has_missing = encoding.has_missing || bins.wide;
  view.categorical = bins.categorical;
  view.monotonic = params_.monotonic.empty() ? 0 : params_.monotonic[feature];
  return view;
}

// Searches two siblings each, or the root alone. The histogram of a bundle is completed and scanned
// while it is in the cache; threads share the pairs, and the bundles of a pair.
void BoostingGrower::search_pairs(std::span<Siblings> pairs) {
  struct Task {
    const Siblings* pair;
    std::size_t begin, end;
  };
  const std::size_t n_bundles = bundle_features_.size();
  std::size_t visits = 0;
  for (const Siblings& pair : pairs) visits += n_entries_ * (8 + pair.parts.size());
  const bool shared = n_threads_ > 1 && visits > kMinParallelVisits;
  const std::size_t n_tasks =  // of a pair
      shared ? std::clamp<std::size_t>(visits / pairs.size() / kMinTaskVisits, 1,
                                       2 * static_cast<std::size_t>(n_threads_) / pairs.size() + 1)
             : 1;
  std::vector<Task> tasks;
  for (Siblings& pair : pairs) {
    for (int k = 0; k < 2; ++k) {
      OpenLeaf* leaf = pair.leaves[k];
      pair.searched[k] = pair.wanted && leaf && may_split(*leaf);
      if (pair.searched[k]) pair.chosen[k] = choose_features(*leaf);
    }
    if (width_ > 1) find_totals(pair);
    const std::size_t n = std::min(n_tasks, n_bundles);
    for (std::size_t t = 0; t < n; ++t)
      tasks.push_back({&pair, n_bundles * t / n, n_bundles * (t + 1) / n});
  }
  std::vector<BoostSplit> found(2 * tasks.size());
  parallel_for(tasks.size(), shared ? n_threads_ : 1, [&](std::size_t t) {
    const Task& task = tasks[t];
    if (width_ > 1) {
      search_bundles<VectorSearch>(*task.pair, task.begin, task.end, found.data() + 2 * t);
    } else {
      search_bundles<NodeSearch>(*task.pair, task.begin, task.end, found.data() + 2 * t);
    }
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    BoostSplit* const best = found[i].found() ? &tasks[i / 2].pair->leaves[i % 2]->best : nullptr;
    if (best && found[i].beats(*best)) *best = std::move(found[i]);
  }
  for (const Siblings& pair : pairs)
    for (OpenLeaf* leaf : pair.leaves)
      if (pair.wanted && leaf && !leaf->best.found()) drop_histogram(leaf->histogram);
}

// Leaves without histograms, each among the few features that it looks at.
void BoostingGrower::search_columns(std::span<OpenLeaf* const> leaves) {
  struct Task {
    std::size_t leaf, begin, end;
  };
  std::vector<std::vector<u32>> features(leaves.size());
  std::vector<std::vector<i64>> words(leaves.size());
  std::vector<Task> tasks;
  std::size_t updates = 0;
  for (const OpenLeaf* leaf : leaves) updates += leaf->n_rows * drawn_per_node_;
  const bool shared = n_threads_ > 1 && updates > kMinParallelUpdates;
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    const std::vector<u8> chosen = choose_features(*leaves[l]);
    for (const u32 f : bundle_features_.back())
      if (chosen.empty() || chosen[f] != 0) features[l].push_back(f);
    const std::size_t n = features[l].size();
    const std::size_t at_once = shared ? ColumnSums::kMost : std::max<std::size_t>(1, n);
    for (std::size_t begin = 0; begin < n; begin += at_once)
      tasks.push_back({l, begin, std::min(begin + at_once, n)});
  }
  const int n_threads = shared ? n_threads_ : 1;
  parallel_for(leaves.size(), n_threads,
               [&](std::size_t l) { rows_.copy_words(leaves[l]->rows, words[l]); });
  std::vector<BoostSplit> found(tasks.size());
  parallel_for(tasks.size(), n_threads, [&](std::size_t t) {
    const auto& [l, begin, end] = tasks[t];
    search_features(*leaves[l], std::span(features[l]).subspan(begin, end - begin), words[l].data(),
                    found[t]);
  });
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    BoostSplit& best = leaves[tasks[t].leaf]->best;
    if (found[t].found() && found[t].beats(best)) best = std::move(found[t]);
  }
}

void BoostingGrower::search_features(const OpenLeaf& leaf, std::span<const u32> features,
                                     const i64* words, BoostSplit& best) const {
  NodeSearch search(*plan_, describe_node(leaf));
  ColumnSums sums;
  std::array<u32, ColumnSums::kMost> some;
  std::size_t n = 0;
  const auto search_some = [&] {
    if (n == 0) return;
    rows_.sum_columns(leaf.rows, words, std::span(some).first(n), sums);
    for (std::size_t k = 0; k < n; ++k) {
      ColumnView view = describe_column(some[k]);
      view.histogram = sums.of(k);
      search.scan(view, best);
    }
    n = 0;
  };
  for (const u32 feature : features) {
    if (bins_[feature].wide) {
      search_feature(leaf, feature, search, best);
      continue;
    }
    some[n++] = feature;
    if (n == some.size()) search_some();
  }
  search_some();
}

// Bundles begin .. end - 1. The parts of the first leaf's histogram are added up; the second leaf's
// is that of the parent less the first's. A search is a NodeSearch, or a VectorSearch where leaves
// are vectors.
template <class Search>
void BoostingGrower::search_bundles(const Siblings& pair, std::size_t begin, std::size_t end,
                                    BoostSplit* found) const {
  std::optional<Search> searches[2];
  for (int k = 0; k < 2; ++k)
    if (pair.searched[k]) start_search(*pair.leaves[k], searches[k]);
  SlotSums sums[2];
  for (std::size_t bundle = begin; bundle < end; ++bundle) {
    complete_bundle(pair, bundle);
    const std::vector<u32>& features = bundle_features_[bundle];
    const bool listed = bundle >= layout_->n_byte_bundles() && bundle < layout_->n_bundles();
    for (int k = 0; listed && k < 2; ++k)
      if (pair.searched[k]) add_up_slots(*pair.leaves[k], bundle, sums[k]);
    for (std::size_t f = 0; f < features.size(); ++f)
      for (int k = 0; k < 2; ++k) {
        if (!pair.searched[k] || (!pair.chosen[k].empty() && pair.chosen[k][features[f]] == 0))
          continue;
        if (listed && is_hopeless(sums[k], layout_->slot_starts(bundle), f, *searches[k], found[k]))
          continue;
        search_feature(*pair.leaves[k], features[f], *searches[k], found[k]);
      }
  }
}

// Whether no split of a listed column can be allowed: one side of each of them has rows with
// entries alone, and all of these together are too few; or whether its only split is worse than the
// best one. Most columns of a wide table are settled by it. `starts`: where the slots of each
// column of the bundle begin.
template <class Search>
bool BoostingGrower::is_hopeless(const SlotSums& sums, const u32* starts, std::size_t column,
                                 const Search& search, const BoostSplit& best) {
  const u32 first = starts[column] - starts[0], last = starts[column + 1] - starts[0];
  const i64 sum = sums[last] - sums[first];
  return search.is_too_light(sum) || (last - first == 1 && search.is_beaten(sum, best));
}

// The sums of the slots before each slot of a bundle, of the last words if there are several. Most
// columns have few slots: a loop over each of them would take longer than one over all.
void BoostingGrower::add_up_slots(const OpenLeaf& leaf, std::size_t bundle, SlotSums& sums) const {
  const auto [first, last] = layout_->entries_of(bundle);
  const i64* word = leaf.histogram + first * width_ + width_ - 1;
  i64 sum = sums[0] = 0;
  for (std::size_t slot = 1; slot <= last - first; ++slot, word += width_)
    sums[slot] = sum += *word;
}

void BoostingGrower::complete_bundle(const Siblings& pair, std::size_t bundle) const {
  if (bundle >= layout_->n_bundles()) return;
  const auto [first, last] = layout_->entries_of(bundle);
  const std::size_t begin = first * width_, n = (last - first) * width_;
  i64* const histogram = pair.leaves[0]->histogram + begin;
  for (const i64* part : pair.parts) add_entries(part + begin, n, histogram);
  if (pair.leaves[1]) subtract_entries(histogram, n, pair.leaves[1]->histogram + begin);
}

ColumnView BoostingGrower::view_column(const OpenLeaf& leaf, u32 feature, ColumnRoom& room) const {
  ColumnView view = describe_column(feature);
  if (bins_[feature].wide) {
    rows_.sum_levels(leaf.rows, feature, room.levels);
    view.histogram = room.levels.data();
  } else if (sums_columns_) {
    ColumnSums sums;
    std::vector<i64> words;
    rows_.copy_words(leaf.rows, words);
    rows_.sum_columns(leaf.rows, words.data(), {&feature, 1}, sums);
    std::copy_n(sums.of(0), std::size(room.bins), room.bins);
    view.histogram = room.bins;
  } else {
    view.histogram = layout_->column_histogram(feature, leaf.histogram, leaf.total, room.bins);
  }
  return view;
}

void BoostingGrower::search_feature(const OpenLeaf& leaf, u32 feature, NodeSearch& search,
                                    BoostSplit& best) const {
  ColumnRoom room;
  search.scan(view_column(leaf, feature, room), best);
}

// Sums of all words: of the first leaf over the histogram of any bundle, of its sibling what is
// left of the parent's, which it has taken over.
void BoostingGrower::find_totals(const Siblings& pair) const {
  std::vector<i64>& first = pair.leaves[0]->totals;
  first.assign(width_, 0);
  const auto add = [&](const i64* words) {
    for (u32 k = 0; k < width_; ++k) first[k] += words[k];
  };
  if (layout_->n_byte_bundles() > 0) {
    for (std::size_t bin = 0; bin < layout_->entries_per_bundle(); ++bin) {
      add(pair.leaves[0]->histogram + bin * width_);
      for (const i64* part : pair.parts) add(part + bin * width_);
    }
  } else {
    rows_.sum_vectors(pair.leaves[0]->rows, first);
  }
  if (!pair.leaves[1]) return;
  for (u32 k = 0; k < width_; ++k) pair.leaves[1]->totals[k] -= first[k];
}

void BoostingGrower::search_feature(const OpenLeaf& leaf, u32 feature, VectorSearch& search,
                                    BoostSplit& best) const {
  const ColumnEncoding& encoding = layout_->encoding(feature);
  const ColumnBins& bins = bins_[feature];
  std::vector<i64> room;
  VectorColumn column{feature, encoding.n_bins, encoding.has_missing, bins.categorical, nullptr};
  if (bins.wide) {
    column.has_missing = true;
    rows_.sum_levels(leaf.rows, feature, room);
    column.histogram = room.data();
  } else {
    column.histogram = layout_->column_histogram(feature, leaf.histogram, leaf.totals, room);
  }
  search.scan(column, best);
}

}  // namespace committee
