// What the integers of each class are worth.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>

#include "committee/stump.hpp"

namespace committee {

// Most stumps call nearly all rows one class, so that the weights of nearly all rows of another one
// change, all alike. That is one number a class: the sums of its integers stay as they are and are
// worth more. What is compared between classes are sums times their scales, rounded to integers; a
// larger sum is never worth less, so that no side of a split has more than both.
//
// Rounded sums that should be equal may differ, and of few rows many are. So all scales stay one
// where there are few, and rows change by the common factor of all classes.
class ClassScales {
 public:
  explicit ClassScales(u32 n_classes) : scales_(n_classes, 1.0) {}

  u64 apply(u32 k, u64 sum) const {
    if (sum == 0 || scales_[k] == 1.0) return sum;
    const double worth = static_cast<double>(static_cast<i64>(sum)) * scales_[k];
    return std::max<u64>(1, static_cast<u64>(static_cast<i64>(worth + 0.5)));
  }

  // The step of weights that are multiplied by factors[leaf][class]; sums[leaf][class] are those of
  // the integers, units[leaf][class] the rows, as often as they weigh.
  StumpStep take_step(std::span<const double> factors, const std::vector<u64>& sums,
                      const std::vector<u64>& units) {
    StumpStep step;
    if (std::accumulate(units.begin(), units.end(), u64{0}) < kFewUnits) {
      step.common.assign(scales_.size(), choose_common(factors, sums, units));
    } else {
      choose_commons(factors, sums, units, step.common);
    }
    step.scales = scales_;
    return step;
  }

 private:
  static constexpr u64 kFewUnits = 16'384;
  static constexpr int kTotalBits = 54;  // of all sums, times their scales
  static constexpr double kLeastSum = 0x1.0p50, kMostSum = 0x1.0p61;
  static constexpr double kCoarsest = 8.0;  // so that an integer is at most 2^-50 of the whole
  static constexpr double kLeastScale = 1e-280, kLeastCommon = 0x1.0p-1022;

  // A power of two that brings a total to kTotalBits.
  static int find_exponent(double total) {
    int exponent;
    std::frexp(total, &exponent);
    return kTotalBits - exponent;
  }

  // For all classes the factor of most rows: these do not change. Where the total leaves its range,
  // all do, by a power of two.
  double choose_common(std::span<const double> factors, const std::vector<u64>& sums,
                       const std::vector<u64>& units) const {
    u64 most = 0;
    double common = factors[0], total = 0.0;
    for (std::size_t a = 0; a < factors.size(); ++a) {
      u64 n = 0;
      for (std::size_t b = 0; b < factors.size(); ++b) n += factors[b] == factors[a] ? units[b] : 0;
      if (n > most) most = n, common = factors[a];
    }
    const auto sum_up = [&] {
      total = 0.0;
      for (std::size_t c = 0; c < factors.size(); ++c)
        total += static_cast<double>(sums[c]) * (factors[c] / common);
    };
    sum_up();
    if (!std::isfinite(total)) {  // factors too far apart: the heaviest rows keep their weight
      common = *std::max_element(factors.begin(), factors.end());
      sum_up();
    }
    if (total >= kLeastSum && total < kMostSum) return common;
    return std::max(std::ldexp(common, -find_exponent(total)), kLeastCommon);
  }

  // The same class by class; the common factors go into the scales.
  void choose_commons(std::span<const double> factors, const std::vector<u64>& sums,
                      const std::vector<u64>& units, std::vector<double>& commons) {
    const std::size_t n_classes = scales_.size();
    std::vector<double> totals(n_classes);
    for (std::size_t k = 0; k < n_classes; ++k) {
      const auto sum_up = [&](double common) {
        totals[k] = 0.0;
        for (std::size_t c = k; c < factors.size(); c += n_classes)
          totals[k] += static_cast<double>(sums[c]) * (factors[c] / common);
        return common;
      };
      std::size_t most = k, largest = k;
      for (std::size_t c = k; c < factors.size(); c += n_classes) {
        if (units[c] > units[most]) most = c;
        if (factors[c] > factors[largest]) largest = c;
      }
      commons.push_back(sum_up(factors[most]));
      if (!(totals[k] < kMostSum)) commons[k] = sum_up(factors[largest]);
    }
    multiply(commons, totals);
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (scales_[k] <= kCoarsest) continue;
      // The integers have become too coarse: the levels of the class take up its scale.
      commons[k] = std::max(commons[k] / scales_[k], kLeastCommon);
      scales_[k] = 1.0;
    }
  }

  // The scales by the common factors, and by a power of two: weights matter up to a factor.
  void multiply(const std::vector<double>& commons, const std::vector<double>& totals) {
    const double largest = *std::max_element(commons.begin(), commons.end());
    double whole = 0.0;
    for (std::size_t k = 0; k < scales_.size(); ++k) {
      scales_[k] = std::max(scales_[k] * (commons[k] / largest), kLeastScale);
      whole += totals[k] * scales_[k];
    }
    const int exponent = find_exponent(whole);
    for (double& scale : scales_) scale = std::max(std::ldexp(scale, exponent), kLeastScale);
  }

  std::vector<double> scales_;
};

}  // namespace committee
