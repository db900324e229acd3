#include "predict/quantized_trees.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "committee/parallel.hpp"
#include "predict/interleaved_walk.hpp"

namespace committee {

namespace {

constexpr std::size_t kMostThresholds = 254;

template <class Word>
struct Fields {
  static constexpr int kBits = sizeof(Word) * 2;  // of the feature, and of the code
  static constexpr Word kMask = (Word{1} << kBits) - 1;
  static constexpr Word kNever = 255;  // above every code
  static Word make(Word feature, Word code, Word half) {
    return feature | code << kBits | half << (2 * kBits);
  }
};

// A tree of words, and where the numbers of its leaves lie.
template <class Word>
struct WordTree {
  const Word* words;
  const std::conditional_t<sizeof(Word) == 8, u32, u16>* leaves;
  std::size_t n_nodes, stride;
};

// kClasses: rows end in the class of a pure leaf, not in its number.
template <class Word, bool kClasses>
struct ByteStepper {
  using Tree = WordTree<Word>;
  using Rows = const u8*;
  using Row = const u8*;
  static constexpr u32 kRoot = 1;
  const Tree tree;
  const u8* rows;

  Row row(std::size_t r) const { return rows + r * tree.stride; }
  void fetch(Row) const {}
  u64 step(u64 at, Row row) const {
    using F = Fields<Word>;
    const Word word = tree.words[at];
    const Word code = row[word & F::kMask];
    return u64{word >> (2 * F::kBits)} * 2 + (code >= (word >> F::kBits & F::kMask));
  }
  u32 end(u32 at, Ending) const {
    if constexpr (kClasses) return static_cast<u32>(tree.words[at] & Fields<Word>::kMask);
    return tree.leaves[at];
  }
};

// The thresholds of one feature, at most kMostThresholds of them, found by their bits.
template <class T>
class ThresholdSet {
 public:
  static constexpr u32 kNoRoom = 255;

  // The number of a threshold, from 1 on in the order that they came in, or kNoRoom.
  u32 find_number(T threshold) {
    const Bits bits = std::bit_cast<Bits>(threshold);
    std::size_t at = static_cast<Bits>(bits * kFactor) >> (sizeof(Bits) * 8 - kSlotBits);
    while (keys_[at] != bits) {
      if (keys_[at] == kEmpty) return add(at, threshold);
      at = (at + 1) & ((1u << kSlotBits) - 1);
    }
    return numbers_[at];
  }
  const std::vector<T>& thresholds() const { return thresholds_; }  // in that order

 private:
  using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
  static constexpr int kSlotBits = 10;      // so many that most are found at once
  static constexpr Bits kEmpty = ~Bits{0};  // a NaN, which no threshold is
  static constexpr Bits kFactor =
      static_cast<Bits>(sizeof(T) == 8 ? 0x9E3779B97F4A7C15u : 0x9E3779B1u);

  u32 add(std::size_t at, T threshold) {
    if (thresholds_.size() == kMostThresholds) return kNoRoom;
    keys_[at] = std::bit_cast<Bits>(threshold);
    thresholds_.push_back(threshold);
    return numbers_[at] = static_cast<u8>(thresholds_.size());
  }

  std::vector<Bits> keys_ = std::vector<Bits>(1u << kSlotBits, kEmpty);
  std::vector<u8> numbers_ = std::vector<u8>(1u << kSlotBits, 0);
  std::vector<T> thresholds_;
};

// Of every feature, and one more of leaves, which ask for nothing.
template <class T>
using ThresholdSets = std::vector<ThresholdSet<T>>;

// The class of each leaf of a tree, where each holds one class only, of one output, and the classes
// can pass for features; else none.
template <class V>
std::vector<u16> find_leaf_classes(const V* values, std::size_t n_leaves, u32 width) {
  std::vector<u16> classes(n_leaves, 0);
  u32 mixed = 0;
  if (width == 2) {
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
      classes[leaf] = values[2 * leaf + 1] != V{0};
      mixed |= (values[2 * leaf] != V{0}) == (values[2 * leaf + 1] != V{0});
    }
  } else {
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
      u32 n_found = 0;
      for (u32 c = 0; c < width; ++c) {
        const bool there = values[leaf * width + c] != V{0};
        classes[leaf] = there ? static_cast<u16>(c) : classes[leaf];
        n_found += there;
      }
      mixed |= n_found != 1;
    }
  }
  if (mixed) classes.clear();
  return classes;
}

std::vector<u16> list_classes(const Trees& trees, std::size_t tree) {
  if (trees.outputs.size() != 1 || trees.width > trees.n_features) return {};
  const std::size_t n_leaves = trees.n_leaves(tree), first = trees.leaf_offsets[tree] * trees.width;
  const auto find = [&]<class V>(const V* values) {
    return find_leaf_classes(values + first, n_leaves, trees.width);
  };
  switch (trees.value_type) {
    case ValueType::count8:
      return find(static_cast<const u8*>(trees.values));
    case ValueType::count16:
      return find(static_cast<const u16*>(trees.values));
    case ValueType::count32:
      return find(static_cast<const u32*>(trees.values));
    default:
      return find(static_cast<const double*>(trees.values));
  }
}

// The words of a tree, with the number of a threshold where its code will be. False: there are too
// many. Which nodes are leaves is a coin toss: nothing here branches on it.
template <class T, class Word, class Leaf>
bool write_words(const Trees& trees, std::size_t tree, const std::vector<u16>& classes,
                 ThresholdSets<T>& sets, Word* words, Leaf* leaves) {
  using F = Fields<Word>;
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  const u16 none = 0;
  const u16* const shown = classes.empty() ? &none : classes.data();
  const u32 n_features = static_cast<u32>(trees.n_features);
  bool has_room = true;
  words[0] = leaves[0] = 0;
  for (std::size_t at = 1; at <= trees.n_nodes(tree); ++at) {
    const Node<T>& node = nodes[at - 1];
    const bool is_leaf = node.is_leaf();
    const u32 number =
        sets[is_leaf ? n_features : node.feature()].find_number(is_leaf ? T{0} : node.threshold);
    has_room &= number != ThresholdSet<T>::kNoRoom;
    const u32 leaf = is_leaf ? node.left : 0;
    const Word least = at % 2 == 0 ? F::kNever : 0, half = (Word{node.left} + 1) / 2;
    words[at] = F::make(is_leaf ? shown[classes.empty() ? 0 : leaf] : node.feature(),
                        is_leaf ? least : Word{number}, is_leaf ? static_cast<Word>(at / 2) : half);
    leaves[at] = static_cast<Leaf>(leaf);
  }
  return has_room;
}

// Codes in place of numbers: codes[feature * 256 + number].
template <class Word>
void rank_words(std::span<Word> words, const u8* codes) {
  using F = Fields<Word>;
  for (Word& word : words) {
    const Word code = codes[(word & F::kMask) * 256 + (word >> F::kBits & F::kMask)];
    word = (word & ~(F::kMask << F::kBits)) | code << F::kBits;
  }
}

// All thresholds of each feature, ascending; none at all if a feature has too many.
template <class T>
std::vector<std::vector<T>> merge_thresholds(const std::vector<ThresholdSets<T>>& parts,
                                             std::size_t n_features) {
  std::vector<std::vector<T>> merged(n_features);
  for (std::size_t f = 0; f < n_features; ++f) {
    std::vector<T>& all = merged[f];
    for (const ThresholdSets<T>& sets : parts)
      all.insert(all.end(), sets[f].thresholds().begin(), sets[f].thresholds().end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() > kMostThresholds) return {};
  }
  return merged;
}

// The least code that goes right, for each number of each feature's thresholds; what leaves ask for
// stays.
template <class T>
std::vector<u8> rank_thresholds(const ThresholdSets<T>& sets,
                                const std::vector<std::vector<T>>& merged) {
  std::vector<u8> codes(merged.size() * 256, 0);
  for (std::size_t f = 0; f < merged.size(); ++f) {
    const std::vector<T>& own = sets[f].thresholds();
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto at = std::lower_bound(merged[f].begin(), merged[f].end(), own[k]);
      codes[f * 256 + k + 1] = static_cast<u8>(at - merged[f].begin() + 1);
    }
    codes[f * 256 + 255] = 255;
  }
  return codes;
}

// A cache line holds whole rows, where it can.
std::size_t pad_row(std::size_t n_cols) {
  return n_cols <= 64 ? std::bit_ceil(n_cols) : (n_cols + 63) / 64 * 64;
}

}  // namespace

template <class T>
bool QuantizedTrees::build(const Trees& trees, int n_threads) {
  std::size_t most_nodes = 0;
  for (std::size_t t = 0; t < trees.n_trees; ++t)
    most_nodes = std::max(most_nodes, trees.n_nodes(t));
  // Children are named by half their position, leaves by their number; both fit half a word.
  const bool wide = trees.n_features > 256 || most_nodes >= 2 * 65535;
  const std::size_t n_words = first_word(trees.n_trees);
  if (wide) {
    wide_words_ = AlignedBuffer<u64>(n_words);
    wide_leaves_ = AlignedBuffer<u32>(n_words);
  } else {
    words_ = AlignedBuffer<u32>(n_words);
    leaves_ = AlignedBuffer<u16>(n_words);
  }
  const std::size_t n_parts = std::clamp<std::size_t>(trees.n_trees, 1, std::max(n_threads, 1));
  const auto for_trees = [&](auto&& use) {
    parallel_for(n_parts, n_threads, [&](std::size_t p) {
      for (std::size_t t = trees.n_trees * p / n_parts; t < trees.n_trees * (p + 1) / n_parts; ++t)
        use(p, t);
    });
  };
  std::vector<ThresholdSets<T>> parts(n_parts, ThresholdSets<T>(trees.n_features + 1));
  std::atomic<bool> fits = true;
  for_trees([&](std::size_t p, std::size_t t) {
    if (!fits.load(std::memory_order_relaxed)) return;
    const std::vector<u16> classes = list_classes(trees, t);
    pure_[t] = !classes.empty();
    const std::size_t first = first_word(t);
    const bool has_room = wide
                              ? write_words(trees, t, classes, parts[p], wide_words_.data() + first,
                                            wide_leaves_.data() + first)
                              : write_words(trees, t, classes, parts[p], words_.data() + first,
                                            leaves_.data() + first);
    if (!has_room) fits.store(false, std::memory_order_relaxed);
  });
  if (!fits) return false;
  const std::vector<std::vector<T>> thresholds = merge_thresholds(parts, trees.n_features);
  if (thresholds.empty()) return false;
  std::vector<std::vector<u8>> codes;
  for (const ThresholdSets<T>& sets : parts) codes.push_back(rank_thresholds(sets, thresholds));
  for_trees([&](std::size_t p, std::size_t t) {
    const std::size_t first = first_word(t), n = trees.n_nodes(t) + 1;
    if (wide) return rank_words<u64>({wide_words_.data() + first, n}, codes[p].data());
    rank_words<u32>({words_.data() + first, n}, codes[p].data());
  });
  for (std::size_t f = 0; f < thresholds.size(); ++f) {
    ColumnBins bins;
    bins.thresholds.assign(thresholds[f].begin(), thresholds[f].end());
    if (!bins.thresholds.empty()) asked_.push_back(static_cast<u32>(f));
    float_tables_.emplace_back(bins);
    double_tables_.emplace_back(bins);
  }
  return true;
}

std::unique_ptr<const QuantizedTrees> QuantizedTrees::make(const Trees& trees, int n_threads) {
  constexpr std::size_t kMostFeatures = 1u << 16;
  if (!trees.category_offsets.empty() || trees.n_trees == 0 || trees.n_features > kMostFeatures)
    return nullptr;
  std::unique_ptr<QuantizedTrees> made(new QuantizedTrees);
  made->stride_ = pad_row(trees.n_features);
  made->node_offsets_.assign(trees.node_offsets.begin(), trees.node_offsets.end());
  made->pure_.resize(trees.n_trees);
  const bool fits = trees.double_thresholds ? made->build<double>(trees, n_threads)
                                            : made->build<float>(trees, n_threads);
  return fits ? std::move(made) : nullptr;
}

template <class X>
bool QuantizedTrees::encode_as(const std::vector<BinTable<X>>& tables, const MatrixView& x,
                               std::size_t first_row, std::size_t n_rows, u8* codes) const {
  constexpr std::size_t kTile = 256;
  X values[kTile];
  u8 bins[kTile];
  const X* const data = static_cast<const X*>(x.data);
  for (std::size_t r = 0; r < n_rows; r += kTile) {
    const std::size_t n = std::min(kTile, n_rows - r);
    const X* const row = data + static_cast<std::ptrdiff_t>(first_row + r) * x.row_stride;
    for (const u32 feature : asked_) {
      const X* const at = row + static_cast<std::ptrdiff_t>(feature) * x.col_stride;
      for (std::size_t i = 0; i < n; ++i)
        values[i] = at[static_cast<std::ptrdiff_t>(i) * x.row_stride];
      tables[feature].find_bins(values, n, bins);
      u8* to = codes + r * stride_ + feature;
      u32 missing = 0;
      for (std::size_t i = 0; i < n; ++i, to += stride_) {
        *to = bins[i];
        missing |= bins[i] == kMissingBin;
      }
      if (missing) return false;
    }
  }
  return true;
}

bool QuantizedTrees::encode(const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                            u8* codes) const {
  return x.is_double ? encode_as(double_tables_, x, first_row, n_rows, codes)
                     : encode_as(float_tables_, x, first_row, n_rows, codes);
}

template <bool kClasses>
void QuantizedTrees::end_rows(std::size_t tree, const u8* rows, std::span<u32> ends) const {
  const std::size_t at = first_word(tree), n_nodes = node_offsets_[tree + 1] - node_offsets_[tree];
  if (words_.empty())
    return walk_rows<ByteStepper<u64, kClasses>>(
        {wide_words_.data() + at, wide_leaves_.data() + at, n_nodes, stride_}, rows, Ending::leaf,
        ends);
  walk_rows<ByteStepper<u32, kClasses>>({words_.data() + at, leaves_.data() + at, n_nodes, stride_},
                                        rows, Ending::leaf, ends);
}

template void QuantizedTrees::end_rows<false>(std::size_t, const u8*, std::span<u32>) const;
template void QuantizedTrees::end_rows<true>(std::size_t, const u8*, std::span<u32>) const;

}  // namespace committee
