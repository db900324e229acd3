#include "predict/tree_walk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "predict/interleaved_walk.hpp"

namespace committee {

namespace {

// A tree is unfolded for stepping if it has at most this many nodes for each row that follows.
constexpr std::size_t kUnfoldNodesPerRow = 8;

// Straight on the arena's nodes.
template <class T, bool kCategories>
struct Walk {
  const Trees& trees;
  const Node<T>* nodes;

  explicit Walk(const Trees& of) : trees(of), nodes(static_cast<const Node<T>*>(of.nodes)) {}

  // 1 if x goes right. A float against a float threshold, else as doubles: both are exact.
  template <class X>
  u32 goes_right(const Node<T>& node, X x) const {
    using Wide = decltype(X{} + T{});
    if constexpr (kCategories) {
      if (node.is_categorical()) return category_goes_right(node, static_cast<double>(x));
    }
    const u32 above = static_cast<Wide>(x) > static_cast<Wide>(node.threshold);
    const u32 missing = x != x;
    return above | (missing & ~(node.tag >> 29));
  }

  u32 category_goes_right(const Node<T>& node, double x) const {
    if (x != x) return !node.missing_left();
    return !holds_code(trees.category_set(node.category_set()), x);
  }

  // One step of one of several walks; a walk that has ended stays. Written with a mask, because a
  // conditional becomes a branch, and whether a walk has ended cannot be foretold.
  template <class X>
  u64 step(const Node<T>* tree, u64 at, const X* row) const {
    const Node<T>& node = tree[at];
    const u64 next = node.left + goes_right(node, row[node.feature()]);
    const u64 ended = 0 - static_cast<u64>(node.tag >> 31);
    return next ^ ((next ^ at) & ended);
  }

  template <class X>
  u32 walk(const Node<T>* tree, const X* row) const {
    u32 at = 0;
    while (!tree[at].is_leaf()) at = tree[at].left + goes_right(tree[at], row[tree[at].feature()]);
    return at;
  }
};

static_assert(Node<float>::kMissingLeft == 1u << 29 && Node<float>::kLeaf == 1u << 31,
              "see the shifts");

template <class T>
u32 end_at(const Node<T>* tree, u64 at, Ending ending) {
  return ending == Ending::leaf ? tree[at].left : static_cast<u32>(at);
}

// Walks kInFlight pairs of a tree and a row to their leaves.
template <class W, class GetRoot, class GetRow>
void walk_together(const W& walk, GetRoot root, GetRow row, u64* at) {
  for (int r = 0; r < kInFlight; ++r) at[r] = 0;
  for (u32 ended = 0; !ended;) {
    for (int s = 0; s < kStepsPerCheck; ++s) {
#pragma GCC unroll 8
      for (int r = 0; r < kInFlight; ++r) at[r] = walk.step(root(r), at[r], row(r));
    }
    ended = Node<float>::kLeaf;
#pragma GCC unroll 8
    for (int r = 0; r < kInFlight; ++r) ended &= root(r)[at[r]].tag;
  }
}

template <class T, bool kCategories, class X>
void end_rows_as(const TreeWalk<X>& tree, const RowSpan<X>& rows, Ending ending,
                 std::span<u32> ends) {
  const Walk<T, kCategories> walk(*tree.trees);
  const Node<T>* const root = walk.nodes + tree.trees->node_offsets[tree.tree];
  std::size_t i = 0;
  for (; i + kInFlight <= ends.size(); i += kInFlight) {
    u64 at[kInFlight];
    const X* const first = rows.row(i);
    walk_together(
        walk, [=](int) { return root; }, [&](int r) { return first + r * rows.stride; }, at);
    for (int r = 0; r < kInFlight; ++r) ends[i + r] = end_at(root, at[r], ending);
  }
  for (; i < ends.size(); ++i) ends[i] = end_at(root, walk.walk(root, rows.row(i)), ending);
}

template <class T, bool kCategories, class X>
void end_row_as(const Trees& trees, std::size_t first, const X* row, Ending ending,
                std::span<u32> ends) {
  const Walk<T, kCategories> walk(trees);
  std::size_t i = 0;
  for (; i + kInFlight <= ends.size(); i += kInFlight) {
    const Node<T>* root[kInFlight];
    u64 at[kInFlight];
    for (int r = 0; r < kInFlight; ++r) root[r] = walk.nodes + trees.node_offsets[first + i + r];
    walk_together(walk, [&](int r) { return root[r]; }, [=](int) { return row; }, at);
    for (int r = 0; r < kInFlight; ++r) ends[i + r] = end_at(root[r], at[r], ending);
  }
  for (; i < ends.size(); ++i) {
    const Node<T>* const root = walk.nodes + trees.node_offsets[first + i];
    ends[i] = end_at(root, walk.walk(root, row), ending);
  }
}

// A node made for stepping: 16 bytes, children by their distance from the root in bytes. A leaf
// leads to itself whatever comes, so a step needs no question but the one of the split.
template <class T>
struct Step {
  T threshold;
  u32 left;
  u32 feature;  // kMissingRight above it if rows may have missing values
  static constexpr u32 kBytes = 16, kMissingRight = 1u << 31;

  // The threshold of a leaf is a NaN, which nothing is greater than, with the leaf's number in the
  // bits that tell one NaN from another: asking for it touches no further memory.
  using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
  static constexpr Bits kNaN = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  static constexpr u32 kMostLeaves = 1u << 22;
  static T hide_leaf(u32 leaf) { return std::bit_cast<T>(static_cast<Bits>(kNaN | leaf)); }
  u32 leaf() const {
    Bits bits;
    std::memcpy(&bits, &threshold, sizeof bits);  // as an integer: no move through a float register
    return static_cast<u32>(bits) & (kMostLeaves - 1);
  }
};

template <class T>
void unfold_nodes(const Trees& trees, std::size_t tree, bool missing, u8* to) {
  const Node<T>* const nodes = static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree];
  for (std::size_t k = 0; k < trees.n_nodes(tree); ++k, to += Step<T>::kBytes) {
    Step<T> step{0, static_cast<u32>(k * Step<T>::kBytes), 0};
    if (nodes[k].is_leaf()) {
      step.threshold = Step<T>::hide_leaf(nodes[k].left);
    } else {
      step = {nodes[k].threshold, nodes[k].left * Step<T>::kBytes, nodes[k].feature()};
      if (missing && !nodes[k].missing_left()) step.feature |= Step<T>::kMissingRight;
    }
    std::memcpy(to, &step, sizeof step);
  }
}

template <class T, bool kMissing, class X>
struct Unfolded {
  using Tree = TreeWalk<X>;
  using Rows = RowSpan<X>;
  using Row = const X*;
  static constexpr u32 kRoot = 0;
  const u8* root;
  RowSpan<X> rows;

  Unfolded(const Tree& tree, const Rows& of) : root(tree.steps), rows(of) {}

  Row row(std::size_t r) const { return rows.row(r); }
  // Rows come from memory that no walk has touched yet; which of their values it will want, nobody
  // knows.
  void fetch(Row now) const {
    constexpr std::ptrdiff_t kLine = 64 / sizeof(X);
    const Row next = now + kInFlight * rows.stride;
    for (std::ptrdiff_t k = 0; k < kInFlight * rows.stride; k += kLine) prefetch(next + k);
  }
  u64 step(u64 at, Row row) const {
    using Wide = decltype(X{} + T{});
    const Step<T>* const step = reinterpret_cast<const Step<T>*>(root + at);
    if constexpr (!kMissing) {
      const u64 right = static_cast<Wide>(row[step->feature]) > static_cast<Wide>(step->threshold);
      return step->left + right * Step<T>::kBytes;
    }
    const X x = row[step->feature & ~Step<T>::kMissingRight];
    const u32 above = static_cast<Wide>(x) > static_cast<Wide>(step->threshold);
    const u32 missing = x != x;
    return step->left + u64{above | (missing & (step->feature >> 31))} * Step<T>::kBytes;
  }
  u32 end(u32 at, Ending ending) const {
    return ending == Ending::leaf ? reinterpret_cast<const Step<T>*>(root + at)->leaf()
                                  : at / Step<T>::kBytes;
  }
};

}  // namespace

template <class X>
TreeWalk<X> TreeWalker<X>::take_tree(std::size_t tree) {
  const std::size_t n_nodes = trees_.n_nodes(tree);
  const bool categories = !trees_.category_offsets.empty(), wide = trees_.double_thresholds;
  TreeWalk<X> walk{&trees_, tree, n_nodes, nullptr, nullptr};
  if (categories || n_nodes > kUnfoldNodesPerRow * n_rows_ || n_nodes >= Step<X>::kMostLeaves) {
    walk.end_rows =
        wide ? (categories ? end_rows_as<double, true, X> : end_rows_as<double, false, X>)
             : (categories ? end_rows_as<float, true, X> : end_rows_as<float, false, X>);
    return walk;
  }
  if (steps_.size() < n_nodes * Step<X>::kBytes)
    steps_ = AlignedBuffer<u8>(n_nodes * Step<X>::kBytes);
  (wide ? unfold_nodes<double> : unfold_nodes<float>)(trees_, tree, missing_, steps_.data());
  walk.steps = steps_.data();
  walk.end_rows =
      wide
          ? (missing_ ? walk_rows<Unfolded<double, true, X>>
                      : walk_rows<Unfolded<double, false, X>>)
          : (missing_ ? walk_rows<Unfolded<float, true, X>> : walk_rows<Unfolded<float, false, X>>);
  return walk;
}

template <class X>
void end_row(const Trees& trees, std::size_t first, const X* row, Ending ending,
             std::span<u32> ends) {
  const bool categories = !trees.category_offsets.empty();
  const auto end = trees.double_thresholds
                       ? (categories ? end_row_as<double, true, X> : end_row_as<double, false, X>)
                       : (categories ? end_row_as<float, true, X> : end_row_as<float, false, X>);
  end(trees, first, row, ending, ends);
}

template class TreeWalker<float>;
template class TreeWalker<double>;
template void end_row(const Trees&, std::size_t, const float*, Ending, std::span<u32>);
template void end_row(const Trees&, std::size_t, const double*, Ending, std::span<u32>);

}  // namespace committee
