// What the columns offer: the best split of each, between bins and within them.
#include "split/categorical_order.hpp"
#include "stumps/stump_search.hpp"

namespace committee {

void StumpSearch::index_order() {
  constexpr std::size_t kStarts = kHistogramBins + 1;
  const std::size_t n = rows_->data().n_rows;
  if (n >= ColumnOrder::kNewValue)
    throw std::invalid_argument("exact stumps need fewer than 2^31 rows");
  bin_starts_.assign(bins_.size() * kStarts, 0);
  order_ = AlignedBuffer<u32>(n * bins_.size());
  const double work = static_cast<double>(n) * static_cast<double>(bins_.size());
  parallel_for(bins_.size(), threads_.count(work, StumpRows::kMinThreadUpdates),
               [&](std::size_t col) {
                 u32* starts = bin_starts_.data() + col * kStarts;
                 std::vector<u8> room;
                 const u8* column = rows_->data().read_column(col, room);
                 for (std::size_t i = 0; i < n; ++i) ++starts[column[i] + 1];
                 for (std::size_t b = 0; b + 1 < kStarts; ++b) starts[b + 1] += starts[b];
                 const u32* order = presort_->order.data() + col * n;
                 const u32* rank = presort_->rank.data() + col * n;
                 u32 previous = kNone;
                 for (std::size_t i = 0; i < n; ++i) {
                   const u32 own = rank[order[i]];
                   order_[col * n + i] = order[i] | (own != previous ? ColumnOrder::kNewValue : 0);
                   previous = own;
                 }
               });
}

const Candidate& StumpSearch::find(std::span<const u64> histograms) {
  if (!begin_round(histograms)) return best_.best;
  const double work = static_cast<double>(layout_.plane_size) * n_classes_;
  NodeLimits limits;
  limits.rare_weight = kRareRows * accumulator_.weight(total_.data()) / n_counted_ * (1.0 - 1e-9);
  share_columns(threads_.count(work, kMinThreadScores), [&](std::size_t place, Worker& worker) {
    const u32 col = layout_.columns[place];
    FoundSplit& found = found_[place];
    found.best = Candidate{};
    if (layout_.is_listed(place) && !has_entries(place)) return;
    worker.search->begin_round(total_.data(), scales_);
    const ColumnHistogram histogram = view_histogram(place, worker);
    if (bins_[col].categorical) {
      worker.categories->begin_node(total_.data(), limits);
      search_categories(col, histogram, worker, found);
    } else {
      worker.search->scan_bins(histogram, col, found);
      if (presort_ && found.best.found()) rank_cut(col, found.best);
    }
  });
  if (presort_) search_within();
  return keep_best();
}

// Looks into bins that may hide a better split than the best one between bins, in the order of what
// the columns have shown. With few classes there is little to look at; with many, or a criterion
// that is not convex, every row of every column is.
void StumpSearch::search_within() {
  const std::size_t n = rows_->data().n_rows;
  const double best = pick_best().best.score;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < layout_.columns.size(); ++k) {
    if (!bins_[layout_.columns[k]].categorical) places.push_back(k);
  }
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return found_[a].best.score > found_[b].best.score;
  });
  const double work = static_cast<double>(layout_.plane_size) * n_classes_;
  const std::size_t n_tasks =
      std::min(workers_.size(), static_cast<std::size_t>(threads_.count(work, kMinThreadScores)));
  // What a task leaves out depends on what it has found, but the best split is never left out.
  parallel_for(n_tasks, static_cast<int>(n_tasks), [&](std::size_t t) {
    double least = discount_rounding(best);
    workers_[t].search->begin_round(total_.data(), scales_);
    for (std::size_t k = t; k < places.size(); k += n_tasks) {
      const std::size_t col = layout_.columns[places[k]];
      const ColumnOrder order{
          order_.data() + col * n, bin_starts_.data() + col * (kHistogramBins + 1),
          presort_->rank.data() + col * n, &rows_->weights(), rows_->labels().data()};
      workers_[t].search->scan_within(view_histogram(places[k], workers_[t]), order,
                                      static_cast<u32>(col), least, found_[places[k]]);
    }
  });
}

// Whether any row that is present has an entry: without one the column is constant.
bool StumpSearch::has_entries(std::size_t place) const {
  const u32* const starts = layout_.slots->starts().data() + (place - layout_.n_apart);
  for (u32 k = 0; k < n_classes_; ++k) {
    const u64* own = slots_ + k * layout_.plane_size + layout_.offsets[place];
    if (std::any_of(own, own + (starts[1] - starts[0]), [](u64 w) { return w != 0; })) return true;
  }
  return false;
}

ColumnHistogram StumpSearch::view_histogram(std::size_t place, Worker& worker) const {
  const ColumnBins& own = bins_[layout_.columns[place]];
  if (!layout_.is_listed(place))
    return {slots_ + layout_.offsets[place], layout_.plane_size, own.n_bins};
  const u32 n_entries = own.n_bins + (own.has_missing ? 1 : 0);
  const u8 rest = layout_.entries->rest[layout_.columns[place]];
  worker.histogram.resize(std::size_t{n_classes_} * kHistogramBins);
  for (u32 k = 0; k < n_classes_; ++k) {
    const u64* slot = slots_ + k * layout_.plane_size + layout_.offsets[place];
    u64* const made = worker.histogram.data() + std::size_t{k} * kHistogramBins;
    made[kMissingBin] = 0;
    u64 listed = 0;
    for (u32 entry = 0; entry < n_entries; ++entry)
      if (entry != rest) listed += made[entry < own.n_bins ? entry : kMissingBin] = *slot++;
    made[rest] = sums_[k] - listed;
  }
  return {worker.histogram.data(), kHistogramBins, own.n_bins};
}

void StumpSearch::search_categories(std::size_t col, const ColumnHistogram& histogram,
                                    Worker& worker, FoundSplit& found) const {
  const u32 n_levels = bins_[col].n_bins, missing = bins_[col].wide ? n_levels : kMissingBin;
  worker.histogram.resize((static_cast<std::size_t>(n_levels) + 1) * n_classes_);
  worker.listed.clear();
  // Scaled sums of the codes so far: differences of these add up to the total.
  std::vector<u64> sums(n_classes_, 0);
  for (u32 code = 0; code <= n_levels; ++code) {
    u64* entry = worker.histogram.data() + static_cast<std::size_t>(code) * n_classes_;
    const u32 bin = code == n_levels ? missing : code;
    for (u32 k = 0; k < n_classes_; ++k) {
      const u64 before = scales_.apply(k, sums[k]);
      sums[k] += histogram.slots[k * histogram.stride + bin];
      entry[k] = scales_.apply(k, sums[k]) - before;
    }
    if (!accumulator_.is_empty(entry))
      worker.listed.push_back({code == n_levels ? kMissingCode : code, entry});
  }
  FeatureView view;
  view.feature = static_cast<u32>(col);
  view.priority = col;
  if (!worker.categories->scan_categories(worker.listed, false, view, found.best)) return;
  if (!found.best.found()) return;
  found.left.assign(n_classes_, 0);
  auto add = [&](std::size_t code) {
    for (u32 k = 0; k < n_classes_; ++k)
      found.left[k] += histogram.slots[k * histogram.stride + (code == n_levels ? missing : code)];
  };
  for (const u32 code : found.best.left_codes) add(code);
  if (found.best.has_missing && found.best.missing_left) add(n_levels);
}

// From bins to ranks: the last value below the boundary and the first above it.
void StumpSearch::rank_cut(std::size_t col, Candidate& best) const {
  const u32* order = presort_->order.data() + col * rows_->data().n_rows;
  const u32* rank = presort_->rank.data() + col * rows_->data().n_rows;
  const u32* starts = bin_starts_.data() + col * (kHistogramBins + 1);
  u32 last = starts[best.bin + 1] - 1;
  while (rows_->weights()[order[last]] == 0) --last;
  best.bin = rank[order[last]];
  if (best.next == kNone) return;
  u32 first = starts[best.next];
  while (rows_->weights()[order[first]] == 0) ++first;
  best.next = rank[order[first]];
}

FoundSplit StumpSearch::pick_best() const {
  FoundSplit best;
  for (const FoundSplit& found : found_) {
    if (found.beats(best)) best = found;
  }
  return best;
}

}  // namespace committee
