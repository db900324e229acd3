#include "predict/split_sequence.hpp"

#include <algorithm>
#include <bit>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace committee {

namespace {

// 16 signed bytes; signed because SSE2 has no unsigned comparison.
using Bytes COMMITTEE_VECTOR(16) = signed char;
static_assert(sizeof(Bytes) == 16);
constexpr int kVectors = static_cast<int>(SplitSequence::kRows / sizeof(Bytes));

Bytes load_bytes(const void* at) {
  Bytes v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

Bytes repeat_byte(u8 byte) {
  return Bytes{} + static_cast<signed char>(byte);
}

// Which of 16 rows' codes are not in a set: all bits of their bytes.
Bytes find_outside(const u8* set, const std::int8_t* places, const std::int8_t* bits) {
#if defined(__aarch64__)
  const uint8x16x2_t table = {{vld1q_u8(set), vld1q_u8(set + 16)}};
  const uint8x16_t found = vqtbl2q_u8(table, vreinterpretq_u8_s8(vld1q_s8(places)));
  return (Bytes)vmvnq_u8(vtstq_u8(found, vreinterpretq_u8_s8(vld1q_s8(bits))));
#else
  std::int8_t found[16];
  for (int i = 0; i < 16; ++i) found[i] = static_cast<std::int8_t>(set[places[i]]);
  return (load_bytes(found) & load_bytes(bits)) == Bytes{};
#endif
}

template <class X>
u32 find_category(X x) {
  if (x != x) return SplitSequence::kMissingCode;
  return x >= X{0} && x < X{SplitSequence::kOtherCode} ? static_cast<u32>(x)
                                                       : SplitSequence::kOtherCode;
}

// The codes of an arena's set, and whether there is room for them.
bool has_room(std::span<const u32> words) {
  constexpr std::size_t kWords = sizeof(SplitSequence::CodeSet) / sizeof(u32);
  for (std::size_t w = 0; w < words.size(); ++w) {
    const u32 beyond = w < kWords - 1 ? 0 : w == kWords - 1 ? 3u << 30 : ~u32{0};
    if (words[w] & beyond) return false;
  }
  return true;
}

}  // namespace

template <class T>
void SplitSequence::build(const Trees& trees) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes);
  std::vector<SplitKey> split_keys;
  for (std::size_t i = 0; i < trees.node_offsets[trees.n_trees]; ++i) {
    if (!nodes[i].is_leaf() && !nodes[i].is_categorical())
      split_keys.emplace_back(nodes[i].feature(), static_cast<double>(nodes[i].threshold));
  }
  std::sort(split_keys.begin(), split_keys.end());
  split_keys.erase(std::unique(split_keys.begin(), split_keys.end()), split_keys.end());
  make_runs(split_keys);
  for (std::size_t t = 0; t < trees.n_trees; ++t) append_tree<T>(trees, t, split_keys);
  places_ = {};
}

void SplitSequence::make_runs(std::span<const SplitKey> split_keys) {
  places_.reserve(split_keys.size());
  for (std::size_t i = 0; i < split_keys.size();) {
    std::size_t end = i;
    while (end < split_keys.size() && end - i < kThresholds &&
           split_keys[end].first == split_keys[i].first)
      ++end;
    ColumnBins bins;
    for (std::size_t q = i; q < end; ++q) {
      bins.thresholds.push_back(split_keys[q].second);
      places_.push_back({static_cast<u32>(runs_.size()), static_cast<u32>(q - i)});
    }
    runs_.push_back({split_keys[i].first, BinTable<float>(bins), BinTable<double>(bins)});
    i = end;
  }
}

std::size_t SplitSequence::find_categories(u32 feature) {
  for (const Categories& known : categories_) {
    if (known.feature == feature) return known.column;
  }
  categories_.push_back({feature, n_columns_});
  n_columns_ += 2;
  return categories_.back().column;
}

template <class T>
SplitSequence::Split SplitSequence::make_split(const Trees& trees, const Node<T>& node,
                                               std::span<const SplitKey> split_keys) {
  if (node.is_categorical()) {
    const std::span<const u32> words = trees.category_set(node.category_set());
    CodeSet set{};
    std::memcpy(set.data(), words.data(), std::min(sizeof set, words.size_bytes()));
    if (node.missing_left()) set[kMissingCode / 8] |= 1u << kMissingCode % 8;
    sets_.push_back(set);
    return {static_cast<u16>(find_categories(node.feature())), 0, 0, 0, true};
  }
  const SplitKey split_key(node.feature(), static_cast<double>(node.threshold));
  const auto found =
      std::lower_bound(split_keys.begin(), split_keys.end(), split_key) - split_keys.begin();
  const Place place = places_[static_cast<std::size_t>(found)];
  Run& run = runs_[place.run];
  i32& column = node.missing_left() ? run.column_left : run.column_right;
  if (column < 0) column = static_cast<i32>(n_columns_++);
  const int lowest = node.missing_left() ? -127 : -128;
  return {static_cast<u16>(column), static_cast<std::int8_t>(lowest + static_cast<int>(place.code)),
          0, 0, false};
}

template <class T>
void SplitSequence::append_tree(const Trees& trees, std::size_t tree,
                                std::span<const SplitKey> split_keys) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  const std::size_t n_nodes = trees.n_nodes(tree);
  std::vector<u8> id(n_nodes, 0), leaves(trees.n_leaves(tree));
  u32 next = 1;
  for (std::size_t k = 0; k < n_nodes; ++k) {
    const Node<T>& node = nodes[k];
    if (node.is_leaf()) {
      leaves[id[k]] = static_cast<u8>(node.left);
      continue;
    }
    Split split = make_split(trees, node, split_keys);
    split.from = id[k];
    split.to = static_cast<u8>(next);
    splits_.push_back(split);
    id[node.left] = id[k];
    id[node.left + 1] = static_cast<u8>(next++);
  }
  split_offsets_.push_back(splits_.size());
  set_offsets_.push_back(sets_.size());
  leaf_of_id_.insert(leaf_of_id_.end(), leaves.begin(), leaves.end());
  leaf_offsets_.push_back(leaf_of_id_.size());
}

std::unique_ptr<const SplitSequence> SplitSequence::make(const Trees& trees) {
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    if (trees.n_leaves(t) > kMostLeaves) return nullptr;
  }
  for (std::size_t s = 0; s + 1 < trees.category_offsets.size(); ++s) {
    if (!has_room(trees.category_set(static_cast<u32>(s)))) return nullptr;
  }
  std::unique_ptr<SplitSequence> made(new SplitSequence);
  trees.double_thresholds ? made->build<double>(trees) : made->build<float>(trees);
  if (made->n_columns_ > std::numeric_limits<u16>::max()) return nullptr;
  return made;
}

template <class X>
void SplitSequence::encode_as(const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                              BinTable<X> Run::* table, std::int8_t* codes,
                              std::size_t stride) const {
  X values[kRows] = {};
  u8 group[kRows];
  for (std::size_t i = 0; i < n_rows; i += kRows) {
    const X* const row =
        static_cast<const X*>(x.data) + static_cast<std::ptrdiff_t>(first_row + i) * x.row_stride;
    const std::size_t n = std::min(kRows, n_rows - i);
    if (n < kRows) std::fill(values, values + kRows, X{0});
    for (const Run& run : runs_) {
      const X* const at = row + static_cast<std::ptrdiff_t>(run.feature) * x.col_stride;
      for (std::size_t r = 0; r < n; ++r)
        values[r] = at[static_cast<std::ptrdiff_t>(r) * x.row_stride];
      (run.*table).find_bins(values, kRows, group);
      // From unsigned bytes to signed ones: the missing, 255, becomes 127.
      for (u8& code : group) code ^= 0x80;
      if (run.column_right >= 0) {
        std::memcpy(codes + static_cast<std::size_t>(run.column_right) * stride + i, group, kRows);
      }
      if (run.column_left >= 0) {
        // One up, around the corner for the missing: 127 becomes -128.
        std::int8_t* const to = codes + static_cast<std::size_t>(run.column_left) * stride + i;
        for (std::size_t r = 0; r < kRows; ++r) to[r] = static_cast<std::int8_t>(group[r] + 1);
      }
    }
    for (const Categories& categories : categories_) {
      const X* const at = row + static_cast<std::ptrdiff_t>(categories.feature) * x.col_stride;
      std::int8_t* const places = codes + categories.column * stride + i;
      for (std::size_t r = 0; r < kRows; ++r) {
        const u32 code =
            find_category(r < n ? at[static_cast<std::ptrdiff_t>(r) * x.row_stride] : X{0});
        places[r] = static_cast<std::int8_t>(code / 8);
        places[r + stride] = static_cast<std::int8_t>(1u << code % 8);
      }
    }
  }
}

void SplitSequence::encode(const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                           std::int8_t* codes, std::size_t stride) const {
  if (x.is_double) return encode_as(x, first_row, n_rows, &Run::doubles, codes, stride);
  encode_as(x, first_row, n_rows, &Run::floats, codes, stride);
}

template <bool kCategories>
void SplitSequence::replay_plain(const Replay& replay, std::size_t n_groups) {
  const std::span<const Split> splits = replay.splits;
  const std::size_t stride = replay.stride;
  const std::int8_t* codes = replay.codes;
  u8* ids = replay.ids;
  for (std::size_t g = 0; g < n_groups; ++g, codes += kRows, ids += kRows) {
    Bytes at[kVectors] = {};
    const CodeSet* sets = replay.sets;
    for (const Split& split : splits) {
      const std::int8_t* const x = codes + split.column * stride;
      const Bytes from = repeat_byte(split.from), to = repeat_byte(split.to);
      if (kCategories && split.categorical) {
        const u8* const set = (sets++)->data();
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const Bytes moves = (at[v] == from) & find_outside(set, x + v * 16, x + stride + v * 16);
          at[v] = (at[v] & ~moves) | (to & moves);
        }
        continue;
      }
      const Bytes code = repeat_byte(static_cast<u8>(split.code));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Bytes moves = (at[v] == from) & (load_bytes(x + v * 16) > code);
        at[v] = (at[v] & ~moves) | (to & moves);
      }
    }
    std::memcpy(ids, at, kRows);
  }
}

#if defined(COMMITTEE_AVX512)
// The same with all rows of a group in one register, some groups at a time: the bytes of a split
// are spread once for all of them, and none waits for the comparisons of another.
template <int kGroups>
COMMITTEE_AVX512 void SplitSequence::replay_avx512(const Replay& replay) {
  __m512i at[kGroups];
  for (int g = 0; g < kGroups; ++g) at[g] = _mm512_setzero_si512();
  for (const Split& split : replay.splits) {
    const std::int8_t* const x = replay.codes + split.column * replay.stride;
    const __m512i from = _mm512_set1_epi8(static_cast<char>(split.from));
    const __m512i to = _mm512_set1_epi8(static_cast<char>(split.to));
    const __m512i code = _mm512_set1_epi8(split.code);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const __mmask64 here = _mm512_cmpeq_epi8_mask(at[g], from);
      const __mmask64 moves =
          _mm512_mask_cmpgt_epi8_mask(here, _mm512_loadu_si512(x + g * kRows), code);
      at[g] = _mm512_mask_mov_epi8(at[g], moves, to);
    }
  }
  for (int g = 0; g < kGroups; ++g) _mm512_storeu_si512(replay.ids + g * kRows, at[g]);
}

// Half a group in a register, and half of a set in each half of one.
template <int kGroups, bool kCategories>
COMMITTEE_AVX2 void SplitSequence::replay_avx2(const Replay& replay) {
  constexpr int kHalf = kRows / 2;
  __m256i at[2 * kGroups];
  const CodeSet* sets = replay.sets;
  for (int v = 0; v < 2 * kGroups; ++v) at[v] = _mm256_setzero_si256();
  for (const Split& split : replay.splits) {
    const std::int8_t* const x = replay.codes + split.column * replay.stride;
    const __m256i from = _mm256_set1_epi8(static_cast<char>(split.from));
    const __m256i to = _mm256_set1_epi8(static_cast<char>(split.to));
    if (kCategories && split.categorical) {
      const __m128i* const set = reinterpret_cast<const __m128i*>((sets++)->data());
      const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(set));
      const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128(set + 1));
#pragma GCC unroll 8
      for (int v = 0; v < 2 * kGroups; ++v) {
        const __m256i places = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + v * kHalf));
        const __m256i bits =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + replay.stride + v * kHalf));
        const __m256i found =
            _mm256_blendv_epi8(_mm256_shuffle_epi8(low, places), _mm256_shuffle_epi8(high, places),
                               _mm256_cmpgt_epi8(places, _mm256_set1_epi8(15)));
        const __m256i inside = _mm256_cmpeq_epi8(_mm256_and_si256(found, bits), bits);
        const __m256i moves = _mm256_andnot_si256(inside, _mm256_cmpeq_epi8(at[v], from));
        at[v] = _mm256_blendv_epi8(at[v], to, moves);
      }
      continue;
    }
    const __m256i code = _mm256_set1_epi8(split.code);
#pragma GCC unroll 8
    for (int v = 0; v < 2 * kGroups; ++v) {
      const __m256i above = _mm256_cmpgt_epi8(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + v * kHalf)), code);
      const __m256i moves = _mm256_and_si256(_mm256_cmpeq_epi8(at[v], from), above);
      at[v] = _mm256_blendv_epi8(at[v], to, moves);
    }
  }
  for (int v = 0; v < 2 * kGroups; ++v)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(replay.ids + v * kHalf), at[v]);
}
#endif

namespace {

// Groups with AVX2 or AVX-512 that are replayed at a time.
constexpr int kGroupsTogether = 4;

}  // namespace

std::size_t SplitSequence::count_groups_together() {
  return may_use(Instructions::avx2) ? kGroupsTogether : 1;
}

template <bool kCategories>
void SplitSequence::replay_groups(Replay replay, std::size_t n_groups) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx2)) {
    const auto go_on = [&](std::size_t n) {
      replay.codes += n * kRows;
      replay.ids += n * kRows;
      n_groups -= n;
    };
    const bool wide = !kCategories && may_use(Instructions::avx512);
    const auto several =
        wide ? replay_avx512<kGroupsTogether> : replay_avx2<kGroupsTogether, kCategories>;
    const auto one = wide ? replay_avx512<1> : replay_avx2<1, kCategories>;
    while (n_groups >= kGroupsTogether) {
      several(replay);
      go_on(kGroupsTogether);
    }
    while (n_groups > 0) {
      one(replay);
      go_on(1);
    }
    return;
  }
#endif
  replay_plain<kCategories>(replay, n_groups);
}

void SplitSequence::replay(std::size_t tree, const std::int8_t* codes, std::size_t stride,
                           std::size_t n_groups, u8* ids) const {
  const std::span<const Split> splits(splits_.data() + split_offsets_[tree],
                                      splits_.data() + split_offsets_[tree + 1]);
  const Replay replay{splits, sets_.data() + set_offsets_[tree], codes, stride, ids};
  sets_.empty() ? replay_groups<false>(replay, n_groups) : replay_groups<true>(replay, n_groups);
}

}  // namespace committee
