#include <algorithm>
#include <bit>
#include <cmath>

#include "boosting/block_messages.hpp"
#include "boosting/remote_rows.hpp"
#include "committee/exact_sum.hpp"

namespace committee {

namespace {

constexpr int kDigitBits = 8;  // of a quantile that is searched by counting

std::vector<u32> list_numbers(std::span<const u32> numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::vector<double> find_quantiles(BlockChannel& link, std::span<const double> levels,
                                   FunctionView<BlockCommand(const DigitStep&)> count) {
  QuantileSearch search(levels, kDigitBits);
  while (!search.finished())
    search.take(
        take_value<std::vector<i64>>(link.ask(count(search.step()), BlockReduction::sum), 0));
  return search.values();
}

RemoteLeafRows::RemoteLeafRows(BlockChannel& link, const RemoteFacts& facts,
                               const RecordLayout& layout, const Loss& loss, u32 width)
    : link_(link),
      facts_(facts),
      loss_(loss),
      layout_(layout),
      width_(width),
      n_entries_(layout.n_entries() * width),
      level_offsets_(facts.bins.size(), 0) {
  for (std::size_t f = 0; f < facts.bins.size(); ++f) {
    level_offsets_[f] = n_levels_;
    if (facts.bins[f].wide) n_levels_ += (facts.bins[f].n_bins + 1) * width;
  }
}

// --- growing ----------------------------------------------------------------------------------

// Sums of the rows, and over the levels of wide columns.
RootSums RemoteLeafRows::take_root(const BlockValues& answer) {
  const auto& sums = take_value<std::vector<i64>>(answer, 0);
  levels_.clear();
  levels_[0] = take_value<std::vector<i64>>(answer, 1);
  return {static_cast<std::size_t>(sums[0]), static_cast<u64>(sums[1]), sums[2]};
}

// Blocks make the same choice, all columns where the list is empty.
const RecordLayout& RemoteLeafRows::choose_columns(const ColumnChoice& choice) {
  chosen_ = layout_.select(choice.columns, choice.most_share);
  if (chosen_ || !all_known_)
    link_.post({"choose_columns",
                {chosen_ ? list_numbers(choice.columns) : std::vector<u32>(), choice.most_share,
                 i64{choice.keeps_words}},
                {}});
  all_known_ = !chosen_;
  const RecordLayout& chosen = chosen_ ? *chosen_ : layout_;
  n_entries_ = chosen.n_entries() * width_;
  return chosen;
}

RootSums RemoteLeafRows::open_root(const TreeStart& start, i64* histogram) {
  follows_residuals_ = false;
  const BlockValues answer =
      link_.ask({"open_root", {i64{start.first_score}, static_cast<i64>(start.tree)}, {}, 3},
                BlockReduction::sum, true);
  std::copy_n(take_value<std::vector<i64>>(answer, 2).data(), n_entries_, histogram);
  return take_root(answer);
}

RootSums RemoteLeafRows::reopen_root() {
  follows_residuals_ = true;
  return take_root(link_.ask({"reopen_root", {}, {}}, BlockReduction::sum, true));
}

void RemoteLeafRows::split_leaves(std::span<StepSplit> splits) {
  std::vector<LeafSplit> how;
  for (const StepSplit& split : splits) how.push_back(split.how);
  const BlockValues answer =
      link_.ask({"split", write_splits(how), {}, 3}, BlockReduction::sum, true);
  const auto& sums = take_value<std::vector<i64>>(answer, 0);
  const auto& levels = take_value<std::vector<i64>>(answer, 1);
  const auto& histograms = take_value<std::vector<i64>>(answer, 2);
  std::size_t n_built = 0;
  for (std::size_t s = 0; s < splits.size(); ++s) {
    splits[s].sums = {static_cast<std::size_t>(sums[2 * s]), static_cast<u64>(sums[2 * s + 1])};
    if (how[s].built == Side::none) continue;
    std::copy_n(histograms.data() + n_built * n_entries_, n_entries_, splits[s].histogram);
    take_levels(how[s], std::span(levels).subspan(n_built * n_levels_, n_levels_));
    ++n_built;
  }
}

// What the sibling of the child that was built has is what is left of the parent's.
void RemoteLeafRows::take_levels(const LeafSplit& split, std::span<const i64> built) {
  if (n_levels_ == 0) return;
  const bool is_left = split.built == Side::left;
  std::vector<i64> rest = levels_.at(split.leaf);
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= built[i];
  levels_[is_left ? split.left : split.right].assign(built.begin(), built.end());
  levels_[is_left ? split.right : split.left] = std::move(rest);
}

void RemoteLeafRows::split_held_out(std::span<const LeafSplit> splits) {
  if (facts_.held_out && !splits.empty()) link_.post({"split_held_out", write_splits(splits), {}});
}

void RemoteLeafRows::unsplit(std::span<const u32> leaves) {
  for (const u32 leaf : leaves) link_.post({"unsplit", {i64{leaf}}, {}});
}

void RemoteLeafRows::add_rows(u32 leaf, i64* histogram) {
  const BlockValues answer = link_.ask({"add_rows", {i64{leaf}}, {}}, BlockReduction::sum);
  const auto& added = take_value<std::vector<i64>>(answer, 0);
  for (std::size_t i = 0; i < n_entries_; ++i) histogram[i] += added[i];
}

void RemoteLeafRows::count_bins(u32 leaf, u32 feature, std::vector<u32>& counts,
                                std::vector<u64>& weights) {
  const BlockValues answer =
      link_.ask({"count_bins", {i64{leaf}, i64{feature}}, {}, 2}, BlockReduction::sum);
  const auto& rows = take_value<std::vector<i64>>(answer, 0);
  const auto& summed = take_value<std::vector<i64>>(answer, 1);
  counts.assign(rows.begin(), rows.end());
  weights.assign(summed.begin(), summed.end());
}

void RemoteLeafRows::sum_levels(u32 leaf, u32 feature, std::vector<i64>& histogram) {
  const i64* const own = levels_.at(leaf).data() + level_offsets_[feature];
  histogram.assign(own, own + (facts_.bins[feature].n_bins + 1) * width_);
}

void RemoteLeafRows::sum_vectors(u32 leaf, std::vector<i64>& totals) {
  totals = take_value<std::vector<i64>>(
      link_.ask({"sum_vectors", {i64{leaf}}, {}}, BlockReduction::sum), 0);
}

// --- values of leaves -------------------------------------------------------------------------

std::vector<FixedSums> RemoteLeafRows::sum_leaves(std::span<const u32> leaves, u32 score,
                                                  bool all) {
  const BlockValues answer = link_.ask(
      {"sum_leaves", {list_numbers(leaves), i64{score}, i64{all}}, {}}, BlockReduction::sum);
  const auto& sums = take_value<std::vector<i64>>(answer, 0);
  std::vector<FixedSums> totals;
  for (std::size_t l = 0; l < leaves.size(); ++l)
    totals.push_back({sums[3 * l], sums[3 * l + 1], sums[3 * l + 2]});
  return totals;
}

std::vector<double> RemoteLeafRows::find_middles(std::span<const u32> leaves, u32 score) {
  const std::vector<double> levels(leaves.size(), loss_.level(score));
  std::vector<double> middles =
      find_quantiles(link_, levels, [&](const DigitStep& step) -> BlockCommand {
        BlockCommand command{"count_residuals", {list_numbers(leaves), i64{score}}, {}};
        for (BlockValue& value : write_step(step)) command.args.push_back(std::move(value));
        return command;
      });
  if (loss_.shape().rule == LeafRule::quantile) return middles;
  const BlockValues answer = link_.ask(
      {"sum_distances", {list_numbers(leaves), i64{score}, middles, loss_.delta(score)}, {}},
      BlockReduction::sum);
  const auto& limbs = take_value<std::vector<i64>>(answer, 0);
  for (std::size_t l = 0; l < leaves.size(); ++l)
    middles[l] += read_mean(limbs.data() + 2 * l * ExactSum::kSize).find();
  return middles;
}

void RemoteLeafRows::add_values(std::span<const u32> leaves, u32 score,
                                std::span<const double> values) {
  link_.post({"add_values",
              {list_numbers(leaves), i64{score}, std::vector<double>(values.begin(), values.end())},
              {}});
}

// --- residuals that are followed from tree to tree
// ------------------------------------------------

double RemoteLeafRows::find_largest_residual() {
  const BlockValues answer = link_.ask({"find_largest_residual", {}, {}}, BlockReduction::max);
  return take_value<std::vector<double>>(answer, 0)[0];
}

void RemoteLeafRows::write_residuals(const ResidualWords& words) {
  link_.post({"write_residuals", {i64{words.halves.hessian_bits}, words.scale}, {}}, true);
}

i64 RemoteLeafRows::find_largest_word(const WordHalves& halves) {
  const BlockValues answer =
      link_.ask({"find_largest_word", {i64{halves.hessian_bits}}, {}}, BlockReduction::max);
  return take_value<std::vector<i64>>(answer, 0)[0];
}

i64 RemoteLeafRows::sum_words(i64* histogram) {
  const BlockValues answer = link_.ask({"sum_words", {}, {}}, BlockReduction::sum);
  std::copy_n(take_value<std::vector<i64>>(answer, 1).data(), n_entries_, histogram);
  return take_value<std::vector<i64>>(answer, 0)[0];
}

void RemoteLeafRows::settle(std::span<const u32> leaves, std::span<const double> values,
                            std::span<const i64> changes) {
  link_.post({"settle",
              {list_numbers(leaves), std::vector<double>(values.begin(), values.end()),
               std::vector<i64>(changes.begin(), changes.end())},
              {}});
}

}  // namespace committee
