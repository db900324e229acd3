// Floats as integers of the same order, and a stable radix sort of them.
#pragma once
#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/returned_buffer.hpp"
#include "base/wide_sort.hpp"
#include "committee/types.hpp"

namespace committee {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 4, u32, u64>;

// Unsigned keys in the order of the values; -0.0 and +0.0 have the same key. Not for NaN.
template <class T>
inline KeyOf<T> make_key(T x) {
  using K = KeyOf<T>;
  constexpr int kSign = sizeof(K) * 8 - 1;
  const K bits = std::bit_cast<K>(x + T(0));  // -0.0 + 0.0 is +0.0
  const K negative = K(0) - (bits >> kSign);  // all ones below zero
  return bits ^ (negative | (K(1) << kSign));
}

template <class K>
inline double read_key(K key) {
  using T = std::conditional_t<sizeof(K) == 4, float, double>;
  constexpr int kSign = sizeof(K) * 8 - 1;
  const K positive = K(0) - (key >> kSign);
  return static_cast<double>(std::bit_cast<T>(key ^ (~positive | (K(1) << kSign))));
}

// The keys of those values that are not NaN; returns how many these are. Up to kKeySlack more are
// written behind them.
inline constexpr std::size_t kKeySlack = 16;
template <class T>
inline std::size_t list_keys(const T* values, std::size_t n, KeyOf<T>* keys) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) return list_keys_wide(values, n, keys);
#endif
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; ++i) {
    keys[seen] = make_key(values[i]);
    seen += values[i] == values[i];
  }
  return seen;
}

// Of sorted keys: moves the distinct ones to the front and lists how many keys are up to each; up
// to kKeySlack more numbers are written behind these. Returns how many are distinct.
template <class K>
inline std::size_t list_distinct(K* keys, std::size_t n, u64* counts) {
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) return list_distinct_wide(keys, n, counts);
#endif
  std::size_t size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const K key = keys[i];
    keys[size] = key;
    counts[size] = i + 1;
    size += i + 1 == n || keys[i + 1] != key;
  }
  return size;
}

// Sorts keys, with a u32 carried along where asked. Least significant digit first, so it is stable.
template <class K>
class KeySorter {
 public:
  KeySorter(std::size_t capacity, bool with_rows)
      : keys_(capacity + kKeySlack), spare_keys_(capacity + kKeySlack), with_rows_(with_rows) {
    if (!with_rows) return;
    rows_ = ReturnedBuffer<u32>(capacity);
    spare_rows_ = ReturnedBuffer<u32>(capacity);
  }
  K* keys() { return keys_.data(); }
  u32* rows() { return rows_.data(); }

  void sort(std::size_t n) {
    if (n <= kInsertionRows) {
      insert_all(n);
#if defined(COMMITTEE_AVX512)
    } else if (!with_rows_ && may_use(Instructions::avx512)) {
      sort_wide(keys_.data(), n, spare_keys_.data());
#endif
    } else if (n <= kFewRows || (sizeof(K) == 4 && n >= kManyRows && n <= kMostRows)) {
      with_rows_ ? sort_digits<8, true>(n) : sort_digits<8, false>(n);
    } else {
      with_rows_ ? sort_digits<11, true>(n) : sort_digits<11, false>(n);
    }
  }

 private:
  static constexpr std::size_t kInsertionRows = 32;
  // Digits of 8 bits instead of 11: tables of 2048 counts cost too much for few rows, and many go
  // to more lines than the first-level cache has. From some size on a pass more is one through
  // memory; keys of 8 bytes need two more, which gains nothing.
  static constexpr std::size_t kFewRows = 4096, kManyRows = 16'384, kMostRows = 262'144;

  void insert_all(std::size_t n) {
    for (std::size_t i = 1; i < n; ++i) {
      const K key = keys_[i];
      const u32 row = with_rows_ ? rows_[i] : 0;
      std::size_t at = i;
      for (; at > 0 && keys_[at - 1] > key; --at) {
        keys_[at] = keys_[at - 1];
        if (with_rows_) rows_[at] = rows_[at - 1];
      }
      keys_[at] = key;
      if (with_rows_) rows_[at] = row;
    }
  }

  template <int Bits, bool Rows>
  void sort_digits(std::size_t n) {
    constexpr int kDigits = (sizeof(K) * 8 + Bits - 1) / Bits;
    constexpr std::size_t kBuckets = std::size_t{1} << Bits;
    constexpr K kMask = kBuckets - 1;
    u32 counts[kDigits][kBuckets] = {};
    for (std::size_t i = 0; i < n; ++i) {
      for (int d = 0; d < kDigits; ++d) ++counts[d][(keys_[i] >> (d * Bits)) & kMask];
    }
    for (int d = 0; d < kDigits; ++d) {
      u32* count = counts[d];
      const int shift = d * Bits;
      if (count[(keys_[0] >> shift) & kMask] == n) continue;  // the digit is the same everywhere
      u32 start = 0;
      for (std::size_t b = 0; b < kBuckets; ++b) start += std::exchange(count[b], start);
      for (std::size_t i = 0; i < n; ++i) {
        const K key = keys_[i];
        const u32 to = count[(key >> shift) & kMask]++;
        spare_keys_[to] = key;
        if constexpr (Rows) spare_rows_[to] = rows_[i];
      }
      std::swap(keys_, spare_keys_);
      if constexpr (Rows) std::swap(rows_, spare_rows_);
    }
  }

  ReturnedBuffer<K> keys_, spare_keys_;
  ReturnedBuffer<u32> rows_, spare_rows_;
  bool with_rows_;
};

}  // namespace committee
