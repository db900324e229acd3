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
// stay within it: kColumnSlots a column, then for wide categories one a level and one for missing.
// Of a table of entries only columns that vary are searched: first those of bytes, then, with the
// slots that EntrySlots gives them, the others; behind them is the total of the class.
struct StumpLayout {
  static constexpr std::size_t kColumnSlots = kStumpColumnSlots;
  static_assert(kColumnSlots >= kHistogramBins);
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
  // Multiplies the weights of rows by factors[leaf][class] / common[class]; the scales are for all
  // weights of a class.
  void multiply(std::span<const double> factors, const StumpStep& step);
  // levels times units times scales; 0 where absent.
  std::vector<double> list_weights() const;

 private:
  // Some rows of one class, [begin, end) in rows_. In the same places of leaf_rows_ are those of
  // each leaf, and in deltas_, those of the right leaf behind the others, what the weights of rows
  // have changed by since the histograms were right.
  struct Chunk {
    std::size_t begin, end;
    u32 label;
    std::size_t n_rows[2] = {0, 0};  // by leaf
    u64 units[2] = {0, 0};           // the same in units of weight: rows that occur so often
    bool changes[2] = {false, false};
  };
  // Rows whose weight changed, and by how much.
  struct Changes {
    const u32* rows;
    const u64* deltas;
    std::size_t n;
  };
  std::span<const u32> rows_of(const Chunk& chunk, std::size_t leaf) const {
    return {leaf_rows_[leaf].data() + chunk.begin, chunk.n_rows[leaf]};
  }
  u64* deltas_of(const Chunk& chunk, std::size_t leaf) {
    return deltas_.data() + chunk.begin + (leaf == 1 ? chunk.n_rows[0] : 0);
  }
  template <class Use>
  void use_changes(const Chunk& chunk, Use&& use) {
    for (std::size_t leaf = 0; leaf < 2; ++leaf) {
      const std::span<const u32> rows = rows_of(chunk, leaf);
      if (chunk.changes[leaf] && !rows.empty())
        use(Changes{rows.data(), deltas_of(chunk, leaf), rows.size()});
    }
  }
  const ColumnBins& bins(std::size_t col) const { return (*data_.bins)[col]; }
  u64* plane(u32 k) { return slots_.data() + k * layout_.plane_size; }
  void sort_by_class();
  void add_all();
  void add_changes();
  void add_record_block(const RecordGroup& group, std::size_t first, std::size_t n_cols);
  void add_wide(std::size_t col);
  void add_to_entries();
  StumpLeaves part_leaves();
  void multiply_chunk(Chunk& chunk, std::span<const double> factors, double common);
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
  std::vector<double> scales_;  // of the classes
  BoostedWeights weights_;
  std::vector<u32> rows_;  // present rows, class by class, ascending within
  std::vector<Chunk> chunks_;
  std::vector<u32> leaf_rows_[2];
  std::vector<u64> deltas_;
  AlignedBuffer<u64> slots_;
  LeafOfRow leaf_of_row_;  // of the split assigned last
  u32 n_leaves_ = 0;
  u64 n_units_ = 0;  // of all rows
};

}  // namespace committee
