#include "binning/bin_lookup.hpp"

#include <cmath>

namespace committee {
namespace {

// Comparing with each threshold takes n / 2 (float) or n (double) vector instructions for four
// values, a binary search four scalar ones a step for one.
template <class T>
constexpr int kMaxCounted = sizeof(T) == 4 ? 24 : 12;

double round_down(double threshold, double) {
  return threshold;
}
float round_down(double threshold, float) {
  const float nearest = static_cast<float>(threshold);
  return static_cast<double>(nearest) <= threshold
             ? nearest
             : std::nextafter(nearest, -std::numeric_limits<float>::infinity());
}

}  // namespace

template <class T>
BinTable<T>::BinTable(const ColumnBins& bins)
    : n_thresholds_(static_cast<int>(bins.thresholds.size())) {
  if (n_thresholds_ <= kMaxCounted<T>) {
    for (const double t : bins.thresholds) thresholds_.push_back(round_down(t, T()));
    return;
  }
  const std::size_t size = std::bit_ceil(bins.thresholds.size() + 1) - 1;
  keys_.assign(size, std::numeric_limits<KeyOf<T>>::max());  // above the key of +infinity
  for (int i = 0; i < n_thresholds_; ++i) {
    keys_[static_cast<std::size_t>(i)] =
        make_key(round_down(bins.thresholds[static_cast<std::size_t>(i)], T()));
  }
#if defined(COMMITTEE_AVX512)
  laid_ = lay_out_keys(keys_);
#endif
}

template <class T>
void BinTable<T>::count_below(const T* values, std::size_t n, u8* out) const {
  constexpr std::size_t kLanes = 32;
  using Count = KeyOf<T>;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Count below[kLanes] = {};
    for (const T t : thresholds_) {
      for (std::size_t l = 0; l < kLanes; ++l) below[l] += t < values[i + l] ? 1 : 0;
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
      out[i + l] = static_cast<u8>(values[i + l] == values[i + l] ? below[l] : kMissingBin);
    }
  }
  for (; i < n; ++i) {
    u8 below = 0;
    for (const T t : thresholds_) below = static_cast<u8>(below + (t < values[i]));
    out[i] = values[i] == values[i] ? below : kMissingBin;
  }
}

// Branch-free, several values abreast: their loads overlap, and no comparison is predicted.
template <class T>
template <int Steps>
void BinTable<T>::search(const T* values, std::size_t n, u8* out) const {
  constexpr std::size_t kAbreast = 8;
  using K = KeyOf<T>;
  const K* const table = keys_.data();
  const auto step = [table](K key, u32 at, u32 half) {
    return table[at + half - 1] < key ? at + half : at;
  };
  std::size_t i = 0;
  for (; i + kAbreast <= n; i += kAbreast) {
    K key[kAbreast];
    u32 at[kAbreast] = {};
    for (std::size_t l = 0; l < kAbreast; ++l) key[l] = make_key(values[i + l]);
    for (int s = Steps - 1; s >= 0; --s) {
      for (std::size_t l = 0; l < kAbreast; ++l) at[l] = step(key[l], at[l], u32{1} << s);
    }
    for (std::size_t l = 0; l < kAbreast; ++l) {
      out[i + l] = static_cast<u8>(values[i + l] == values[i + l] ? at[l] : kMissingBin);
    }
  }
  for (; i < n; ++i) {
    const K key = make_key(values[i]);
    u32 at = 0;
    for (int s = Steps - 1; s >= 0; --s) at = step(key, at, u32{1} << s);
    out[i] = static_cast<u8>(values[i] == values[i] ? at : kMissingBin);
  }
}

template <class T>
void BinTable<T>::find_bins(const T* values, std::size_t n, u8* out) const {
  if (keys_.empty()) return count_below(values, n, out);
#if defined(COMMITTEE_AVX512)
  if (may_use(Instructions::avx512)) {
    if constexpr (sizeof(T) == sizeof(float))
      return search_wide(laid_.data(), values, n, out);
    else
      return search_wide(laid_.data(), keys_, values, n, out);
  }
#endif
  switch (std::bit_width(keys_.size())) {
    case 4:
      return search<4>(values, n, out);
    case 5:
      return search<5>(values, n, out);
    case 6:
      return search<6>(values, n, out);
    case 7:
      return search<7>(values, n, out);
    default:
      return search<8>(values, n, out);
  }
}

template <class T>
void write_codes(const T* values, std::size_t n, u32 n_levels, u8* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<u8>(std::min<u32>(read_code(values[i], n_levels), kMissingBin));
  }
}

template <class T>
void write_wide_codes(const T* values, std::size_t n, u32 n_levels, u8* out, u32* codes) {
  for (std::size_t i = 0; i < n; ++i) {
    codes[i] = read_code(values[i], n_levels);
    out[i] = codes[i] == kMissingCode ? kMissingBin : 0;
  }
}

std::shared_ptr<BinnedMatrix> allocate_without_columns(
    std::size_t n_rows, std::size_t n_cols, std::shared_ptr<const std::vector<ColumnBins>> bins) {
  auto matrix = std::make_shared<BinnedMatrix>();
  matrix->n_rows = n_rows;
  matrix->n_cols = n_cols;
  matrix->column_stride = (n_rows + 63) / 64 * 64;
  matrix->bins = std::move(bins);
  return matrix;
}

std::shared_ptr<BinnedMatrix> allocate_binned(std::size_t n_rows, std::size_t n_cols,
                                              std::shared_ptr<const std::vector<ColumnBins>> bins) {
  constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max() / 4;
  if (n_rows > kMostBytes / 64 || n_rows > kMostBytes / (n_cols + 64)) throw std::bad_alloc();
  auto matrix = allocate_without_columns(n_rows, n_cols, std::move(bins));
  matrix->columns = AlignedBuffer<u8>(matrix->column_stride * n_cols);
  for (std::size_t c = 0; c < n_cols; ++c) {
    u8* column = matrix->columns.data() + c * matrix->column_stride;
    std::fill(column + n_rows, column + matrix->column_stride, u8{0});
  }
  for (std::size_t first = 0; first < n_cols; first += 64) {
    RecordGroup group;
    group.first_col = first;
    group.n_cols = std::min<std::size_t>(64, n_cols - first);
    group.stride = group.n_cols <= 16 ? 16 : group.n_cols <= 32 ? 32 : 64;
    matrix->groups.push_back(std::move(group));
  }
  matrix->wide.resize(n_cols);
  for (std::size_t c = 0; c < n_cols; ++c) {
    if ((*matrix->bins)[c].wide) matrix->wide[c] = AlignedBuffer<u32>(n_rows);
  }
  return matrix;
}

void write_records(const BinnedMatrix& matrix, RecordGroup& group, std::size_t first,
                   std::size_t last) {
  static_assert(std::endian::native == std::endian::little);
  u8* const records = group.bytes.data();
  // Whole blocks: rows past n_rows lie in the column's padding, so they may be read but not
  // written.
  for (std::size_t row = first; row < last; row += 8) {
    const std::size_t n = std::min<std::size_t>(8, last - row);
    for (std::size_t c = 0; c < group.stride; c += 8) {
      u64 block[8] = {};
      for (std::size_t k = 0; k < 8 && c + k < group.n_cols; ++k) {
        std::memcpy(&block[k], matrix.column(group.first_col + c + k) + row, 8);
      }
      transpose_block(block);
      for (std::size_t k = 0; k < n; ++k) {
        std::memcpy(records + (row + k) * group.stride + c, &block[k], 8);
      }
    }
  }
}

template class BinTable<float>;
template class BinTable<double>;
template void write_codes(const float*, std::size_t, u32, u8*);
template void write_codes(const double*, std::size_t, u32, u8*);
template void write_wide_codes(const float*, std::size_t, u32, u8*, u32*);
template void write_wide_codes(const double*, std::size_t, u32, u8*, u32*);

}  // namespace committee
