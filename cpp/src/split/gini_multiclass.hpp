// The scans of Gini over the classes of one output, where no limit forbids a boundary.
#pragma once
#include <algorithm>
#include <bit>

#include "committee/gini_sums.hpp"
#include "split/histogram.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// What any other criterion has in its place.
struct NoGiniMulticlass {
  template <class Accumulator>
  explicit NoGiniMulticlass(const Accumulator&) {}
};

template <class Element>
class GiniMulticlass {
  using Accumulator = ClassAccumulator<Element>;
  using Item = typename Accumulator::Item;

 public:
  // A feature's cells, and which of them may be touched.
  struct Histogram {
    const Element* cells;
    u64 touched;
    bool has_missing;
  };

  explicit GiniMulticlass(const Accumulator& accumulator)
      : accumulator_(accumulator), left_(accumulator.cell()) {}

  void begin_node(const Element* total, double weight) {
    total_ = total;
    weight_ = weight;
    has_packed_ = false;
  }

  // As SplitFinder's; where a boundary is the best, best_left receives what lies left of it.
  bool scan_bins(const Histogram& hist, const FeatureView& view, Candidate& best,
                 Element* best_left) {
    if constexpr (sizeof(Element) == 4) {
      if (!accumulator_.counted && weight_ <= BoundaryList::kMostWeight &&
          accumulator_.cell() <= 4 * kBatch)
        return scan_quads(hist, view, best, best_left);
    }
    const Element* missing = missing_cell(hist);
    GiniSums<Element> sweep(total_, accumulator_.outputs[0], weight_, left_.data());
    bool varies = false;
    double bar = set_bar(best.score);
    auto look = [&](const Boundary& at) {
      varies = true;
      if (sweep.is_below(bar)) return;
      const double score = sweep.score();
      if (!best.loses_to(score, view.priority, at.bin)) return;
      std::copy(left_.begin(), left_.end(), best_left);
      take_boundary(best, score, view, at);
      bar = set_bar(score);
    };
    for (int pass = 0; pass < (hist.has_missing ? 2 : 1); ++pass) {
      sweep.start(pass == 1 ? missing : nullptr);
      u32 previous = kNone;
      for (u64 groups = hist.touched; groups; groups &= groups - 1) {
        const u32 first = static_cast<u32>(std::countr_zero(groups)) * 4;
        for (u32 bin = first; bin < first + 4 && bin < kMissingBin; ++bin) {
          const Element* cell = hist.cells + static_cast<std::size_t>(bin) * accumulator_.cell();
          if (accumulator_.is_empty(cell)) continue;
          if (previous != kNone) look({previous, bin, pass == 1, hist.has_missing});
          sweep.advance(cell);
          previous = bin;
        }
      }
      if (hist.has_missing && pass == 0 && previous != kNone) look({previous, kNone, false, true});
    }
    return varies;
  }

  bool scan_few(std::span<const u16> keyed, const Item* items, const FeatureView& view,
                Candidate& best, Element* best_left) {
    if (accumulator_.n_elements <= PackedGiniSums::kMostClasses &&
        weight_ <= PackedGiniSums::kMostWeight)
      return scan_few_bytes(keyed, items, view, best, best_left);
    GiniSums<Element> sweep(total_, accumulator_.outputs[0], weight_, left_.data());
    double bar = set_bar(best.score);
    return scan_boundaries(
        keyed, [&] { sweep.start(nullptr); },
        [&](u16 key) { sweep.move_row(items[key & 0xFF].label, items[key & 0xFF].weight); },
        [&](const Boundary& at) {
          if (sweep.is_below(bar)) return;
          const double score = sweep.score();
          if (!best.loses_to(score, view.priority, at.bin)) return;
          std::copy_n(left_.begin(), accumulator_.n_elements, best_left);
          take_boundary(best, score, view, at);
          bar = set_bar(score);
        });
  }

  bool scan_sorted(const SortedRows& rows, const Item* items, const FeatureView& view,
                   Candidate& best, Element* best_left) {
    GiniSums<Element> sweep(total_, accumulator_.outputs[0], weight_, left_.data());
    double bar = set_bar(best.score);
    return scan_sorted_boundaries(
        rows, [&] { sweep.start(nullptr); },
        [&](u32 row) { sweep.move_row(items[row].label, items[row].weight); },
        [&](const Boundary& at) {
          if (sweep.is_below(bar)) return;
          const double score = sweep.score();
          if (!best.loses_to(score, view.priority, at.bin)) return;
          std::copy_n(left_.begin(), accumulator_.n_elements, best_left);
          take_boundary(best, score, view, at);
          bar = set_bar(score);
        });
  }

 private:
  const Element* missing_cell(const Histogram& hist) const {
    return hist.cells + static_cast<std::size_t>(kMissingBin) * accumulator_.cell();
  }

  bool scan_few_bytes(std::span<const u16> keyed, const Item* items, const FeatureView& view,
                      Candidate& best, Element* best_left) {
    if (!has_packed_) pack_rows(items, keyed.size());
    if (keyed.back() >> 8 != kMissingBin) return scan_listed_bytes(keyed, view, best, best_left);
    PackedGiniSums sweep(packed_total_, weight_);
    double bar = set_bar(best.score);
    u64 left = 0;
    const bool varies = scan_boundaries(
        keyed, [&] { sweep.start(); }, [&](u16 key) { sweep.move_row(packed_[key & 0xFF]); },
        [&](const Boundary& at) {
          const PackedGiniSums::Sides sides = sweep.measure();
          if (sides.is_below(bar)) return;
          const double score = sides.score();
          if (!best.loses_to(score, view.priority, at.bin)) return;
          left = sweep.left();
          take_boundary(best, score, view, at);
          bar = set_bar(score);
        });
    if (left != 0) unpack(left, best_left);
    return varies;
  }

  // The same without missing values: first a list of the boundaries, without a branch on the rows,
  // then their scores, where only those that come near the best are guessed wrong.
  bool scan_listed_bytes(std::span<const u16> keyed, const FeatureView& view, Candidate& best,
                         Element* best_left) {
    u64 lefts[kMostFew + 1], left = 0;  // of every bin that occurs: what lies left of it
    u8 bins[kMostFew + 1];
    u32 n = 0, previous = kNone;
    for (const u16 key : keyed) {
      const u32 bin = key >> 8;
      bins[n] = static_cast<u8>(bin);
      lefts[n] = left;
      n += bin != previous;
      left += packed_[key & 0xFF];
      previous = bin;
    }
    PackedGiniSums sweep(packed_total_, weight_);
    double bar = set_bar(best.score);
    u32 at = 0;
    for (u32 k = 1; k < n; ++k) {
      sweep.set_left(lefts[k]);
      const PackedGiniSums::Sides sides = sweep.measure();
      if (sides.is_below(bar)) continue;
      const double score = sides.score();
      if (!best.loses_to(score, view.priority, bins[k - 1])) continue;
      at = k;
      take_boundary(best, score, view, {bins[k - 1], bins[k], false, false});
      bar = set_bar(score);
    }
    if (at != 0) unpack(lefts[at], best_left);
    return n > 1;
  }

  void unpack(u64 word, Element* elements) const {
    for (u32 s = 0; s < accumulator_.n_elements; ++s)
      elements[s] = static_cast<Element>(word >> (8 * s) & 0xFF);
  }

  void pack_rows(const Item* items, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      packed_[i] = PackedGiniSums::pack(items[i].label, items[i].weight);
    packed_total_ = 0;
    for (u32 s = 0; s < accumulator_.n_elements; ++s)
      packed_total_ |= PackedGiniSums::pack(s, static_cast<u32>(total_[s]));
    has_packed_ = true;
  }

  // Nodes whose sums of squares fit 32 bits: all classes at once and without a branch.
  bool scan_quads(const Histogram& hist, const FeatureView& view, Candidate& best,
                  Element* best_left) {
    const bool has_missing = hist.has_missing;
    bool varies = false;
    for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
      const Element* from = pass == 1 ? missing_cell(hist) : nullptr;
      with_features(accumulator_.cell() / 4, [&]<int kQuads>() {
        boundaries_.template list<kQuads>(hist.cells, hist.touched, total_, from);
      });
      // The missing bin comes last; its entry is the sum of all values.
      const u32 n = boundaries_.n - (has_missing ? 1 : 0);
      bool is_new = n > 1 && take_listed(1, n, {0, 0, pass == 1, has_missing}, view, best);
      if (pass == 0 && has_missing && n > 0)
        is_new = take_listed(n, n + 1, {0, kNone, false, true}, view, best) || is_new;
      varies = varies || n > 1 || (has_missing && n > 0);
      if (is_new) sum_up_to(hist, best.bin, from, best_left);
    }
    return varies;
  }

  // Whether one of the listed boundaries [from, to) is the best so far.
  bool take_listed(u32 from, u32 to, Boundary at, const FeatureView& view, Candidate& best) {
    const BoundaryList& list = boundaries_;
    const bool ends = at.next == kNone;
    double bar = set_bar(best.score);
    bool is_new = false;
    for (u32 k = from; k < to; ++k) {
      const double l = list.left_weight[k], r = weight_ - l;
      const double a = list.left_squares[k], b = list.right_squares[k];
      if (a * r + b * l < bar * (l * r)) continue;
      const double score = a / l + b / r;
      at.bin = list.bins[k - 1];
      if (!best.loses_to(score, view.priority, at.bin)) continue;
      at.next = ends ? kNone : list.bins[k];
      take_boundary(best, score, view, at);
      bar = set_bar(score);
      is_new = true;
    }
    return is_new;
  }

  void sum_up_to(const Histogram& hist, u32 cut, const Element* from, Element* sum) const {
    const u32 n_elements = accumulator_.n_elements;
    for (u32 s = 0; s < n_elements; ++s) sum[s] = from ? from[s] : 0;
    for (u64 groups = hist.touched; groups; groups &= groups - 1) {
      const u32 first = static_cast<u32>(std::countr_zero(groups)) * 4;
      if (first > cut) return;
      for (u32 bin = first; bin < first + 4 && bin <= cut; ++bin) {
        const Element* cell = hist.cells + static_cast<std::size_t>(bin) * accumulator_.cell();
        for (u32 s = 0; s < n_elements; ++s) sum[s] += cell[s];
      }
    }
  }

  const Accumulator& accumulator_;
  const Element* total_ = nullptr;
  double weight_ = 0.0;
  std::vector<Element> left_;
  std::conditional_t<sizeof(Element) == 4, BoundaryList, char> boundaries_{};
  // A word a row of the node at hand, if it has few (PackedGiniSums).
  u64 packed_[kMostFew], packed_total_ = 0;
  bool has_packed_ = false;
};

}  // namespace committee
