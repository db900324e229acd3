// The rows of a fit of stumps, or of one block of them: weights, histograms, leaves.
#pragma once
#include "binning/entry_slots.hpp"
#include "committee/parallel.hpp"
#include "committee/stump.hpp"
#include "split/split_candidate.hpp"
#include "stumps/boosted_weights.hpp"

namespace committee {

// Threads for a piece of work: as many as asked for, or as are worth it.
struct StumpThreads {
  explicit StumpThreads(int n_jobs)
      : asked(n_jobs > 0 ? choose_threads(n_jobs, 1.0, 1.0) : 0),
        most(choose_threads(n_jobs, std::numeric_limits<double>::max(), 1.0)) {}
  int count(double work, double least) const {
    return asked > 0 ? asked : std::clamp(static_cast<int>(work / least), 1, std::max(most, 1));
  }
  int asked, most;
};

// Where histograms lie: for each class a plane of all columns' bins, so that the rows of a class
// stay within it: 256 a column, then for wide categories one a level and one for missing. Of a
// table of entries only columns that vary are searched: first those of bytes, then, with the slots
// that EntrySlots gives them, the others; behind them is the total of the class.
struct StumpLayout {
  explicit StumpLayout(const std::vector<ColumnBins>& bins);
  explicit StumpLayout(const BinnedMatrix& data);
  bool is_listed(std::size_t place) const { return place >= n_apart; }
  std::vector<u32> columns;          // that are searched
  std::size_t n_apart = 0;           // the first of them that is kept as entries
  std::vector<std::size_t> offsets;  // per searched column
  std::size_t plane_size = 0;
  const ColumnEntries* entries = nullptr;
  std::shared_ptr<const EntrySlots> slots;  // of a table of entries

 private:
  void place_bytes(const std::vector<ColumnBins>& bins);
};

class StumpRows {
 public:
  static constexpr double kMinThreadUpdates =
      2e5;                                       // additions to histograms that are worth a thread
  static constexpr double kMinThreadRows = 2e4;  // weights to multiply that are worth a thread
  static constexpr std::size_t kChunkRows = 8192;  // of a class, whose weights one task multiplies

  StumpRows(const StumpInput& input, StumpWeights weights, int n_jobs);
  const BinnedMatrix& data() const { return data_; }
  const Presort* presort() const { return presort_; }
  const StumpLayout& layout() const { return layout_; }
  std::span<const u64> histograms() const { return {slots_.data(), slots_.size()}; }
  const BoostedWeights& weights() const { return weights_; }
  const std::vector<u32>& labels() const { return labels_; }
  u64 n_units() const { return n_units_; }
  // Leaves of the rows by a split (none: one leaf), and what is in them.
  StumpLeaves assign(const Candidate& split);
  // Multiplies the weights of rows by factors[leaf][class] / common; a total above zero (in levels
  // times units) means a new scale.
  void multiply(std::span<const double> factors, const StumpStep& step);
  // levels times units; 0 where absent.
  std::vector<double> list_weights() const;

 private:
  // Some rows of one class, [begin, end) in rows_. Those whose weight changed since the histograms
  // were right come first in changed_ and deltas_, in the same places.
  struct Chunk {
    std::size_t begin, end;
    u32 label;
    std::size_t n_changed = 0;
    std::size_t n_right = 0;              // rows in the right leaf
    u64 units_left = 0, units_right = 0;  // the same in units of weight: rows that occur so often
  };
  const ColumnBins& bins(std::size_t col) const { return (*data_.bins)[col]; }
  u64* plane(u32 k) { return slots_.data() + k * layout_.plane_size; }
  void sort_by_class();
  void rebuild();
  void add_changes();
  void add_record_block(const RecordGroup& group, std::size_t first, std::size_t n_cols);
  void add_wide(std::size_t col);
  void add_to_entries();
  StumpLeaves count_leaves();
  template <class Task>
  void share_chunks(Task&& task) {
    parallel_for(chunks_.size(), threads_.count(static_cast<double>(rows_.size()), kMinThreadRows),
                 [&](std::size_t c) { task(chunks_[c]); });
  }

  const BinnedMatrix& data_;
  const Presort* presort_;
  const u32 n_classes_;
  const StumpThreads threads_;
  const StumpLayout layout_;
  std::vector<u32> labels_;
  BoostedWeights weights_;
  std::vector<u32> rows_;  // present rows, class by class, ascending within
  std::vector<Chunk> chunks_;
  std::vector<u32> changed_;
  std::vector<u64> deltas_;
  AlignedBuffer<u64> slots_;
  std::vector<u8> leaf_of_row_;  // of the split assigned last
  u32 n_leaves_ = 0;
  u64 n_units_ = 0;  // of all rows
};

}  // namespace committee
