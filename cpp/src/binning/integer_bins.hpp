// Whole numbers of a short range, as ages, counts and codes are: counted, which is sooner done than
// sorting them.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "committee/types.hpp"

namespace committee {

template <class T>
class WholeCounts {
 public:
  // False if there is another number among the values, or if they range further than they are many;
  // missing ones are counted by themselves.
  bool count(const T* values, std::size_t n) {
    if (!find_range(values, std::min(n, kFirst)) || !find_range(values, n)) return false;
    const std::size_t cells = size() + 1;  // the last one: missing
    counts_.assign(kWays * cells, 0);
    u32* const counts = counts_.data();
    const auto place = [&](T x) { return x == x ? static_cast<std::size_t>(x - low_) : cells - 1; };
    std::size_t i = 0;
    for (; i + kWays <= n; i += kWays)
      for (std::size_t way = 0; way < kWays; ++way) ++counts[way * cells + place(values[i + way])];
    for (; i < n; ++i) ++counts[place(values[i])];
    for (std::size_t c = 0; c < cells; ++c)
      for (std::size_t way = 1; way < kWays; ++way) counts[c] += counts[way * cells + c];
    return true;
  }
  // How often value(place) occurs, for places below size(); how many are missing.
  u32 operator[](std::size_t place) const { return counts_[place]; }
  u32 n_missing() const { return counts_[size()]; }
  std::size_t size() const { return low_ > high_ ? 0 : static_cast<std::size_t>(high_ - low_) + 1; }
  T value(std::size_t place) const { return low_ + static_cast<T>(place); }

 private:
  // A table for every fourth row: one table would wait for itself where a value is frequent.
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kFirst = 64;  // values that tell most columns of fractions apart
  static constexpr T kMostRange = T(16'384), kLargest = T(1 << 20);
  // Adding it cuts off the fraction of any number that is not larger than kLargest.
  static constexpr T kShift = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);

  bool find_range(const T* values, std::size_t n) {
    using Lanes COMMITTEE_VECTOR(16) = T;
    constexpr std::size_t kLanes = 16 / sizeof(T);
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    Lanes low = Lanes{} + kInfinity, high = Lanes{} - kInfinity;
    auto broken = Lanes{} != Lanes{};
    for (std::size_t i = 0; i < n; i += kLanes) {
      Lanes some;
      if (i + kLanes <= n) {
        std::memcpy(&some, values + i, sizeof some);
      } else {
        some = Lanes{} + values[n - 1];
        std::memcpy(&some, values + i, (n - i) * sizeof(T));
      }
      broken |= (((some + kShift) - kShift) != some) & (some == some);
      low = some < low ? some : low;
      high = some > high ? some : high;
    }
    low_ = kInfinity, high_ = -kInfinity;
    bool whole = true;
    for (std::size_t l = 0; l < kLanes; ++l) {
      low_ = std::min(low_, low[l]);
      high_ = std::max(high_, high[l]);
      whole = whole && broken[l] == 0;
    }
    if (!whole) return false;
    if (low_ > high_) return true;  // all are missing
    return low_ >= -kLargest && high_ <= kLargest && high_ - low_ < kMostRange &&
           (n <= kFirst || size() <= n);
  }

  T low_ = T(0), high_ = T(-1);
  std::vector<u32> counts_;
};

}  // namespace committee
