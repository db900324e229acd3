#include "committee/stump.hpp"

#include "committee/cut.hpp"
#include "committee/parallel.hpp"
#include "stump_search.hpp"
#include "stump_weights.hpp"

namespace committee {

namespace {

constexpr double kMinThreadUpdates = 2e5;  // additions to histograms that are worth a thread
constexpr double kMinThreadScores = 2e4;   // boundaries to score that are worth a thread
constexpr double kMinThreadRows = 2e4;     // weights to multiply that are worth a thread
constexpr std::size_t kBlockColumns = 16;  // columns of a record that one task adds to
constexpr std::size_t kChunkRows = 8192;   // rows of a class whose weights one task multiplies
constexpr std::size_t kAhead = 12;         // rows whose records are fetched before they are needed

// Adds a row's delta to the bins of kColumns neighbouring columns.
template <std::size_t kColumns>
void add_to_columns(const u8* record, u64 delta, u64* slots) {
#pragma GCC unroll 8
  for (std::size_t c = 0; c < kColumns; ++c) slots[c * kHistogramBins + record[c]] += delta;
}

void add_to_record(const u8* record, std::size_t n_cols, u64 delta, u64* slots) {
  std::size_t c = 0;
  for (; c + 8 <= n_cols; c += 8) add_to_columns<8>(record + c, delta, slots + c * kHistogramBins);
  if (n_cols & 4) add_to_columns<4>(record + c, delta, slots + c * kHistogramBins), c += 4;
  if (n_cols & 2) add_to_columns<2>(record + c, delta, slots + c * kHistogramBins), c += 2;
  if (n_cols & 1) add_to_columns<1>(record + c, delta, slots + c * kHistogramBins);
}

void check_input(const StumpInput& input) {
  const std::size_t n = input.data->n_rows;
  if (n == 0 || n >= kMissingCode)
    throw std::invalid_argument("the number of rows must be at least 1 and below 2^32 - 1");
  if (input.labels.size() != n) throw std::invalid_argument("labels must have one entry a row");
  if (!input.weights.empty() && input.weights.size() != n)
    throw std::invalid_argument("weights must have one entry a row");
  if (input.presort && (input.presort->n_rows != n || input.presort->n_cols != input.data->n_cols))
    throw std::invalid_argument("the presort must be that of the table");
  for (const u32 label : input.labels) {
    if (label >= input.n_classes)
      throw std::invalid_argument("a label is not below the number of classes");
  }
}

}  // namespace

class StumpTrainer::Rounds {
 public:
  Rounds(const StumpInput& input, const StumpOptions& options);
  GrownStump grow();
  void multiply(std::span<const double> factors);
  std::vector<double> weights() const;

 private:
  // Some rows of one class, [begin, end) in rows_. Those whose weight changed since the histograms
  // were right come first in changed_ and deltas_, in the same places.
  struct Chunk {
    std::size_t begin, end;
    u32 label;
    std::size_t n_changed = 0, n_right = 0;
  };
  struct Worker {
    std::unique_ptr<ColumnSearch> search;
    std::unique_ptr<SplitFinder<ClassTally<u64>>> categories;
    std::vector<u64> cells;
    std::vector<CategoryCell<u64>> listed;
  };

  const ColumnBins& bins(std::size_t col) const { return (*data_.bins)[col]; }
  u64* plane(u32 k) { return slots_.data() + k * plane_size_; }
  ColumnCells view_cells(std::size_t col) const {
    return {slots_.data() + offsets_[col], plane_size_, bins(col).n_bins};
  }
  int count_threads(double work, double least) const {
    return n_jobs_ > 0 ? n_jobs_
                       : std::clamp(static_cast<int>(work / least), 1, std::max(n_threads_, 1));
  }

  void sort_by_class(const StumpInput& input);
  void index_order();
  void rebuild();
  void add_changes();
  void add_record_block(const RecordGroup& group, std::size_t first, std::size_t n_cols);
  void add_wide(std::size_t col);
  std::vector<u64> total_up() const;
  void search_bins(const std::vector<u64>& total);
  void search_within();
  template <class Task>
  void share_chunks(Task&& task);
  template <class Task>
  void share_columns(int n_threads, Task&& task);
  void search_categories(std::size_t col, Worker& worker, FoundSplit& found) const;
  void rank_cut(std::size_t col, Candidate& best) const;
  FoundSplit pick_best() const;
  void assign_leaves(const FoundSplit& found);
  GrownStump describe(const FoundSplit& found, const std::vector<u64>& total);
  double choose_common_factor(std::span<const double> factors) const;

  const BinnedMatrix& data_;
  const Presort* presort_;
  const u32 n_classes_;
  const std::string criterion_;
  const int n_jobs_;
  int n_threads_ = 1;
  ClassTally<u64> tally_;
  std::vector<u32> labels_;
  BoostedWeights weights_;
  std::vector<u32> rows_;  // present rows, class by class, ascending within
  std::vector<Chunk> chunks_;
  std::vector<u32> changed_;
  std::vector<u64> deltas_;
  // Histograms: for each class a plane of all columns' bins, so that the rows of a class stay
  // within it: 256 a column, then for wide categories one a level and one for missing.
  std::vector<std::size_t> offsets_;
  std::size_t plane_size_ = 0;
  AlignedBuffer<u64> slots_;
  AlignedBuffer<u32> order_;     // exact: as ColumnOrder, [col][row]
  std::vector<u32> bin_starts_;  // exact: [col][257]
  std::vector<BinBounds> bounds_;
  std::vector<FoundSplit> found_;  // per column
  std::vector<Worker> workers_;    // per task
  // Of the stump grown last.
  std::vector<u8> leaf_of_row_;
  std::vector<std::size_t> leaf_rows_;  // [leaf][class]
  std::vector<double> leaf_sums_;       // [leaf][class], of the integers
  u32 n_leaves_ = 0;
};

StumpTrainer::Rounds::Rounds(const StumpInput& input, const StumpOptions& options)
    : data_(*input.data),
      presort_(input.presort),
      n_classes_(input.n_classes),
      criterion_(options.criterion),
      n_jobs_(options.n_jobs > 0 ? choose_threads(options.n_jobs, 1.0, 1.0) : 0),
      labels_(input.labels.begin(), input.labels.end()),
      weights_(input.weights, input.data->n_rows),
      offsets_(input.data->n_cols),
      found_(input.data->n_cols),
      leaf_of_row_(input.data->n_rows, 0) {
  n_threads_ = choose_threads(options.n_jobs, std::numeric_limits<double>::max(), 1.0);
  tally_.n_slots = n_classes_;
  tally_.outputs = {n_classes_};
  tally_.offsets = {0};
  plane_size_ = data_.n_cols * kHistogramBins;
  for (std::size_t col = 0; col < data_.n_cols; ++col) {
    offsets_[col] = bins(col).wide ? plane_size_ : col * kHistogramBins;
    if (bins(col).wide) plane_size_ += bins(col).n_bins + 1;
  }
  slots_ = AlignedBuffer<u64>(plane_size_ * n_classes_);
  sort_by_class(input);
  if (presort_) {
    index_order();
    bounds_.resize(data_.n_cols);
  }
  const std::size_t n_workers = std::min<std::size_t>(
      static_cast<std::size_t>(std::max({n_jobs_, n_threads_, 1})), data_.n_cols);
  for (std::size_t w = 0; w < n_workers; ++w) {
    workers_.push_back({make_column_search(criterion_, n_classes_),
                        make_finder(tally_, criterion_, FinderOptions{}),
                        {},
                        {}});
  }
  rebuild();
}

void StumpTrainer::Rounds::sort_by_class(const StumpInput& input) {
  std::vector<std::size_t> next(n_classes_ + 1, 0);
  for (std::size_t i = 0; i < data_.n_rows; ++i) next[labels_[i] + 1] += weights_[i] > 0;
  for (u32 k = 0; k < n_classes_; ++k) next[k + 1] += next[k];
  for (u32 k = 0; k < n_classes_; ++k) {
    for (std::size_t j = next[k]; j < next[k + 1]; j += kChunkRows)
      chunks_.push_back({j, std::min(j + kChunkRows, next[k + 1]), k});
  }
  rows_.resize(next[n_classes_]);
  changed_.resize(rows_.size());
  deltas_.resize(rows_.size());
  for (std::size_t i = 0; i < input.labels.size(); ++i) {
    if (weights_[i] > 0) rows_[next[labels_[i]]++] = static_cast<u32>(i);
  }
}

void StumpTrainer::Rounds::index_order() {
  constexpr std::size_t kStarts = kHistogramBins + 1;
  const std::size_t n = data_.n_rows;
  if (n >= ColumnOrder::kNewValue)
    throw std::invalid_argument("exact stumps need fewer than 2^31 rows");
  bin_starts_.assign(data_.n_cols * kStarts, 0);
  order_ = AlignedBuffer<u32>(n * data_.n_cols);
  const double work = static_cast<double>(n) * static_cast<double>(data_.n_cols);
  parallel_for(data_.n_cols, count_threads(work, kMinThreadUpdates), [&](std::size_t col) {
    u32* starts = bin_starts_.data() + col * kStarts;
    const u8* column = data_.column(col);
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

void StumpTrainer::Rounds::rebuild() {
  std::fill_n(slots_.data(), slots_.size(), u64{0});
  std::copy(rows_.begin(), rows_.end(), changed_.begin());
  for (std::size_t j = 0; j < rows_.size(); ++j) deltas_[j] = weights_[rows_[j]];
  for (Chunk& chunk : chunks_) chunk.n_changed = chunk.end - chunk.begin;
  add_changes();
}

void StumpTrainer::Rounds::add_changes() {
  struct Block {
    const RecordGroup* group;
    std::size_t first, n_cols;
  };
  std::vector<Block> blocks;
  std::vector<std::size_t> wide;
  std::size_t n_changed = 0;
  for (const Chunk& chunk : chunks_) n_changed += chunk.n_changed;
  const double work = static_cast<double>(n_changed) * static_cast<double>(data_.n_cols);
  const int n_threads = count_threads(work, kMinThreadUpdates);
  for (const RecordGroup& group : data_.groups) {
    // One thread adds to all columns of a record at once; several share them.
    const std::size_t most = n_threads > 1 ? kBlockColumns : group.n_cols;
    for (std::size_t c = 0; c < group.n_cols; c += most)
      blocks.push_back({&group, c, std::min(most, group.n_cols - c)});
  }
  for (std::size_t col = 0; col < data_.n_cols; ++col) {
    if (bins(col).wide) wide.push_back(col);
  }
  parallel_for(blocks.size() + wide.size(), n_threads, [&](std::size_t task) {
    if (task < blocks.size()) {
      add_record_block(*blocks[task].group, blocks[task].first, blocks[task].n_cols);
    } else {
      add_wide(wide[task - blocks.size()]);
    }
  });
}

// Wide columns hold next to nothing here: what is added for them is never read.
void StumpTrainer::Rounds::add_record_block(const RecordGroup& group, std::size_t first,
                                            std::size_t n_cols) {
  for (const Chunk& chunk : chunks_) {
    u64* slots = plane(chunk.label) + (group.first_col + first) * kHistogramBins;
    const std::size_t end = chunk.begin + chunk.n_changed;
    for (std::size_t j = chunk.begin; j < end; ++j) {
      __builtin_prefetch(group.record(changed_[std::min(j + kAhead, end - 1)]) + first);
      add_to_record(group.record(changed_[j]) + first, n_cols, deltas_[j], slots);
    }
  }
}

void StumpTrainer::Rounds::add_wide(std::size_t col) {
  const u32* codes = data_.wide[col].data();
  const u32 n_levels = bins(col).n_bins;
  for (const Chunk& chunk : chunks_) {
    u64* slots = plane(chunk.label) + offsets_[col];
    for (std::size_t j = chunk.begin; j < chunk.begin + chunk.n_changed; ++j)
      slots[std::min(codes[changed_[j]], n_levels)] += deltas_[j];
  }
}

std::vector<u64> StumpTrainer::Rounds::total_up() const {
  // Every row is in one bin of the first column.
  std::vector<u64> total(n_classes_, 0);
  const std::size_t n = bins(0).wide ? bins(0).n_bins + 1 : kHistogramBins;
  for (u32 k = 0; k < n_classes_; ++k) {
    for (std::size_t b = 0; b < n; ++b) total[k] += slots_[k * plane_size_ + offsets_[0] + b];
  }
  return total;
}

void StumpTrainer::Rounds::search_bins(const std::vector<u64>& total) {
  const double work = static_cast<double>(plane_size_) * n_classes_ * (presort_ ? 4.0 : 1.0);
  share_columns(count_threads(work, kMinThreadScores), [&](std::size_t col, Worker& worker) {
    FoundSplit& found = found_[col];
    found.best = Candidate{};
    worker.search->begin_round(total.data());
    if (bins(col).categorical) {
      worker.categories->begin_node(total.data(), NodeLimits{});
      search_categories(col, worker, found);
    } else {
      worker.search->scan_bins(view_cells(col), static_cast<u32>(col), found,
                               presort_ ? &bounds_[col] : nullptr);
      if (presort_ && found.best.found()) rank_cut(col, found.best);
    }
  });
}

// Looks into bins that may hide a better split than the best one between bins. Where bounds are
// finite they leave little to do, in the order of what the columns promise; where there are none,
// every row of every column is looked at.
void StumpTrainer::Rounds::search_within() {
  const std::size_t n = data_.n_rows;
  double least = discount_rounding(pick_best().best.score);
  auto look_into = [&](std::size_t col, Worker& worker, double& own_least) {
    const ColumnOrder order{order_.data() + col * n,
                            bin_starts_.data() + col * (kHistogramBins + 1),
                            presort_->rank.data() + col * n, weights_.data(), labels_.data()};
    worker.search->scan_within(view_cells(col), order, static_cast<u32>(col), bounds_[col],
                               own_least, found_[col]);
  };
  std::vector<std::size_t> columns;
  for (std::size_t col = 0; col < data_.n_cols; ++col) {
    if (!bins(col).categorical && bounds_[col].most >= least) columns.push_back(col);
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [&](std::size_t a, std::size_t b) { return bounds_[a].most > bounds_[b].most; });
  if (!columns.empty() && std::isfinite(bounds_[columns[0]].most)) {
    for (const std::size_t col : columns) {
      if (bounds_[col].most >= least) look_into(col, workers_[0], least);
    }
    return;
  }
  const double work = static_cast<double>(n) * static_cast<double>(data_.n_cols);
  share_columns(count_threads(work, kMinThreadScores), [&](std::size_t col, Worker& worker) {
    double own_least = least;
    if (!bins(col).categorical) look_into(col, worker, own_least);
  });
}

template <class Task>
void StumpTrainer::Rounds::share_columns(int n_threads, Task&& task) {
  const std::size_t n_tasks =
      std::min<std::size_t>(workers_.size(), static_cast<std::size_t>(n_threads));
  parallel_for(n_tasks, static_cast<int>(n_tasks), [&](std::size_t t) {
    for (std::size_t col = t; col < data_.n_cols; col += n_tasks) task(col, workers_[t]);
  });
}

void StumpTrainer::Rounds::search_categories(std::size_t col, Worker& worker,
                                             FoundSplit& found) const {
  const ColumnCells cells = view_cells(col);
  const u32 n_levels = bins(col).n_bins, missing = bins(col).wide ? n_levels : kMissingBin;
  worker.cells.resize((static_cast<std::size_t>(n_levels) + 1) * n_classes_);
  worker.listed.clear();
  for (u32 code = 0; code <= n_levels; ++code) {
    u64* cell = worker.cells.data() + static_cast<std::size_t>(code) * n_classes_;
    const u32 bin = code == n_levels ? missing : code;
    for (u32 k = 0; k < n_classes_; ++k) cell[k] = cells.slots[k * cells.stride + bin];
    if (!tally_.is_empty(cell))
      worker.listed.push_back({code == n_levels ? kMissingCode : code, cell});
  }
  FeatureView view;
  view.feature = static_cast<u32>(col);
  view.place = col;
  if (!worker.categories->scan_categories(worker.listed, false, view, found.best)) return;
  if (!found.best.found()) return;
  found.left.assign(n_classes_, 0);
  auto add = [&](std::size_t code) {
    for (u32 k = 0; k < n_classes_; ++k) found.left[k] += worker.cells[code * n_classes_ + k];
  };
  for (const u32 code : found.best.left_codes) add(code);
  if (found.best.has_missing && found.best.missing_left) add(n_levels);
}

// From bins to ranks: the last value below the boundary and the first above it.
void StumpTrainer::Rounds::rank_cut(std::size_t col, Candidate& best) const {
  const u32* order = presort_->order.data() + col * data_.n_rows;
  const u32* rank = presort_->rank.data() + col * data_.n_rows;
  const u32* starts = bin_starts_.data() + col * (kHistogramBins + 1);
  u32 last = starts[best.cut + 1] - 1;
  while (weights_[order[last]] == 0) --last;
  best.cut = rank[order[last]];
  if (best.next == kNone) return;
  u32 first = starts[best.next];
  while (weights_[order[first]] == 0) ++first;
  best.next = rank[order[first]];
}

FoundSplit StumpTrainer::Rounds::pick_best() const {
  FoundSplit best;
  for (const FoundSplit& found : found_) {
    if (found.beats(best)) best = found;
  }
  return best;
}

GrownStump StumpTrainer::Rounds::grow() {
  const std::vector<u64> total = total_up();
  FoundSplit found;
  u64 all = 0, largest = 0;
  for (const u64 w : total) all += w, largest = std::max(largest, w);
  if (largest < all) {
    search_bins(total);
    if (presort_) search_within();
    found = pick_best();
  }
  if (found.best.found()) {
    if (!presort_) settle_cut(found.best, bins(found.best.feature));
    u64 left = 0;
    for (const u64 w : found.left) left += w;
    if (!found.best.has_missing) found.best.missing_left = 2 * left > all;
  }
  assign_leaves(found);
  return describe(found, total);
}

void StumpTrainer::Rounds::assign_leaves(const FoundSplit& found) {
  const Candidate& best = found.best;
  const std::size_t n = data_.n_rows;
  u8* leaf = leaf_of_row_.data();
  n_leaves_ = best.found() ? 2 : 1;
  if (!best.found()) {
    std::fill_n(leaf, n, u8{0});
  } else if (best.categorical && bins(best.feature).wide) {
    std::vector<u8> side(bins(best.feature).n_bins + 1, 1);
    for (const u32 code : best.left_codes) side[code] = 0;
    side.back() = !best.missing_left;
    const u32* codes = data_.wide[best.feature].data();
    for (std::size_t i = 0; i < n; ++i)
      leaf[i] = side[std::min<std::size_t>(codes[i], side.size() - 1)];
  } else if (presort_ && !best.categorical) {
    const u32* rank = presort_->rank.data() + best.feature * n;
    const u32 cut = best.cut;
    const u8 missing = !best.missing_left;
    for (std::size_t i = 0; i < n; ++i)
      leaf[i] = rank[i] == kMissingCode ? missing : static_cast<u8>(rank[i] > cut);
  } else {
    std::array<u8, kHistogramBins> side;
    side.fill(1);
    if (best.categorical) {
      for (const u32 code : best.left_codes) side[code] = 0;
    } else {
      std::fill_n(side.begin(), best.cut + 1, u8{0});
    }
    side[kMissingBin] = !best.missing_left;
    const u8* column = data_.column(best.feature);
    for (std::size_t i = 0; i < n; ++i) leaf[i] = side[column[i]];
  }
  leaf_rows_.assign(n_leaves_ * n_classes_, 0);
  share_chunks([&](Chunk& chunk) {
    std::size_t right = 0;
    for (std::size_t j = chunk.begin; j < chunk.end; ++j) right += leaf[rows_[j]];
    chunk.n_right = right;
  });
  for (const Chunk& chunk : chunks_) {
    leaf_rows_[chunk.label] += chunk.end - chunk.begin - chunk.n_right;
    if (n_leaves_ == 2) leaf_rows_[n_classes_ + chunk.label] += chunk.n_right;
  }
}

template <class Task>
void StumpTrainer::Rounds::share_chunks(Task&& task) {
  parallel_for(chunks_.size(), count_threads(static_cast<double>(rows_.size()), kMinThreadRows),
               [&](std::size_t c) { task(chunks_[c]); });
}

GrownStump StumpTrainer::Rounds::describe(const FoundSplit& found, const std::vector<u64>& total) {
  double all = 0.0;
  for (const u64 w : total) all += static_cast<double>(w);
  leaf_sums_.assign(n_leaves_ * n_classes_, 0.0);
  for (u32 k = 0; k < n_classes_; ++k) {
    const u64 left = n_leaves_ == 2 ? found.left[k] : total[k];
    leaf_sums_[k] = static_cast<double>(left);
    if (n_leaves_ == 2) leaf_sums_[n_classes_ + k] = static_cast<double>(total[k] - left);
  }
  GrownStump stump;
  stump.importances.assign(data_.n_cols, 0.0);
  stump.tree.width = n_classes_;
  stump.leaf_shares = leaf_sums_;
  for (double& share : stump.leaf_shares) share /= all;
  const u32 n_nodes = n_leaves_ == 2 ? 3 : 1;
  for (u32 node = 0; node < n_nodes; ++node) {
    std::vector<double> value(n_classes_, 0.0);
    double weight = 0.0;
    std::size_t n_rows = 0;
    for (u32 leaf = 0; leaf < n_leaves_; ++leaf) {
      if (node != 0 && node != leaf + 1) continue;
      for (u32 k = 0; k < n_classes_; ++k) {
        value[k] += stump.leaf_shares[leaf * n_classes_ + k];
        weight += stump.leaf_shares[leaf * n_classes_ + k];
        n_rows += leaf_rows_[leaf * n_classes_ + k];
      }
    }
    const double impurity = measure_class_impurity(criterion_, value, {&n_classes_, 1});
    stump.tree.add_node(static_cast<u32>(n_rows), weight, impurity, value);
  }
  if (n_nodes == 3) {
    stump.tree.left[0] = 1;
    stump.tree.right[0] = 2;
    const u32 feature = found.best.feature;
    stump.tree.splits[0] = describe_split(found.best, bins(feature), presort_);
    const double decrease = stump.tree.weight[0] * stump.tree.impurity[0] -
                            stump.tree.weight[1] * stump.tree.impurity[1] -
                            stump.tree.weight[2] * stump.tree.impurity[2];
    stump.importances[feature] = std::max(0.0, decrease);
  }
  return stump;
}

// The factor of most rows: weights matter up to a common factor, so that these need no change.
double StumpTrainer::Rounds::choose_common_factor(std::span<const double> factors) const {
  std::size_t most = 0;
  double common = factors[0];
  for (std::size_t a = 0; a < factors.size(); ++a) {
    std::size_t n = 0;
    for (std::size_t b = 0; b < factors.size(); ++b)
      n += factors[b] == factors[a] ? leaf_rows_[b] : 0;
    if (n > most) most = n, common = factors[a];
  }
  return common;
}

void StumpTrainer::Rounds::multiply(std::span<const double> factors) {
  if (factors.size() != leaf_rows_.size() || factors.empty())
    throw std::invalid_argument("factors must have one entry for each leaf and class");
  for (const double factor : factors) {
    if (!(factor > 0.0) || !std::isfinite(factor))
      throw std::invalid_argument("factors must be finite and above zero");
  }
  const double common = choose_common_factor(factors);
  double total = 0.0;
  for (std::size_t c = 0; c < factors.size(); ++c) total += leaf_sums_[c] * (factors[c] / common);
  share_chunks([&](Chunk& chunk) {
    const double own[2] = {factors[chunk.label] / common,
                           factors[(n_leaves_ - 1) * n_classes_ + chunk.label] / common};
    const bool changes[2] = {own[0] != 1.0, own[1] != 1.0};
    std::size_t n = chunk.begin;
    for (std::size_t j = chunk.begin; j < chunk.end; ++j) {
      changed_[n] = rows_[j];
      n += changes[leaf_of_row_[rows_[j]]];
    }
    for (std::size_t j = chunk.begin; j < n; ++j)
      deltas_[j] = weights_.multiply(changed_[j], own[leaf_of_row_[changed_[j]]]);
    chunk.n_changed = n - chunk.begin;
  });
  if (BoostedWeights::fits(total)) {
    add_changes();
  } else {
    weights_.rescale(BoostedWeights::to_levels(total));
    rebuild();
  }
}

std::vector<double> StumpTrainer::Rounds::weights() const {
  std::vector<double> out(data_.n_rows, 0.0);
  double total = 0.0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (weights_[i] > 0) total += out[i] = weights_.exact(i);
  }
  for (double& w : out) w /= total;
  return out;
}

StumpTrainer::StumpTrainer(const StumpInput& input, const StumpOptions& options) {
  check_input(input);
  rounds_ = std::make_unique<Rounds>(input, options);
}
StumpTrainer::~StumpTrainer() = default;
GrownStump StumpTrainer::grow() {
  return rounds_->grow();
}
void StumpTrainer::multiply(std::span<const double> factors) {
  rounds_->multiply(factors);
}
std::vector<double> StumpTrainer::weights() const {
  return rounds_->weights();
}

}  // namespace committee
