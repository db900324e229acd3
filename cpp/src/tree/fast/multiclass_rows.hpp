// The rows of a block of multiclass_subtree.hpp: their records and their weights, in the order of
// the nodes' rows.
#pragma once
#include <algorithm>

#include "base/u8x16.hpp"
#include "binning/packed_records.hpp"
#include "split/accumulators.hpp"
#include "tree/fast/multiclass_wide.hpp"
#include "tree/fast/packed_counts.hpp"

namespace committee {

// Rows of a node: a range of one of two halves.
struct RowRange {
  u32 begin, n;
  bool half;
};

// Sides of a split that are leaves, whose rows are not needed any more.
enum class Leave { nothing, left, right, both };

// Records of 16 kVectors bytes.
template <int kVectors>
class BlockRows {
 public:
  static constexpr std::size_t kStride = kVectors * kRowLanes;
  static constexpr std::size_t kMostRows = (std::size_t{512} << 10) / kStride;
  using Item = ClassAccumulator<u32>::Item;
  struct Record {
    RowLanes lanes[kVectors];
  };

  // Makes room for so many rows, or for kMostRows.
  void make_room(std::size_t n_rows) {
    n_rows = std::min(n_rows, kMostRows);
    if (n_rows <= n_rows_) return;
    n_rows_ = n_rows;
    for (auto& half : records_) half = AlignedBuffer<Record>(n_rows);
    for (auto& half : packs_) half = AlignedBuffer<PackedCounts8>(n_rows);
  }
  std::size_t most_rows() const { return n_rows_; }

  // Copies some rows, as the first half. `bins` has all bits of the bytes that are bins; false: one
  // of these is missing somewhere.
  bool copy(const u8* records, std::span<const Item> items, const Record& bins) {
    constexpr std::size_t kAtOnce = 64;  // missing values are often found soon
    Record missing{};
    for (std::size_t first = 0; first < items.size(); first += kAtOnce) {
      copy_some(records, items, first, std::min(items.size(), first + kAtOnce), missing);
      RowLanes any{};
      for (int v = 0; v < kVectors; ++v) any |= missing.lanes[v] & bins.lanes[v];
      if (largest_lane(any) != 0) return false;
    }
    return true;
  }

  // Bits of the records that are not the same in all rows of a range.
  Record find_differences(const RowRange& range) const {
    const Record* records = records_[range.half].data() + range.begin;
#if defined(COMMITTEE_AVX512)
    if (is_wide(range.n)) {
      Record differ;
      MulticlassWide::find_differences(bytes_of(records), range.n,
                                       reinterpret_cast<u8*>(differ.lanes));
      return differ;
    }
#endif
    const Record first = records[0];
    Record any{}, more{};
    const auto look = [&](u32 i, Record& into) {
      for (int v = 0; v < kVectors; ++v) into.lanes[v] |= records[i].lanes[v] ^ first.lanes[v];
    };
    u32 i = 1;
    for (; i + 3 < range.n; i += 4) {
      look(i, any);
      look(i + 1, more);
      look(i + 2, any);
      look(i + 3, more);
    }
    for (; i < range.n; ++i) look(i, any);
    for (int v = 0; v < kVectors; ++v) any.lanes[v] |= more.lanes[v];
    return any;
  }

  // A byte of the rows, kStride apart.
  const u8* column(const RowRange& range, u32 byte) const {
    return reinterpret_cast<const u8*>(records_[range.half].data() + range.begin) + byte;
  }
  // The weights of rows, each in the byte of its class.
  const PackedCounts8* packs(const RowRange& range) const {
    return packs_[range.half].data() + range.begin;
  }

  // What the rows add up to whose byte has no bit of the mask.
  template <class Word>
  Word add_unset(const RowRange& range, FieldPlace place) const {
#if defined(COMMITTEE_AVX512)
    if (is_wide(range.n))
      return MulticlassWide::add_unset({place.byte, place.mask, 0},
                                       {column(range, 0), packs(range)}, range.n, Word{});
#endif
    return PackedCountsSimd::add_unset<kStride, Word>(column(range, place.byte), place.mask,
                                                      packs(range), range.n);
  }

  // Partitions the rows, which become those that go left; returns the others. Nothing depends on
  // the order of a node's rows: the ones fill the range in the other half from its begin, the
  // others from its end. Rows that leave are counted, but not kept.
  RowRange partition(RowRange& range, const ByteSplit& by, Leave leave) {
    const u8* bytes = column(range, by.byte);
    const u32 cut = by.bin, mask = by.mask, n = range.n;
    const auto goes_left = [=](u32 i) { return (bytes[i * kStride] & mask) <= cut; };
    RowRange right = range;
    switch (leave) {
      case Leave::nothing:
        range.n = partition_all(range, by, goes_left);
        range.half = right.half = !range.half;
        right.begin = range.begin + range.n;
        break;
      case Leave::right:
        range.n = keep_some(range, by, true, goes_left);
        break;
      case Leave::left:
        range.n = n - keep_some(range, by, false, [&](u32 i) { return !goes_left(i); });
        break;
      case Leave::both:
        range.n = 0;
        for (u32 i = 0; i < n; ++i) range.n += goes_left(i);
        break;
    }
    right.n = n - range.n;
    return right;
  }

 private:
  void copy_some(const u8* records, std::span<const Item> items, std::size_t first,
                 std::size_t last, Record& missing) {
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = first; i < last; ++i) {
      if (i + kAhead < items.size()) prefetch(records + items[i + kAhead].row * kStride);
      Record record;
      std::memcpy(&record, records + items[i].row * kStride, kStride);
      for (int v = 0; v < kVectors; ++v)
        missing.lanes[v] |= reinterpret_cast<RowLanes>(record.lanes[v] == RowLanes{} + kMissingBin);
      records_[0][i] = record;
      packs_[0][i] = PackedGiniSums::pack(items[i].label, items[i].weight);
    }
  }

#if defined(COMMITTEE_AVX512)
  bool is_wide(u32 n) const { return kVectors == 1 && has_avx512_ && n >= MulticlassWide::kFewest; }
  static const u8* bytes_of(const Record* records) { return reinterpret_cast<const u8*>(records); }
  static u8* bytes_of(Record* records) { return reinterpret_cast<u8*>(records); }
#endif

  template <class Stays>
  u32 keep_some(const RowRange& range, [[maybe_unused]] const ByteSplit& by,
                [[maybe_unused]] bool keeps_left, const Stays& stays) {
    Record* records = records_[range.half].data() + range.begin;
    PackedCounts8* packs = packs_[range.half].data() + range.begin;
    u32 n_kept = 0, i = 0;
#if defined(COMMITTEE_AVX512)
    if (is_wide(range.n)) {
      const PartitionProgress progress =
          MulticlassWide::keep_some(by, keeps_left, {bytes_of(records), packs}, range.n);
      i = static_cast<u32>(progress.n);
      n_kept = static_cast<u32>(progress.n_left);
    }
#endif
    for (; i < range.n; ++i) {
      const bool is_kept = stays(i);
      records[n_kept] = records[i];
      packs[n_kept] = packs[i];
      n_kept += is_kept;
    }
    return n_kept;
  }

  template <class GoesLeft>
  u32 partition_all(const RowRange& range, [[maybe_unused]] const ByteSplit& by,
                    const GoesLeft& goes_left) {
    const Record* from = records_[range.half].data() + range.begin;
    const PackedCounts8* from_packs = packs_[range.half].data() + range.begin;
    Record* to = records_[!range.half].data() + range.begin;
    PackedCounts8* to_packs = packs_[!range.half].data() + range.begin;
    u64 n_left = 0, last = range.n - 1;
    u32 i = 0;
#if defined(COMMITTEE_AVX512)
    if (is_wide(range.n)) {
      const PartitionProgress progress = MulticlassWide::partition(
          by, {bytes_of(from), from_packs}, {bytes_of(to), to_packs}, range.n);
      i = static_cast<u32>(progress.n);
      n_left = progress.n_left;
      last = progress.last;
    }
#endif
    for (; i < range.n; ++i) {
      const u64 is_left = goes_left(i) ? 1 : 0;
      // A mask, since a compiler would guess the side.
      const u64 at = last ^ ((last ^ n_left) & (0 - is_left));
      to[at] = from[i];
      to_packs[at] = from_packs[i];
      n_left += is_left;
      last -= is_left ^ 1;
    }
    return static_cast<u32>(n_left);
  }

  std::size_t n_rows_ = 0;
#if defined(COMMITTEE_AVX512)
  const bool has_avx512_ = may_use(Instructions::avx512);
#endif
  AlignedBuffer<Record> records_[2];
  AlignedBuffer<PackedCounts8> packs_[2];
};

}  // namespace committee
