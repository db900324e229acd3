// What commands to blocks carry, as plain arrays.
#pragma once
#include <array>

#include "boosting/leaf_rows.hpp"
#include "committee/block_boosting.hpp"
#include "committee/exact_sum.hpp"
#include "committee/quantile_counts.hpp"

namespace committee {

// Splits of leaves, and how they are read: the splits stay with the message.
BlockValues write_splits(std::span<const LeafSplit> splits);
struct SplitMessage {
  std::vector<LeafSplit> splits;
  std::vector<std::unique_ptr<BoostSplit>> by;
};
SplitMessage read_splits(const BlockValues& values);

BlockValues write_step(const DigitStep& step);
DigitStep read_step(const BlockValues& values, std::size_t first);

// Sum and total of a mean, one after the other.
void write_mean(ExactMean& mean, std::vector<i64>& limbs);
ExactMean read_mean(const i64* limbs);

// 1: a row grows the trees, 2: it is only partitioned; four rows a byte. Rows are read into the
// list that they are of, under their numbers range[0] .. range[1] - 1.
std::vector<u8> write_places(std::span<const u8> places);
void read_places(std::span<const u8> written, std::array<std::size_t, 2> range,
                 std::vector<u32>& sample, std::vector<u32>& held_out);

}  // namespace committee
