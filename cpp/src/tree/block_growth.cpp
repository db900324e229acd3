// A tree over blocks: what weights and targets are as integers is settled first, in a step or two
// each, then the tree is grown.
#include <algorithm>
#include <cmath>
#include <optional>

#include "committee/block_trees.hpp"
#include "committee/criteria/all.hpp"
#include "tree/complete_plan.hpp"
#include "tree/finish_tree.hpp"
#include "tree/remote_nodes.hpp"
#include "tree/tree_builder.hpp"

namespace committee {

namespace {

// The answers of blocks, by block and value.
template <class T>
const T& take_answer(const BlockValues& answers, std::size_t block, std::size_t n_values,
                     std::size_t at) {
  return take_value<T>(answers, block * n_values + at);
}

WeightRange measure_weights(RemoteNodes& blocks) {
  const BlockValues found = blocks.list({"measure", {}, {}, 2}, false);
  WeightRange range;
  for (std::size_t k = 0; k < blocks.n_blocks(); ++k) {
    const auto& ends = take_answer<std::vector<double>>(found, k, 2, 0);
    const auto& limbs = take_answer<std::vector<i64>>(found, k, 2, 1);
    if (ends.size() != 2 || limbs.size() != ExactSum::kSize)
      throw std::invalid_argument("a block measured its weights in another form");
    range.lightest = std::min(range.lightest, ends[0]);
    range.heaviest = std::max(range.heaviest, ends[1]);
    range.sum.add(ExactSum(limbs.data()));
  }
  return range;
}

// find_parts over all rows in their order. All blocks begin with the same parts; if one of them
// needs more, those behind it begin again with these. Parts are multiplied by two at least, and
// there may be 4,096.
double find_parts_in_blocks(RemoteNodes& blocks, double lightest) {
  double parts = 1.0;
  for (std::size_t first = 0; first < blocks.n_blocks();) {
    const BlockValues found = blocks.list({"find_parts", {lightest, parts}, {}, 1}, false);
    std::size_t k = first;
    while (k < blocks.n_blocks() && take_answer<double>(found, k, 1, 0) == parts) ++k;
    if (k == blocks.n_blocks()) break;
    parts = take_answer<double>(found, k, 1, 0);
    if (parts == 0.0) break;
    first = k + 1;
  }
  return parts;
}

// Weights as integers, without the rows.
struct SettledWeights {
  FixedWeights fixed;
  std::size_t n_present = 0;
  bool all_one = true;
  ExactSum targets;  // times their weights
};

SettledWeights settle_weights(RemoteNodes& blocks, WeightBits bits) {
  const WeightRange range = measure_weights(blocks);
  const double parts = range.heaviest > 0.0 ? find_parts_in_blocks(blocks, range.lightest) : 0.0;
  const WeightScale scale = choose_scale(range, parts, bits);
  const BlockValues found = blocks.list({"fix_weights",
                                         {std::vector<double>{scale.unit, scale.heaviest},
                                          std::vector<i64>{scale.shift, scale.integral ? 1 : 0}},
                                         {},
                                         2},
                                        true);
  SettledWeights settled;
  settled.fixed.unit = scale.unit;
  settled.fixed.integral = scale.integral;
  settled.fixed.counts = scale.counts;
  settled.fixed.largest = 0;
  for (std::size_t k = 0; k < blocks.n_blocks(); ++k) {
    const auto& numbers = take_answer<std::vector<i64>>(found, k, 2, 0);
    const auto& limbs = take_answer<std::vector<i64>>(found, k, 2, 1);
    if (numbers.size() != 4 || limbs.size() != ExactSum::kSize)
      throw std::invalid_argument("a block fixed its weights in another form");
    settled.fixed.total += static_cast<u64>(numbers[0]);
    settled.fixed.largest = std::max(settled.fixed.largest, static_cast<u64>(numbers[1]));
    settled.n_present += static_cast<std::size_t>(numbers[2]);
    settled.all_one = settled.all_one && numbers[3] != 0;
    settled.targets.add(ExactSum(limbs.data()));
  }
  // Any weights will do where they are only asked whether there are any.
  if (!settled.all_one) settled.fixed.weights.assign(1, 0);
  return settled;
}

// What a sample of all rows would have, but for the rows.
template <class Accumulator>
Sample<Accumulator> describe_rows(const SettledWeights& weights, Accumulator accumulator) {
  Sample<Accumulator> sample;
  sample.accumulator = std::move(accumulator);
  sample.n = weights.n_present;
  sample.weight_unit = weights.fixed.unit;
  sample.weighted = !weights.all_one;
  sample.counts = weights.fixed.counts;
  sample.heaviest = weights.fixed.largest;
  return sample;
}

// How the blocks are to add up their rows: kind, whether rows are counted, whether all weigh one;
// shift and offset of the targets.
void plant(RemoteNodes& blocks, SampleKind kind, bool counted, bool all_one, int shift,
           double offset) {
  blocks.list(
      {"plant",
       {std::vector<i64>{static_cast<i64>(kind), counted ? 1 : 0, all_one ? 1 : 0, shift}, offset},
       {},
       0},
      true);
}

class BlockGrowth {
 public:
  BlockGrowth(const BlockTreeInput& input, const GrowParams& params, BlockCaller& caller,
              InterruptWatch& watch)
      : blocks_(caller, input.n_blocks), own_params_(params) {
    own_params_.routes = 0;  // histograms come from the blocks
    table_.n_cols = input.bins->size();
    table_.bins = input.bins;
    input_.data = &table_;
    input_.target.n_classes = input.n_classes;
    plan_.emplace(input_, own_params_, watch, input.n_rows);
  }

  BlockTree grow() {
    TreePart part;
    if (is_classification(input_.target)) {
      const SettledWeights weights = settle_weights(blocks_, kClassWeightBits);
      const bool counted = counts_rows(input_.target, own_params_);
      const SampleKind kind = choose_kind(input_.target, weights.fixed, counted);
      plant(blocks_, kind, counted, weights.all_one, 0, 0.0);
      const std::vector<u32>& n_classes = input_.target.n_classes;
      if (kind == SampleKind::binary) {
        BinaryAccumulator accumulator;
        accumulator.counted = weights.all_one;
        part = build(describe_rows(weights, accumulator), weights);
      } else if (kind == SampleKind::classes) {
        part =
            build(describe_rows(weights, make_class_accumulator<u32>(n_classes, counted)), weights);
      } else {
        part =
            build(describe_rows(weights, make_class_accumulator<u64>(n_classes, counted)), weights);
      }
    } else {
      const SettledWeights weights = settle_weights(blocks_, kMomentWeightBits);
      Sample<MomentAccumulator<false>> sample = describe_rows(weights, MomentAccumulator<false>{});
      settle_targets(weights, sample.targets);
      part = build(std::move(sample), weights);
    }
    return finish(std::move(part));
  }

 private:
  void settle_targets(const SettledWeights& weights, FixedTargets& targets) {
    const bool centre = own_params_.criterion != Poisson::kName;
    const double mean = centre ? divide(weights.targets, ExactSum(weights.fixed.total)) : 0.0;
    const double largest = blocks_.find_largest({"find_largest", {mean}, {}, 1});
    targets.offsets = {mean};
    const TargetScale scale = choose_target_scale(targets.offsets, largest, weights.fixed.total);
    targets.unit = std::ldexp(1.0, -scale.shift);
    plant(blocks_, SampleKind::moments, true, weights.all_one, scale.shift, targets.offsets[0]);
  }

  template <class Accumulator>
  TreePart build(Sample<Accumulator> sample, const SettledWeights& weights) {
    complete_plan(*plan_, sample, static_cast<double>(weights.fixed.total));
    TreePart part = TreeBuilder<Accumulator>(*plan_, sample).grow_over(blocks_);
    part.offsets = sample.targets.offsets;
    return part;
  }

  BlockTree finish(TreePart part) {
    BlockTree tree;
    finish_tree(part, input_, own_params_, tree.grown);
    const GrownTree& grown = tree.grown.tree;
    for (u32 id = 0; id < grown.size(); ++id) {
      if (!grown.is_leaf(id)) continue;
      tree.leaf_names.push_back(blocks_.names[id]);
      const double* value = grown.values.data() + std::size_t{id} * grown.width;
      tree.leaf_values.insert(tree.leaf_values.end(), value, value + grown.width);
    }
    return tree;
  }

  RemoteNodes blocks_;
  GrowParams own_params_;
  BinnedMatrix table_;
  GrowInput input_;
  std::optional<GrowthPlan> plan_;
};

}  // namespace

bool grows_over_blocks(const std::vector<ColumnBins>& bins, const GrowParams& params) {
  return !params.exact && !params.random_splits && !has_no_histograms(params.criterion) &&
         params.ccp_alpha == 0.0 &&
         std::none_of(bins.begin(), bins.end(), [](const ColumnBins& own) { return own.wide; });
}

BlockTree grow_over_blocks(const BlockTreeInput& input, const GrowParams& params,
                           BlockCaller& caller, InterruptWatch& watch) {
  if (!grows_over_blocks(*input.bins, params))
    throw std::invalid_argument("such a tree cannot be grown over blocks of rows");
  return BlockGrowth(input, params, caller, watch).grow();
}

}  // namespace committee
