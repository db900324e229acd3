#include "predict/single_row.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "predict/interleaved_walk.hpp"

namespace committee {

std::unique_ptr<const CodedTrees> CodedTrees::make(const Trees& trees) {
  if (!trees.category_offsets.empty() ||
      trees.node_offsets[trees.n_trees] > std::numeric_limits<u32>::max()) {
    return nullptr;
  }
  std::unique_ptr<CodedTrees> made(new CodedTrees());
  for (std::size_t t = 0; t < trees.n_trees; ++t)
    made->most_leaves_ = std::max(made->most_leaves_, static_cast<u32>(trees.n_leaves(t)));
  if (made->most_leaves_ > kMostLeaves) return nullptr;
  const bool fits =
      trees.double_thresholds ? made->build<double>(trees) : made->build<float>(trees);
  return fits ? std::move(made) : nullptr;
}

// The thresholds of each feature, ascending and padded; false if there are too many.
template <class T>
bool CodedTrees::name_thresholds(const Trees& trees) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes);
  std::vector<std::vector<T>> asked(trees.n_features);
  for (std::size_t k = 0; k < trees.node_offsets[trees.n_trees]; ++k) {
    if (!nodes[k].is_leaf()) asked[nodes[k].feature()].push_back(nodes[k].threshold);
  }
  for (std::size_t column = 0; column < asked.size(); ++column) {
    std::vector<T>& own = asked[column];
    if (own.empty()) continue;
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (own.size() > kMostThresholds || features_.size() == kMostFeatures) return false;
    const Feature feature{static_cast<u32>(column), static_cast<u32>(thresholds_.size()),
                          static_cast<u32>(std::bit_ceil(own.size() + 1))};
    features_.push_back(feature);
    thresholds_.insert(thresholds_.end(), own.begin(), own.end());
    thresholds_.resize(feature.first + feature.padded - 1, std::numeric_limits<double>::infinity());
  }
  double_thresholds_ = trees.double_thresholds;
  if (!double_thresholds_) {
    for (const double threshold : thresholds_)
      float_thresholds_.push_back(static_cast<float>(threshold));
  }
  return true;
}

template <class T>
bool CodedTrees::build(const Trees& trees) {
  if (!name_thresholds<T>(trees)) return false;
  std::vector<u32> place_of_column(trees.n_features, 0);
  for (std::size_t i = 0; i < features_.size(); ++i)
    place_of_column[features_[i].column] = static_cast<u32>(i);
  words_ = AlignedBuffer<u32>(trees.node_offsets[trees.n_trees]);
  for (std::size_t t = 0; t < trees.n_trees; ++t) append_tree<T>(trees, t, place_of_column);
  return true;
}

template <class T>
void CodedTrees::append_tree(const Trees& trees, std::size_t tree,
                             std::span<const u32> place_of_column) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  u32* to = words_.data() + trees.node_offsets[tree];
  roots_.push_back(static_cast<u32>(trees.node_offsets[tree]));
  for (std::size_t k = 0; k < trees.n_nodes(tree); ++k) {
    const Node<T>& node = nodes[k];
    u32 code = kLeafCode, middle = node.left, distance = 0;
    if (!node.is_leaf()) {
      const u32 place = place_of_column[node.feature()];
      const double* const own = thresholds_.data() + features_[place].first;
      const double* const end = own + features_[place].padded - 1;
      code = static_cast<u32>(std::lower_bound(own, end, double{node.threshold}) - own);
      middle = 2 * place + !node.missing_left();
      distance = node.left - static_cast<u32>(k);
    }
    *to++ = distance << (kCodeBits + kMiddleBits) | middle << kCodeBits | code;
  }
}

template <class X, class T>
void CodedTrees::encode(const X* row, const std::vector<T>& thresholds, u8* codes) const {
  using Wide = decltype(X{} + T{});
  for (const Feature& feature : features_) {
    const Wide x = static_cast<Wide>(row[feature.column]);
    // Before the first threshold that is not below x; nothing branches on a value.
    const T* at = thresholds.data() + feature.first;
    for (u32 half = feature.padded / 2; half > 0; half /= 2)
      at += x > static_cast<Wide>(at[half - 1]) ? half : 0;
    const u32 code = static_cast<u32>(at - (thresholds.data() + feature.first));
    *codes++ = static_cast<u8>(code);
    *codes++ = static_cast<u8>(x != x ? kLeafCode : code);
  }
}

// All walks take some steps, then those that still move close ranks, since trees are left at very
// different depths.
void CodedTrees::end_trees(const Codes& codes, std::size_t first, std::span<u32> leaves) const {
  const u32* const words = words_.data();
  std::array<u32, kMostTrees + kInFlight> at, tree;
  std::size_t n = leaves.size();
  for (std::size_t i = 0; i < n; ++i) {
    at[i] = roots_[first + i];
    tree[i] = static_cast<u32>(i);
  }
  while (n > 0) {
    // The last walk is repeated until there are enough of them; its copies end where it does.
    for (std::size_t i = n; i % kInFlight != 0; ++i) {
      at[i] = at[n - 1];
      tree[i] = tree[n - 1];
    }
    std::size_t moving = 0;
    for (std::size_t i = 0; i < n; i += kInFlight) {
      u64 now[kInFlight];
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kInFlight; ++r) now[r] = at[i + r];
      for (int step = 0; step < kStepsPerCheck; ++step) {
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kInFlight; ++r) {
          const u64 word = words[now[r]];
          const u64 code = codes[word >> kCodeBits & kMiddleMask];
          now[r] += word >> (kCodeBits + kMiddleBits);
          now[r] += code > (word & 0xFF);
        }
      }
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kInFlight; ++r) {
        const u32 word = words[now[r]], who = tree[i + r];
        leaves[who] = word >> kCodeBits & kMiddleMask;
        at[moving] = static_cast<u32>(now[r]);
        tree[moving] = who;
        moving += word >> (kCodeBits + kMiddleBits) != 0;
      }
    }
    n = moving;
  }
}

template <class X>
void CodedTrees::encode_row(const X* row, Codes& codes) const {
  static_assert(2 * kMostFeatures <= std::tuple_size_v<Codes>);
  static_assert(kMostLeaves <= std::tuple_size_v<Codes>);
  double_thresholds_ ? encode(row, thresholds_, codes.data())
                     : encode(row, float_thresholds_, codes.data());
  // Leaves look at a code as well, at the place of their own number.
  const std::size_t n_codes = 2 * features_.size();
  if (n_codes < most_leaves_) std::fill_n(codes.data() + n_codes, most_leaves_ - n_codes, u8{0});
}

template void CodedTrees::encode_row(const float*, Codes&) const;
template void CodedTrees::encode_row(const double*, Codes&) const;

}  // namespace committee
