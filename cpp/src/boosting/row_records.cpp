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

// Columns with at most this many bins may share a byte; finding out pays only with many rows.
constexpr u32 kMostJointBins = 32;
constexpr std::size_t kLeastJointRows = 2048;
constexpr u32 kMostCodes = 256, kFewCodes = 64;
// After so many columns in a row that do not fit, a bundle is taken to be full.
constexpr int kMostMisfits = 4;
// Rows save an update for each column that gives up its byte, but the histograms of all bundles are
// as large as the largest, and every node clears, subtracts and scans them: so many updates an
// entry (measured with trees of 31 leaves).
constexpr double kUpdatesPerEntry = 100.0;
constexpr std::size_t kCopyRows = 1024;
constexpr u32 kMostBundles = 60;  // of a block: the word of 4 bytes fits into the cache line, too

// Entries of a bundle that has so many bins: powers of two from 16 on, so that neighbouring bundles
// start on a cache line.
std::size_t round_entries(std::size_t most) {
  return std::max<std::size_t>(16, std::bit_ceil(most));
}

std::size_t round_stride(std::size_t bytes) {
  return bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
}

// Rows that were absent from the learning of the bins may miss a value where no other row does;
// they add nothing to any entry, but the entry must exist.
u8 read_bin(u8 bin, const ColumnEncoding& encoding) {
  return bin != kMissingBin ? bin : encoding.has_missing ? static_cast<u8>(encoding.n_bins) : u8{0};
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

// The bins with missing values mapped to theirs; most groups of eight hold none.
u64 read_bins(u64 bins, const ColumnEncoding& encoding) {
  constexpr u64 kOnes = 0x0101010101010101ull;
  if (((~bins - kOnes) & bins & (kOnes << 7)) == 0) return bins;  // no byte is 255
  u8 bytes[8];
  std::memcpy(bytes, &bins, sizeof bins);
  for (u8& byte : bytes) byte = read_bin(byte, encoding);
  std::memcpy(&bins, bytes, sizeof bins);
  return bins;
}

// Eight columns at a time, as a square of bytes that is transposed. What lies behind the last
// bundle of a record is zero until its word is written.
void copy_eight_rows(BundleBlock& block, const u8* const* sources,
                     const ColumnEncoding* const* remapped, std::size_t row, std::size_t n) {
  u8* const records = block.bytes.data() + row * block.stride;
  for (std::size_t s = 0; s < block.n_bundles; s += 8) {
    u64 square[8] = {};
    for (std::size_t k = 0; k < 8 && s + k < block.n_bundles; ++k) {
      std::memcpy(&square[k], sources[s + k] + row, sizeof square[k]);
      if (remapped[s + k]) square[k] = read_bins(square[k], *remapped[s + k]);
    }
    transpose_block(square);
    for (std::size_t k = 0; k < n; ++k)
      std::memcpy(records + k * block.stride + s, &square[k], sizeof square[k]);
  }
}

}  // namespace

Records::Records(const BinnedMatrix& data, const RowWeights& weights, const Layout& layout,
                 int n_threads)
    : n_rows_(data.n_rows), encodings_(data.n_cols) {
  for (u32 c = 0; c < data.n_cols; ++c) {
    const ColumnBins& bins = (*data.bins)[c];
    encodings_[c].n_bins = bins.n_bins;
    encodings_[c].has_missing = bins.has_missing;
  }
  // Columns are joined by the rows that weigh something, as many as they stand for.
  const double n_copies = static_cast<double>(weights.total) * weights.unit;
  std::vector<Joint> joints;
  if (layout.join && n_copies >= kLeastJointRows) {
    joints = join_columns(data, weights);
    if (!pays_to_join(data, joints, n_copies)) joints.clear();
  }
  for (u32 c = 0; c < data.n_cols; ++c) {
    ColumnEncoding& encoding = encodings_[c];
    const bool shares = std::any_of(joints.begin(), joints.end(), [&](const Joint& joint) {
      return std::find(joint.columns.begin(), joint.columns.end(), c) != joint.columns.end();
    });
    if (shares || encoding.n_entries() < 2 || (*data.bins)[c].wide) continue;
    encoding.bundle = static_cast<u32>(n_bundles_++);
    entries_per_bundle_ = std::max<std::size_t>(entries_per_bundle_, encoding.n_entries());
  }
  for (const Joint& joint : joints) encode_joint(joint, static_cast<u32>(n_bundles_++));
  entries_per_bundle_ = round_entries(entries_per_bundle_);
  lay_out(weights, layout.precise || !weights.repeats());
  copy_bytes(data, joints, n_threads);
}

Records::Records(const Records& other)
    : n_rows_(other.n_rows_),
      encodings_(other.encodings_),
      n_bundles_(other.n_bundles_),
      entries_per_bundle_(other.entries_per_bundle_),
      words_(other.words_) {
  for (const BundleBlock& block : other.blocks_) {
    AlignedBuffer<u8> bytes(block.bytes.size());
    std::copy_n(block.bytes.data(), block.bytes.size(), bytes.data());
    blocks_.push_back(
        {block.stride, block.tail, block.first_bundle, block.n_bundles, std::move(bytes)});
  }
}

// Columns of few values, greedily, as long as no more combinations of them occur than a bundle
// has entries, which all bundles have as many of: 256, or 64 where that is enough for them.
std::vector<Records::Joint> Records::join_columns(const BinnedMatrix& data,
                                                  const RowWeights& weights) const {
  std::vector<u32> waiting;
  u32 most_alone = 0;
  for (u32 c = 0; c < data.n_cols; ++c) {
    const u32 n_entries = encodings_[c].n_entries();
    if (n_entries < 2 || (*data.bins)[c].wide) continue;
    if (n_entries <= kMostJointBins) {
      waiting.push_back(c);
    } else {
      most_alone = std::max(most_alone, n_entries);
    }
  }
  const u32 most_codes = most_alone == 0 || most_alone > kFewCodes ? kMostCodes : kFewCodes;
  std::stable_sort(waiting.begin(), waiting.end(), [&](u32 a, u32 b) {
    return encodings_[a].n_entries() < encodings_[b].n_entries();
  });
  u32 n_present = 0;
  for (std::size_t i = 0; i < n_rows_; ++i) n_present += weights[i] > 0;
  std::vector<Joint> joints;
  while (waiting.size() > 1) {
    Joint joint;
    joint.codes.assign((n_rows_ + 7) / 8 * 8, 0);  // eight are read at once
    joint.n_rows = {n_present};
    joint.code_bins.resize(1);
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
    most_joined = std::max(most_joined, joint.code_bins.size());
  }
  for (u32 c = 0; c < data.n_cols; ++c) {
    const std::size_t n_entries = encodings_[c].n_entries();
    if (n_entries < 2 || (*data.bins)[c].wide) continue;
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

bool Records::join_column(Joint& joint, u32 column, const u8* bins, const RowWeights& weights,
                          u32 most_codes) const {
  const ColumnEncoding& encoding = encodings_[column];
  const u32 n_entries = encoding.n_entries(), n_old = static_cast<u32>(joint.code_bins.size());
  // Rows of the most frequent bin keep their codes, and are not looked at.
  const u8 common = find_common(bins, n_rows_);
  const u8 rest = read_bin(common, encoding);
  std::array<u32, kMostCodes * kMostJointBins> counts{};
  const auto visit_others = [&](auto&& use) {
    for_each_other(bins, n_rows_, common, [&](std::size_t i) {
      if (weights[i] > 0) use(joint.codes[i], read_bin(bins[i], encoding));
    });
  };
  visit_others([&](u8 code, u8 bin) { ++counts[code * n_entries + bin]; });
  std::array<u32, kMostCodes * kMostJointBins> code_of{};
  std::vector<u32> n_rows = joint.n_rows;
  std::vector<std::vector<u8>> code_bins = joint.code_bins;
  for (u32 code = 0; code < n_old; ++code) {
    u32* const own = counts.data() + code * n_entries;
    own[rest] += joint.n_rows[code] - std::accumulate(own, own + n_entries, u32{0});
    // The first that occurs keeps the code: the rest, if it does.
    bool kept = false;
    for (u32 k = 0; k < n_entries; ++k) {
      const u32 bin = k == 0 ? rest : k <= rest ? k - 1 : k;
      if (own[bin] == 0) continue;
      const u32 to = std::exchange(kept, true) ? static_cast<u32>(code_bins.size()) : code;
      if (to == most_codes) return false;
      if (to != code) {
        code_bins.push_back(joint.code_bins[code]);
        n_rows.push_back(0);
      }
      code_bins[to].push_back(static_cast<u8>(bin));
      n_rows[to] = own[bin];
      code_of[code * n_entries + bin] = to;
    }
  }
  visit_others([&](u8& code, u8 bin) { code = static_cast<u8>(code_of[code * n_entries + bin]); });
  joint.n_rows = std::move(n_rows);
  joint.code_bins = std::move(code_bins);
  joint.columns.push_back(column);
  return true;
}

void Records::encode_joint(const Joint& joint, u32 bundle) {
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

// A word of 8 bytes where it costs nothing, or where 16 bits a half would not do: few rows leave
// room for more bits, and weights need them.
void Records::lay_out(const RowWeights& weights, bool precise) {
  const std::size_t n_blocks =
      std::max<std::size_t>(1, (n_bundles_ + kMostBundles - 1) / kMostBundles);
  const std::size_t most = (n_bundles_ + n_blocks - 1) / n_blocks;
  const bool free = most <= 56 && round_stride(most + 8) == round_stride(most + 4);
  const bool few_rows = weights.total <= (u64{1} << 16);
  words_ = plan_words(weights, !precise && !free && !(few_rows && most <= 56));
  const std::size_t word_bytes = words_.narrow ? 4 : 8;
  const std::size_t per_block = std::min<std::size_t>(most, 64 - word_bytes);
  for (std::size_t first = 0; first < std::max<std::size_t>(1, n_bundles_); first += per_block) {
    BundleBlock block;
    block.first_bundle = static_cast<u32>(first);
    block.n_bundles = static_cast<u32>(std::min(per_block, n_bundles_ - first));
    block.stride = round_stride(block.n_bundles + word_bytes);
    block.tail = block.stride - word_bytes;
    block.bytes = AlignedBuffer<u8>(n_rows_ * block.stride + 64);
    blocks_.push_back(std::move(block));
    if (per_block == 0) break;
  }
}

void Records::copy_bytes(const BinnedMatrix& data, const std::vector<Joint>& joints,
                         int n_threads) {
  std::vector<const u8*> sources(n_bundles_);
  std::vector<const ColumnEncoding*> remapped(n_bundles_, nullptr);
  for (u32 c = 0; c < encodings_.size(); ++c) {
    if (encodings_[c].bundle == ColumnEncoding::kNoBundle || encodings_[c].joint) continue;
    sources[encodings_[c].bundle] = data.column(c);
    if (encodings_[c].n_bins != kMissingBin) remapped[encodings_[c].bundle] = &encodings_[c];
  }
  for (std::size_t j = 0; j < joints.size(); ++j)
    sources[n_bundles_ - joints.size() + j] = joints[j].codes.data();
  parallel_for((n_rows_ + kCopyRows - 1) / kCopyRows, n_threads, [&](std::size_t task) {
    const std::size_t last = std::min(n_rows_, (task + 1) * kCopyRows);
    for (BundleBlock& block : blocks_) {
      for (std::size_t begin = task * kCopyRows; begin < last; begin += 64) {
        const std::size_t end = std::min(last, begin + 64);
        for (std::size_t row = begin; row < end; row += 8)
          copy_eight_rows(block, sources.data() + block.first_bundle,
                          remapped.data() + block.first_bundle, row,
                          std::min<std::size_t>(8, end - row));
      }
    }
  });
}

template <class Word>
void Records::write_words(std::size_t begin, std::size_t end, const Word* words) {
  for (BundleBlock& block : blocks_) {
    u8* at = block.bytes.data() + begin * block.stride + block.tail;
    for (std::size_t i = 0; i < end - begin; ++i, at += block.stride)
      std::memcpy(at, words + i, sizeof(Word));
  }
}
template void Records::write_words(std::size_t, std::size_t, const u32*);
template void Records::write_words(std::size_t, std::size_t, const i64*);

void Records::change_words(std::span<const RowItem> rows, i64 change,
                           std::span<const u32> weights) {
  for (BundleBlock& block : blocks_) {
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
  for (const BundleBlock& block : blocks_) bytes += block.bytes.size();
  return bytes;
}

const i64* Records::column_histogram(u32 column, const i64* histogram, std::span<const i64> total,
                                     std::vector<i64>& room) const {
  const ColumnEncoding& encoding = encodings_[column];
  const std::size_t width = total.size();
  const i64* shared = histogram + encoding.bundle * entries_per_bundle_ * width;
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

const i64* Records::column_histogram(u32 column, const i64* histogram, i64 total, i64* room) const {
  const ColumnEncoding& encoding = encodings_[column];
  const i64* shared = histogram + encoding.bundle * entries_per_bundle_;
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
