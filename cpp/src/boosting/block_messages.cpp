#include "boosting/block_messages.hpp"

#include "boosting/remote_rows.hpp"

namespace committee {

namespace {

// Of a split: leaf, left, right, feature, bin, categorical | missing_left << 1, built side, number
// of words of its categories.
constexpr std::size_t kSplitNumbers = 8;

}  // namespace

BlockValues write_splits(std::span<const LeafSplit> splits) {
  std::vector<u32> numbers, categories;
  for (const LeafSplit& split : splits) {
    const BoostSplit& by = *split.by;
    const u32 flags = (by.categorical ? 1u : 0u) | (by.missing_left ? 2u : 0u);
    numbers.insert(numbers.end(),
                   {split.leaf, split.left, split.right, by.feature, by.split_bin, flags,
                    static_cast<u32>(split.built), static_cast<u32>(by.left_codes.size())});
    categories.insert(categories.end(), by.left_codes.begin(), by.left_codes.end());
  }
  return {std::move(numbers), std::move(categories)};
}

SplitMessage read_splits(const BlockValues& values) {
  const auto& numbers = take_value<std::vector<u32>>(values, 0);
  const auto& categories = take_value<std::vector<u32>>(values, 1);
  SplitMessage message;
  auto code = categories.begin();
  for (std::size_t at = 0; at + kSplitNumbers <= numbers.size(); at += kSplitNumbers) {
    const u32* const own = numbers.data() + at;
    if (static_cast<std::ptrdiff_t>(own[7]) > categories.end() - code)
      throw std::invalid_argument("a split names more codes than its message has");
    auto by = std::make_unique<BoostSplit>();
    by->feature = own[3];
    by->split_bin = own[4];
    by->categorical = (own[5] & 1u) != 0;
    by->missing_left = (own[5] & 2u) != 0;
    by->left_codes.assign(code, code + own[7]);
    code += own[7];
    message.splits.push_back({own[0], own[1], own[2], by.get(), static_cast<Side>(own[6])});
    message.by.push_back(std::move(by));
  }
  return message;
}

BlockValues write_step(const DigitStep& step) {
  return {i64{step.bits}, i64{step.shift}, step.groups,
          std::vector<i64>(step.prefixes.begin(), step.prefixes.end())};
}

DigitStep read_step(const BlockValues& values, std::size_t first) {
  DigitStep step;
  step.bits = static_cast<int>(take_value<i64>(values, first));
  step.shift = static_cast<int>(take_value<i64>(values, first + 1));
  step.groups = take_value<std::vector<u32>>(values, first + 2);
  const auto& prefixes = take_value<std::vector<i64>>(values, first + 3);
  step.prefixes.assign(prefixes.begin(), prefixes.end());
  step.check();
  return step;
}

void write_mean(ExactMean& mean, std::vector<i64>& limbs) {
  for (ExactSum* sum : {&mean.sum, &mean.total})
    limbs.insert(limbs.end(), sum->limbs().begin(), sum->limbs().end());
}

ExactMean read_mean(const i64* limbs) {
  return {ExactSum(limbs), ExactSum(limbs + ExactSum::kSize)};
}

std::vector<u8> write_places(std::span<const u8> places) {
  std::vector<u8> written((places.size() + 3) / 4, 0);
  for (std::size_t row = 0; row < places.size(); ++row)
    written[row / 4] = static_cast<u8>(written[row / 4] | (places[row] << (2 * (row % 4))));
  return written;
}

void read_places(std::span<const u8> written, std::array<std::size_t, 2> range,
                 std::vector<u32>& sample, std::vector<u32>& held_out) {
  const auto [begin, end] = range;
  if (written.size() < (end - begin + 3) / 4)
    throw std::invalid_argument("a message to or from a block has too few rows");
  for (std::size_t row = 0; row < end - begin; ++row) {
    const int place = (written[row / 4] >> (2 * (row % 4))) & 3;
    if (place == 1) sample.push_back(static_cast<u32>(begin + row));
    if (place == 2) held_out.push_back(static_cast<u32>(begin + row));
  }
}

BlockValues write_tree(const StoredTree& stored) {
  const GrownTree& tree = stored.tree;
  std::vector<u32> features, lengths, categories;
  std::vector<u8> flags;
  for (const GrownTree::Split& split : tree.splits) {
    features.push_back(split.feature);
    flags.push_back(static_cast<u8>((split.categorical ? 1 : 0) | (split.missing_left ? 2 : 0)));
    lengths.push_back(0);
    if (!split.left_categories) continue;
    lengths.back() = static_cast<u32>(split.left_categories->size());
    categories.insert(categories.end(), split.left_categories->begin(),
                      split.left_categories->end());
  }
  return {i64{stored.slot},      i64{tree.width},     tree.left,        tree.right,
          stored.split_bins,     std::move(features), std::move(flags), std::move(lengths),
          std::move(categories), tree.values};
}

StoredTree read_tree(const BlockValues& values, std::size_t first) {
  const auto numbers = [&](std::size_t at) -> const std::vector<u32>& {
    return take_value<std::vector<u32>>(values, first + at);
  };
  StoredTree stored;
  GrownTree& tree = stored.tree;
  stored.slot = static_cast<u32>(take_value<i64>(values, first));
  tree.width = static_cast<u32>(take_value<i64>(values, first + 1));
  tree.left = numbers(2);
  tree.right = numbers(3);
  stored.split_bins = numbers(4);
  const auto& flags = take_value<std::vector<u8>>(values, first + 6);
  auto code = numbers(8).begin();
  for (std::size_t node = 0; node < tree.left.size(); ++node) {
    GrownTree::Split split;
    split.feature = numbers(5)[node];
    split.categorical = (flags[node] & 1) != 0;
    split.missing_left = (flags[node] & 2) != 0;
    const u32 length = numbers(7)[node];
    if (split.categorical)
      split.left_categories = std::make_shared<const std::vector<u32>>(code, code + length);
    code += length;
    tree.splits.push_back(std::move(split));
  }
  tree.values = take_value<std::vector<double>>(values, first + 9);
  return stored;
}

}  // namespace committee
