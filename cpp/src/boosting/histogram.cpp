// Adding rows to a histogram.
#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "boosting/row_records.hpp"

namespace committee {

namespace {

constexpr std::size_t kPrefetchAhead = 16;

template <bool kNarrow>
using RecordWord = std::conditional_t<kNarrow, u32, i64>;

template <bool kNarrow>
inline i64 load_word(const u8* at) {
  RecordWord<kNarrow> word;
  std::memcpy(&word, at, sizeof word);
  return widen(word);
}

// The bins of up to eight columns, which are read at once: memory is what a row waits for.
inline u64 load_bins(const u8* at) {
  static_assert(std::endian::native == std::endian::little, "bins are taken from a word");
  u64 bins;
  std::memcpy(&bins, at, sizeof bins);  // a record is a multiple of 16 bytes
  return bins;
}

template <std::size_t... kBundle>
COMMITTEE_INLINE inline void add_columns(u64 bins, i64* histogram, std::size_t step, i64 word,
                                         std::index_sequence<kBundle...>) {
  ((histogram[kBundle * step + (bins >> (8 * kBundle) & 0xFF)] += word), ...);
}

constexpr std::size_t kFullStep = RecordLayout::find_step(kHistogramBins);

// The columns of a row, of 256 entries each; each eight are loaded before the entries of the eight
// before.
template <std::size_t kBundles>
COMMITTEE_INLINE inline void add_bundles(const u8* record, u64 bins, i64 word, i64* histogram) {
  if constexpr (kBundles >= 8) {
    const u64 next = load_bins(record + 8);  // behind the last column is at least the word
    add_columns(bins, histogram, kFullStep, word, std::make_index_sequence<8>());
    add_bundles<kBundles - 8>(record + 8, next, word, histogram + 8 * kFullStep);
  } else {
    add_columns(bins, histogram, kFullStep, word, std::make_index_sequence<kBundles>());
  }
}

// Eight columns at a time and kRest at the end, without a branch among them; the distance of the
// columns' entries is known where they have 256. What a row begins with is loaded before the
// entries of the row before it, and each eight before the entries of the eight before: they would
// wait otherwise.
template <bool kNarrow, bool kListed, std::size_t kStep, std::size_t kRest>
void add_rows(const BundleBlock& block, const RowsToAdd& rows, std::size_t step_given,
              i64* histogram) {
  const std::size_t step = kStep > 0 ? kStep : step_given;
  const std::size_t tail = block.tail, n_eights = block.n_bundles / 8;
  const int shift = std::countr_zero(block.stride);  // a product would take longer
  const u8* const records = block.bytes.data() + (rows.begin << shift);
  const RowItem* const listed = rows.listed;
  struct Head {
    const u8* record;
    u64 bins;
    i64 word;
  };
  const auto find_record = [=](std::size_t i) COMMITTEE_INLINE_LAMBDA {
    return records + ((kListed ? std::size_t{listed[i].row} : i) << shift);
  };
  const auto load_head = [=](std::size_t i) COMMITTEE_INLINE_LAMBDA {
    const u8* const record = find_record(i);
    return Head{record, load_bins(record), load_word<kNarrow>(record + tail)};
  };
  const auto add_row = [=](const Head& head) COMMITTEE_INLINE_LAMBDA {
    const u8* record = head.record;
    u64 bins = head.bins;
    i64* at = histogram;
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
    prefetch(find_record(i + kPrefetchAhead));
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

// The same for so many columns of 256 entries, in one piece: a loop over the eights of a row keeps
// what it needs for rows on the stack, and takes a fifth longer. Stores bound it now, one a column
// and cycle. The last rows, which look at none beyond them, are left to the loop.
template <bool kNarrow, bool kListed, std::size_t kBundles>
void add_rows_unrolled(const BundleBlock& block, const RowsToAdd& rows, std::size_t step,
                       i64* histogram) {
  constexpr std::size_t kWord = sizeof(RecordWord<kNarrow>);
  constexpr std::size_t kStride = round_stride(kBundles + kWord), kTail = kStride - kWord;
  constexpr std::size_t kLeft = kListed ? kPrefetchAhead : 1;
  const std::size_t n = rows.n - std::min(rows.n, kLeft);
  const u8* const records = block.bytes.data() + rows.begin * kStride;
  const RowItem* const listed = rows.listed;
  const auto find_record = [=](std::size_t i) COMMITTEE_INLINE_LAMBDA {
    return records + (kListed ? std::size_t{listed[i].row} : i) * kStride;
  };
  if (n > 0) {
    const u8* record = find_record(0);
    u64 first = load_bins(record);
    i64 word = load_word<kNarrow>(record + kTail);
    for (std::size_t i = 0; i < n; ++i) {
      const u8* const own = record;
      const u64 own_first = first;
      const i64 own_word = word;
      if constexpr (kListed) prefetch(find_record(i + kPrefetchAhead));
      record = find_record(i + 1);
      first = load_bins(record);
      word = load_word<kNarrow>(record + kTail);
      add_bundles<kBundles>(own, own_first, own_word, histogram);
    }
  }
  const RowsToAdd last{kListed ? listed + n : nullptr, kListed ? rows.begin : rows.begin + n,
                       rows.n - n};
  add_rows<kNarrow, kListed, kFullStep, kBundles % 8>(block, last, step, histogram);
}

// Rows from `begin` on, whose words are written in passing. A word is written last: the bins beside
// it would wait for it.
template <class Word, std::size_t kBundles>
void write_rows_unrolled(BundleBlock& block, const RowsToAdd& rows, const Word* words,
                         i64* histogram) {
  constexpr std::size_t kStride = round_stride(kBundles + sizeof(Word));
  if (rows.n == 0) return;
  u8* record = block.bytes.data() + rows.begin * kStride;
  u64 first = load_bins(record);
  for (std::size_t i = 0; i < rows.n; ++i) {
    const u64 own_first = first;
    // No row beyond the last is looked at: it may be another thread's.
    u8* const next = record + (i + 1 < rows.n ? kStride : 0);
    first = load_bins(next);
    add_bundles<kBundles>(record, own_first, widen(words[i]), histogram);
    std::memcpy(record + kStride - sizeof(Word), words + i, sizeof(Word));
    record = next;
  }
}

using AddRows = void(const BundleBlock&, const RowsToAdd&, std::size_t step, i64* histogram);

// Records of so many bytes have few enough columns for their entries to fit into the first-level
// cache, about: those of more wait for the second, and a loop is as fast.
constexpr std::size_t kUnrolledStride = 32;

template <bool kNarrow, bool kListed, std::size_t kStep>
std::span<AddRows* const> list_loops() {
  return []<std::size_t... kRest>(std::index_sequence<kRest...>) {
    static constexpr AddRows* kKernels[] = {add_rows<kNarrow, kListed, kStep, kRest>...};
    return std::span<AddRows* const>(kKernels);
  }(std::make_index_sequence<8>());
}

template <bool kNarrow, bool kListed>
std::span<AddRows* const> list_unrolled() {
  return []<std::size_t... kBundles>(std::index_sequence<kBundles...>) {
    static constexpr AddRows* kKernels[] = {add_rows_unrolled<kNarrow, kListed, kBundles>...};
    return std::span<AddRows* const>(kKernels);
  }(std::make_index_sequence<kUnrolledStride - sizeof(RecordWord<kNarrow>) + 1>());
}

template <class Word>
auto list_writing() {
  return []<std::size_t... kBundles>(std::index_sequence<kBundles...>) {
    static constexpr decltype(&write_rows_unrolled<Word, 0>) kKernels[] = {
        write_rows_unrolled<Word, kBundles>...};
    return std::span(kKernels);
  }(std::make_index_sequence<kUnrolledStride - sizeof(Word) + 1>());
}

template <bool kNarrow, bool kListed>
AddRows* choose_kernel(std::size_t n_bundles, std::size_t step) {
  const auto unrolled = list_unrolled<kNarrow, kListed>();
  if (step != kFullStep) return list_loops<kNarrow, kListed, 0>()[n_bundles % 8];
  return n_bundles < unrolled.size() ? unrolled[n_bundles]
                                     : list_loops<kNarrow, kListed, kFullStep>()[n_bundles % 8];
}

AddRows* choose_kernel(bool narrow, bool listed, std::size_t n_bundles, std::size_t step) {
  if (listed)
    return narrow ? choose_kernel<true, true>(n_bundles, step)
                  : choose_kernel<false, true>(n_bundles, step);
  return narrow ? choose_kernel<true, false>(n_bundles, step)
                : choose_kernel<false, false>(n_bundles, step);
}

// Entries of several words fill more than the first-level cache: so many rows are added to some
// bundles whose entries fit into it, then to the next bundles.
constexpr std::size_t kVectorRows = 2048;
constexpr std::size_t kVectorWords = 6144;
// Entries of many words fill it with one bundle: those of more fit into the second level, and a
// row's words are loaded once for all of them.
constexpr std::size_t kWideWords = 24576;

struct BundleRange {
  std::size_t begin, end;
};

// Two words: what the compiler makes of single ones are single additions.
using WordPair COMMITTEE_VECTOR(16) = i64;
inline WordPair load_pair(const i64* at) {
  WordPair pair;
  std::memcpy(&pair, at, sizeof pair);
  return pair;
}
inline void add_pair(const i64* words, i64* entry) {
  const WordPair sum = load_pair(entry) + load_pair(words);
  std::memcpy(entry, &sum, sizeof sum);
}

// The words of a row, two by two.
template <std::size_t kWidth>
class RowWords {
 public:
  explicit RowWords(const i64* at) : last_(at[kWidth - 1]) {
    for (std::size_t k = 0; k < kWidth / 2; ++k) pairs_[k] = load_pair(at + 2 * k);
  }
  COMMITTEE_INLINE void add_to(i64* entry) const {
    for (std::size_t k = 0; k < kWidth / 2; ++k) {
      const WordPair sum = load_pair(entry + 2 * k) + pairs_[k];
      std::memcpy(entry + 2 * k, &sum, sizeof sum);
    }
    if constexpr (kWidth % 2 == 1) entry[kWidth - 1] += last_;
  }

 private:
  WordPair pairs_[kWidth / 2];
  i64 last_;
};
// kWidth words an entry.
template <std::size_t kWidth>
void add_vectors(const BundleBlock& block, const RowsToAdd& rows, const BundleRange& bundles,
                 std::size_t step, const Records::Words& given, i64* histogram) {
  const std::size_t width = kWidth, stride = block.stride;
  const u8* const records = block.bytes.data();
  const BundleRange range = bundles;
  const auto row_at = [&](std::size_t i) {
    return rows.listed ? rows.listed[i].row : rows.begin + i;
  };
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (rows.listed && i + kPrefetchAhead < rows.n) {
      const std::size_t ahead = row_at(i + kPrefetchAhead);
      prefetch(records + ahead * stride);
      prefetch(given.words + ahead * width);
    }
    const std::size_t row = row_at(i);
    const u8* const record = records + row * stride;
    const i64* const words = given.words + row * width;
    const RowWords<kWidth> own(words);
    i64* at = histogram + range.begin * step * width;
    for (std::size_t bundle = range.begin; bundle < range.end; ++bundle, at += step * width)
      own.add_to(at + record[bundle] * width);
  }
}

// Rows of many words with the same number of them before their zeros, and where they are added.
struct WideRun {
  const u32* rows;
  std::size_t n_rows, n_pairs;
};

// kPairs words two by two, or as many as given where that is zero, and the last word. Not inlined:
// the loop needs the registers.
template <std::size_t kPairs>
COMMITTEE_NOINLINE void add_wide_run(const WideRun& run, const BundleBlock& block,
                                     const BundleRange& bundles, std::size_t step,
                                     const Records::Words& given, i64* histogram) {
  const std::size_t width = given.width, stride = block.stride, n_rows = run.n_rows;
  const std::size_t n_words = 2 * (kPairs > 0 ? kPairs : run.n_pairs);
  const std::size_t first = bundles.begin, last = bundles.end, distance = step * width;
  const u8* const records = block.bytes.data();
  const u32* const rows = run.rows;
  const i64* const all = given.words;
  i64* const begin = histogram + first * distance;
  const bool rest = n_words < width;  // the last word is not in a pair
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (i + kPrefetchAhead < n_rows) prefetch(records + rows[i + kPrefetchAhead] * stride);
    const u8* const record = records + rows[i] * stride;
    const i64* const words = all + rows[i] * width;
    i64* at = begin;
    for (std::size_t bundle = first; bundle < last; ++bundle, at += distance) {
      i64* const entry = at + record[bundle] * width;
      for (std::size_t k = 0; k < n_words; k += 2) add_pair(words + k, entry + k);
      if (rest) entry[width - 1] += words[width - 1];
    }
  }
}

constexpr std::size_t kMostUnrolled = 12;

inline auto choose_wide_kernel(std::size_t n_pairs) {
  constexpr auto kKernels = []<std::size_t... kPairs>(std::index_sequence<kPairs...>) {
    return std::array{add_wide_run<kPairs>...};
  }(std::make_index_sequence<kMostUnrolled + 1>());
  return kKernels[n_pairs <= kMostUnrolled ? n_pairs : 0];
}

// Some rows of many words, those with about as many before their zeros together: so nothing is done
// for the zeros, and the processor foresees where the loop over the words ends.
class WideRows {
 public:
  WideRows(const RowsToAdd& rows, const Records::Words& words) : words_(words) {
    const auto row_at = [&](std::size_t i) {
      return rows.listed ? rows.listed[i].row : static_cast<u32>(rows.begin + i);
    };
    const auto count_pairs = [&](std::size_t i) -> std::size_t {
      return (words.used[row_at(i)] + 1) / 2;
    };
    for (std::size_t i = 0; i < rows.n; ++i) {
      WideRun& run = runs_[std::min(count_pairs(i), kRuns - 1)];
      run.n_pairs = std::max(run.n_pairs, count_pairs(i));
      ++run.n_rows;
    }
    u32* ends[kRuns];
    for (std::size_t r = 0, begin = 0; r < kRuns; begin += runs_[r++].n_rows)
      runs_[r].rows = ends[r] = rows_ + begin;
    for (std::size_t i = 0; i < rows.n; ++i)
      *ends[std::min(count_pairs(i), kRuns - 1)]++ = row_at(i);
  }
  void add_to(const BundleBlock& block, const BundleRange& bundles, std::size_t step,
              i64* histogram) const {
    for (const WideRun& run : runs_)
      if (run.n_rows > 0)
        choose_wide_kernel(run.n_pairs)(run, block, bundles, step, words_, histogram);
  }

 private:
  static constexpr std::size_t kRuns = 64;

  const Records::Words words_;
  WideRun runs_[kRuns] = {};
  u32 rows_[kVectorRows];
};

void add_vector_block(const BundleBlock& block, const RowsToAdd& rows, std::size_t step,
                      const Records::Words& words, i64* histogram) {
  constexpr decltype(&add_vectors<3>) kKernels[] = {add_vectors<3>, add_vectors<4>, add_vectors<5>,
                                                    add_vectors<6>, add_vectors<7>, add_vectors<8>};
  const bool narrow = words.width < 3 + std::size(kKernels);
  const std::size_t n_words = narrow ? kVectorWords : kWideWords;
  const std::size_t at_once = std::max<std::size_t>(1, n_words / (step * words.width));
  i64* const own = histogram + block.first_bundle * step * words.width;
  const auto visit_bundles = [&](auto&& add) {
    for (std::size_t bundle = 0; bundle < block.n_bundles; bundle += at_once)
      add(BundleRange{bundle, std::min<std::size_t>(bundle + at_once, block.n_bundles)});
  };
  for (std::size_t begin = 0; begin < rows.n; begin += kVectorRows) {
    const RowsToAdd some{rows.listed ? rows.listed + begin : nullptr, rows.begin + begin,
                         std::min(kVectorRows, rows.n - begin)};
    if (narrow) {
      const auto add = kKernels[words.width - 3];
      visit_bundles([&](const BundleRange& range) { add(block, some, range, step, words, own); });
    } else {
      const WideRows wide(some, words);
      visit_bundles([&](const BundleRange& range) { wide.add_to(block, range, step, own); });
    }
  }
}

// Rows whose lists of entries are fetched before they are needed.
constexpr std::size_t kListsAhead = 8;

// Adds rows to the entries that they list: add(row, slots).
template <class Add>
void add_slots(const EntrySlots& slots, const RowsToAdd& rows, Add&& add) {
  const auto row_at = [&](std::size_t i) {
    return rows.listed ? rows.listed[i].row : rows.begin + i;
  };
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (i + kListsAhead < rows.n) prefetch(slots.row(row_at(i + kListsAhead)).data());
    add(row_at(i), slots.row(row_at(i)));
  }
}

void add_slot_vectors(const EntrySlots& slots, const RowsToAdd& rows, const Records::Words& words,
                      i64* histogram) {
  add_slots(slots, rows, [&](std::size_t row, std::span<const u32> listed) {
    const i64* const own = words.words + row * words.width;
    for (const u32 slot : listed) {
      i64* const entry = histogram + std::size_t{slot} * words.width;
      for (u32 k = 0; k < words.used[row]; ++k) entry[k] += own[k];
      entry[words.width - 1] += own[words.width - 1];
    }
  });
}

}  // namespace

i64 Records::word(std::size_t row) const {
  const u8* at = blocks_[0].bytes.data() + row * blocks_[0].stride + blocks_[0].tail;
  return words_.narrow ? load_word<true>(at) : load_word<false>(at);
}

void Records::add_rows(const RowsToAdd& rows, const Words& of_rows, i64* histogram) const {
  const std::size_t step = chosen_->bundle_step();
  if (of_rows.width > 1) {
    for (const BundleBlock& block : blocks_)
      add_vector_block(block, rows, step, of_rows, histogram);
    if (slots_)
      add_slot_vectors(*slots_, rows, of_rows,
                       histogram + chosen_->n_byte_entries() * of_rows.width);
    return;
  }
  for (const BundleBlock& block : blocks_)
    choose_kernel(words_.narrow, rows.listed != nullptr, block.n_bundles, step)(
        block, rows, step, histogram + block.first_bundle * step);
  if (!slots_) return;
  i64* const own = histogram + chosen_->n_byte_entries();
  add_slots(*slots_, rows, [&](std::size_t row, std::span<const u32> listed) {
    const i64 added = word(row);
    for (const u32 slot : listed) own[slot] += added;
  });
}

template <class Word>
void Records::write_and_add(std::size_t begin, std::size_t end, const Word* words, i64* histogram) {
  const auto kernels = list_writing<Word>();
  BundleBlock& block = blocks_[0];
  if (blocks_.size() == 1 && !slots_ && layout_->bundle_step() == kFullStep &&
      block.n_bundles < kernels.size())
    return kernels[block.n_bundles](block, {nullptr, begin, end - begin}, words, histogram);
  write_words(begin, end, words);
  add_rows({nullptr, begin, end - begin}, {}, histogram);
}
template void Records::write_and_add(std::size_t, std::size_t, const u32*, i64*);
template void Records::write_and_add(std::size_t, std::size_t, const i64*, i64*);

}  // namespace committee
