// In which order the levels of a category are tried as prefixes, and which of them stay together.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// Where a node has many levels, those of a few rows form one group. Each by itself they
// would lie at the ends of the order, and the best prefix would be the one that knows them by
// heart: on tables with levels of a few rows a forest lost 1 to 3 points of accuracy to that. A
// node of few levels offers few prefixes; there everyone speaks for itself, down to a single row.
inline constexpr std::size_t kFewLevels = 10;
// Less than five; between whole numbers, so that rounding decides nothing where weights are equal.
inline constexpr double kRareRows = 4.5;

// Mean target (or share of class 1) of a sum: what categories are ordered by where there is one
// mean, and what monotone constraints compare.
template <class Accumulator>
double measure_level(const Accumulator& accumulator, const typename Accumulator::Element* sum,
                     double weight) {
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    return accumulator.positive(sum) / weight;
  } else {
    return static_cast<double>(sum[1]) / weight;  // class 1, or the first output
  }
}

template <class Accumulator>
class CategoryOrder {
 public:
  using Element = typename Accumulator::Element;
  using Cells = std::span<const CategoryCell<Element>>;

  explicit CategoryOrder(const Accumulator& accumulator) : accumulator_(accumulator) {}

  // Levels below this weight (units of the accumulator) are rare.
  void set_rare_weight(double rare_weight) { rare_weight_ = rare_weight; }

  std::size_t size() const { return order_.size(); }
  u32 operator[](std::size_t k) const { return order_[k]; }
  // Number of the group that the k-th level belongs to, ascending.
  u32 group(std::size_t k) const { return group_of_[k]; }
  bool cuts_after(std::size_t k) const { return group_of_[k] != group_of_[k + 1]; }
  u32 random_size() const { return random_size_; }
  // Makes the levels up to the one at `last` the left side of a candidate.
  void take_prefix(Cells cells, std::size_t last, double score, const FeatureView& view,
                   Candidate& best) const {
    best = Candidate{};
    best.score = score;
    best.feature = view.feature;
    best.priority = view.priority;
    best.bin = static_cast<u32>(last);
    best.categorical = true;
    for (std::size_t k = 0; k < size(); ++k) {
      const u32 code = cells[order_[k]].code;
      if (code == kMissingCode) {
        best.has_missing = true;
        best.missing_left = k <= last;
      } else {
        (k <= last ? best.left_codes : best.right_codes).push_back(code);
      }
    }
  }

  // Shuffles them, and draws the size of the one prefix that may go left.
  void shuffle(Cells cells, u64 number) {
    Rng rng(number);
    keyed_.clear();
    for (u32 k = 0; k < cells.size(); ++k) keyed_.emplace_back(rng.uniform(), k);
    random_size_ = 1 + rng.below(static_cast<u32>(cells.size() - 1));
    std::sort(keyed_.begin(), keyed_.end());
    order_.clear();
    group_of_.clear();
    for (const auto& [key, level] : keyed_) {
      group_of_.push_back(static_cast<u32>(order_.size()));
      order_.push_back(level);
    }
  }

  // Ordering by the mean target makes the best subset a prefix for two classes and squared error
  // [Fisher1958, Breiman1984]; for more classes or outputs the first principal component of the
  // means is used [Coppersmith1999].
  void sort(Cells cells, const Element* total) {
    if (!has_one_mean()) {
      gather_voices(cells);
      key_by_component(total);
      list_levels();
    } else {
      sort_by_mean(cells);
    }
  }

  // By the first output, or the share of class 1.
  void sort_by_mean(Cells cells) {
    gather_voices(cells);
    for (u32 v = 0; v < voices_.size(); ++v) {
      const Element* cell = voices_[v].cell;
      keyed_.emplace_back(measure_level(accumulator_, cell, accumulator_.weight(cell)), v);
    }
    list_levels();
  }

 private:
  struct Voice {
    const Element* cell;
    u32 level;  // kPool: of all the rare ones
  };
  static constexpr u32 kPool = 0xFFFFFFFFu;
  static constexpr int kPowerIterations = 16;

  bool has_one_mean() const {
    if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
      return accumulator_.outputs.size() == 1 && accumulator_.outputs[0] == 2;
    } else if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
      return accumulator_.n_outputs == 1;
    } else {
      return true;
    }
  }

  void gather_voices(Cells cells) {
    voices_.clear();
    rare_.clear();
    keyed_.clear();
    const double rare_weight = cells.size() > kFewLevels ? rare_weight_ : 0.0;
    for (u32 k = 0; k < cells.size(); ++k) {
      if (accumulator_.weight(cells[k].cell) < rare_weight) {
        rare_.push_back(k);
      } else {
        voices_.push_back({cells[k].cell, k});
      }
    }
    if (rare_.empty()) return;
    pool_.assign(accumulator_.cell(), Element{0});
    for (const u32 k : rare_) {
      for (u32 s = 0; s < accumulator_.cell(); ++s) pool_[s] += cells[k].cell[s];
    }
    voices_.push_back({pool_.data(), kPool});
  }

  void list_levels() {
    std::sort(keyed_.begin(), keyed_.end());
    order_.clear();
    for (const auto& [key, v] : keyed_) {
      if (voices_[v].level == kPool) {
        order_.insert(order_.end(), rare_.begin(), rare_.end());
      } else {
        order_.push_back(voices_[v].level);
      }
    }
    group_of_.clear();
    for (u32 place = 0; place < keyed_.size(); ++place) {
      const bool pooled = voices_[keyed_[place].second].level == kPool;
      group_of_.insert(group_of_.end(), pooled ? rare_.size() : 1, place);
    }
  }

  void key_by_component(const Element* total) {
    u32 width = accumulator_.cell() - 1;
    if constexpr (Accumulator::kKind == AccumulatorKind::classes) width = accumulator_.n_elements;
    const u32 first = Accumulator::kKind == AccumulatorKind::classes ? 0 : 1;
    const double total_weight = accumulator_.weight(total);
    means_.assign(voices_.size() * width, 0.0);
    double largest = -1.0;
    std::size_t start = 0;
    for (std::size_t v = 0; v < voices_.size(); ++v) {
      const double w = accumulator_.weight(voices_[v].cell);
      double norm = 0.0;
      for (u32 j = 0; j < width; ++j) {
        const double mean = static_cast<double>(voices_[v].cell[first + j]) / w -
                            static_cast<double>(total[first + j]) / total_weight;
        means_[v * width + j] = mean;
        norm += mean * mean;
      }
      if (norm > largest) largest = norm, start = v;
    }
    std::vector<double> axis(means_.begin() + start * width, means_.begin() + (start + 1) * width);
    for (int iteration = 0; iteration < kPowerIterations && largest > 0.0; ++iteration) {
      std::vector<double> next(width, 0.0);
      double norm = 0.0;
      for (std::size_t v = 0; v < voices_.size(); ++v) {
        const double along = accumulator_.weight(voices_[v].cell) * project(v, axis);
        for (u32 j = 0; j < width; ++j) next[j] += along * means_[v * width + j];
      }
      for (const double n : next) norm += n * n;
      if (!(norm > 0.0)) break;
      norm = std::sqrt(norm);
      for (u32 j = 0; j < width; ++j) axis[j] = next[j] / norm;
    }
    for (u32 v = 0; v < voices_.size(); ++v) keyed_.emplace_back(project(v, axis), v);
  }

  double project(std::size_t v, const std::vector<double>& axis) const {
    double dot = 0.0;
    for (std::size_t j = 0; j < axis.size(); ++j) dot += means_[v * axis.size() + j] * axis[j];
    return dot;
  }

  const Accumulator& accumulator_;
  double rare_weight_ = 0.0;
  std::vector<Voice> voices_;
  std::vector<u32> rare_;
  std::vector<Element> pool_;
  std::vector<double> means_;
  std::vector<std::pair<double, u32>> keyed_;  // (key, group) ascending
  std::vector<u32> order_, group_of_;
  u32 random_size_ = 0;
};

}  // namespace committee
