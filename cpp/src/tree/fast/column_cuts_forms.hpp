// What the forms of ColumnCuts have in common: a form finds the ends of the bins of a node, and
// what lies left of a cut.
#pragma once
#include <algorithm>

#include "committee/criteria/gini.hpp"
#include "tree/fast/column_cuts.hpp"

namespace committee {

COMMITTEE_INLINE inline void ColumnCuts::prefetch_some() {
  constexpr std::size_t kLine = 64;
  if (coming_ >= n_coming_) return;
  prefetch(coming_column_ + coming_);
  prefetch(coming_column_ + coming_ + kLine);
  prefetch(coming_ends_ + coming_ / 2);
  coming_ += 2 * kLine;
}

COMMITTEE_INLINE inline void ColumnCuts::prefetch_rows(const ColumnNode& node) const {
  constexpr std::size_t kMostBytes = 1024, kLine = 64;
  const u16* const rows = turn_.rows + node.begin;
  const std::size_t n_bytes = std::min(node.n_rows * sizeof(u16), kMostBytes);
  for (std::size_t at = 0; at < n_bytes; at += kLine)
    prefetch(reinterpret_cast<const u8*>(rows) + at);
}

template <class Form>
COMMITTEE_INLINE inline void ColumnCuts::search_in(u32 feature, std::span<const ColumnDraw> draws) {
  column_ = data_.column(feature);
  while (!draws.empty()) {
    draws = draws.subspan(gather_some<Form>(feature, draws));
    ends_.answer_near({batch_.queries, batch_.n});
    take_cuts<Form>(feature);
  }
}

// The ends of the bins of the first nodes, of some or all; returns how many.
template <class Form>
COMMITTEE_INLINE inline std::size_t ColumnCuts::gather_some(u32 feature,
                                                            std::span<const ColumnDraw> draws) {
  constexpr std::size_t kNodesBefore = 16,
                        kRowsBefore = 8;  // draws that they are prefetched before
  Batch& batch = batch_;
  batch.n = 0;
  std::size_t k = 0, used = 0;
  for (; k < draws.size() && batch.n < Batch::kMost && used < Batch::kVectors; ++k) {
    prefetch_some();
    if (k + kNodesBefore < draws.size()) prefetch(&turn_.nodes[draws[k + kNodesBefore].node]);
    if (k + kRowsBefore < draws.size()) prefetch_rows(turn_.nodes[draws[k + kRowsBefore].node]);
    const ColumnNode& node = turn_.nodes[draws[k].node];
    u32 lo, hi;
    const std::size_t n_vectors = Form::find_ends(*this, node, bins_.data() + used, lo, hi);
    const std::size_t c = batch.n;
    batch.queries[c] = {feature, lo, hi, node.numbers.at(Purpose::threshold, feature), 0};
    batch.draws[c] = draws[k];
    batch.at[c] = static_cast<u32>(used);
    batch.n += lo != hi;
    used += n_vectors;
  }
  return k;
}

// Counts what lies left of the cuts, and gives each to its node if it is the best so far. No
// branch waits for a score before all are counted.
template <class Form>
COMMITTEE_INLINE inline void ColumnCuts::take_cuts(u32 feature) {
  const Batch& batch = batch_;
  u32 n_left[Batch::kMost], n_positive[Batch::kMost];
  double scores[Batch::kMost];
  for (std::size_t c = 0; c < batch.n; ++c) {
    const ColumnNode& node = turn_.nodes[batch.draws[c].node];
    Form::count_left(*this, node, bins_.data() + batch.at[c], batch.queries[c].cut, n_left[c],
                     n_positive[c]);
    scores[c] = Gini().score_binary(n_left[c], n_positive[c], node.n_rows, node.n_positive);
  }
  for (std::size_t c = 0; c < batch.n; ++c) {
    const u32 priority = batch.draws[c].priority, cut = batch.queries[c].cut;
    ColumnNode& node = turn_.nodes[batch.draws[c].node];
    const bool is_first = priority < node.priority;
    const bool is_better = (scores[c] > node.score) | ((scores[c] == node.score) & is_first);
    if (!((priority & ColumnDraw::kLate) != 0 ? is_first : is_better)) continue;
    node.score = scores[c];
    node.priority = priority;
    node.feature = feature;
    node.bin = cut;
    node.n_left = n_left[c];
    node.left_positive = n_positive[c];
    Form::keep_left(*this, node, bins_.data() + batch.at[c], cut);
  }
}

}  // namespace committee
