#include "predict/quantized_trees.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "committee/parallel.hpp"
#include "predict/interleaved_walk.hpp"
#include "predict/read_stream.hpp"

namespace committee {

namespace {

constexpr std::size_t kMostThresholds = 254;
// Lines of a large tree that a walk reads and few others do.
constexpr std::size_t kLinesPerWalk = 8;

// The fields of a word, and a step: where the code of the node's feature reaches the node's own,
// the sum carries into the position of the child. Nothing is compared.
template <class W, int kFeature>
struct Fields {
  using Word = W;
  static constexpr int kFeatureBits = kFeature;
  static constexpr int kChildShift = sizeof(Word) == 8 ? 32 : kFeatureBits + 8;
  static constexpr int kCodeShift = kChildShift - 8;
  static constexpr Word kFeatureMask = (Word{1} << kFeatureBits) - 1;
  static Word make(Word feature, Word code, Word child) {
    return feature | code << kCodeShift | child << kChildShift;
  }
  static u64 step(Word word, const u8* row) {
    return (word + (Word{row[word & kFeatureMask]} << kCodeShift)) >> kChildShift;
  }
};
using NarrowWord = Fields<u32, QuantizedTrees::kNarrowBits>;
using MiddleWord = Fields<u32, QuantizedTrees::kMiddleBits>;
using WideWord = Fields<u64, QuantizedTrees::kWideBits>;

// A tree of words, and where the numbers of its leaves lie.
template <class F>
struct WordTree {
  const typename F::Word* words;
  const std::conditional_t<sizeof(typename F::Word) == 8, u32, u16>* leaves;
  std::size_t n_nodes, stride;
};

// kClasses: rows end in the class of a pure leaf, not in its number.
template <class F, bool kClasses>
struct ByteStepper {
  using Tree = WordTree<F>;
  using Rows = const u8*;
  using Row = const u8*;
  static constexpr u32 kRoot = 0;
  const Tree tree;
  const u8* rows;

  Row row(std::size_t r) const { return rows + r * tree.stride; }
  void fetch(Row) const {}
  u64 step(u64 at, Row row) const { return F::step(tree.words[at], row); }
  u32 end(u32 at, Ending) const {
    if constexpr (kClasses) return static_cast<u32>(tree.words[at] & F::kFeatureMask);
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
template <class F, class T, class Leaf>
bool write_words(const Trees& trees, std::size_t tree, const std::vector<u16>& classes,
                 ThresholdSets<T>& sets, typename F::Word* words, Leaf* leaves) {
  using Word = typename F::Word;
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  const u16 none = 0;
  const u16* const shown = classes.empty() ? &none : classes.data();
  const u32 n_features = static_cast<u32>(trees.n_features);
  bool has_room = true;
  for (std::size_t at = 0; at < trees.n_nodes(tree); ++at) {
    const Node<T>& node = nodes[at];
    const bool is_leaf = node.is_leaf();
    const u32 number =
        sets[is_leaf ? n_features : node.feature()].find_number(is_leaf ? T{0} : node.threshold);
    has_room &= number != ThresholdSet<T>::kNoRoom;
    const u32 leaf = is_leaf ? node.left : 0;
    words[at] = F::make(is_leaf ? shown[classes.empty() ? 0 : leaf] : node.feature(),
                        is_leaf ? Word{0} : Word{number},
                        is_leaf ? static_cast<Word>(at) : Word{node.left});
    leaves[at] = static_cast<Leaf>(leaf);
  }
  return has_room;
}

// Codes in place of numbers: codes[feature * 256 + number].
template <class F>
void rank_words(std::span<typename F::Word> words, const u8* codes) {
  using Word = typename F::Word;
  for (Word& word : words) {
    const Word number = word >> F::kCodeShift & 0xFF;
    const Word code = codes[(word & F::kFeatureMask) * 256 + number];
    word ^= (number ^ code) << F::kCodeShift;
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

// What is missing from the least code that goes right to 256, for each number of each feature's
// thresholds; nothing for the number 0, that of leaves.
template <class T>
std::vector<u8> rank_thresholds(const ThresholdSets<T>& sets,
                                const std::vector<std::vector<T>>& merged) {
  std::vector<u8> codes(merged.size() * 256, 0);
  for (std::size_t f = 0; f < merged.size(); ++f) {
    const std::vector<T>& own = sets[f].thresholds();
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto at = std::lower_bound(merged[f].begin(), merged[f].end(), own[k]);
      codes[f * 256 + k + 1] = static_cast<u8>(255 - (at - merged[f].begin()));
    }
  }
  return codes;
}

constexpr std::size_t kEight = 8;  // columns that are written side by side

// A cache line holds whole rows, where it can.
std::size_t pad_row(std::size_t n_cols) {
  return n_cols <= 64 ? std::bit_ceil(std::max(n_cols, kEight)) : (n_cols + 63) / 64 * 64;
}

// Eight columns of bytes, the next `distance` further, to rows.
void write_eight(const u8* columns, std::size_t distance, std::size_t n_rows, u8* rows,
                 std::size_t stride) {
  static_assert(std::endian::native == std::endian::little, "a row's bytes are a word");
  for (std::size_t r = 0; r < n_rows; r += kEight) {
    u64 block[kEight];
    for (std::size_t c = 0; c < kEight; ++c)
      std::memcpy(&block[c], columns + c * distance + r, kEight);
    transpose_block(block);
    for (std::size_t i = 0; i < std::min(kEight, n_rows - r); ++i)
      std::memcpy(rows + (r + i) * stride, &block[i], kEight);
  }
}

}  // namespace

template <class Self, class Use>
auto QuantizedTrees::visit(Self& self, Use&& use) {
  if (self.layout_ == Layout::narrow)
    return use(NarrowWord{}, self.words_.data(), self.leaves_.data());
  if (self.layout_ == Layout::middle)
    return use(MiddleWord{}, self.words_.data(), self.leaves_.data());
  return use(WideWord{}, self.wide_words_.data(), self.wide_leaves_.data());
}

template <class T>
bool QuantizedTrees::build(const Trees& trees, int n_threads) {
  std::size_t most_nodes = 0;
  for (std::size_t t = 0; t < trees.n_trees; ++t)
    most_nodes = std::max(most_nodes, trees.n_nodes(t));
  const std::size_t n_words = trees.node_offsets[trees.n_trees];
  const auto fits_word = [&](int feature_bits) {
    return trees.n_features <= std::size_t{1} << feature_bits && most_nodes <= kMostNarrowNodes &&
           most_nodes <= std::size_t{1} << (24 - feature_bits);
  };
  layout_ = fits_word(kNarrowBits)   ? Layout::narrow
            : fits_word(kMiddleBits) ? Layout::middle
                                     : Layout::wide;
  if (layout_ == Layout::wide) {
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
    const bool has_room = visit(*this, [&]<class F>(F, auto* words, auto* leaves) {
      const std::size_t first = node_offsets_[t];
      return write_words<F>(trees, t, classes, parts[p], words + first, leaves + first);
    });
    if (!has_room) fits.store(false, std::memory_order_relaxed);
  });
  if (!fits) return false;
  const std::vector<std::vector<T>> thresholds = merge_thresholds(parts, trees.n_features);
  if (thresholds.empty()) return false;
  std::vector<std::vector<u8>> codes;
  for (const ThresholdSets<T>& sets : parts) codes.push_back(rank_thresholds(sets, thresholds));
  for_trees([&](std::size_t p, std::size_t t) {
    visit(*this, [&]<class F>(F, auto* words, auto*) {
      rank_words<F>({words + node_offsets_[t], trees.n_nodes(t)}, codes[p].data());
    });
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
  constexpr std::size_t kTile = 128;
  X values[kTile];
  u8 bins[kEight][kTile];
  const X* const data = static_cast<const X*>(x.data);
  for (std::size_t r = 0; r < n_rows; r += kTile) {
    const std::size_t n = std::min(kTile, n_rows - r);
    const X* const row = data + static_cast<std::ptrdiff_t>(first_row + r) * x.row_stride;
    for (auto asked = asked_.begin(); asked != asked_.end();) {
      const std::size_t first = *asked / kEight * kEight;
      std::memset(bins, 0, sizeof bins);
      for (; asked != asked_.end() && *asked < first + kEight; ++asked) {
        const X* const at = row + static_cast<std::ptrdiff_t>(*asked) * x.col_stride;
        for (std::size_t i = 0; i < n; ++i)
          values[i] = at[static_cast<std::ptrdiff_t>(i) * x.row_stride];
        u8* const own = bins[*asked - first];
        tables[*asked].find_bins(values, n, own);
        u32 missing = 0;
        for (std::size_t i = 0; i < n; ++i) missing |= own[i] == kMissingBin;
        if (missing) return false;
      }
      write_eight(&bins[0][0], kTile, n, codes + r * stride_ + first, stride_);
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
  const std::size_t first = node_offsets_[tree], n_nodes = node_offsets_[tree + 1] - first;
  const auto walk = [&]<class F>(F, const auto* words, const auto* leaves) {
    walk_rows<ByteStepper<F, kClasses>>({words + first, leaves + first, n_nodes, stride_}, rows,
                                        Ending::leaf, ends);
  };
  visit(*this, walk);
}

void QuantizedTrees::read_ahead(std::size_t tree, std::size_t n_rows, bool classes) const {
  const std::size_t first = node_offsets_[tree], n_nodes = node_offsets_[tree + 1] - first;
  const auto read = [&](const auto* words, const auto* leaves) {
    read_stream(words + first, n_nodes * sizeof *words, kLinesPerWalk * n_rows);
    if (!classes) read_stream(leaves + first, n_nodes * sizeof *leaves, n_rows);
  };
  if (layout_ == Layout::wide) return read(wide_words_.data(), wide_leaves_.data());
  read(words_.data(), leaves_.data());
}

template void QuantizedTrees::end_rows<false>(std::size_t, const u8*, std::span<u32>) const;
template void QuantizedTrees::end_rows<true>(std::size_t, const u8*, std::span<u32>) const;

}  // namespace committee
