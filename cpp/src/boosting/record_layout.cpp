#include "boosting/record_layout.hpp"

#include <algorithm>
#include <bit>

namespace committee {

namespace {

// Columns with at most this many bins may share a byte; finding out pays only with many rows.
constexpr u32 kMostJointBins = 32;
constexpr double kLeastJointRows = 2048.0;
constexpr u32 kMostCodes = 256, kFewCodes = 64;
// After so many columns in a row that do not fit, a bundle is taken to be full.
constexpr int kMostMisfits = 4;
// Rows save an update for each column that gives up its byte, but the histograms of all bundles are
// as large as the largest, and every node clears, subtracts and scans them: so many updates an
// entry (measured with trees of 31 leaves).
constexpr double kUpdatesPerEntry = 100.0;
constexpr u32 kMostBundles = 60;  // of a block: the word of 4 bytes fits into the cache line, too

// Entries of a bundle that has so many bins: powers of two from 16 on, so that neighbouring bundles
// start on a cache line.
std::size_t round_entries(std::size_t most) {
  return std::max<std::size_t>(16, std::bit_ceil(most));
}

// Bundles of a block where there are so many.
std::size_t share_bundles(std::size_t n) {
  const std::size_t n_blocks = std::max<std::size_t>(1, (n + kMostBundles - 1) / kMostBundles);
  return (n + n_blocks - 1) / n_blocks;
}

// Constant and wide columns have no byte.
bool has_byte(const ColumnEncoding& encoding, const ColumnBins& bins) {
  return encoding.n_entries() >= 2 && !bins.wide;
}

// Whether the joints are less work, for so many rows, than a byte for every column.
bool pays_to_join(const std::vector<ColumnBins>& bins, const std::vector<ColumnEncoding>& encodings,
                  const std::vector<JointColumns>& joints, double n_copies) {
  std::vector<u8> shares(bins.size(), 0);
  std::size_t n_shared = 0, most_joined = 0, most = 0, n_alone = 0;
  for (const JointColumns& joint : joints) {
    for (const u32 c : joint.columns) shares[c] = 1;
    n_shared += joint.columns.size() - 1;
    most_joined = std::max(most_joined, joint.code_bins.size());
  }
  for (u32 c = 0; c < bins.size(); ++c) {
    if (!has_byte(encodings[c], bins[c])) continue;
    const std::size_t n_entries = encodings[c].n_entries();
    ++n_alone;
    most = std::max(most, n_entries);
    if (!shares[c]) most_joined = std::max(most_joined, n_entries);
  }
  const auto count = [](std::size_t n, std::size_t n_entries) {
    return static_cast<double>(n * round_entries(n_entries));
  };
  const double more_entries = count(n_alone - n_shared, most_joined) - count(n_alone, most);
  return static_cast<double>(n_shared) * n_copies >= kUpdatesPerEntry * more_entries;
}

}  // namespace

std::vector<ColumnEncoding> describe_columns(const std::vector<ColumnBins>& bins) {
  std::vector<ColumnEncoding> encodings(bins.size());
  for (std::size_t c = 0; c < bins.size(); ++c) {
    encodings[c].n_bins = bins[c].n_bins;
    encodings[c].has_missing = bins[c].has_missing;
  }
  return encodings;
}

// Greedily, as long as no more combinations of bins occur than a bundle has entries, which all
// bundles have as many of: 256, or 64 where that is enough for them.
std::vector<JointColumns> join_columns(const std::vector<ColumnBins>& bins,
                                       const WeightFacts& weights, TryJoin try_join) {
  // As many rows as the weights stand for.
  const double n_copies = static_cast<double>(weights.total) * weights.unit;
  if (n_copies < kLeastJointRows) return {};
  const std::vector<ColumnEncoding> encodings = describe_columns(bins);
  std::vector<u32> waiting;
  u32 most_alone = 0;
  for (u32 c = 0; c < bins.size(); ++c) {
    if (!has_byte(encodings[c], bins[c])) continue;
    if (encodings[c].n_entries() <= kMostJointBins) {
      waiting.push_back(c);
    } else {
      most_alone = std::max(most_alone, encodings[c].n_entries());
    }
  }
  const u32 most_codes = most_alone == 0 || most_alone > kFewCodes ? kMostCodes : kFewCodes;
  std::stable_sort(waiting.begin(), waiting.end(), [&](u32 a, u32 b) {
    return encodings[a].n_entries() < encodings[b].n_entries();
  });
  std::vector<JointColumns> joints;
  while (waiting.size() > 1) {
    JointColumns joint;
    std::vector<u32> left_over;
    int misfits = 0;
    for (const u32 c : waiting) {
      if (misfits < kMostMisfits && try_join(joint, c, most_codes)) {
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
  if (!pays_to_join(bins, encodings, joints, n_copies)) joints.clear();
  return joints;
}

RecordLayout::RecordLayout(const std::vector<ColumnBins>& bins, std::vector<JointColumns> joints,
                           const WeightFacts& weights, bool precise)
    : encodings_(describe_columns(bins)), joints_(std::move(joints)) {
  for (u32 c = 0; c < bins.size(); ++c) {
    ColumnEncoding& encoding = encodings_[c];
    const bool shares = std::any_of(joints_.begin(), joints_.end(), [&](const JointColumns& joint) {
      return std::find(joint.columns.begin(), joint.columns.end(), c) != joint.columns.end();
    });
    if (shares || !has_byte(encoding, bins[c])) continue;
    encoding.bundle = static_cast<u32>(n_bundles_++);
    entries_per_bundle_ = std::max<std::size_t>(entries_per_bundle_, encoding.n_entries());
  }
  for (const JointColumns& joint : joints_) encode_joint(joint, static_cast<u32>(n_bundles_++));
  entries_per_bundle_ = round_entries(entries_per_bundle_);
  n_planned_entries_ = n_bundles_ * entries_per_bundle_;
  plan_blocks(weights, precise || !weights.repeats(), n_bundles_);
}

RecordLayout::RecordLayout(const BinnedMatrix& data, std::shared_ptr<const EntrySlots> slots,
                           const std::vector<JointColumns>& joints, const WeightFacts& weights,
                           bool precise)
    : encodings_(describe_columns(*data.bins)), slots_(std::move(slots)) {
  list_columns(data);
  std::vector<u8> shares(data.n_cols, 0);
  std::size_t n_planned = joints.size(), most = 0;
  for (const JointColumns& joint : joints) {
    for (const u32 c : joint.columns) shares[c] = 1;
    most = std::max(most, joint.code_bins.size());
  }
  for (u32 c = 0; c < data.n_cols; ++c) {
    if (shares[c] || !has_byte(encodings_[c], (*data.bins)[c])) continue;
    ++n_planned;
    most = std::max<std::size_t>(most, encodings_[c].n_entries());
  }
  n_planned_entries_ = n_planned * round_entries(most);
  plan_blocks(weights, precise || !weights.repeats(), n_planned);
}

// A byte for columns that have bytes, a bundle for some neighbouring others.
void RecordLayout::list_columns(const BinnedMatrix& data) {
  for (u32 c = 0; c < data.n_cols; ++c) {
    if (encodings_[c].n_entries() < 2 || !data.has_bytes(c)) continue;
    encodings_[c].bundle = static_cast<u32>(n_bundles_++);
    entries_per_bundle_ = std::max<std::size_t>(entries_per_bundle_, encodings_[c].n_entries());
  }
  entries_per_bundle_ = round_entries(entries_per_bundle_);
  const std::span<const u32> columns = slots_->columns(), starts = slots_->starts();
  for (u32 k = 0; k < columns.size(); ++k) {
    if (starts[k + 1] - starts[slot_bundles_.back()] > kHistogramBins) slot_bundles_.push_back(k);
    ColumnEncoding& encoding = encodings_[columns[k]];
    encoding.bundle = static_cast<u32>(n_bundles_ + slot_bundles_.size() - 1);
    encoding.listed = true;
    encoding.first_slot = starts[k];
    encoding.rest = data.entries->rest[columns[k]];
  }
  if (!columns.empty()) slot_bundles_.push_back(static_cast<u32>(columns.size()));
}

void RecordLayout::encode_joint(const JointColumns& joint, u32 bundle) {
  entries_per_bundle_ = std::max<std::size_t>(entries_per_bundle_, joint.code_bins.size());
  for (std::size_t j = 0; j < joint.columns.size(); ++j) {
    ColumnEncoding& encoding = encodings_[joint.columns[j]];
    encoding.bundle = bundle;
    encoding.joint = true;
    std::vector<u32> n_codes(encoding.n_entries(), 0);
    for (const std::vector<u8>& bins : joint.code_bins) ++n_codes[bins[j]];
    encoding.rest =
        static_cast<u8>(std::max_element(n_codes.begin(), n_codes.end()) - n_codes.begin());
    for (std::size_t code = 0; code < joint.code_bins.size(); ++code)
      if (joint.code_bins[code][j] != encoding.rest)
        encoding.codes.emplace_back(static_cast<u8>(code), joint.code_bins[code][j]);
  }
}

std::shared_ptr<const RecordLayout> RecordLayout::select(std::span<const u32> columns,
                                                         double most) const {
  if (slots_ || columns.size() == encodings_.size()) return nullptr;
  constexpr u32 kUnused = ColumnEncoding::kNoBundle;
  std::vector<u32> numbers(n_bundles_, kUnused);
  for (const u32 c : columns)
    if (encodings_[c].bundle != kUnused) numbers[encodings_[c].bundle] = 0;
  const auto n_unused = std::count(numbers.begin(), numbers.end(), kUnused);
  const std::size_t n_used = n_bundles_ - static_cast<std::size_t>(n_unused);
  if (n_unused == 0 || static_cast<double>(n_used) > most * static_cast<double>(n_bundles_))
    return nullptr;
  std::shared_ptr<RecordLayout> some(new RecordLayout);
  for (u32 bundle = 0; bundle < n_bundles_; ++bundle) {
    if (numbers[bundle] == kUnused) continue;
    numbers[bundle] = static_cast<u32>(some->origins_.size());
    some->origins_.push_back(bundle);
  }
  some->encodings_.resize(encodings_.size());
  for (const u32 c : columns) {
    some->encodings_[c] = encodings_[c];
    if (encodings_[c].bundle != kUnused) some->encodings_[c].bundle = numbers[encodings_[c].bundle];
  }
  some->n_bundles_ = n_used;
  some->entries_per_bundle_ = entries_per_bundle_;
  some->n_planned_entries_ = n_planned_entries_;
  some->words_ = words_;
  some->bundles_per_block_ = std::min<std::size_t>(share_bundles(n_used), 64 - words_.bytes());
  return some;
}

// A word of 8 bytes where it costs nothing, or where 16 bits a half would not do: few rows leave
// room for more bits, and weights need them.
void RecordLayout::plan_blocks(const WeightFacts& weights, bool precise, std::size_t n_planned) {
  const std::size_t most = share_bundles(n_planned);
  const bool free = most <= 56 && round_stride(most + 8) == round_stride(most + 4);
  const bool few_rows = weights.total <= (u64{1} << 16);
  words_ = plan_words(weights, !precise && !free && !(few_rows && most <= 56));
  bundles_per_block_ = std::min<std::size_t>(share_bundles(n_bundles_), 64 - words_.bytes());
}

std::size_t RecordLayout::bytes_per_row() const {
  std::size_t bytes = 0, first = 0;
  do {
    bytes += round_stride(std::min(bundles_per_block_, n_bundles_ - first) + words_.bytes());
    first += bundles_per_block_;
  } while (first < n_bundles_);
  return bytes;
}

const i64* RecordLayout::column_histogram(u32 column, const i64* histogram,
                                          std::span<const i64> total,
                                          std::vector<i64>& room) const {
  const ColumnEncoding& encoding = encodings_[column];
  const std::size_t width = total.size();
  if (encoding.listed) {
    const i64* slot = histogram + (n_byte_entries() + encoding.first_slot) * width;
    room.resize(encoding.n_entries() * width);
    i64* const rest = room.data() + encoding.rest * width;
    std::copy(total.begin(), total.end(), rest);
    for (u32 bin = 0; bin < encoding.n_entries(); ++bin) {
      if (bin == encoding.rest) continue;
      for (std::size_t k = 0; k < width; ++k, ++slot) {
        room[bin * width + k] = *slot;
        rest[k] -= *slot;
      }
    }
    return room.data();
  }
  const i64* shared = histogram + encoding.bundle * bundle_step() * width;
  if (!encoding.joint) return shared;
  room.assign(encoding.n_entries() * width, 0);
  i64* const rest = room.data() + encoding.rest * width;
  std::copy(total.begin(), total.end(), rest);
  for (const auto& [code, bin] : encoding.codes) {
    for (std::size_t k = 0; k < width; ++k) {
      room[bin * width + k] += shared[code * width + k];
      rest[k] -= shared[code * width + k];
    }
  }
  return room.data();
}

const i64* RecordLayout::column_histogram(u32 column, const i64* histogram, i64 total,
                                          i64* room) const {
  const ColumnEncoding& encoding = encodings_[column];
  if (encoding.listed) {
    const i64* const slots = histogram + n_byte_entries() + encoding.first_slot;
    const u32 rest = encoding.rest, n = encoding.n_entries();
    i64 listed = 0;
    for (u32 bin = 0; bin < rest; ++bin) listed += room[bin] = slots[bin];
    for (u32 bin = rest + 1; bin < n; ++bin) listed += room[bin] = slots[bin - 1];
    room[rest] = total - listed;
    return room;
  }
  const i64* shared = histogram + encoding.bundle * bundle_step();
  if (!encoding.joint) return shared;
  std::fill_n(room, encoding.n_entries(), i64{0});
  i64 listed = 0;
  for (const auto& [code, bin] : encoding.codes) {
    room[bin] += shared[code];
    listed += shared[code];
  }
  room[encoding.rest] = total - listed;
  return room;
}

}  // namespace committee
