#include "tree/fast/column_cuts.hpp"

#include "tree/fast/column_cuts_forms.hpp"

namespace committee {

namespace {

constexpr std::size_t kCountedVectors = 255;  // that a byte can count

constexpr std::size_t count_vectors(std::size_t n_rows) {
  return (n_rows + kRowLanes - 1) / kRowLanes;
}

// The first n % 16 of sixteen lanes.
RowLanes mask_first(std::size_t n) {
  static constexpr u8 kOnes[2 * kRowLanes] = {255, 255, 255, 255, 255, 255, 255, 255,
                                              255, 255, 255, 255, 255, 255, 255, 255};
  return load_lanes(kOnes + (kRowLanes - n % kRowLanes));
}

// The bins of sixteen rows.
COMMITTEE_INLINE inline RowLanes gather_lanes(const u8* column, const u16* rows) {
  u64 words[2];
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    u64 word = 0;
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) word |= u64{column[rows[8 * half + k]]} << (8 * k);
    words[half] = word;
  }
  return make_lanes(words[0], words[1]);
}

u32 count_lanes(const RowLanes* bins, std::size_t n_vectors, RowLanes bar) {
  u32 n = 0;
  for (std::size_t first = 0; first < n_vectors; first += kCountedVectors) {
    RowLanes found{};
    const std::size_t last = std::min(n_vectors, first + kCountedVectors);
    for (std::size_t v = first; v < last; ++v) found -= reinterpret_cast<RowLanes>(bins[v] <= bar);
    n += add_lanes(found);
  }
  return n;
}

bool may_be_wide() {
#if defined(COMMITTEE_AVX512)
  return may_use(Instructions::avx512);
#else
  return false;
#endif
}

}  // namespace

struct ColumnCuts::Plain {
  // The bins of a node's rows, and the smallest and the largest one. Lanes behind the node hold the
  // missing bin, which no cut has on its left.
  COMMITTEE_INLINE static std::size_t find_ends(const ColumnCuts& cuts, const ColumnNode& node,
                                                RowLanes* bins, u32& lo, u32& hi) {
    const u8* const column = cuts.column_;
    const u16* const rows = cuts.turn_.rows + node.begin;
    const std::size_t last = (node.n_rows - 1) / kRowLanes;
    RowLanes least = RowLanes{} - 1, largest{};
    for (std::size_t v = 0; v < last; ++v) {
      const RowLanes lanes = gather_lanes(column, rows + v * kRowLanes);
      bins[v] = lanes;
      least = lanes < least ? lanes : least;
      largest = lanes > largest ? lanes : largest;
    }
    const std::size_t rest = node.n_rows - last * kRowLanes;
    const RowLanes own = rest == kRowLanes ? RowLanes{} - 1 : mask_first(rest);
    const RowLanes lanes = gather_lanes(column, rows + last * kRowLanes) | ~own;
    bins[last] = lanes;
    least = lanes < least ? lanes : least;
    const RowLanes high = lanes & own;
    largest = high > largest ? high : largest;
    lo = least_lane(least);
    hi = largest_lane(largest);
    return last + 1;
  }

  COMMITTEE_INLINE static void count_left(const ColumnCuts&, const ColumnNode& node,
                                          const RowLanes* bins, u32 cut, u32& n_left,
                                          u32& n_positive) {
    const RowLanes bar = RowLanes{} + static_cast<u8>(cut);
    const std::size_t positive = node.n_positive / kRowLanes, all = count_vectors(node.n_rows);
    n_positive = count_lanes(bins, positive, bar);
    n_left = n_positive + count_lanes(bins + positive, all - positive, bar);
    n_positive += add_lanes(reinterpret_cast<RowLanes>(bins[positive] <= bar) &
                            mask_first(node.n_positive) & (RowLanes{} + 1));
  }

  static void keep_left(const ColumnCuts& cuts, ColumnNode& node, const RowLanes* bins, u32 cut) {
    u64* const words = cuts.left_of(node);
    const RowLanes bar = RowLanes{} + static_cast<u8>(cut);
    for (std::size_t v = 0; v < count_vectors(node.n_rows); ++v) {
      const u64 bits = list_bits(reinterpret_cast<RowLanes>(bins[v] <= bar));
      words[v / 4] = (v % 4 == 0 ? 0 : words[v / 4]) | bits << (16 * (v % 4));
    }
  }
};

ColumnCuts::ColumnCuts(const BinnedMatrix& data, const EndsTable& ends)
    : data_(data),
      ends_(ends),
      is_wide_(may_be_wide()),
      bins_(Batch::kVectors + count_vectors(data.n_rows) + 64 / kRowLanes) {}

void ColumnCuts::search(u32 feature, std::span<const ColumnDraw> draws, u32 coming) {
  coming_ = n_coming_ = 0;
  if (coming != ColumnNode::kNone) {
    coming_column_ = data_.column(coming);
    n_coming_ = data_.n_rows;
    coming_ends_ = ends_.bytes_of(coming);
  }
#if defined(COMMITTEE_AVX512)
  if (is_wide_) return search_wide(feature, draws);
#endif
  search_in<Plain>(feature, draws);
}

void ColumnCuts::partition(ColumnNode& node, u16* rows, u16* room) const {
#if defined(COMMITTEE_AVX512)
  if (is_wide_) return partition_wide(node, rows, room);
#endif
  const u64* const words = left_of(node);
  u32 n_left = 0, n_right = 0;
  for (u32 i = 0; i < node.n_rows; ++i) {
    const u16 row = rows[i];
    const u32 is_left = static_cast<u32>(words[i / 64] >> (i % 64) & 1);
    rows[n_left] = row;
    room[n_right] = row;
    n_left += is_left, n_right += 1 - is_left;
  }
  std::copy_n(room, n_right, rows + n_left);
}

void ColumnCuts::write_sets(std::span<const u16> rows, u32 n_positive, u64* sets) {
  const std::size_t n_words = count_set_words();
  marks_.assign(n_words * 64, 0);
  for (std::size_t k = 0; k < rows.size(); ++k) marks_[rows[k]] = k < n_positive ? 2 : 1;
  const auto pack = [&](const u8* marks, u8 least) {
    u64 word = 0;
    for (std::size_t k = 0; k < 64; k += kRowLanes) {
      const auto found = load_lanes(marks + k) >= RowLanes{} + least;
      word |= u64{list_bits(reinterpret_cast<RowLanes>(found))} << k;
    }
    return word;
  };
  for (std::size_t v = 0; v < n_words; ++v) {
    sets[v] = pack(marks_.data() + v * 64, 1);
    sets[n_words + v] = pack(marks_.data() + v * 64, 2);
  }
}

}  // namespace committee
