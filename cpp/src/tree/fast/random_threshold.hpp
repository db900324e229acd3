// Random cuts of a column: from a random number to the last bin on its left, by comparing many bins
// at once. Halving, as draw_split_bin does, is a chain of eight loads that wait for one another.
#pragma once
#include <algorithm>

#include "base/rng.hpp"
#include "committee/binning.hpp"
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace committee {

// Keys that are compared at once.
inline constexpr u32 kKeysTogether = 16;

// How many of them are less than a key. ExtraTreesWide has a form of its own.
struct PlainKeys {
  using KeyLanes COMMITTEE_VECTOR(16) = u32;
  static u32 count_less(const u32* keys, u32 key) {
    const KeyLanes bar = KeyLanes{} + key;
    KeyLanes less{};
#pragma GCC unroll 4
    for (u32 k = 0; k < kKeysTogether; k += 4) {
      KeyLanes lanes;
      std::memcpy(&lanes, keys + k, sizeof lanes);
      less -= reinterpret_cast<KeyLanes>(lanes < bar);
    }
#if defined(__aarch64__)
    return vaddvq_u32((uint32x4_t)less);
#else
    return less[0] + less[1] + less[2] + less[3];
#endif
  }
};

class RandomThresholds {
 public:
  // Whether the values are finite numbers, so that all of them have keys.
  static bool fits(const ColumnBins& bins);
  explicit RandomThresholds(const ColumnBins& bins);

  // From a random number to the cut between the bins lo <= hi as draw_split_bin has it, in four
  // steps: what waits for memory can be done for some columns side by side.
  double draw(u32 lo, u32 hi, u64 number) const {
    const double a = low_[lo], b = high_[hi];
    return a + (b - a) * scale_unit(number);
  }
  // A key grows with its value: of two values with different keys the one with the larger key is
  // larger.
  u32 key_of(double value) const { return static_cast<u32>((value - first_) * scale_); }
  template <class Keys>
  u32 find_run(u32 key) const {
    return Keys::count_less(last_keys_, key) * kKeysTogether;
  }
  template <class Keys>
  u32 count_below(u32 run, u32 key) const {
    return run + Keys::count_less(keys_ + run, key);
  }
  // n_left: bins below the key; where lo and hi are one that is the cut.
  u32 settle(u32 n_left, u32 key, double threshold, u32 lo, u32 hi) const {
    if (keys_[n_left] == key) [[unlikely]]
      n_left = count_up(n_left, threshold);
    const i32 last = std::min(static_cast<i32>(n_left) - 1, static_cast<i32>(hi) - 1);
    return static_cast<u32>(std::max(last, static_cast<i32>(lo)));
  }

 private:
  u32 count_up(u32 n_left, double threshold) const;

  const double *low_, *high_;
  u32 n_bins_;
  double first_ = 0.0, scale_ = 0.0;
  alignas(64) u32 last_keys_[kKeysTogether];  // of each run of bins
  alignas(64) u32 keys_[kHistogramBins];
};

}  // namespace committee
