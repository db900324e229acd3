// The order in which the categories of a node are tried: every prefix is a subset that may go left.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "split.hpp"

namespace committee {

// Mean target (or share of class 1) of a sum: what categories are ordered by where there is one
// mean, and what monotone constraints compare.
template <class Tally>
double measure_level(const Tally& tally, const typename Tally::Slot* sum, double weight) {
  if constexpr (Tally::kKind == TallyKind::binary) {
    return tally.positive(sum) / weight;
  } else {
    return static_cast<double>(sum[1]) / weight;  // class 1, or the first output
  }
}

// Ordering by the mean target makes the best subset a prefix for two classes and squared error
// [Fisher1958, Breiman1984]; for more classes or outputs the first principal component of the
// means is used [Coppersmith1999]. Random: one prefix of a random order, a random subset.
template <class Tally>
class CategoryOrder {
 public:
  using Slot = typename Tally::Slot;
  using Cells = std::span<const CategoryCell<Slot>>;

  explicit CategoryOrder(const Tally& tally) : tally_(tally) {}

  // Orders the categories of a node whose rows sum up to `total`.
  void sort(Cells cells, const Slot* total) {
    order_.clear();
    if (has_one_mean()) {
      for (u32 k = 0; k < cells.size(); ++k) {
        order_.emplace_back(measure_level(tally_, cells[k].cell, tally_.weight(cells[k].cell)), k);
      }
    } else {
      order_by_component(cells, total);
    }
    std::sort(order_.begin(), order_.end());
  }

  // Shuffles them, and draws the size of the one prefix that may go left.
  void shuffle(Cells cells, u64 number) {
    order_.clear();
    Rng rng(number);
    for (u32 k = 0; k < cells.size(); ++k) order_.emplace_back(rng.uniform(), k);
    random_size_ = 1 + rng.below(static_cast<u32>(cells.size() - 1));
    std::sort(order_.begin(), order_.end());
  }

  std::size_t size() const { return order_.size(); }
  // Index of the category in place k.
  u32 operator[](std::size_t k) const { return order_[k].second; }
  u32 random_size() const { return random_size_; }

 private:
  bool has_one_mean() const {
    if constexpr (Tally::kKind == TallyKind::classes) {
      return tally_.outputs.size() == 1 && tally_.outputs[0] == 2;
    } else if constexpr (Tally::kKind == TallyKind::moments) {
      return tally_.n_outputs == 1;
    } else {
      return true;
    }
  }

  void order_by_component(Cells cells, const Slot* total) {
    u32 width = tally_.cell() - 1;
    if constexpr (Tally::kKind == TallyKind::classes) width = tally_.n_slots;
    const u32 first = Tally::kKind == TallyKind::classes ? 0 : 1;
    const double total_weight = tally_.weight(total);
    means_.assign(cells.size() * width, 0.0);
    double largest = -1.0;
    std::size_t start = 0;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const double w = tally_.weight(cells[k].cell);
      double norm = 0.0;
      for (u32 j = 0; j < width; ++j) {
        const double mean = static_cast<double>(cells[k].cell[first + j]) / w -
                            static_cast<double>(total[first + j]) / total_weight;
        means_[k * width + j] = mean;
        norm += mean * mean;
      }
      if (norm > largest) largest = norm, start = k;
    }
    std::vector<double> axis(means_.begin() + start * width, means_.begin() + (start + 1) * width);
    for (int iteration = 0; iteration < kPowerIterations && largest > 0.0; ++iteration) {
      std::vector<double> next(width, 0.0);
      double norm = 0.0;
      for (std::size_t k = 0; k < cells.size(); ++k) {
        const double along = tally_.weight(cells[k].cell) * project(k, axis);
        for (u32 j = 0; j < width; ++j) next[j] += along * means_[k * width + j];
      }
      for (const double v : next) norm += v * v;
      if (!(norm > 0.0)) break;
      norm = std::sqrt(norm);
      for (u32 j = 0; j < width; ++j) axis[j] = next[j] / norm;
    }
    for (u32 k = 0; k < cells.size(); ++k) order_.emplace_back(project(k, axis), k);
  }

  double project(std::size_t k, const std::vector<double>& axis) const {
    double dot = 0.0;
    for (std::size_t j = 0; j < axis.size(); ++j) dot += means_[k * axis.size() + j] * axis[j];
    return dot;
  }

  static constexpr int kPowerIterations = 16;
  const Tally& tally_;
  std::vector<std::pair<double, u32>> order_;  // (key, index), ascending
  u32 random_size_ = 0;
  std::vector<double> means_;
};

}  // namespace committee
