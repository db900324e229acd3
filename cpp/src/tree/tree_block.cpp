// The rows of one block while trees are grown over blocks: weights and targets as integers, the
// rows of each node, and the answers to the driver's commands.
#include <algorithm>
#include <array>
#include <cmath>

#include "committee/block_trees.hpp"
#include "committee/function_view.hpp"
#include "split/partition.hpp"
#include "tree/dense_histograms.hpp"
#include "tree/leaf_moments.hpp"
#include "tree/remote_nodes.hpp"
#include "tree/sample_kind.hpp"
#include "tree/training_sample.hpp"

namespace committee {

namespace {

struct AbsentRow {
  u32 row;
};
// Rows of a node: with a weight, and without.
struct RowRange {
  std::size_t begin = 0, end = 0, absent_begin = 0, absent_end = 0;
};

// Whether a row of the code goes left.
std::array<u8, kHistogramBins> list_sides(const RemoteSplit& split) {
  std::array<u8, kHistogramBins> is_left{};
  for (u32 code = 0; code < kMissingBin; ++code) {
    const std::size_t word = code / 32;
    is_left[code] = split.categorical ? word < split.left_words.size() &&
                                            (split.left_words[word] >> (code % 32) & 1) != 0
                                      : code <= split.bin;
  }
  is_left[kMissingBin] = split.missing_left;
  return is_left;
}

// The rows by node, whatever they are added up in.
class BlockNodes {
 public:
  virtual ~BlockNodes() = default;
  // Divides the rows of a node; how many with a weight go left.
  virtual i64 divide(const RemoteSplit& split) = 0;
  virtual void add_histograms(u32 name, std::vector<i64>& cells) = 0;
  // Calls use(row, fixed target) for the rows with a weight.
  virtual void visit(u32 name, FunctionView<void(u32, i64)> use) const = 0;
  virtual void find_leaf(u32 name, u32 leaf, std::span<u32> leaves) const = 0;
};

template <class Accumulator>
class SampledNodes final : public BlockNodes {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;

  SampledNodes(const BinnedMatrix& data, Sample<Accumulator> sample, int n_threads)
      : data_(data),
        sample_(std::move(sample)),
        fills_(list_fills(sample_.accumulator)),
        spare_(sample_.n),
        n_threads_(n_threads) {
    std::size_t at = 0;
    for (u32 row = 0; row < data.n_rows; ++row) {
      if (at < sample_.n && sample_.items[at].row == row) {
        ++at;
      } else {
        absent_.push_back({row});
      }
    }
    absent_spare_.resize(absent_.size());
    ranges_.push_back({0, sample_.n, 0, absent_.size()});
    for (u32 f = 0; f < data.n_cols; ++f) features_.push_back(f);
  }

  i64 divide(const RemoteSplit& split) override {
    if (split.feature >= data_.n_cols)
      throw std::invalid_argument("a split names an unknown column");
    const RowRange own = range_of(split.name);
    const u8* const codes = data_.column(split.feature);
    const std::array<u8, kHistogramBins> is_left = list_sides(split);
    const auto goes_left = [&](u32 row) { return is_left[codes[row]] != 0; };
    const std::size_t n_left = partition_items(sample_.items.data() + own.begin,
                                               own.end - own.begin, spare_.data(), goes_left);
    const std::size_t n_absent =
        partition_items(absent_.data() + own.absent_begin, own.absent_end - own.absent_begin,
                        absent_spare_.data(), goes_left);
    const std::size_t last = std::max(split.left, split.right);
    if (ranges_.size() <= last) ranges_.resize(last + 1);
    const std::size_t middle = own.begin + n_left, absent_middle = own.absent_begin + n_absent;
    ranges_[split.left] = {own.begin, middle, own.absent_begin, absent_middle};
    ranges_[split.right] = {middle, own.end, absent_middle, own.absent_end};
    return static_cast<i64>(n_left);
  }

  void add_histograms(u32 name, std::vector<i64>& cells) override {
    const RowRange own = range_of(name);
    const std::size_t n = data_.n_cols * kHistogramBins * std::size_t{sample_.accumulator.cell()};
    if (hist_.size() < n) hist_ = AlignedBuffer<Element>(n);
    InterruptWatch watch;
    fill_dense<Accumulator>(sample_.accumulator, fills_, data_,
                            {sample_.items.data() + own.begin, own.end - own.begin}, features_,
                            hist_.data(), n_threads_, watch);
    cells.insert(cells.end(), hist_.data(), hist_.data() + n);
  }

  void visit(u32 name, FunctionView<void(u32, i64)> use) const override {
    const RowRange own = range_of(name);
    for (std::size_t i = own.begin; i < own.end; ++i) {
      const u32 row = sample_.items[i].row;
      use(row, sample_.targets.values.empty() ? 0 : sample_.targets.values[row]);
    }
  }

  void find_leaf(u32 name, u32 leaf, std::span<u32> leaves) const override {
    const RowRange own = range_of(name);
    for (std::size_t i = own.begin; i < own.end; ++i) leaves[sample_.items[i].row] = leaf;
    for (std::size_t i = own.absent_begin; i < own.absent_end; ++i) leaves[absent_[i].row] = leaf;
  }

 private:
  RowRange range_of(u32 name) const {
    if (name >= ranges_.size()) throw std::invalid_argument("a command names an unknown node");
    return ranges_[name];
  }

  const BinnedMatrix& data_;
  Sample<Accumulator> sample_;
  const FillTable<Accumulator> fills_;
  AlignedBuffer<Item> spare_;
  std::vector<AbsentRow> absent_, absent_spare_;
  std::vector<RowRange> ranges_;  // by name
  std::vector<u32> features_;
  AlignedBuffer<Element> hist_;
  int n_threads_;
};

}  // namespace

struct TreeBlock::State {
  const BinnedMatrix* data;
  int n_threads;
  std::vector<u32> labels;
  u32 n_classes = 0;
  std::vector<double> values, weights;
  std::vector<u64> fixed;
  std::unique_ptr<BlockNodes> nodes;

  BlockValues measure() const;
  BlockValues fix(const BlockValues& args);
  BlockValues find_largest(double mean) const;
  void plant(const BlockValues& args);
  BlockValues divide(const BlockValues& args);
  BlockValues count_others(const BlockValues& args) const;
  BlockValues sum_leaves(const BlockValues& args) const;
  BlockNodes& held_nodes() const {
    if (!nodes) throw std::invalid_argument("a block has no tree yet: the first command is plant");
    return *nodes;
  }
};

namespace {

std::vector<i64> write_sum(ExactSum& sum) {
  const ExactSum::Array& limbs = sum.limbs();
  return {limbs.begin(), limbs.end()};
}

}  // namespace

BlockValues TreeBlock::State::measure() const {
  WeightRange range;
  range.add(weights);
  return {std::vector<double>{range.lightest, range.heaviest}, write_sum(range.sum)};
}

// Weight of all, of the heaviest row, rows with a weight, whether all weigh one; sum of targets.
BlockValues TreeBlock::State::fix(const BlockValues& args) {
  const auto& units = take_value<std::vector<double>>(args, 0);
  const auto& numbers = take_value<std::vector<i64>>(args, 1);
  WeightScale scale;
  scale.unit = units.at(0);
  scale.heaviest = units.at(1);
  scale.shift = static_cast<int>(numbers.at(0));
  scale.integral = numbers.at(1) != 0;
  fixed.resize(weights.size());
  u64 total = 0, largest = 0;
  i64 n_present = 0, all_one = 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const u64 w = fixed[i] = scale.fix(weights[i]);
    total += w;
    largest = std::max(largest, w);
    n_present += w > 0;
    if (w != 1) all_one = 0;
  }
  ExactSum targets;
  if (!values.empty()) targets = sum_targets(values, 1, 0, fixed);
  return {std::vector<i64>{static_cast<i64>(total), static_cast<i64>(largest), n_present, all_one},
          write_sum(targets)};
}

BlockValues TreeBlock::State::find_largest(double mean) const {
  double largest = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (fixed[i] > 0) largest = std::max(largest, std::abs(values[i] - mean));
  }
  return {std::vector<double>{largest}};
}

void TreeBlock::State::plant(const BlockValues& args) {
  const auto& numbers = take_value<std::vector<i64>>(args, 0);
  const double offset = take_value<double>(args, 1);
  const auto kind = static_cast<SampleKind>(numbers.at(0));
  const bool counted = numbers.at(1) != 0, all_one = numbers.at(2) != 0;
  const TargetScale scale{static_cast<int>(numbers.at(3))};
  FixedWeights own;
  if (!all_one) own.weights = fixed;
  Target target;
  target.labels = labels;
  if (n_classes > 0) target.n_classes = {n_classes};
  target.values = values;
  const SampleSource source{target, own, data->n_rows, counted};
  const auto start = [&](auto sample) {
    using Accumulator = decltype(sample.accumulator);
    nodes = std::make_unique<SampledNodes<Accumulator>>(*data, std::move(sample), n_threads);
  };
  if (kind == SampleKind::moments) {
    FixedTargets targets;
    targets.offsets = {offset};
    targets.values.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      targets.values[i] = own[i] > 0 ? scale.fix(values[i], offset) : 0;
    start(make_moment_sample<false>(source, std::move(targets)));
  } else if (kind == SampleKind::binary) {
    start(make_binary_sample(source));
  } else if (kind == SampleKind::classes) {
    start(make_class_sample<u32>(source));
  } else {
    start(make_class_sample<u64>(source));
  }
}

BlockValues TreeBlock::State::divide(const BlockValues& args) {
  std::vector<i64> n_left, cells;
  for (const RemoteSplit& split : read_remote_splits(args))
    n_left.push_back(held_nodes().divide(split));
  for (const u32 name : take_value<std::vector<u32>>(args, 2))
    held_nodes().add_histograms(name, cells);
  return {std::move(n_left), std::move(cells)};
}

BlockValues TreeBlock::State::count_others(const BlockValues& args) const {
  const auto& names = take_value<std::vector<u32>>(args, 0);
  const auto& targets = take_value<std::vector<i64>>(args, 1);
  std::vector<i64> others(names.size(), 0);
  for (std::size_t k = 0; k < names.size(); ++k)
    held_nodes().visit(names[k], [&](u32, i64 target) { others[k] += target != targets.at(k); });
  return {std::move(others)};
}

// Of each leaf: rows so far, then LeafMoments. No sums are given where it is another block's turn.
BlockValues TreeBlock::State::sum_leaves(const BlockValues& args) const {
  const auto& names = take_value<std::vector<u32>>(args, 0);
  const double offset = take_value<double>(args, 1);
  const bool is_poisson = take_value<i64>(args, 2) != 0;
  std::vector<double> sums = take_value<std::vector<double>>(args, 3);
  constexpr std::size_t kEach = LeafMoments::kNumbers + 1;
  if (sums.empty()) return {std::move(sums)};
  if (sums.size() != names.size() * kEach)
    throw std::invalid_argument("the sums are not those of so many leaves");
  for (std::size_t k = 0; k < names.size(); ++k) {
    double* const own = sums.data() + k * kEach;
    LeafMoments moments(own[1], offset, is_poisson);
    moments.read(own + 1);
    held_nodes().visit(names[k], [&](u32 row, i64) {
      if (own[0] == 0.0) moments = LeafMoments(values[row], offset, is_poisson);
      own[0] += 1.0;
      moments.add(values[row], weights[row]);
    });
    moments.write(own + 1);
  }
  return {std::move(sums)};
}

TreeBlock::TreeBlock(const BinnedMatrix& data, int n_jobs) : state_(std::make_unique<State>()) {
  state_->data = &data;
  state_->n_threads = std::max(1, n_jobs);
  data.make_records(state_->n_threads);
}

TreeBlock::~TreeBlock() = default;

namespace {

void check_length(std::size_t n, const BinnedMatrix& data) {
  if (n != data.n_rows)
    throw std::invalid_argument("one entry for each row of the block is needed");
}

}  // namespace

void TreeBlock::set_labels(std::span<const u32> labels, u32 n_classes) {
  check_length(labels.size(), *state_->data);
  if (std::any_of(labels.begin(), labels.end(), [&](u32 label) { return label >= n_classes; }))
    throw std::invalid_argument("a label is not below its number of classes");
  state_->labels.assign(labels.begin(), labels.end());
  state_->n_classes = n_classes;
}

void TreeBlock::set_values(std::span<const double> values) {
  check_length(values.size(), *state_->data);
  state_->values.assign(values.begin(), values.end());
}

void TreeBlock::set_weights(std::span<const double> weights) {
  check_length(weights.size(), *state_->data);
  state_->weights.assign(weights.begin(), weights.end());
}

BlockValues TreeBlock::run(const std::string& name, const BlockValues& args) {
  check_length(state_->weights.size(), *state_->data);
  if (name == "measure") return state_->measure();
  if (name == "find_parts")
    return {find_parts(state_->weights, take_value<double>(args, 0), take_value<double>(args, 1))};
  if (name == "fix_weights") return state_->fix(args);
  if (name == "divide") return state_->divide(args);
  if (name == "count_others") return state_->count_others(args);
  if (name == "sum_leaves") return state_->sum_leaves(args);
  check_length(state_->fixed.size(), *state_->data);
  if (name == "find_largest") return state_->find_largest(take_value<double>(args, 0));
  if (name == "plant") return state_->plant(args), BlockValues();
  throw std::invalid_argument("a block of trees knows no command '" + name + "'");
}

std::vector<u32> TreeBlock::find_leaves(std::span<const u32> names) const {
  std::vector<u32> leaves(state_->data->n_rows);
  for (std::size_t k = 0; k < names.size(); ++k)
    state_->held_nodes().find_leaf(names[k], static_cast<u32>(k), leaves);
  return leaves;
}

}  // namespace committee
