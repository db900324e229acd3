#include "boosting_records.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "bin_tables.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// Columns with at most this many cells may share a place; finding out pays only with many rows.
constexpr u32 kMostJointCells = 32;
constexpr std::size_t kLeastJointRows = 2048;
constexpr u32 kMostCodes = 256, kFewCodes = 64;
// After so many columns in a row that do not fit, a joint place is taken to be full.
constexpr int kMostMisfits = 4;
// Rows save an update for each column that gives up its place, but all places are as large as the
// largest, and every node clears, subtracts and scans them: so many updates a cell (measured with
// trees of 31 leaves).
constexpr double kUpdatesPerCell = 100.0;
constexpr std::size_t kCopyRows = 1024;
constexpr std::size_t kPrefetchAhead = 16;
constexpr u32 kMostSlots = 60;  // of a block: the word of 4 bytes fits into the cache line, too

// Cells of a place that holds so many: powers of two from 16 on, so that neighbouring places start
// on a cache line.
std::size_t round_cells(std::size_t most) {
  return std::max<std::size_t>(16, std::bit_ceil(most));
}

std::size_t round_stride(std::size_t bytes) {
  return bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
}

// Rows that were absent from the learning of the bins may miss a value where no other row does;
// they add nothing to any cell, but the cell must exist.
u8 read_cell(u8 bin, const ColumnPlace& place) {
  return bin != kMissingBin ? bin : place.has_missing ? static_cast<u8>(place.n_bins) : u8{0};
}

// Rows that weigh something.
template <class Visit>
void visit_present(std::size_t n_rows, const RowWeights& weights, Visit&& visit) {
  for (std::size_t row = 0; row < n_rows; ++row)
    if (weights[row] > 0) visit(row);
}

inline i64 widen(u32 word) {
  return static_cast<i64>(static_cast<u64>(static_cast<i64>(static_cast<i32>(word) >> 16)) << 32) +
         static_cast<i64>(word & 0xFFFFu);
}

template <bool kNarrow>
using RecordWord = std::conditional_t<kNarrow, u32, i64>;

template <bool kNarrow>
inline i64 load_word(const u8* at) {
  RecordWord<kNarrow> word;
  std::memcpy(&word, at, sizeof word);
  if constexpr (kNarrow) {
    return widen(word);
  } else {
    return word;
  }
}

// The bins of up to eight columns, which are read at once: memory is what a row waits for.
inline u64 load_bins(const u8* at) {
  static_assert(std::endian::native == std::endian::little, "bins are taken from a word");
  u64 bins;
  std::memcpy(&bins, at, sizeof bins);  // a record is a multiple of 16 bytes
  return bins;
}

template <std::size_t... kSlot>
[[gnu::always_inline]] inline void add_columns(u64 bins, i64* cells, std::size_t step, i64 word,
                                               std::index_sequence<kSlot...>) {
  ((cells[kSlot * step + (bins >> (8 * kSlot) & 0xFF)] += word), ...);
}

// Missing values into the cell that they have; most words hold none.
u64 read_cells(u64 bins, const ColumnPlace& place) {
  constexpr u64 kOnes = 0x0101010101010101ull;
  if (((~bins - kOnes) & bins & (kOnes << 7)) == 0) return bins;  // no byte is 255
  u8 bytes[8];
  std::memcpy(bytes, &bins, sizeof bins);
  for (u8& byte : bytes) byte = read_cell(byte, place);
  std::memcpy(&bins, bytes, sizeof bins);
  return bins;
}

// Eight columns at a time, as a square of bytes that is transposed. What lies behind the last slot
// of a record is zero until its word is written.
void copy_eight_rows(SlotBlock& block, const u8* const* sources, const ColumnPlace* const* remapped,
                     std::size_t row, std::size_t n) {
  u8* const records = block.bytes.data() + row * block.stride;
  for (std::size_t s = 0; s < block.n_slots; s += 8) {
    u64 square[8] = {};
    for (std::size_t k = 0; k < 8 && s + k < block.n_slots; ++k) {
      std::memcpy(&square[k], sources[s + k] + row, sizeof square[k]);
      if (remapped[s + k]) square[k] = read_cells(square[k], *remapped[s + k]);
    }
    transpose_block(square);
    for (std::size_t k = 0; k < n; ++k)
      std::memcpy(records + k * block.stride + s, &square[k], sizeof square[k]);
  }
}

struct RowsToAdd {
  const RowItem* listed;  // null: rows from `begin` on
  std::size_t begin, n;
};

// Eight columns at a time and kRest at the end, without a branch among them; the distance of the
// columns' cells is known where it is 256. What a row begins with is loaded before the cells of the
// row before it, and each eight before the cells of the eight before: they would wait otherwise.
template <bool kNarrow, bool kListed, std::size_t kStep, std::size_t kRest>
void add_rows(const SlotBlock& block, const RowsToAdd& rows, std::size_t step_given, i64* cells) {
  const std::size_t step = kStep > 0 ? kStep : step_given;
  const std::size_t tail = block.tail, n_eights = block.n_slots / 8;
  const int shift = std::countr_zero(block.stride);  // a product would take longer
  const u8* const records = block.bytes.data() + (rows.begin << shift);
  const RowItem* const listed = rows.listed;
  struct Head {
    const u8* record;
    u64 bins;
    i64 word;
  };
  const auto find_record = [=](std::size_t i) __attribute__((always_inline)) {
    return records + ((kListed ? std::size_t{listed[i].row} : i) << shift);
  };
  const auto load_head = [=](std::size_t i) __attribute__((always_inline)) {
    const u8* const record = find_record(i);
    return Head{record, load_bins(record), load_word<kNarrow>(record + tail)};
  };
  const auto add_row = [=](const Head& head) __attribute__((always_inline)) {
    const u8* record = head.record;
    u64 bins = head.bins;
    i64* at = cells;
    for (std::size_t k = 0; k < n_eights; ++k, at += 8 * step) {
      record += 8;
      const u64 next = load_bins(record);  // behind the last column is at least the word
      add_columns(bins, at, step, head.word, std::make_index_sequence<8>());
      bins = next;
    }
    add_columns(bins, at, step, head.word, std::make_index_sequence<kRest>());
  };
  if (rows.n == 0) return;
  Head next = load_head(0);
  std::size_t i = 0;
  // No row beyond the last is looked at: it may be another thread's.
  for (; kListed && i + kPrefetchAhead < rows.n; ++i) {
    const Head head = next;
    __builtin_prefetch(find_record(i + kPrefetchAhead));
    next = load_head(i + 1);
    add_row(head);
  }
  for (; i + 1 < rows.n; ++i) {
    const Head head = next;
    next = load_head(i + 1);
    add_row(head);
  }
  add_row(next);
}

template <bool kNarrow, bool kListed, std::size_t kStep>
void add_block_of(const SlotBlock& block, const RowsToAdd& rows, std::size_t step, i64* cells) {
  [&]<std::size_t... kRest>(std::index_sequence<kRest...>) {
    constexpr decltype(&add_rows<kNarrow, kListed, kStep, 0>) kKernels[] = {
        add_rows<kNarrow, kListed, kStep, kRest>...};
    kKernels[block.n_slots % 8](block, rows, step, cells);
  }(std::make_index_sequence<8>());
}

// Cells of several words fill more than the first cache: of so many rows some slots are added to,
// whose cells fit into it, then the next slots.
constexpr std::size_t kVectorRows = 2048;
constexpr std::size_t kVectorWords = 6144;

struct SlotRange {
  std::size_t begin, end;
};

// kWidth words a cell, or as many as given where that is zero.
template <std::size_t kWidth>
void add_vectors(const SlotBlock& block, const RowsToAdd& rows, const SlotRange& slots,
                 std::size_t step, const Records::Words& given, i64* cells) {
  const std::size_t width = kWidth > 0 ? kWidth : given.width, stride = block.stride;
  const u8* const records = block.bytes.data();
  const auto row_at = [&](std::size_t i) {
    return rows.listed ? rows.listed[i].row : rows.begin + i;
  };
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (rows.listed && i + kPrefetchAhead < rows.n) {
      const std::size_t ahead = row_at(i + kPrefetchAhead);
      __builtin_prefetch(records + ahead * stride);
      __builtin_prefetch(given.words + ahead * width);
    }
    const std::size_t row = row_at(i);
    const u8* const record = records + row * stride;
    const i64* const words = given.words + row * width;
    for (std::size_t slot = slots.begin; slot < slots.end; ++slot) {
      i64* const cell = cells + (slot * step + record[slot]) * width;
      for (std::size_t k = 0; k < width; ++k) cell[k] += words[k];
    }
  }
}

void add_vector_block(const SlotBlock& block, const RowsToAdd& rows, std::size_t step,
                      const Records::Words& words, i64* cells) {
  constexpr decltype(&add_vectors<0>) kKernels[] = {add_vectors<0>, add_vectors<0>, add_vectors<0>,
                                                    add_vectors<3>, add_vectors<4>, add_vectors<5>,
                                                    add_vectors<6>, add_vectors<7>, add_vectors<8>};
  const auto add = kKernels[words.width < std::size(kKernels) ? words.width : 0];
  const std::size_t at_once = std::max<std::size_t>(1, kVectorWords / (step * words.width));
  i64* const own = cells + block.first_slot * step * words.width;
  for (std::size_t begin = 0; begin < rows.n; begin += kVectorRows) {
    const RowsToAdd some{rows.listed ? rows.listed + begin : nullptr, rows.begin + begin,
                         std::min(kVectorRows, rows.n - begin)};
    for (std::size_t slot = 0; slot < block.n_slots; slot += at_once)
      add(block, some, {slot, std::min<std::size_t>(slot + at_once, block.n_slots)}, step, words,
          own);
  }
}

template <bool kListed>
void add_block(const SlotBlock& block, bool narrow, const RowsToAdd& rows, std::size_t step,
               i64* cells) {
  const auto add =
      step == 256 ? (narrow ? add_block_of<true, kListed, 256> : add_block_of<false, kListed, 256>)
                  : (narrow ? add_block_of<true, kListed, 0> : add_block_of<false, kListed, 0>);
  add(block, rows, step, cells + block.first_slot * step);
}

}  // namespace

Records::Records(const BinnedMatrix& data, const RowWeights& weights, const Layout& layout,
                 int n_threads)
    : n_rows_(data.n_rows), places_(data.n_cols) {
  for (u32 c = 0; c < data.n_cols; ++c) {
    const ColumnBins& bins = (*data.bins)[c];
    places_[c].n_bins = bins.n_bins;
    places_[c].has_missing = bins.has_missing;
  }
  // Columns are joined by the rows that weigh something, as many as they stand for.
  const double n_copies = static_cast<double>(weights.total) * weights.unit;
  std::vector<Joint> joints;
  if (layout.join && n_copies >= kLeastJointRows) {
    joints = join_columns(data, weights);
    if (!pays_to_join(data, joints, n_copies)) joints.clear();
  }
  for (u32 c = 0; c < data.n_cols; ++c) {
    ColumnPlace& place = places_[c];
    const bool shares = std::any_of(joints.begin(), joints.end(), [&](const Joint& joint) {
      return std::find(joint.columns.begin(), joint.columns.end(), c) != joint.columns.end();
    });
    if (shares || place.n_cells() < 2 || (*data.bins)[c].wide) continue;
    place.slot = static_cast<u32>(n_slots_++);
    cells_per_slot_ = std::max<std::size_t>(cells_per_slot_, place.n_cells());
  }
  for (const Joint& joint : joints) place_joint(joint, data, weights, static_cast<u32>(n_slots_++));
  cells_per_slot_ = round_cells(cells_per_slot_);
  lay_out(weights, layout.precise || !weights.repeats());
  copy_bytes(data, joints, n_threads);
}

Records::Records(const Records& other)
    : n_rows_(other.n_rows_),
      places_(other.places_),
      n_slots_(other.n_slots_),
      cells_per_slot_(other.cells_per_slot_),
      words_(other.words_) {
  for (const SlotBlock& block : other.blocks_) {
    AlignedBuffer<u8> bytes(block.bytes.size());
    std::copy_n(block.bytes.data(), block.bytes.size(), bytes.data());
    blocks_.push_back(
        {block.stride, block.tail, block.first_slot, block.n_slots, std::move(bytes)});
  }
}

// Columns of few values, greedily, as long as no more combinations of them occur than the cells of
// the other columns' places, all of which are as large: 256, or 64 where that is enough for them.
std::vector<Records::Joint> Records::join_columns(const BinnedMatrix& data,
                                                  const RowWeights& weights) const {
  std::vector<u32> waiting;
  u32 most_alone = 0;
  for (u32 c = 0; c < data.n_cols; ++c) {
    const u32 cells = places_[c].n_cells();
    if (cells < 2 || (*data.bins)[c].wide) continue;
    if (cells <= kMostJointCells) {
      waiting.push_back(c);
    } else {
      most_alone = std::max(most_alone, cells);
    }
  }
  const u32 most_codes = most_alone == 0 || most_alone > kFewCodes ? kMostCodes : kFewCodes;
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](u32 a, u32 b) { return places_[a].n_cells() < places_[b].n_cells(); });
  std::vector<Joint> joints;
  while (waiting.size() > 1) {
    Joint joint;
    joint.codes.assign((n_rows_ + 7) / 8 * 8, 0);  // eight are read at once
    std::vector<u32> left_over;
    int misfits = 0;
    for (const u32 c : waiting) {
      if (misfits >= kMostMisfits) {
        left_over.push_back(c);
        continue;
      }
      const u8* column = data.column(c);
      const u32 n_cells = places_[c].n_cells();
      std::array<u8, kMostCodes * kMostJointCells> seen{};
      visit_present(n_rows_, weights, [&](std::size_t i) {
        seen[joint.codes[i] * n_cells + read_cell(column[i], places_[c])] = 1;
      });
      std::array<u8, kMostCodes * kMostJointCells> renumbered{};
      u32 n_codes = 0;
      for (u32 k = 0; k < joint.n_codes * n_cells; ++k)
        if (seen[k] != 0) renumbered[k] = static_cast<u8>(n_codes++);
      if (n_codes > most_codes) {
        left_over.push_back(c);
        ++misfits;
        continue;
      }
      misfits = 0;
      visit_present(n_rows_, weights, [&](std::size_t i) {
        joint.codes[i] = renumbered[joint.codes[i] * n_cells + read_cell(column[i], places_[c])];
      });
      joint.n_codes = n_codes;
      joint.columns.push_back(c);
    }
    if (joint.columns.size() < 2) break;
    joints.push_back(std::move(joint));
    waiting = std::move(left_over);
  }
  return joints;
}

bool Records::pays_to_join(const BinnedMatrix& data, const std::vector<Joint>& joints,
                           double n_copies) const {
  std::vector<u8> shares(data.n_cols, 0);
  std::size_t n_shared = 0, most_joined = 0, most = 0, n_alone = 0;
  for (const Joint& joint : joints) {
    for (const u32 c : joint.columns) shares[c] = 1;
    n_shared += joint.columns.size() - 1;
    most_joined = std::max<std::size_t>(most_joined, joint.n_codes);
  }
  for (u32 c = 0; c < data.n_cols; ++c) {
    const std::size_t cells = places_[c].n_cells();
    if (cells < 2 || (*data.bins)[c].wide) continue;
    ++n_alone;
    most = std::max(most, cells);
    if (!shares[c]) most_joined = std::max(most_joined, cells);
  }
  const auto count = [](std::size_t n, std::size_t cells) {
    return static_cast<double>(n * round_cells(cells));
  };
  const double more_cells = count(n_alone - n_shared, most_joined) - count(n_alone, most);
  return static_cast<double>(n_shared) * n_copies >= kUpdatesPerCell * more_cells;
}

void Records::place_joint(const Joint& joint, const BinnedMatrix& data, const RowWeights& weights,
                          u32 slot) {
  cells_per_slot_ = std::max<std::size_t>(cells_per_slot_, joint.n_codes);
  for (const u32 c : joint.columns) {
    ColumnPlace& place = places_[c];
    place.slot = slot;
    place.joint = true;
    std::vector<u8> cell_of(joint.n_codes, 0);
    const u8* column = data.column(c);
    visit_present(n_rows_, weights,
                  [&](std::size_t i) { cell_of[joint.codes[i]] = read_cell(column[i], place); });
    std::vector<u32> n_codes(place.n_cells(), 0);
    for (const u8 cell : cell_of) ++n_codes[cell];
    place.rest =
        static_cast<u8>(std::max_element(n_codes.begin(), n_codes.end()) - n_codes.begin());
    for (u32 code = 0; code < joint.n_codes; ++code)
      if (cell_of[code] != place.rest)
        place.codes.emplace_back(static_cast<u8>(code), cell_of[code]);
  }
}

// A word of 8 bytes where it costs nothing, or where 16 bits a half would not do: few rows leave
// room for more bits, and weights need them.
void Records::lay_out(const RowWeights& weights, bool precise) {
  const std::size_t n_blocks = std::max<std::size_t>(1, (n_slots_ + kMostSlots - 1) / kMostSlots);
  const std::size_t most = (n_slots_ + n_blocks - 1) / n_blocks;
  const bool free = most <= 56 && round_stride(most + 8) == round_stride(most + 4);
  const bool few_rows = weights.total <= (u64{1} << 16);
  words_ = plan_words(weights, !precise && !free && !(few_rows && most <= 56));
  const std::size_t word_bytes = words_.narrow ? 4 : 8;
  const std::size_t per_block = std::min<std::size_t>(most, 64 - word_bytes);
  for (std::size_t first = 0; first < std::max<std::size_t>(1, n_slots_); first += per_block) {
    SlotBlock block;
    block.first_slot = static_cast<u32>(first);
    block.n_slots = static_cast<u32>(std::min(per_block, n_slots_ - first));
    block.stride = round_stride(block.n_slots + word_bytes);
    block.tail = block.stride - word_bytes;
    block.bytes = AlignedBuffer<u8>(n_rows_ * block.stride + 64);
    blocks_.push_back(std::move(block));
    if (per_block == 0) break;
  }
}

void Records::copy_bytes(const BinnedMatrix& data, const std::vector<Joint>& joints,
                         int n_threads) {
  std::vector<const u8*> sources(n_slots_);
  std::vector<const ColumnPlace*> remapped(n_slots_, nullptr);
  for (u32 c = 0; c < places_.size(); ++c) {
    if (places_[c].slot == ColumnPlace::kNowhere || places_[c].joint) continue;
    sources[places_[c].slot] = data.column(c);
    if (places_[c].n_bins != kMissingBin) remapped[places_[c].slot] = &places_[c];
  }
  for (std::size_t j = 0; j < joints.size(); ++j)
    sources[n_slots_ - joints.size() + j] = joints[j].codes.data();
  parallel_for((n_rows_ + kCopyRows - 1) / kCopyRows, n_threads, [&](std::size_t task) {
    const std::size_t last = std::min(n_rows_, (task + 1) * kCopyRows);
    for (SlotBlock& block : blocks_) {
      for (std::size_t begin = task * kCopyRows; begin < last; begin += 64) {
        const std::size_t end = std::min(last, begin + 64);
        for (std::size_t row = begin; row < end; row += 8)
          copy_eight_rows(block, sources.data() + block.first_slot,
                          remapped.data() + block.first_slot, row,
                          std::min<std::size_t>(8, end - row));
      }
    }
  });
}

i64 Records::write_words(std::size_t begin, std::size_t end, const i64* words) {
  i64 total = 0;
  for (SlotBlock& block : blocks_) {
    total = 0;
    u8* at = block.bytes.data() + begin * block.stride + block.tail;
    if (words_.narrow) {
      for (std::size_t i = 0; i < end - begin; ++i, at += block.stride) {
        const u32 word =
            (static_cast<u32>(static_cast<u64>(words[i]) >> 32) << 16) + static_cast<u32>(words[i]);
        std::memcpy(at, &word, sizeof word);
        total += words[i];
      }
    } else {
      for (std::size_t i = 0; i < end - begin; ++i, at += block.stride) {
        std::memcpy(at, words + i, sizeof(i64));
        total += words[i];
      }
    }
  }
  return total;
}

void Records::change_words(std::span<const RowItem> rows, i64 change,
                           std::span<const u32> weights) {
  for (SlotBlock& block : blocks_) {
    u8* const words = block.bytes.data() + block.tail;
    const int shift = std::countr_zero(block.stride);
    for (const RowItem& item : rows) {
      u8* const at = words + (std::size_t{item.row} << shift);
      i64 word;
      std::memcpy(&word, at, sizeof word);
      word += weights.empty() ? change : change * weights[item.row];
      std::memcpy(at, &word, sizeof word);
    }
  }
}

std::size_t Records::bytes() const {
  std::size_t bytes = 0;
  for (const SlotBlock& block : blocks_) bytes += block.bytes.size();
  return bytes;
}

i64 Records::word(std::size_t row) const {
  const u8* at = blocks_[0].bytes.data() + row * blocks_[0].stride + blocks_[0].tail;
  return words_.narrow ? load_word<true>(at) : load_word<false>(at);
}

void Records::add_listed(const RowItem* rows, std::size_t n, i64* cells) const {
  for (const SlotBlock& block : blocks_)
    add_block<true>(block, words_.narrow, {rows, 0, n}, cells_per_slot_, cells);
}

void Records::add_range(std::size_t begin, std::size_t end, i64* cells) const {
  for (const SlotBlock& block : blocks_)
    add_block<false>(block, words_.narrow, {nullptr, begin, end - begin}, cells_per_slot_, cells);
}

void Records::add_listed(const RowItem* rows, std::size_t n, const Words& of_rows,
                         i64* cells) const {
  for (const SlotBlock& block : blocks_)
    add_vector_block(block, {rows, 0, n}, cells_per_slot_, of_rows, cells);
}

void Records::add_range(std::size_t begin, std::size_t end, const Words& of_rows,
                        i64* cells) const {
  for (const SlotBlock& block : blocks_)
    add_vector_block(block, {nullptr, begin, end - begin}, cells_per_slot_, of_rows, cells);
}

const i64* Records::column_cells(u32 column, const i64* cells, std::span<const i64> total,
                                 std::vector<i64>& room) const {
  const ColumnPlace& place = places_[column];
  const std::size_t width = total.size();
  const i64* shared = cells + place.slot * cells_per_slot_ * width;
  if (!place.joint) return shared;
  room.assign(place.n_cells() * width, 0);
  i64* const rest = room.data() + place.rest * width;
  std::copy(total.begin(), total.end(), rest);
  for (const auto& [code, cell] : place.codes) {
    for (std::size_t k = 0; k < width; ++k) {
      room[cell * width + k] += shared[code * width + k];
      rest[k] -= shared[code * width + k];
    }
  }
  return room.data();
}

const i64* Records::column_cells(u32 column, const i64* cells, i64 total, i64* room) const {
  const ColumnPlace& place = places_[column];
  const i64* shared = cells + place.slot * cells_per_slot_;
  if (!place.joint) return shared;
  std::fill_n(room, place.n_cells(), i64{0});
  i64 listed = 0;
  for (const auto& [code, cell] : place.codes) {
    room[cell] += shared[code];
    listed += shared[code];
  }
  room[place.rest] = total - listed;
  return room;
}

}  // namespace committee
