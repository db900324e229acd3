#include "predict/split_sequence.hpp"

#include <algorithm>
#include <bit>

namespace committee {

namespace {

// 16 signed bytes; signed because SSE2 has no unsigned comparison.
using Bytes [[gnu::vector_size(16)]] = signed char;
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

}  // namespace

template <class T>
void SplitSequence::build(const Trees& trees) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes);
  std::vector<SplitKey> split_keys;
  for (std::size_t i = 0; i < trees.node_offsets[trees.n_trees]; ++i) {
    if (!nodes[i].is_leaf())
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
    Run run;
    run.feature = split_keys[i].first;
    run.first = static_cast<u32>(thresholds_.size());
    run.padded = std::bit_ceil(static_cast<u32>(end - i + 1));
    for (std::size_t q = i; q < end; ++q) {
      thresholds_.push_back(split_keys[q].second);
      places_.push_back({static_cast<u32>(runs_.size()), static_cast<u32>(q - i)});
    }
    thresholds_.resize(run.first + run.padded - 1, std::numeric_limits<double>::infinity());
    runs_.push_back(run);
    i = end;
  }
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
    const SplitKey split_key(node.feature(), static_cast<double>(node.threshold));
    const auto found =
        std::lower_bound(split_keys.begin(), split_keys.end(), split_key) - split_keys.begin();
    const Place place = places_[static_cast<std::size_t>(found)];
    Run& run = runs_[place.run];
    i32& column = node.missing_left() ? run.column_left : run.column_right;
    if (column < 0) column = static_cast<i32>(n_columns_++);
    const int lowest = node.missing_left() ? -127 : -128;
    splits_.push_back({static_cast<u16>(column),
                       static_cast<std::int8_t>(lowest + static_cast<int>(place.code)), id[k],
                       static_cast<u8>(next)});
    id[node.left] = id[k];
    id[node.left + 1] = static_cast<u8>(next++);
  }
  split_offsets_.push_back(splits_.size());
  leaf_of_id_.insert(leaf_of_id_.end(), leaves.begin(), leaves.end());
  leaf_offsets_.push_back(leaf_of_id_.size());
}

std::unique_ptr<const SplitSequence> SplitSequence::make(const Trees& trees) {
  if (!trees.category_offsets.empty()) return nullptr;
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    if (trees.n_leaves(t) > kMostLeaves) return nullptr;
  }
  std::unique_ptr<SplitSequence> made(new SplitSequence);
  made->double_thresholds_ = trees.double_thresholds;
  trees.double_thresholds ? made->build<double>(trees) : made->build<float>(trees);
  if (made->n_columns_ > std::numeric_limits<u16>::max()) return nullptr;
  if (!trees.double_thresholds)
    made->float_thresholds_.assign(made->thresholds_.begin(), made->thresholds_.end());
  return made;
}

namespace {

// Codes of kRows values, of which n are real: for each the number of thresholds below it, by
// bisection without branches, 8 values in flight. A comparison with NaN is false, so a missing
// value passes as the lowest.
template <class X, class T>
void encode_values(const X* at, std::ptrdiff_t stride, std::size_t n, const T* thresholds,
                   u32 padded, std::int8_t* codes) {
  constexpr std::size_t kInFlight = 8;
  for (std::size_t i = 0; i < SplitSequence::kRows; i += kInFlight) {
    T value[kInFlight];
    u32 below[kInFlight] = {};
    for (std::size_t r = 0; r < kInFlight; ++r) {
      value[r] = i + r < n ? static_cast<T>(at[static_cast<std::ptrdiff_t>(i + r) * stride]) : T{0};
    }
    for (int bit = std::bit_width(padded) - 2; bit >= 0; --bit) {
      const u32 middle = (1u << bit) - 1;
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kInFlight; ++r) {
        // A shift, because a conditional becomes a branch that is mispredicted half of the time.
        below[r] += static_cast<u32>(thresholds[below[r] + middle] < value[r]) << bit;
      }
    }
    for (std::size_t r = 0; r < kInFlight; ++r) {
      codes[i + r] =
          static_cast<std::int8_t>(value[r] == value[r] ? static_cast<int>(below[r]) - 128 : 127);
    }
  }
}

}  // namespace

template <class X, class T>
void SplitSequence::encode_as(const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                              const std::vector<T>& thresholds, std::int8_t* codes,
                              std::size_t stride) const {
  alignas(16) std::int8_t group[kRows];
  for (std::size_t i = 0; i < n_rows; i += kRows) {
    const X* const row =
        static_cast<const X*>(x.data) + static_cast<std::ptrdiff_t>(first_row + i) * x.row_stride;
    for (const Run& run : runs_) {
      const X* const at = row + static_cast<std::ptrdiff_t>(run.feature) * x.col_stride;
      encode_values(at, x.row_stride, std::min(kRows, n_rows - i), thresholds.data() + run.first,
                    run.padded, group);
      if (run.column_right >= 0) {
        std::memcpy(codes + static_cast<std::size_t>(run.column_right) * stride + i, group, kRows);
      }
      if (run.column_left >= 0) {
        // One up, around the corner for the missing: 127 becomes -128.
        std::int8_t* const to = codes + static_cast<std::size_t>(run.column_left) * stride + i;
        for (std::size_t r = 0; r < kRows; ++r)
          to[r] = static_cast<std::int8_t>(static_cast<u8>(group[r]) + 1);
      }
    }
  }
}

void SplitSequence::encode(const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                           std::int8_t* codes, std::size_t stride) const {
  if (x.is_double) {
    encode_as<double>(x, first_row, n_rows, thresholds_, codes, stride);
  } else if (double_thresholds_) {
    encode_as<float>(x, first_row, n_rows, thresholds_, codes, stride);
  } else {
    encode_as<float>(x, first_row, n_rows, float_thresholds_, codes, stride);
  }
}

void SplitSequence::replay(std::size_t tree, const std::int8_t* codes, std::size_t stride,
                           std::size_t n_groups, u8* ids) const {
  const Split* const first = splits_.data() + split_offsets_[tree];
  const Split* const last = splits_.data() + split_offsets_[tree + 1];
  for (std::size_t g = 0; g < n_groups; ++g, codes += kRows, ids += kRows) {
    Bytes at[kVectors] = {};
    for (const Split* split = first; split != last; ++split) {
      const std::int8_t* const x = codes + split->column * stride;
      const Bytes from = repeat_byte(split->from), to = repeat_byte(split->to);
      const Bytes code = repeat_byte(static_cast<u8>(split->code));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Bytes moves = (at[v] == from) & (load_bytes(x + v * 16) > code);
        at[v] = (at[v] & ~moves) | (to & moves);
      }
    }
    std::memcpy(ids, at, kRows);
  }
}

}  // namespace committee
