// Rows of leaves in this process: a list of rows in the order of the leaves, ascending in each.
#pragma once
#include <memory>
#include <mutex>

#include "boosting/leaf_rows.hpp"
#include "committee/function_view.hpp"

namespace committee {

// What all growers of a fit share of its rows.
struct SharedRows {
  const BinnedMatrix* data = nullptr;
  const RowWeights* weights = nullptr;  // as the trees of this round see them
  const Gradients* gradients = nullptr;
  const Loss* loss = nullptr;
  const double* target = nullptr;
  double* scores = nullptr;  // [score][row]
  ScoreView view() const { return {target, scores, data->n_rows}; }
};

class LocalLeafRows final : public LeafRows {
 public:
  // `width`: words of a histogram's entry.
  LocalLeafRows(const SharedRows& shared, Records& records, u32 width, int n_threads);
  // Rows of the next trees: all of them; or, ascending, those that grow them and those that are
  // only partitioned.
  void choose_all_rows();
  void choose_rows(std::vector<u32> sample, std::vector<u32> held_out);
  std::size_t bytes() const;
  const Records& records() const { return records_; }

  void work_with(int n_threads) override { n_threads_ = n_threads; }
  const RecordLayout& choose_columns(const ColumnChoice& choice) override;
  std::size_t n_entries() const { return n_entries_; }
  RootSums open_root(const TreeStart& start, i64* histogram) override;
  RootSums reopen_root() override;
  StepRules step_rules() const override;
  void split_leaves(std::span<StepSplit> splits) override;
  void split_held_out(std::span<const LeafSplit> splits) override;
  std::span<i64* const> partial_histograms() const override {
    return std::span(thread_histograms_).first(static_cast<std::size_t>(n_threads_) - 1);
  }
  void unsplit(std::span<const u32> leaves) override;
  void add_rows(u32 leaf, i64* histogram) override;
  void count_bins(u32 leaf, u32 feature, std::vector<u32>& counts,
                  std::vector<u64>& weights) override;
  void sum_levels(u32 leaf, u32 feature, std::vector<i64>& histogram) override;
  void sum_vectors(u32 leaf, std::vector<i64>& totals) override;
  bool sums_columns() const override { return !shared_.data->entries; }
  void copy_words(u32 leaf, std::vector<i64>& words) const override;
  void sum_columns(u32 leaf, const i64* words, std::span<const u32> columns,
                   ColumnSums& sums) const override;
  std::vector<FixedSums> sum_leaves(std::span<const u32> leaves, u32 score, bool all) override;
  std::vector<double> find_middles(std::span<const u32> leaves, u32 score) override;
  void add_values(std::span<const u32> leaves, u32 score, std::span<const double> values) override;
  double find_largest_residual() override;
  void write_residuals(const ResidualWords& words) override;
  i64 find_largest_word(const WordHalves& halves) override;
  i64 sum_words(i64* histogram) override;
  void settle(std::span<const u32> leaves, std::span<const double> values,
              std::span<const i64> changes) override;
  std::span<const RowItem> rows_of(u32 leaf) const;
  // Adds a change, times each row's weight, to the words of some rows.
  void change_words(std::span<const RowItem> rows, i64 change) {
    records_.change_words(rows, change, shared_.weights->values);
  }

 private:
  struct Range {
    std::size_t begin = 0, end = 0, out_begin = 0, out_end = 0;
    u32 left = 0, right = 0;  // 0: not split
    std::size_t size() const { return end - begin; }
  };
  class RowTest;
  struct RowsOfLeaf;
  struct StepBlock;
  // A histogram that several threads add rows to: a part for each that is at it at a time.
  struct HistogramParts {
    i64* whole;
    std::vector<i64*> others, free = {};
    bool begun = false;
  };
  struct RowLists {
    RowItem *rows, *scratch;
  };
  const Range& range_of(u32 leaf) const { return ranges_[leaf]; }
  void set_range(u32 leaf, const Range& range);
  void set_children(std::span<const StepSplit> splits);
  void reserve_rows();
  i64 fill_root(const TreeStart& start, std::size_t begin, std::size_t end, i64* histogram);
  i64 fill_all(const TreeStart& start, i64* histogram);
  i64 add_sample(i64* histogram);
  RootSums describe_root(i64 total);
  u64 sum_row_weights(std::span<const RowItem> rows) const;
  Records::Words words() const { return {vectors_.data(), width_, vectors_.used()}; }
  std::vector<StepBlock> cut_lists(std::span<const RowsOfLeaf> lists) const;
  std::size_t count_blocks(std::size_t per_thread) const;
  i64* part_histogram(std::size_t part);
  i64* take_part(HistogramParts& parts);
  void give_part(HistogramParts& parts, i64* part);
  std::vector<std::unique_ptr<const RowTest>> make_tests(
      std::size_t n, FunctionView<const BoostSplit&(std::size_t)> split) const;
  template <class Use>
  void partition_blocks(std::span<StepBlock> blocks, const RowLists& lists,
                        std::span<const std::unique_ptr<const RowTest>> tests, Use&& use);
  void merge_children(std::span<const u32> leaves);
  std::span<const RowItem> held_out_of(u32 leaf) const;

  const SharedRows& shared_;
  Records& records_;
  const u32 width_;
  int n_threads_;
  const std::size_t most_entries_;  // words of a histogram of all columns
  std::size_t n_entries_;           // and of those at hand
  VectorWords vectors_;
  std::size_t n_rows_ = 0, n_held_out_ = 0;
  bool all_ = true;  // no sample was chosen
  std::vector<u32> sample_, out_sample_;
  AlignedBuffer<RowItem> rows_, scratch_, held_out_, out_scratch_;
  AlignedBuffer<double> residuals_;  // of each leaf where its rows are; of renewed values only
  std::vector<Range> ranges_;        // of each leaf
  std::vector<AlignedBuffer<i64>> thread_buffers_;
  std::vector<i64*> thread_histograms_;     // of the root by n_threads_ - 1; steps may need more
  std::vector<HistogramParts> step_parts_;  // of the splits of a step
  std::size_t n_parts_taken_ = 0;           // of thread_histograms_
  std::mutex parts_mutex_;
};

// The rows of a leaf that lie in a block of all rows. They ascend: a thread that takes a block
// finds its rows of every leaf, and what it has of them in its cache.
std::span<const RowItem> select_block(std::span<const RowItem> rows, std::size_t begin,
                                      std::size_t end);

}  // namespace committee
