#include "boosting/merged_rows.hpp"

#include <algorithm>
#include <vector>

#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr std::size_t kMergedRows = 1 << 14;  // at a time: several threads share a long list

struct Piece {
  const ChildRows* list;
  std::size_t begin, end;  // of the merged list
};

// How many of the first n merged rows come from the left list.
std::size_t count_left(const ChildRows& list, std::size_t n) {
  const RowItem* const right = list.rows + list.n_left;
  std::size_t low = n - std::min(n, list.n - list.n_left), high = std::min(n, list.n_left);
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (list.rows[middle].row < right[n - middle - 1].row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void merge_piece(const Piece& piece) {
  const ChildRows& list = *piece.list;
  const std::size_t n_before = count_left(list, piece.begin), n_after = count_left(list, piece.end);
  const RowItem *left = list.rows + n_before, *const left_end = list.rows + n_after;
  const RowItem *right = list.rows + list.n_left + (piece.begin - n_before), *const right_end =
                                                                                 list.rows +
                                                                                 list.n_left +
                                                                                 (piece.end -
                                                                                  n_after);
  RowItem* to = list.scratch + piece.begin;
  while (left != left_end && right != right_end) {
    const bool from_left = left->row < right->row;
    *to++ = from_left ? *left : *right;
    left += from_left;
    right += !from_left;
  }
  std::copy(right, right_end, std::copy(left, left_end, to));
}

}  // namespace

void merge_rows(std::span<const ChildRows> lists, int n_threads) {
  std::vector<Piece> pieces;
  for (const ChildRows& list : lists) {
    if (list.n_left == 0 || list.n_left == list.n) continue;
    for (std::size_t begin = 0; begin < list.n; begin += kMergedRows)
      pieces.push_back({&list, begin, std::min(list.n, begin + kMergedRows)});
  }
  parallel_for(pieces.size(), n_threads, [&](std::size_t p) { merge_piece(pieces[p]); });
  parallel_for(pieces.size(), n_threads, [&](std::size_t p) {
    const Piece& piece = pieces[p];
    std::copy_n(piece.list->scratch + piece.begin, piece.end - piece.begin,
                piece.list->rows + piece.begin);
  });
}

}  // namespace committee
