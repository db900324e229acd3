#include "tree/gather_bins.hpp"

#include <bit>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace committee {

namespace {

// The bytes of a run of features out of a record, the first in the lowest byte.
template <int kFeatures>
class ScalarPicker {
 public:
  explicit ScalarPicker(const RunColumns& columns) { std::copy_n(columns.at, kFeatures, at_); }
  BinLanes pick(const u8* record) const {
    u64 word = 0;
#pragma GCC unroll 8
    for (int k = 0; k < kFeatures; ++k) word |= static_cast<u64>(record[at_[k]]) << (8 * k);
    return std::bit_cast<BinLanes>(word);
  }

 private:
  u32 at_[kFeatures];
};

#if defined(__aarch64__)
// The same by one look-up in the whole record, which is the table.
template <int kStride>
class TablePicker {
 public:
  TablePicker(const RunColumns& columns, std::size_t n_features) {
    u8 at[kBatch];
    for (u32 k = 0; k < kBatch; ++k) at[k] = k < n_features ? static_cast<u8>(columns.at[k]) : 255;
    at_ = vld1_u8(at);
  }
  BinLanes pick(const u8* record) const {
    if constexpr (kStride == 16) {
      return std::bit_cast<BinLanes>(vqtbl1_u8(vld1q_u8(record), at_));
    } else if constexpr (kStride == 32) {
      return std::bit_cast<BinLanes>(vqtbl2_u8(vld1q_u8_x2(record), at_));
    } else {
      return std::bit_cast<BinLanes>(vqtbl4_u8(vld1q_u8_x4(record), at_));
    }
  }

 private:
  uint8x8_t at_;
};
#endif

// The bins of packed records, from the bytes that a picker finds.
template <class Picker>
class PackedPicker {
 public:
  PackedPicker(const Picker& picker, const RunColumns& columns) : picker_(picker) {
    std::memcpy(&masks_, columns.masks, sizeof masks_);
    std::memcpy(&most_, columns.most, sizeof most_);
  }
  BinLanes pick(const u8* record) const {
    const BinLanes bits = picker_.pick(record) & masks_;
    return bits < most_ ? bits : most_;
  }

 private:
  Picker picker_;
  BinLanes masks_, most_;
};

// Rows that the look-ups run ahead: a row takes little time here, and may lie in the last cache.
constexpr std::size_t kGatherAhead = 32;

// Copies the bins of a run of features, a word a row, and finds their range.
template <class Picker>
BinRange gather_run(const Picker picker, const RecordBlock& block, const RowNumbers rows,
                    u64* words) {
  const u8* records = block.records;
  const std::size_t stride = block.stride, n = rows.size();
  BinRange range;
  auto take = [&](std::size_t i) {
    const BinLanes bins = picker.pick(records + rows[i] * stride);
    std::memcpy(words + i, &bins, sizeof bins);
    range.take(bins);
  };
  const std::size_t n_ahead = n > kGatherAhead ? n - kGatherAhead : 0;
  std::size_t i = 0;
  for (; i < n_ahead; ++i) {
    prefetch(records + rows[i + kGatherAhead] * stride);
    take(i);
  }
  for (; i < n; ++i) take(i);
  return range;
}

// Calls use(picker) with the picker of a run of features.
template <class Use>
void with_picker([[maybe_unused]] const RecordBlock& block, const RunColumns& columns,
                 std::size_t n_features, Use&& use) {
#if defined(__aarch64__)
  if (block.stride == 16) return use(TablePicker<16>(columns, n_features));
  if (block.stride == 32) return use(TablePicker<32>(columns, n_features));
  use(TablePicker<64>(columns, n_features));
#else
  with_features(n_features, [&]<int kFeatures>() { use(ScalarPicker<kFeatures>(columns)); });
#endif
}

}  // namespace

BinRange gather_from_records(const RecordBlock& block, std::span<const u32> features,
                             const RowNumbers& rows, u64* words) {
  const RunColumns columns(block, features);
  BinRange range;
  with_picker(block, columns, features.size(), [&](const auto& picker) {
    range = block.places ? gather_run(PackedPicker(picker, columns), block, rows, words)
                         : gather_run(picker, block, rows, words);
  });
  return range;
}

BinRange gather_from_columns(const BinnedMatrix& data, std::span<const u32> features,
                             const RowNumbers& rows, u64* words) {
  BinRange range;
  with_features(features.size(), [&]<int kFeatures>() {
    const u8* columns[kFeatures];
    for (int k = 0; k < kFeatures; ++k) columns[k] = data.column(features[k]);
    const RowNumbers numbers = rows;  // a copy that nothing else can change
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const u32 row = numbers[i];
      u64 word = 0;
#pragma GCC unroll 8
      for (int k = 0; k < kFeatures; ++k) word |= static_cast<u64>(columns[k][row]) << (8 * k);
      words[i] = word;
      range.take(std::bit_cast<BinLanes>(word));
    }
  });
  return range;
}

}  // namespace committee
