#include "byte_trees.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "committee/parallel.hpp"
#include "walks.hpp"

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

template <class Word>
struct ByteStepper {
  using Row = const u8*;
  const Word* words;
  const u8* rows;
  std::size_t stride;

  Row row(std::size_t r) const { return rows + r * stride; }
  void fetch(Row) const {}
  u64 step(u64 at, Row row) const {
    using F = Fields<Word>;
    const Word word = words[at];
    const Word code = row[word & F::kMask];
    return u64{word >> (2 * F::kBits)} * 2 + (code >= (word >> F::kBits & F::kMask));
  }
};

// The thresholds of one feature, at most kMostThresholds of them, found by their bits.
template <class T>
class ThresholdSet {
 public:
  // False if there is no more room.
  bool add(T threshold) {
    const std::size_t at = find(threshold);
    if (keys_[at] != kEmpty) return true;
    if (thresholds_.size() == kMostThresholds) return false;
    keys_[at] = std::bit_cast<Bits>(threshold);
    thresholds_.push_back(threshold);
    return true;
  }
  // After the last was added: rank of each among them.
  void rank() {
    std::sort(thresholds_.begin(), thresholds_.end());
    for (std::size_t r = 0; r < thresholds_.size(); ++r)
      ranks_[find(thresholds_[r])] = static_cast<u8>(r);
  }
  u8 rank_of(T threshold) const { return ranks_[find(threshold)]; }
  const std::vector<T>& thresholds() const { return thresholds_; }

 private:
  using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
  static constexpr int kSlotBits = 9;
  static constexpr Bits kEmpty = ~Bits{0};  // a NaN, which no threshold is
  static constexpr Bits kFactor =
      static_cast<Bits>(sizeof(T) == 8 ? 0x9E3779B97F4A7C15u : 0x9E3779B1u);

  std::size_t find(T threshold) const {
    const Bits bits = std::bit_cast<Bits>(threshold);
    std::size_t at = static_cast<Bits>(bits * kFactor) >> (sizeof(Bits) * 8 - kSlotBits);
    while (keys_[at] != kEmpty && keys_[at] != bits) at = (at + 1) & ((1u << kSlotBits) - 1);
    return at;
  }

  std::vector<Bits> keys_ = std::vector<Bits>(1u << kSlotBits, kEmpty);
  std::vector<u8> ranks_ = std::vector<u8>(1u << kSlotBits, 0);
  std::vector<T> thresholds_;
};

template <class T>
using ThresholdSets = std::vector<ThresholdSet<T>>;

// The thresholds of some trees; false, for all, once there are too many.
template <class T>
void collect_thresholds(const Trees& trees, std::size_t first, std::size_t last,
                        ThresholdSets<T>& sets, std::atomic<bool>& fits) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes);
  for (std::size_t t = first; t < last && fits.load(std::memory_order_relaxed); ++t) {
    for (std::size_t k = trees.node_offsets[t]; k < trees.node_offsets[t + 1]; ++k) {
      if (nodes[k].is_leaf() || sets[nodes[k].feature()].add(nodes[k].threshold)) continue;
      fits.store(false, std::memory_order_relaxed);
      return;
    }
  }
}

// The thresholds of all trees, ranked; empty if a feature has too many.
template <class T>
ThresholdSets<T> find_thresholds(const Trees& trees, int n_threads) {
  const std::size_t n_parts = std::clamp<std::size_t>(trees.n_trees, 1, std::max(n_threads, 1));
  std::vector<ThresholdSets<T>> parts(n_parts);
  std::atomic<bool> fits = true;
  parallel_for(n_parts, n_threads, [&](std::size_t p) {
    parts[p].resize(trees.n_features);
    collect_thresholds(trees, trees.n_trees * p / n_parts, trees.n_trees * (p + 1) / n_parts,
                       parts[p], fits);
  });
  if (!fits) return {};
  for (std::size_t p = 1; p < n_parts; ++p) {
    for (std::size_t f = 0; f < trees.n_features; ++f) {
      for (const T threshold : parts[p][f].thresholds()) {
        if (!parts[0][f].add(threshold)) return {};
      }
    }
  }
  for (ThresholdSet<T>& set : parts[0]) set.rank();
  return std::move(parts[0]);
}

// The one class of a leaf; or none.
constexpr u32 kMixed = 0xFFFFFFFFu;
u32 find_class(const Trees& trees, std::size_t leaf) {
  u32 found = kMixed;
  for (u32 c = 0; c < trees.width; ++c) {
    if (trees.value(leaf, c) == 0.0) continue;
    if (found != kMixed) return kMixed;
    found = c;
  }
  return found;
}

// And the classes can pass for features.
bool is_pure_tree(const Trees& trees, std::size_t tree) {
  if (trees.outputs.size() != 1 || trees.width > trees.n_features) return false;
  for (std::size_t leaf = trees.leaf_offsets[tree]; leaf < trees.leaf_offsets[tree + 1]; ++leaf) {
    if (find_class(trees, leaf) == kMixed) return false;
  }
  return true;
}

template <class T, class Word, class Leaf>
void write_words(const Trees& trees, std::size_t tree, const ThresholdSets<T>& sets, bool pure,
                 Word* words, Leaf* leaves) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  words[0] = leaves[0] = 0;
  for (std::size_t k = 0; k < trees.n_nodes(tree); ++k) {
    const Node<T>& node = nodes[k];
    const std::size_t at = k + 1;
    leaves[at] = 0;
    if (!node.is_leaf()) {
      const Word least = Word{sets[node.feature()].rank_of(node.threshold)} + 1;
      words[at] = Fields<Word>::make(node.feature(), least, (Word{node.left} + 1) / 2);
      continue;
    }
    const Word least = at % 2 == 0 ? Fields<Word>::kNever : 0;
    const Word feature = pure ? find_class(trees, trees.leaf_offsets[tree] + node.left) : 0;
    words[at] = Fields<Word>::make(feature, least, static_cast<Word>(at / 2));
    leaves[at] = static_cast<Leaf>(node.left);
  }
}

// A cache line holds whole rows, where it can.
std::size_t pad_row(std::size_t n_cols) {
  return n_cols <= 64 ? std::bit_ceil(n_cols) : (n_cols + 63) / 64 * 64;
}

}  // namespace

template <class T>
bool ByteTrees::build(const Trees& trees, int n_threads) {
  const ThresholdSets<T> sets = find_thresholds<T>(trees, n_threads);
  if (sets.empty()) return false;
  for (std::size_t f = 0; f < sets.size(); ++f) {
    ColumnBins bins;
    bins.thresholds.assign(sets[f].thresholds().begin(), sets[f].thresholds().end());
    if (!bins.thresholds.empty()) asked_.push_back(static_cast<u32>(f));
    float_tables_.emplace_back(bins);
    double_tables_.emplace_back(bins);
  }
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
  parallel_for(trees.n_trees, n_threads, [&](std::size_t t) {
    pure_[t] = is_pure_tree(trees, t);
    const std::size_t first = first_word(t);
    if (wide) {
      write_words(trees, t, sets, pure_[t], wide_words_.data() + first,
                  wide_leaves_.data() + first);
    } else {
      write_words(trees, t, sets, pure_[t], words_.data() + first, leaves_.data() + first);
    }
  });
  return true;
}

std::unique_ptr<const ByteTrees> ByteTrees::make(const Trees& trees, int n_threads) {
  constexpr std::size_t kMostFeatures = 1u << 16;
  if (!trees.category_offsets.empty() || trees.n_trees == 0 || trees.n_features > kMostFeatures)
    return nullptr;
  std::unique_ptr<ByteTrees> made(new ByteTrees);
  made->stride_ = pad_row(trees.n_features);
  made->node_offsets_.assign(trees.node_offsets.begin(), trees.node_offsets.end());
  made->pure_.resize(trees.n_trees);
  const bool fits = trees.double_thresholds ? made->build<double>(trees, n_threads)
                                            : made->build<float>(trees, n_threads);
  return fits ? std::move(made) : nullptr;
}

template <class X>
bool ByteTrees::encode_as(const std::vector<BinTable<X>>& tables, const MatrixView& x,
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

bool ByteTrees::encode(const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                       u8* codes) const {
  return x.is_double ? encode_as(double_tables_, x, first_row, n_rows, codes)
                     : encode_as(float_tables_, x, first_row, n_rows, codes);
}

template <class Finish>
void ByteTrees::walk(std::size_t tree, const u8* rows, std::span<u32> ends, Finish&& finish) const {
  const std::size_t first = first_word(tree);
  const std::size_t n_nodes = node_offsets_[tree + 1] - node_offsets_[tree];
  const auto walk_on = [&]<class Word>(const Word* words, const auto* leaves) {
    walk_to_ends(ByteStepper<Word>{words, rows, stride_}, 1, n_nodes, ends);
    for (u32& end : ends) end = finish(words[end], leaves[end]);
  };
  if (words_.empty()) return walk_on(wide_words_.data() + first, wide_leaves_.data() + first);
  walk_on(words_.data() + first, leaves_.data() + first);
}

void ByteTrees::end_rows(std::size_t tree, const u8* rows, std::span<u32> ends) const {
  walk(tree, rows, ends, [](auto, const auto& leaf) { return u32{leaf}; });
}

void ByteTrees::find_classes(std::size_t tree, const u8* rows, std::span<u32> classes) const {
  walk(tree, rows, classes, []<class Word>(Word word, const auto&) {
    return static_cast<u32>(word & Fields<Word>::kMask);
  });
}

}  // namespace committee
