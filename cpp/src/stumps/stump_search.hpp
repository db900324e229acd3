// The search for the best stump in the histograms of all columns.
#pragma once
#include "committee/stump.hpp"
#include "stumps/class_scales.hpp"
#include "stumps/column_scan.hpp"
#include "stumps/stump_rows.hpp"

namespace committee {

class StumpSearch {
 public:
  // `n_counted`: rows that all weights stand for. `rows`: for exact splits, which look at them.
  StumpSearch(const std::vector<ColumnBins>& bins, u32 n_classes, const std::string& criterion,
              int n_jobs, double n_counted, const StumpRows* rows);
  // The best split of these histograms; none where no question can be asked.
  const Candidate& find(std::span<const u64> histograms);
  // The stump found last. `leaves`: the rows of its leaves.
  GrownStump describe(const StumpLeaves& leaves) const;
  // How weights are to be multiplied by factors[leaf][class]. std::invalid_argument
  StumpStep plan(std::span<const double> factors, const StumpLeaves& leaves);

 private:
  static constexpr double kMinThreadScores = 2e4;  // boundaries to score that are worth a thread
  struct Worker {
    std::unique_ptr<ColumnSearch> search;
    std::unique_ptr<SplitFinder<ClassAccumulator<u64>>> categories;
    std::vector<u64> histogram;  // of categories, or of a column that is kept as entries
    std::vector<CategoryCell<u64>> listed;
  };

  // Of a searched column; put together in the worker's room where it is kept as entries.
  ColumnHistogram view_histogram(std::size_t place, Worker& worker) const;
  bool has_entries(std::size_t place) const;
  void index_order();
  std::vector<u64> total_up() const;
  std::vector<u64> scale(std::vector<u64> sums) const;
  // Whether there is something to search: rows of two classes.
  bool begin_round(std::span<const u64> histograms);
  void search_within();
  const Candidate& keep_best();
  template <class Task>
  void share_columns(int n_threads, Task&& task);
  void search_categories(std::size_t col, const ColumnHistogram& histogram, Worker& worker,
                         FoundSplit& found) const;
  void rank_cut(std::size_t col, Candidate& best) const;
  FoundSplit pick_best() const;
  std::vector<double> sum_leaves() const;

  const std::vector<ColumnBins>& bins_;
  const u32 n_classes_;
  const std::string criterion_;
  const StumpThreads threads_;
  const StumpLayout layout_;
  const double n_counted_;
  const StumpRows* rows_;   // exact only
  const Presort* presort_;  // exact only
  ClassAccumulator<u64> accumulator_;
  AlignedBuffer<u32> order_;       // exact: as ColumnOrder, [col][row]
  std::vector<u32> bin_starts_;    // exact: [col][257]
  std::vector<Worker> workers_;    // per task
  const u64* slots_ = nullptr;     // of the search at hand
  std::vector<FoundSplit> found_;  // per searched column
  ClassScales scales_;
  std::vector<u64> sums_, total_;  // per class: of the integers, and what they are worth
  FoundSplit best_;
};

template <class Task>
void StumpSearch::share_columns(int n_threads, Task&& task) {
  const std::size_t n_tasks =
      std::min<std::size_t>(workers_.size(), static_cast<std::size_t>(n_threads));
  parallel_for(n_tasks, static_cast<int>(n_tasks), [&](std::size_t t) {
    for (std::size_t k = t; k < layout_.columns.size(); k += n_tasks) task(k, workers_[t]);
  });
}

}  // namespace committee
