#include "boosting/row_records.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "binning/bin_lookup.hpp"
#include "boosting/entry_joiner.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr std::size_t kCopyEights = 128;  // of rows, of a task
// Of a sample with a row for so many, nearly all eights have some.
constexpr std::size_t kLeastDense = 4;
constexpr std::size_t kJoinedRows = std::size_t{1} << 14;  // of a task
// Rows which show of most columns that do not fit a joint that they do not.
constexpr std::size_t kFirstRows = 4096;

// The bin that most of the first rows have, and how many of 256 have it.
struct CommonBin {
  u8 bin;
  u32 n_rows;
};
CommonBin find_common(const u8* bins, std::size_t n) {
  u32 counts[kHistogramBins] = {};
  for (std::size_t i = 0; i < std::min<std::size_t>(n, 256); ++i) ++counts[bins[i]];
  const u32* most = std::max_element(std::begin(counts), std::end(counts));
  return {static_cast<u8>(most - std::begin(counts)), *most};
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

// Joins columns by the rows of a table, whose codes it keeps.
class RowJoiner {
 public:
  RowJoiner(const BinnedMatrix& data, const RowWeights& weights, int n_threads)
      : data_(data),
        weights_(weights),
        n_threads_(n_threads),
        encodings_(describe_columns(*data.bins)) {
    const std::vector<u32>& values = weights.values;
    n_present_ = static_cast<u32>(
        data.n_rows - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0u)));
  }
  bool try_join(JointColumns& joint, u32 column, u32 most_codes);
  std::vector<std::vector<u8>> codes;  // of each joint, per row

 private:
  class Column;
  // Rows of each code and entry, but not of the rest where these are passed over; false if the
  // first rows alone show more pairs than there may be codes.
  bool count_pairs(const Column& column, u32 n_entries, u32 most_codes,
                   std::vector<u32>& counts) const;
  template <class Use>
  void for_blocks(Use&& use) const {
    parallel_for((data_.n_rows + kJoinedRows - 1) / kJoinedRows, n_threads_, [&](std::size_t k) {
      use(k * kJoinedRows, std::min((k + 1) * kJoinedRows, data_.n_rows));
    });
  }
  static constexpr u32 kMostEntries = 256 * 32;  // codes, and bins of a column
  const BinnedMatrix& data_;
  const RowWeights& weights_;
  const int n_threads_;
  const std::vector<ColumnEncoding> encodings_;
  std::vector<u32> n_rows_;  // of each code of the joint at hand, that weigh something
  u32 n_present_ = 0;
};

// A column that may be joined, and which of its rows are looked at.
class RowJoiner::Column {
 public:
  Column(const u8* bins, std::size_t n_rows, const ColumnEncoding& encoding,
         const RowWeights& weights)
      : bins_(bins), weights_(weights), common_(find_common(bins, n_rows)) {
    for (std::size_t bin = 0; bin < entries_.size(); ++bin)
      entries_[bin] = read_bin(static_cast<u8>(bin), encoding);
  }
  u8 rest() const { return entries_[common_.bin]; }  // entry of rows that may be passed over
  // use(row, entry) of rows begin .. end - 1 that weigh something.
  template <class Use>
  void visit_all(std::size_t begin, std::size_t end, Use&& use) const {
    for (std::size_t i = begin; i < end; ++i)
      if (weights_[i] > 0) use(i, entries_[bins_[i]]);
  }
  // The same without rows of the rest, if these are many: eight at a time are passed over.
  template <class Use>
  void visit_others(std::size_t begin, std::size_t end, Use&& use) const {
    if (common_.n_rows < kManyCommon) return visit_all(begin, end, use);
    for_each_other(bins_ + begin, end - begin, common_.bin, [&](std::size_t i) {
      if (weights_[begin + i] > 0) use(begin + i, entries_[bins_[begin + i]]);
    });
  }

 private:
  static constexpr u32 kManyCommon = 192;  // of 256 rows
  const u8* const bins_;
  const RowWeights& weights_;
  const CommonBin common_;
  std::array<u8, 256> entries_;
};

bool RowJoiner::count_pairs(const Column& column, u32 n_entries, u32 most_codes,
                            std::vector<u32>& counts) const {
  const u8* const row_codes = codes.back().data();
  const auto count = [&](std::vector<u32>& own) {
    return [&](std::size_t i, u8 entry) { ++own[row_codes[i] * n_entries + entry]; };
  };
  std::vector<u32> first(counts.size(), 0);
  column.visit_all(0, std::min(kFirstRows, data_.n_rows), count(first));
  const auto n_without = static_cast<std::size_t>(std::count(first.begin(), first.end(), 0u));
  if (first.size() - n_without > most_codes) return false;
  std::mutex mutex;
  for_blocks([&](std::size_t begin, std::size_t end) {
    std::vector<u32> own(counts.size(), 0);
    column.visit_others(begin, end, count(own));
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < own.size(); ++i) counts[i] += own[i];
  });
  return true;
}

bool RowJoiner::try_join(JointColumns& joint, u32 column, u32 most_codes) {
  if (joint.columns.empty()) {
    codes.emplace_back((data_.n_rows + 7) / 8 * 8, u8{0});  // eight are read at once
    n_rows_ = {n_present_};
    joint.code_bins.resize(1);
  }
  std::vector<u8>& row_codes = codes.back();
  const Column entries(data_.column(column), data_.n_rows, encodings_[column], weights_);
  const u32 n_entries = encodings_[column].n_entries();
  const u32 n_old = static_cast<u32>(joint.code_bins.size());
  const u8 rest = entries.rest();
  std::vector<u32> counts(std::size_t{n_old} * n_entries, 0);
  if (!count_pairs(entries, n_entries, most_codes, counts)) return false;
  std::array<u32, kMostEntries> code_of{};
  std::vector<u32> n_rows = n_rows_;
  std::vector<std::vector<u8>> code_bins = joint.code_bins;
  for (u32 code = 0; code < n_old; ++code) {
    u32* const own = counts.data() + code * n_entries;
    own[rest] += n_rows_[code] - std::accumulate(own, own + n_entries, u32{0});
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
  for_blocks([&](std::size_t begin, std::size_t end) {
    entries.visit_others(begin, end, [&](std::size_t i, u8 entry) {
      row_codes[i] = static_cast<u8>(code_of[row_codes[i] * n_entries + entry]);
    });
  });
  n_rows_ = std::move(n_rows);
  joint.code_bins = std::move(code_bins);
  joint.columns.push_back(column);
  return true;
}

}  // namespace

// Where the bytes of the bundles come from.
struct Records::Sources {
  std::vector<const u8*> bytes;
  std::vector<const ColumnEncoding*> remapped;  // null: bins are entries
  std::vector<std::vector<u8>> joint_codes;
};

Records::Records(const BinnedMatrix& data, const RowWeights& weights, const Options& options,
                 int n_threads)
    : data_(&data), n_rows_(data.n_rows) {
  std::vector<JointColumns> joints;
  std::vector<std::vector<u8>> joint_codes;
  if (data.entries) {
    slots_ = std::make_shared<const EntrySlots>(data);
    EntryJoiner joiner(data, weights);
    if (options.join)
      joints = join_columns(*data.bins, weights, [&](JointColumns& joint, u32 column, u32 most) {
        return joiner.try_join(joint, column, most);
      });
    layout_ = std::make_shared<const RecordLayout>(data, slots_, joints, weights, options.precise);
  } else {
    RowJoiner joiner(data, weights, n_threads);
    if (options.join)
      joints = join_columns(*data.bins, weights, [&](JointColumns& joint, u32 column, u32 most) {
        return joiner.try_join(joint, column, most);
      });
    joint_codes = std::move(joiner.codes);
    joint_codes.resize(joints.size());
    layout_ = std::make_shared<const RecordLayout>(*data.bins, std::move(joints), weights,
                                                   options.precise);
  }
  words_ = layout_->words();
  find_sources(std::move(joint_codes));
  chosen_ = options.draws ? layout_->select({}, 1.0) : nullptr;
  if (!chosen_) chosen_ = layout_;
  lay_out();
  copy_bytes({}, n_threads);
  if (!options.draws) sources_ = nullptr;
}

Records::Records(const BinnedMatrix& data, std::shared_ptr<const RecordLayout> layout,
                 int n_threads)
    : data_(&data), n_rows_(data.n_rows), layout_(std::move(layout)), chosen_(layout_) {
  words_ = layout_->words();
  find_sources(find_joint_codes(data, *layout_));
  lay_out();
  copy_bytes({}, n_threads);
  sources_ = nullptr;
}

Records::Records(const Records& other)
    : data_(other.data_),
      n_rows_(other.n_rows_),
      layout_(other.layout_),
      chosen_(other.chosen_),
      sources_(other.sources_),
      slots_(other.slots_),
      words_(other.words_) {
  for (const BundleBlock& block : other.blocks_) {
    AlignedBuffer<u8> bytes(block.bytes.size());
    std::copy_n(block.bytes.data(), block.bytes.size(), bytes.data());
    blocks_.push_back(
        {block.stride, block.tail, block.first_bundle, block.n_bundles, std::move(bytes)});
  }
}

std::vector<std::vector<u8>> find_joint_codes(const BinnedMatrix& data,
                                              const RecordLayout& layout) {
  std::vector<std::vector<u8>> codes;
  for (const JointColumns& joint : layout.joints()) {
    std::map<std::string, u8> code_of;
    for (std::size_t code = 0; code < joint.code_bins.size(); ++code)
      code_of.emplace(std::string(joint.code_bins[code].begin(), joint.code_bins[code].end()),
                      static_cast<u8>(code));
    std::vector<u8>& own = codes.emplace_back((data.n_rows + 7) / 8 * 8, u8{0});
    std::string bins(joint.columns.size(), '\0');
    for (std::size_t row = 0; row < data.n_rows; ++row) {
      for (std::size_t j = 0; j < bins.size(); ++j)
        bins[j] = static_cast<char>(
            read_bin(data.column(joint.columns[j])[row], layout.encoding(joint.columns[j])));
      // Combinations of rows that weigh nothing need not have a code.
      const auto found = code_of.find(bins);
      if (found != code_of.end()) own[row] = found->second;
    }
  }
  return codes;
}

std::set<std::string> list_combinations(const BinnedMatrix& data, const RowWeights& weights,
                                        std::span<const u32> columns, std::size_t most) {
  const std::vector<ColumnEncoding> encodings = describe_columns(*data.bins);
  std::set<std::string> found;
  std::string bins(columns.size(), '\0');
  for (std::size_t row = 0; row < data.n_rows && found.size() <= most; ++row) {
    if (weights[row] == 0) continue;
    for (std::size_t j = 0; j < bins.size(); ++j)
      bins[j] = static_cast<char>(read_bin(data.column(columns[j])[row], encodings[columns[j]]));
    found.insert(bins);
  }
  return found;
}

void Records::choose_columns(const ColumnChoice& choice, std::span<const u32> sample,
                             int n_threads) {
  std::shared_ptr<const RecordLayout> some = layout_->select(choice.columns, choice.most_share);
  if (!some && chosen_ == layout_) return;
  if (!sources_) find_sources(find_joint_codes(*data_, *layout_));
  std::vector<i64> words(choice.keeps_words ? n_rows_ : 0);
  for (std::size_t row = 0; row < words.size(); ++row) words[row] = word(row);
  chosen_ = some ? std::move(some) : layout_;
  lay_out();
  // Records of all columns serve later trees, too, and words that are kept those of all rows.
  const bool all = chosen_ == layout_ || choice.keeps_words;
  copy_bytes(all ? std::span<const u32>() : sample, n_threads);
  if (choice.keeps_words) write_words(0, n_rows_, words.data());
}

// Buffers stay where they are large enough.
void Records::lay_out() {
  const std::size_t n_bundles = chosen_->n_byte_bundles(), per_block = chosen_->bundles_per_block();
  std::size_t n_blocks = 0;
  for (std::size_t first = 0; first < std::max<std::size_t>(1, n_bundles); first += per_block) {
    if (blocks_.size() == n_blocks) blocks_.emplace_back();
    BundleBlock& block = blocks_[n_blocks++];
    block.first_bundle = static_cast<u32>(first);
    block.n_bundles = static_cast<u32>(std::min(per_block, n_bundles - first));
    block.stride = round_stride(block.n_bundles + words_.bytes());
    block.tail = block.stride - words_.bytes();
    const std::size_t n_bytes = n_rows_ * block.stride + 64;
    if (block.bytes.size() < n_bytes) {
      block.bytes = {};  // before there is another
      block.bytes = AlignedBuffer<u8>(n_bytes);
    }
    if (per_block == 0) break;
  }
  blocks_.resize(n_blocks);
}

void Records::find_sources(std::vector<std::vector<u8>> joint_codes) {
  const std::size_t n_bundles = layout_->n_byte_bundles();
  Sources sources;
  sources.bytes.resize(n_bundles);
  sources.remapped.assign(n_bundles, nullptr);
  for (u32 c = 0; c < layout_->n_columns(); ++c) {
    const ColumnEncoding& encoding = layout_->encoding(c);
    if (encoding.bundle >= n_bundles || encoding.joint) continue;
    sources.bytes[encoding.bundle] = data_->column(c);
    if (encoding.n_bins != kMissingBin) sources.remapped[encoding.bundle] = &encoding;
  }
  sources.joint_codes = std::move(joint_codes);
  const std::size_t first = n_bundles - sources.joint_codes.size();
  for (std::size_t j = 0; j < sources.joint_codes.size(); ++j)
    sources.bytes[first + j] = sources.joint_codes[j].data();
  sources_ = std::make_shared<const Sources>(std::move(sources));
}

void Records::copy_bytes(std::span<const u32> sample, int n_threads) {
  const std::size_t n_bundles = chosen_->n_byte_bundles();
  std::vector<const u8*> sources(n_bundles);
  std::vector<const ColumnEncoding*> remapped(n_bundles);
  for (std::size_t bundle = 0; bundle < n_bundles; ++bundle) {
    sources[bundle] = sources_->bytes[chosen_->origin(bundle)];
    remapped[bundle] = sources_->remapped[chosen_->origin(bundle)];
  }
  std::vector<u32> eights;  // of rows; empty: all
  const bool few = sample.size() * kLeastDense < n_rows_;
  for (std::size_t i = 0; few && i < sample.size(); ++i)
    if (eights.empty() || eights.back() != sample[i] / 8) eights.push_back(sample[i] / 8);
  const std::size_t n_eights = eights.empty() ? (n_rows_ + 7) / 8 : eights.size();
  parallel_for((n_eights + kCopyEights - 1) / kCopyEights, n_threads, [&](std::size_t task) {
    const std::size_t last = std::min(n_eights, (task + 1) * kCopyEights);
    for (BundleBlock& block : blocks_)
      for (std::size_t k = task * kCopyEights; k < last; ++k) {
        const std::size_t row = 8 * (eights.empty() ? k : eights[k]);
        copy_eight_rows(block, sources.data() + block.first_bundle,
                        remapped.data() + block.first_bundle, row,
                        std::min<std::size_t>(8, n_rows_ - row));
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

}  // namespace committee
