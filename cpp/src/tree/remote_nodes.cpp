#include "tree/remote_nodes.hpp"

#include "tree/leaf_moments.hpp"

namespace committee {

namespace {

// Of a split: name, left, right, feature, bin, categorical | missing_left << 1, words of its codes.
constexpr std::size_t kRemoteSplitNumbers = 7;

}  // namespace

BlockValues write_remote_splits(std::span<const RemoteSplit> splits) {
  std::vector<u32> numbers, words;
  for (const RemoteSplit& split : splits) {
    const u32 flags = (split.categorical ? 1u : 0u) | (split.missing_left ? 2u : 0u);
    numbers.insert(numbers.end(), {split.name, split.left, split.right, split.feature, split.bin,
                                   flags, static_cast<u32>(split.left_words.size())});
    words.insert(words.end(), split.left_words.begin(), split.left_words.end());
  }
  return {std::move(numbers), std::move(words)};
}

std::vector<RemoteSplit> read_remote_splits(const BlockValues& values) {
  const auto& numbers = take_value<std::vector<u32>>(values, 0);
  const auto& words = take_value<std::vector<u32>>(values, 1);
  std::vector<RemoteSplit> splits;
  std::size_t word = 0;
  for (std::size_t at = 0; at + kRemoteSplitNumbers <= numbers.size(); at += kRemoteSplitNumbers) {
    const u32* const own = numbers.data() + at;
    if (own[6] > words.size() - word)
      throw std::invalid_argument("a split names more codes than its message has");
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(word);
    splits.push_back({own[0], own[1], own[2], own[3], own[4], (own[5] & 1u) != 0,
                      (own[5] & 2u) != 0, std::vector<u32>(first, first + own[6])});
    word += own[6];
  }
  return splits;
}

BlockValues RemoteNodes::add_up(BlockCommand command, bool changes) {
  return caller_.call({&command, 1}, BlockReduction::sum, changes);
}

BlockValues RemoteNodes::list(BlockCommand command, bool changes) {
  return caller_.call({&command, 1}, BlockReduction::list, changes);
}

double RemoteNodes::find_largest(BlockCommand command) {
  const BlockValues found = caller_.call({&command, 1}, BlockReduction::max, false);
  return take_value<std::vector<double>>(found, 0).at(0);
}

RemoteNodes::Division RemoteNodes::divide(std::span<const RemoteSplit> splits,
                                          std::vector<u32> wanted) {
  BlockCommand command{"divide", write_remote_splits(splits), {}, 2};
  command.args.emplace_back(std::move(wanted));
  const BlockValues found = add_up(std::move(command), true);
  return {take_value<std::vector<i64>>(found, 0), take_value<std::vector<i64>>(found, 1)};
}

std::vector<i64> RemoteNodes::count_others(std::vector<u32> names_of, std::vector<i64> targets) {
  const BlockValues found =
      add_up({"count_others", {std::move(names_of), std::move(targets)}, {}, 1}, false);
  return take_value<std::vector<i64>>(found, 0);
}

std::vector<double> RemoteNodes::sum_leaves(const std::vector<u32>& names_of, double offset,
                                            bool is_poisson) {
  std::vector<double> sums(names_of.size() * (LeafMoments::kNumbers + 1), 0.0);
  for (std::size_t block = 0; block < n_blocks_; ++block) {
    BlockCommand command{"sum_leaves", {names_of, offset, i64{is_poisson}}, {}, 1};
    for (std::size_t k = 0; k < n_blocks_; ++k)
      command.by_block.push_back({k == block ? sums : std::vector<double>()});
    sums = take_value<std::vector<double>>(list(std::move(command), false), block);
  }
  return sums;
}

}  // namespace committee
