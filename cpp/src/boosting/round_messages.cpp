// What travels where rounds run beside the blocks: the request, and whole trees.
#include <bit>

#include "boosting/remote_rows.hpp"

namespace committee {

namespace {

// Values of a request before those of the loss, and of a tree beyond what `write_tree` writes.
constexpr std::size_t kRequestValues = 9, kTreeValues = 10, kFurtherValues = 6;

template <class T>
i64 write_number(T number) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<i64>(number);
  } else {
    return static_cast<i64>(number);
  }
}

template <class T>
void read_number(i64 written, T& number) {
  if constexpr (std::is_same_v<T, double>) {
    number = std::bit_cast<double>(written);
  } else {
    number = static_cast<T>(written);
  }
}

std::vector<i64> write_fields(const BoostingParams& params) {
  std::vector<i64> fields;
#define COMMITTEE_WRITE(type, name, value, meaning) fields.push_back(write_number(params.name));
  COMMITTEE_BOOSTING_FIELDS(COMMITTEE_WRITE)
#undef COMMITTEE_WRITE
  return fields;
}

BoostingParams read_fields(const std::vector<i64>& fields) {
  BoostingParams params;
  std::size_t at = 0;
#define COMMITTEE_READ(type, name, value, meaning) read_number(fields.at(at++), params.name);
  COMMITTEE_BOOSTING_FIELDS(COMMITTEE_READ)
#undef COMMITTEE_READ
  return params;
}

}  // namespace

BlockValues write_request(const RoundsRequest& request) {
  std::vector<u32> groups;
  for (const std::vector<u32>& group : request.params.interaction_groups) {
    groups.push_back(static_cast<u32>(group.size()));
    groups.insert(groups.end(), group.begin(), group.end());
  }
  const WeightFacts& weights = request.weights;
  const std::vector<i32>& monotonic = request.params.monotonic;
  BlockValues values{static_cast<i64>(request.n_rounds),
                     static_cast<i64>(request.n_grown),
                     i64{request.held_out},
                     write_fields(request.params),
                     std::vector<i64>(monotonic.begin(), monotonic.end()),
                     std::move(groups),
                     static_cast<i64>(weights.total),
                     weights.unit,
                     i64{(weights.integral ? 1 : 0) | (weights.weighted ? 2 : 0)}};
  values.insert(values.end(), request.loss.begin(), request.loss.end());
  return values;
}

RoundsRequest read_request(const BlockValues& values) {
  RoundsRequest request;
  request.n_rounds = static_cast<std::size_t>(take_value<i64>(values, 0));
  request.n_grown = static_cast<u64>(take_value<i64>(values, 1));
  request.held_out = take_value<i64>(values, 2) != 0;
  request.params = read_fields(take_value<std::vector<i64>>(values, 3));
  for (const i64 direction : take_value<std::vector<i64>>(values, 4))
    request.params.monotonic.push_back(static_cast<i32>(direction));
  const auto& groups = take_value<std::vector<u32>>(values, 5);
  for (std::size_t at = 0; at < groups.size(); at += 1 + groups[at]) {
    if (groups[at] >= groups.size() - at)
      throw std::invalid_argument("a group names more features than its message has");
    const auto first = groups.begin() + static_cast<std::ptrdiff_t>(at + 1);
    request.params.interaction_groups.emplace_back(first, first + groups[at]);
  }
  request.weights.total = static_cast<u64>(take_value<i64>(values, 6));
  request.weights.unit = take_value<double>(values, 7);
  request.weights.integral = (take_value<i64>(values, 8) & 1) != 0;
  request.weights.weighted = (take_value<i64>(values, 8) & 2) != 0;
  request.loss.assign(values.begin() + kRequestValues, values.end());
  return request;
}

std::unique_ptr<Loss> read_loss(const BlockValues& values, std::size_t first) {
  const auto& name = take_value<std::vector<u8>>(values, first);
  return make_loss({name.begin(), name.end()}, take_value<double>(values, first + 1),
                   static_cast<u32>(take_value<i64>(values, first + 2)),
                   take_value<std::vector<double>>(values, first + 3));
}

BlockValues write_trees(std::span<const TreeOfRound> trees, std::span<const double> deltas) {
  BlockValues values{std::vector<double>(deltas.begin(), deltas.end())};
  for (const auto& [stored, gains] : trees) {
    const GrownTree& tree = stored.tree;
    for (BlockValue& value : write_tree(stored)) values.push_back(std::move(value));
    std::vector<double> thresholds;
    for (const GrownTree::Split& split : tree.splits) thresholds.push_back(split.threshold);
    for (BlockValue value : BlockValues{std::move(thresholds), tree.n_samples, tree.weight,
                                        tree.impurity, gains, i64{tree.depth_first}})
      values.push_back(std::move(value));
  }
  return values;
}

std::vector<TreeOfRound> read_trees(const BlockValues& values) {
  std::vector<TreeOfRound> trees;
  for (std::size_t at = 1; at < values.size(); at += kTreeValues + kFurtherValues) {
    TreeOfRound& grown = trees.emplace_back();
    grown.stored = read_tree(values, at);
    GrownTree& tree = grown.stored.tree;
    const auto numbers = [&](std::size_t further) -> const std::vector<double>& {
      return take_value<std::vector<double>>(values, at + kTreeValues + further);
    };
    for (std::size_t node = 0; node < tree.splits.size(); ++node)
      tree.splits[node].threshold = numbers(0).at(node);
    tree.n_samples = take_value<std::vector<u32>>(values, at + kTreeValues + 1);
    tree.weight = numbers(2);
    tree.impurity = numbers(3);
    grown.gains = numbers(4);
    tree.depth_first = take_value<i64>(values, at + kTreeValues + 5) != 0;
  }
  return trees;
}

}  // namespace committee
