#include "tree/fast/extra_trees_wide.hpp"

#include <bit>

#include "tree/fast/extra_trees_wide_lanes.hpp"
#include "tree/fast/wide_keys.hpp"

#if defined(COMMITTEE_AVX512)
namespace committee {

namespace {

// The smallest and the largest bin of some rows.
template <int kVectors>
COMMITTEE_AVX512 inline void find_ends(const u8 (*column)[kWideRows], const u64* rows, u32& lo,
                                       u32& hi) {
  __m512i least = _mm512_set1_epi8(-1), largest = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const __m512i bins = _mm512_load_si512(column[v]);
    least = _mm512_mask_min_epu8(least, rows[v], least, bins);
    largest = _mm512_mask_max_epu8(largest, rows[v], largest, bins);
  }
  lo = least_byte(least);
  hi = largest_byte(largest);
}

// Rows of a vector, of those that follow its first one.
constexpr u64 first_rows(std::size_t n) {
  return n >= kWideRows ? ~u64{0} : (u64{1} << n) - 1;
}

}  // namespace

template <int kVectors>
struct ExtraTreesWide::LookAt {
  const WideBlock<kVectors>& own;
  const ExtraTreesRules& rules;
  const Node<kVectors>& node;

  // A feature that is constant here has all rows on its left: a ratio of zeros, which never wins.
  COMMITTEE_AVX512 void operator()(std::span<const u8> features, const NodeNumbers& numbers,
                                   BlockBest& best) const {
    ExtraTreesThresholds cuts;
    for (std::size_t k = 0; k < features.size(); ++k)
      find_ends<kVectors>(own.columns[features[k]], node.rows, cuts.lo[k], cuts.hi[k]);
    cuts.draw<WideKeys>(rules, features, numbers);
    for (std::size_t k = 0; k < features.size(); ++k) {
      const u8(*column)[kWideRows] = own.columns[features[k]];
      const __m512i cut = broadcast_cut(cuts.cuts[k]);
      u64 n_rows = 0, n_positive = 0;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const u64 left = find_left(column[v], node.rows[v], cut);
        n_rows += static_cast<u64>(std::popcount(left));
        n_positive += static_cast<u64>(std::popcount(left & own.positives[v]));
      }
      best.take(node, {features[k], cuts.cuts[k], static_cast<u32>(n_rows),
                       static_cast<u32>(n_positive)});
    }
  }
};

template <int kVectors>
struct ExtraTreesWide::Partition {
  const WideBlock<kVectors>& own;
  Node<kVectors>& node;
  Node<kVectors>& right;

  COMMITTEE_AVX512 void operator()(const ExtraTreesSide& best) const {
    const __m512i cut = broadcast_cut(best.bin);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const u64 left = find_left(own.columns[best.feature][v], node.rows[v], cut);
      right.rows[v] = node.rows[v] & ~left;
      node.rows[v] = left;
    }
  }
};

template <int kVectors>
struct ExtraTreesWide::Split {
  ExtraTreesWide& growth;
  const WideBlock<kVectors>& own;

  COMMITTEE_AVX512 bool operator()(Node<kVectors>& node, u32 id, Node<kVectors>& right) const {
    return split_node<BlockBest>(*growth.rules_, *growth.tree_, node, id, right,
                                 LookAt<kVectors>{own, *growth.rules_, node},
                                 Partition<kVectors>{own, node, right});
  }
};

template <int kVectors>
struct ExtraTreesWide::HandOver {
  ExtraTreesWide& growth;

  COMMITTEE_AVX512 bool operator()(const Node<kVectors>& small) const {
    if constexpr (kVectors > 1) {
      if (small.n_rows > WideBlock<kVectors>::kRows / 2) return false;
      growth.hand_over<kVectors / 2, kVectors>(small);
      return true;
    }
    return false;
  }
};

void ExtraTreesWide::finish(const ExtraTreesNode& top, const ExtraTreesRules& rules,
                            const ExtraTreesRecords& records, std::span<const u32> rows,
                            CompactTree& tree) {
  rules_ = &rules;
  records_ = records;
  tree_ = &tree;
  const std::size_t n = rows.size();
  if (n <= WideBlock<1>::kRows) return finish_in<1>(top, rows);
  if (n <= WideBlock<2>::kRows) return finish_in<2>(top, rows);
  if (n <= WideBlock<4>::kRows) return finish_in<4>(top, rows);
  return finish_in<8>(top, rows);
}

template <int kVectors>
void ExtraTreesWide::finish_in(const ExtraTreesNode& top, std::span<const u32> rows) {
  Node<kVectors> node;
  static_cast<ExtraTreesNode&>(node) = top;
  std::copy(rows.begin(), rows.end(), block<kVectors>().rows);
  fill<kVectors>(node);
  grow<kVectors>(node);
}

// Columns of the block's rows, which are the node's. Lanes beyond the rows hold the first one once
// more, and what is left of the vectors counts nowhere.
template <int kVectors>
void ExtraTreesWide::fill(Node<kVectors>& node) {
  WideBlock<kVectors>& own = block<kVectors>();
  const std::size_t n = node.n_rows;
  for (std::size_t i = n;
       i % kWideGroup != 0 || (i % kWideRows != 0 && i % kWideRows > 2 * kWideGroup); ++i)
    own.rows[i] = own.rows[0];
  for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t first = v * kWideRows;
    const u32* rows = own.rows + first;
    const std::size_t here = n > first ? n - first : 0;
    node.rows[v] = first_rows(here);
    own.positives[v] = read_positives(rows);
    for (std::size_t i = first + kWideRows; i < std::min(n, first + 2 * kWideRows); ++i)
      prefetch(records_.find(own.rows[i]));
    u8* const to = own.columns[0][v];
    constexpr std::size_t kStep = kVectors * kWideRows;
    if (here == 0) continue;
    if (here <= kWideGroup) {
      load_columns<1>(records_, rows, to, kStep);
    } else if (here <= 2 * kWideGroup) {
      load_columns<2>(records_, rows, to, kStep);
    } else {
      load_columns<4>(records_, rows, to, kStep);
    }
  }
}

template <int kVectors>
void ExtraTreesWide::grow(Node<kVectors> node) {
  WideBlock<kVectors>& own = block<kVectors>();
  grow_depth_first(*rules_, *tree_, node, own.open, HandOver<kVectors>{*this},
                   Split<kVectors>{*this, own});
}

// Grows the subtree in the smallest block that holds its rows.
template <int kVectors, int kFrom>
void ExtraTreesWide::hand_over(const Node<kFrom>& node) {
  if constexpr (kVectors > 1) {
    if (node.n_rows <= WideBlock<kVectors>::kRows / 2) return hand_over<kVectors / 2, kFrom>(node);
  }
  const WideBlock<kFrom>& from = block<kFrom>();
  u32* to = block<kVectors>().rows;
  for (int v = 0; v < kFrom; ++v)
    to = list_rows(node.rows[v], from.rows + v * static_cast<int>(kWideRows), to);
  Node<kVectors> top;
  static_cast<ExtraTreesNode&>(top) = node;
  fill<kVectors>(top);
  grow<kVectors>(top);
}

}  // namespace committee
#endif
