// The state of a fit of stumps, round after round: weights, histograms, what each column offers.
#pragma once
#include "committee/parallel.hpp"
#include "committee/stump.hpp"
#include "stumps/boosted_weights.hpp"
#include "stumps/column_scan.hpp"

namespace committee {

class StumpTrainer::Rounds {
 public:
  Rounds(const StumpInput& input, const StumpOptions& options);
  GrownStump grow();
  void multiply(std::span<const double> factors);
  std::vector<double> weights() const;

 private:
  static constexpr double kMinThreadUpdates =
      2e5;  // additions to histograms that are worth a thread
  static constexpr double kMinThreadScores = 2e4;  // boundaries to score that are worth a thread
  static constexpr double kMinThreadRows = 2e4;    // weights to multiply that are worth a thread
  static constexpr std::size_t kChunkRows = 8192;  // of a class, whose weights one task multiplies

  // Some rows of one class, [begin, end) in rows_. Those whose weight changed since the histograms
  // were right come first in changed_ and deltas_, in the same places.
  struct Chunk {
    std::size_t begin, end;
    u32 label;
    std::size_t n_changed = 0;
    std::size_t n_right = 0;              // rows in the right leaf
    u64 units_left = 0, units_right = 0;  // the same in units of weight: rows that occur so often
  };
  struct Worker {
    std::unique_ptr<ColumnSearch> search;
    std::unique_ptr<SplitFinder<ClassAccumulator<u64>>> categories;
    std::vector<u64> histogram;
    std::vector<CategoryCell<u64>> listed;
  };

  const ColumnBins& bins(std::size_t col) const { return (*data_.bins)[col]; }
  u64* plane(u32 k) { return slots_.data() + k * plane_size_; }
  ColumnHistogram view_histogram(std::size_t col) const {
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
  void search_within(const std::vector<u64>& total);
  template <class Task>
  void share_chunks(Task&& task);
  template <class Task>
  void share_columns(int n_threads, Task&& task);
  void search_categories(std::size_t col, Worker& worker, FoundSplit& found) const;
  void rank_cut(std::size_t col, Candidate& best) const;
  FoundSplit pick_best() const;
  void assign_leaves(const FoundSplit& found);
  void count_leaves();
  GrownStump describe(const FoundSplit& found, const std::vector<u64>& total);
  double choose_common_factor(std::span<const double> factors) const;

  const BinnedMatrix& data_;
  const Presort* presort_;
  const u32 n_classes_;
  const std::string criterion_;
  const int n_jobs_;
  int n_threads_ = 1;
  ClassAccumulator<u64> accumulator_;
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
  AlignedBuffer<u32> order_;       // exact: as ColumnOrder, [col][row]
  std::vector<u32> bin_starts_;    // exact: [col][257]
  std::vector<FoundSplit> found_;  // per column
  std::vector<Worker> workers_;    // per task
  // Of the stump grown last.
  std::vector<u8> leaf_of_row_;
  std::vector<std::size_t> leaf_rows_;  // [leaf][class]
  std::vector<u64> leaf_units_;         // [leaf][class]
  u64 n_units_ = 0;                     // of all rows
  double n_counted_ = 0.0;              // rows that all weights stand for
  std::vector<double> leaf_sums_;       // [leaf][class], of the integers
  u32 n_leaves_ = 0;
};

template <class Task>
void StumpTrainer::Rounds::share_chunks(Task&& task) {
  parallel_for(chunks_.size(), count_threads(static_cast<double>(rows_.size()), kMinThreadRows),
               [&](std::size_t c) { task(chunks_[c]); });
}

template <class Task>
void StumpTrainer::Rounds::share_columns(int n_threads, Task&& task) {
  const std::size_t n_tasks =
      std::min<std::size_t>(workers_.size(), static_cast<std::size_t>(n_threads));
  parallel_for(n_tasks, static_cast<int>(n_tasks), [&](std::size_t t) {
    for (std::size_t col = t; col < data_.n_cols; col += n_tasks) task(col, workers_[t]);
  });
}

}  // namespace committee
