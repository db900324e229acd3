// Histograms that follow the weights: only rows whose weight changed are added.
#include <bit>
#include <cstring>

#include "stumps/stump_rows.hpp"

namespace committee {

namespace {

constexpr std::size_t kBlockColumns = 16;  // columns of a record that one task adds to
constexpr std::size_t kAhead = 16;         // rows whose records are fetched before they are needed

// The bins of up to eight columns, which are read at once.
inline u64 load_bins(const u8* at) {
  static_assert(std::endian::native == std::endian::little, "bins are taken from a word");
  u64 bins;
  std::memcpy(&bins, at, sizeof bins);
  return bins;
}

template <std::size_t... kColumn>
COMMITTEE_INLINE inline void add_to_columns(u64 bins, u64 delta, u64* slots,
                                            std::index_sequence<kColumn...>) {
  ((slots[kColumn * StumpLayout::kColumnSlots + (bins >> (8 * kColumn) & 0xFF)] += delta), ...);
}

// Adds to columns of records, eight at a time and kRest at the end. What a row begins with is
// loaded before the slots of the row before it, and each eight before the slots of the eight
// before: they would wait otherwise. Behind the records is a spare cache line.
template <std::size_t kRest, class Changes>
void add_to_records(const u8* records, std::size_t stride, std::size_t n_eights,
                    const Changes& changes, u64* slots) {
  const auto find_record = [&](std::size_t j) {
    return records + changes.rows[std::min(j, changes.n - 1)] * stride;
  };
  if (changes.n == 0) return;
  const u8* next_record = find_record(0);
  u64 next_bins = load_bins(next_record);
  for (std::size_t j = 0; j < changes.n; ++j) {
    const u8* record = next_record;
    u64 bins = next_bins;
    prefetch(find_record(j + kAhead));
    next_record = find_record(j + 1);
    next_bins = load_bins(next_record);
    const u64 delta = changes.deltas[j];
    u64* at = slots;
    for (std::size_t k = 0; k < n_eights; ++k, at += 8 * StumpLayout::kColumnSlots) {
      record += 8;
      const u64 following = load_bins(record);
      add_to_columns(bins, delta, at, std::make_index_sequence<8>());
      bins = following;
    }
    add_to_columns(bins, delta, at, std::make_index_sequence<kRest>());
  }
}

// By the columns behind the last eight.
template <class Changes>
constexpr decltype(&add_to_records<0, Changes>) kAddToRecords[] = {
    add_to_records<0, Changes>, add_to_records<1, Changes>, add_to_records<2, Changes>,
    add_to_records<3, Changes>, add_to_records<4, Changes>, add_to_records<5, Changes>,
    add_to_records<6, Changes>, add_to_records<7, Changes>};

}  // namespace

// Before the first round.
void StumpRows::add_all() {
  std::fill_n(slots_.data(), slots_.size(), u64{0});
  for (Chunk& chunk : chunks_) {
    for (std::size_t leaf = 0; leaf < 2; ++leaf) {
      chunk.changes[leaf] = true;
      u64* delta = deltas_of(chunk, leaf);
      for (const u32 row : rows_of(chunk, leaf)) *delta++ = weights_[row];
    }
  }
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
  for (const Chunk& chunk : chunks_)
    use_changes(chunk, [&](const Changes& changes) { n_changed += changes.n; });
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
    u64* const slots = plane(chunk.label) + (group.first_col + first) * StumpLayout::kColumnSlots;
    use_changes(chunk, [&](const Changes& changes) {
      kAddToRecords<Changes>[n_cols % 8](group.bytes.data() + first, group.stride, n_cols / 8,
                                         changes, slots);
    });
  }
}

// A table of entries: the columns of bytes one by one, then all that the rows list.
void StumpRows::add_to_entries() {
  const std::size_t total = layout_.plane_size - 1, first_slot = total - layout_.slots->n_slots();
  for (const Chunk& chunk : chunks_) {
    u64* const slots = plane(chunk.label);
    use_changes(chunk, [&](const Changes& changes) {
      for (std::size_t k = 0; k < layout_.n_apart; ++k) {
        const u8* const column = data_.column(layout_.columns[k]);
        for (std::size_t j = 0; j < changes.n; ++j)
          slots[layout_.offsets[k] + column[changes.rows[j]]] += changes.deltas[j];
      }
      for (std::size_t j = 0; j < changes.n; ++j) {
        slots[total] += changes.deltas[j];
        for (const u32 slot : layout_.slots->row(changes.rows[j]))
          slots[first_slot + slot] += changes.deltas[j];
      }
    });
  }
}

void StumpRows::add_wide(std::size_t col) {
  const u32* codes = data_.wide[col].data();
  const u32 n_levels = bins(col).n_bins;
  for (const Chunk& chunk : chunks_) {
    u64* slots = plane(chunk.label) + layout_.offsets[col];
    use_changes(chunk, [&](const Changes& changes) {
      for (std::size_t j = 0; j < changes.n; ++j)
        slots[std::min(codes[changes.rows[j]], n_levels)] += changes.deltas[j];
    });
  }
}

}  // namespace committee
