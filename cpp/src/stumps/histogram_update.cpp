// Histograms that follow the weights: only rows whose weight changed are added.
#include "stumps/stump_rows.hpp"

namespace committee {

namespace {

constexpr std::size_t kBlockColumns = 16;  // columns of a record that one task adds to
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

}  // namespace

void StumpRows::rebuild() {
  std::fill_n(slots_.data(), slots_.size(), u64{0});
  std::copy(rows_.begin(), rows_.end(), changed_.begin());
  for (std::size_t j = 0; j < rows_.size(); ++j) deltas_[j] = weights_[rows_[j]];
  for (Chunk& chunk : chunks_) chunk.n_changed = chunk.end - chunk.begin;
  add_changes();
}

void StumpRows::add_changes() {
  if (layout_.entries) return add_to_entries();
  struct Block {
    const RecordGroup* group;
    std::size_t first, n_cols;
  };
  std::vector<Block> blocks;
  std::vector<std::size_t> wide;
  std::size_t n_changed = 0;
  for (const Chunk& chunk : chunks_) n_changed += chunk.n_changed;
  const double work = static_cast<double>(n_changed) * static_cast<double>(data_.n_cols);
  const int n_threads = threads_.count(work, kMinThreadUpdates);
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
void StumpRows::add_record_block(const RecordGroup& group, std::size_t first, std::size_t n_cols) {
  for (const Chunk& chunk : chunks_) {
    u64* slots = plane(chunk.label) + (group.first_col + first) * kHistogramBins;
    const std::size_t end = chunk.begin + chunk.n_changed;
    for (std::size_t j = chunk.begin; j < end; ++j) {
      __builtin_prefetch(group.record(changed_[std::min(j + kAhead, end - 1)]) + first);
      add_to_record(group.record(changed_[j]) + first, n_cols, deltas_[j], slots);
    }
  }
}

// A table of entries: the columns of bytes one by one, then all that the rows list.
void StumpRows::add_to_entries() {
  const std::size_t total = layout_.plane_size - 1, first_slot = total - layout_.slots->n_slots();
  for (const Chunk& chunk : chunks_) {
    u64* const slots = plane(chunk.label);
    const std::size_t end = chunk.begin + chunk.n_changed;
    for (std::size_t k = 0; k < layout_.n_apart; ++k) {
      const u8* const column = data_.column(layout_.columns[k]);
      for (std::size_t j = chunk.begin; j < end; ++j)
        slots[layout_.offsets[k] + column[changed_[j]]] += deltas_[j];
    }
    for (std::size_t j = chunk.begin; j < end; ++j) {
      slots[total] += deltas_[j];
      for (const u32 slot : layout_.slots->row(changed_[j])) slots[first_slot + slot] += deltas_[j];
    }
  }
}

void StumpRows::add_wide(std::size_t col) {
  const u32* codes = data_.wide[col].data();
  const u32 n_levels = bins(col).n_bins;
  for (const Chunk& chunk : chunks_) {
    u64* slots = plane(chunk.label) + layout_.offsets[col];
    for (std::size_t j = chunk.begin; j < chunk.begin + chunk.n_changed; ++j)
      slots[std::min(codes[changed_[j]], n_levels)] += deltas_[j];
  }
}

}  // namespace committee
