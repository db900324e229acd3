#include "boosting/row_records.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "binning/bin_lookup.hpp"
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

// The bin that most of the first rows have.
u8 find_common(const u8* bins, std::size_t n) {
  u32 counts[kHistogramBins] = {};
  for (std::size_t i = 0; i < std::min<std::size_t>(n, 256); ++i) ++counts[bins[i]];
  return static_cast<u8>(std::max_element(std::begin(counts), std::end(counts)) -
                         std::begin(counts));
}

// Rows that have another bin; eight at a time of those that have not are passed over.
template <class Use>
void for_each_other(const u8* bins, std::size_t n, u8 common, Use&& use) {
  const u64 eight = common * 0x0101010101010101ull;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    u64 some;
    std::memcpy(&some, bins + i, sizeof some);
    for (u64 other = some ^ eight; other != 0;) {
      const int k = std::countr_zero(other) / 8;
      use(i + static_cast<std::size_t>(k));
      other &= ~(u64{0xFF} << (8 * k));
    }
  }
  for (; i < n; ++i)
    if (bins[i] != common) use(i);
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
  for (const Joint& joint : joints) place_joint(joint, static_cast<u32>(n_slots_++));
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
  u32 n_present = 0;
  for (std::size_t i = 0; i < n_rows_; ++i) n_present += weights[i] > 0;
  std::vector<Joint> joints;
  while (waiting.size() > 1) {
    Joint joint;
    joint.codes.assign((n_rows_ + 7) / 8 * 8, 0);  // eight are read at once
    joint.n_rows = {n_present};
    joint.cells.resize(1);
    std::vector<u32> left_over;
    int misfits = 0;
    for (const u32 c : waiting) {
      if (misfits < kMostMisfits && join_column(joint, c, data.column(c), weights, most_codes)) {
        misfits = 0;
      } else {
        left_over.push_back(c);
        ++misfits;
      }
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
    most_joined = std::max(most_joined, joint.cells.size());
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

bool Records::join_column(Joint& joint, u32 column, const u8* bins, const RowWeights& weights,
                          u32 most_codes) const {
  const ColumnPlace& place = places_[column];
  const u32 n_cells = place.n_cells(), n_old = static_cast<u32>(joint.cells.size());
  // Rows of the most frequent bin keep their codes, and are not looked at.
  const u8 common = find_common(bins, n_rows_);
  const u8 rest = read_cell(common, place);
  std::array<u32, kMostCodes * kMostJointCells> counts{};
  const auto visit_others = [&](auto&& use) {
    for_each_other(bins, n_rows_, common, [&](std::size_t i) {
      if (weights[i] > 0) use(joint.codes[i], read_cell(bins[i], place));
    });
  };
  visit_others([&](u8 code, u8 cell) { ++counts[code * n_cells + cell]; });
  std::array<u32, kMostCodes * kMostJointCells> code_of{};
  std::vector<u32> n_rows = joint.n_rows;
  std::vector<std::vector<u8>> cells = joint.cells;
  for (u32 code = 0; code < n_old; ++code) {
    u32* const own = counts.data() + code * n_cells;
    own[rest] += joint.n_rows[code] - std::accumulate(own, own + n_cells, u32{0});
    // The first that occurs keeps the code: the rest, if it does.
    bool kept = false;
    for (u32 k = 0; k < n_cells; ++k) {
      const u32 cell = k == 0 ? rest : k <= rest ? k - 1 : k;
      if (own[cell] == 0) continue;
      const u32 to = std::exchange(kept, true) ? static_cast<u32>(cells.size()) : code;
      if (to == most_codes) return false;
      if (to != code) {
        cells.push_back(joint.cells[code]);
        n_rows.push_back(0);
      }
      cells[to].push_back(static_cast<u8>(cell));
      n_rows[to] = own[cell];
      code_of[code * n_cells + cell] = to;
    }
  }
  visit_others([&](u8& code, u8 cell) { code = static_cast<u8>(code_of[code * n_cells + cell]); });
  joint.n_rows = std::move(n_rows);
  joint.cells = std::move(cells);
  joint.columns.push_back(column);
  return true;
}

void Records::place_joint(const Joint& joint, u32 slot) {
  cells_per_slot_ = std::max<std::size_t>(cells_per_slot_, joint.cells.size());
  for (std::size_t j = 0; j < joint.columns.size(); ++j) {
    ColumnPlace& place = places_[joint.columns[j]];
    place.slot = slot;
    place.joint = true;
    std::vector<u32> n_codes(place.n_cells(), 0);
    for (const std::vector<u8>& cells : joint.cells) ++n_codes[cells[j]];
    place.rest =
        static_cast<u8>(std::max_element(n_codes.begin(), n_codes.end()) - n_codes.begin());
    for (std::size_t code = 0; code < joint.cells.size(); ++code)
      if (joint.cells[code][j] != place.rest)
        place.codes.emplace_back(static_cast<u8>(code), joint.cells[code][j]);
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

template <class Word>
void Records::write_words(std::size_t begin, std::size_t end, const Word* words) {
  for (SlotBlock& block : blocks_) {
    u8* at = block.bytes.data() + begin * block.stride + block.tail;
    for (std::size_t i = 0; i < end - begin; ++i, at += block.stride)
      std::memcpy(at, words + i, sizeof(Word));
  }
}
template void Records::write_words(std::size_t, std::size_t, const u32*);
template void Records::write_words(std::size_t, std::size_t, const i64*);

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
