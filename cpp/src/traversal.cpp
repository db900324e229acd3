#include "traversal.hpp"

namespace committee {

namespace {

// Enough walks to hide the latency of the second-level cache; more do not fit into the registers.
constexpr int kInFlight = 8;
// Steps between two looks at whether all walks have ended (an ended walk stays in its leaf).
constexpr int kStepsPerLook = 4;

template <class T, bool kCategories>
struct Walk {
  const Node<T>* nodes;
  const u32* category_offsets;
  const u32* category_words;

  explicit Walk(const Trees& trees)
      : nodes(static_cast<const Node<T>*>(trees.nodes)),
        category_offsets(trees.category_offsets.data()),
        category_words(trees.category_words.data()) {}

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
    const u32 first = category_offsets[node.category_set()],
              last = category_offsets[node.category_set() + 1];
    if (!(x >= 0.0 && x < 32.0 * (last - first))) return 1;
    const u32 code = static_cast<u32>(x);
    return ~(category_words[first + code / 32] >> (code % 32)) & 1;
  }

  template <class X>
  u32 step(const Node<T>* tree, u32 at, const X* row) const {
    const Node<T>& node = tree[at];
    const u32 next = node.left + goes_right(node, row[node.feature()]);
    return node.is_leaf() ? at : next;
  }

  template <class X>
  u32 walk(const Node<T>* tree, const X* row) const {
    u32 at = 0;
    while (!tree[at].is_leaf()) at = tree[at].left + goes_right(tree[at], row[tree[at].feature()]);
    return at;
  }
};

static_assert(Node<float>::kMissingLeft == 1u << 29, "goes_right shifts by 29");

template <class T>
u32 end_at(const Node<T>* tree, u32 at, Ending ending) {
  return ending == Ending::leaf ? tree[at].left : at;
}

template <class T, bool kCategories, class X>
void end_rows_as(const Trees& trees, std::size_t tree, const X* rows, std::ptrdiff_t stride,
                 Ending ending, std::span<u32> ends) {
  const Walk<T, kCategories> walk(trees);
  const Node<T>* const root = walk.nodes + trees.node_offsets[tree];
  std::size_t i = 0;
  for (; i + kInFlight <= ends.size(); i += kInFlight, rows += stride * kInFlight) {
    u32 at[kInFlight] = {};
    for (u32 ended = 0; !ended;) {
      for (int s = 0; s < kStepsPerLook; ++s) {
#pragma GCC unroll 8
        for (int r = 0; r < kInFlight; ++r) at[r] = walk.step(root, at[r], rows + r * stride);
      }
      ended = Node<T>::kLeaf;
#pragma GCC unroll 8
      for (int r = 0; r < kInFlight; ++r) ended &= root[at[r]].tag;
    }
    for (int r = 0; r < kInFlight; ++r) ends[i + r] = end_at(root, at[r], ending);
  }
  for (; i < ends.size(); ++i, rows += stride)
    ends[i] = end_at(root, walk.walk(root, rows), ending);
}

template <class T, bool kCategories, class X>
void end_row_as(const Trees& trees, std::size_t first, const X* row, Ending ending,
                std::span<u32> ends) {
  const Walk<T, kCategories> walk(trees);
  std::size_t i = 0;
  for (; i + kInFlight <= ends.size(); i += kInFlight) {
    const Node<T>* root[kInFlight];
    u32 at[kInFlight] = {};
    for (int r = 0; r < kInFlight; ++r) root[r] = walk.nodes + trees.node_offsets[first + i + r];
    for (u32 ended = 0; !ended;) {
      for (int s = 0; s < kStepsPerLook; ++s) {
#pragma GCC unroll 8
        for (int r = 0; r < kInFlight; ++r) at[r] = walk.step(root[r], at[r], row);
      }
      ended = Node<T>::kLeaf;
#pragma GCC unroll 8
      for (int r = 0; r < kInFlight; ++r) ended &= root[r][at[r]].tag;
    }
    for (int r = 0; r < kInFlight; ++r) ends[i + r] = end_at(root[r], at[r], ending);
  }
  for (; i < ends.size(); ++i) {
    const Node<T>* const root = walk.nodes + trees.node_offsets[first + i];
    ends[i] = end_at(root, walk.walk(root, row), ending);
  }
}

}  // namespace

template <class X>
void end_rows(const Trees& trees, std::size_t tree, const X* rows, std::ptrdiff_t row_stride,
              Ending ending, std::span<u32> ends) {
  const bool categories = !trees.category_offsets.empty();
  const auto end = trees.double_thresholds
                       ? (categories ? end_rows_as<double, true, X> : end_rows_as<double, false, X>)
                       : (categories ? end_rows_as<float, true, X> : end_rows_as<float, false, X>);
  end(trees, tree, rows, row_stride, ending, ends);
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

template void end_rows(const Trees&, std::size_t, const float*, std::ptrdiff_t, Ending,
                       std::span<u32>);
template void end_rows(const Trees&, std::size_t, const double*, std::ptrdiff_t, Ending,
                       std::span<u32>);
template void end_row(const Trees&, std::size_t, const float*, Ending, std::span<u32>);
template void end_row(const Trees&, std::size_t, const double*, Ending, std::span<u32>);

}  // namespace committee
