// Writes nodes into a tree: what they hold, and which of them stay leaves.
#pragma once
#include <algorithm>
#include <cmath>
#include <compare>

#include "committee/criteria/all.hpp"
#include "tree/growth_context.hpp"

namespace committee {

// Of one thread at a time.
template <class Accumulator>
class NodeWriter {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;
  explicit NodeWriter(const GrowthContext<Accumulator>& context)
      : context_(context),
        accumulator_(context.accumulator),
        takes_medians_(context.params.criterion == AbsoluteError::kName),
        is_poisson_(context.params.criterion == Poisson::kName) {}

  // Appends a node with that total to its tree, as a leaf; returns its number.
  u32 add_node(const NodePosition& node, const Element* total, TreePart& part);
  // Whether the node stays a leaf whatever its splits. copied_rows: of the table, where the items'
  // rows are numbers of copied records; else null.
  bool is_leaf(const NodePosition& node, const Element* total,
               const u32* copied_rows = nullptr) const;
  // The same without a look at the targets.
  bool is_limited(const NodePosition& node, const Element* total) const;
  // Whether all rows have one target, where the total tells; false: numbers, where it does not.
  bool is_one_class(const Element* total) const;
  // Fills in what only a leaf holds: nothing for classes.
  void close_leaf(const NodePosition& node, TreePart& part) const;
  bool is_poisson() const { return is_poisson_; }

 private:
  bool is_pure(const NodePosition& node, const Element* total, const u32* copied_rows) const;
  void summarise_medians(const NodePosition& node, TreePart& part, u32 id) const
    requires(Accumulator::kKind == AccumulatorKind::moments);

  const GrowthContext<Accumulator>& context_;
  const Accumulator& accumulator_;
  const bool takes_medians_, is_poisson_;  // what leaves hold
  std::vector<double> value_;
};

template <class Accumulator>
u32 NodeWriter<Accumulator>::add_node(const NodePosition& node, const Element* total,
                                      TreePart& part) {
  const double unit = context_.sample.weight_unit;
  u32 id;
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    const double w = accumulator_.weight(total), p = accumulator_.positive(total);
    const double value[2] = {(w - p) * unit, p * unit};
    part.tree.width = 2;
    id = part.tree.add_node(static_cast<u32>(node.size()), w * unit, 0.0, value);
  } else if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
    value_.resize(accumulator_.n_elements);
    for (u32 k = 0; k < accumulator_.n_elements; ++k)
      value_[k] = static_cast<double>(total[k]) * unit;
    part.tree.width = accumulator_.n_elements;
    id = part.tree.add_node(static_cast<u32>(node.size()), accumulator_.weight(total) * unit, 0.0,
                            value_);
  } else {
    part.tree.width = accumulator_.n_outputs;
    value_.assign(part.tree.width, 0.0);
    id = part.tree.add_node(static_cast<u32>(node.size()), accumulator_.weight(total) * unit, 0.0,
                            value_);
    part.moments.resize(part.moments.size() + 2 * part.tree.width, 0.0);
    if (takes_medians_) summarise_medians(node, part, id);
  }
  if (node.parent != kNone) (node.is_right ? part.tree.right : part.tree.left)[node.parent] = id;
  return id;
}

// Weighted median of each output and the mean absolute deviation from it. Where the weight is cut
// in equal halves between two values the median is their middle; which weights in fixed point tell
// whatever they were multiplied by.
template <class Accumulator>
void NodeWriter<Accumulator>::summarise_medians(const NodePosition& node, TreePart& part,
                                                u32 id) const
  requires(Accumulator::kKind == AccumulatorKind::moments)
{
  const u32 n_outputs = part.tree.width;
  struct Weighed {
    double y;
    u64 fixed;
    double weight;
    auto operator<=>(const Weighed&) const = default;
  };
  std::vector<Weighed> rows(node.size());
  double deviation = 0.0, total = 0.0;
  for (u32 o = 0; o < n_outputs; ++o) {
    total = 0.0;
    u64 whole = 0, below = 0;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const auto& item = context_.items[node.begin + i];
      const std::size_t row = item.row;
      rows[i] = {context_.plan.input.target.values[row * n_outputs + o], item.weight,
                 context_.plan.input.weight(row)};
      whole += item.weight;
      total += rows[i].weight;
    }
    std::sort(rows.begin(), rows.end());
    std::size_t at = 0;
    while (at + 1 < rows.size() && 2 * (below + rows[at].fixed) < whole) below += rows[at++].fixed;
    const bool halved = 2 * (below + rows[at].fixed) == whole && at + 1 < rows.size();
    const double median = halved ? rows[at].y / 2 + rows[at + 1].y / 2 : rows[at].y;
    for (const Weighed& row : rows) deviation += row.weight * std::abs(row.y - median);
    part.tree.values[static_cast<std::size_t>(id) * n_outputs + o] = median;
  }
  part.tree.weight[id] = total;
  part.tree.impurity[id] = deviation / total / n_outputs;
}

template <class Accumulator>
bool NodeWriter<Accumulator>::is_leaf(const NodePosition& node, const Element* total,
                                      const u32* copied_rows) const {
  return is_limited(node, total) || is_pure(node, total, copied_rows);
}

template <class Accumulator>
bool NodeWriter<Accumulator>::is_limited(const NodePosition& node, const Element* total) const {
  return context_.leaf_test.is_leaf(node.size(), node.depth, false) ||
         accumulator_.weight(total) < 2.0 * context_.plan.min_weight_leaf;
}

template <class Accumulator>
bool NodeWriter<Accumulator>::is_one_class(const Element* total) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) return false;
  return is_pure({}, total, nullptr);
}

template <class Accumulator>
bool NodeWriter<Accumulator>::is_pure(const NodePosition& node, const Element* total,
                                      [[maybe_unused]] const u32* copied_rows) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    const double p = accumulator_.positive(total);
    return p == 0.0 || p == accumulator_.weight(total);
  } else if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
    const Element weight = accumulator_.total(total);
    for (std::size_t o = 0; o < accumulator_.outputs.size(); ++o) {
      const Element* c = total + accumulator_.offsets[o];
      if (std::find(c, c + accumulator_.outputs[o], weight) == c + accumulator_.outputs[o])
        return false;
    }
    return true;
  } else {
    if constexpr (Accumulator::kFixedCell > 0) {
      // What the items say of two targets that differ, modulo 2^64, spares a look at the targets.
      const Item &a = context_.items[node.begin], &b = context_.items[node.begin + 1];
      if (node.size() > 1 && static_cast<u64>(a.wy) * b.weight != static_cast<u64>(b.wy) * a.weight)
        return false;
    }
    const u32 n_outputs = accumulator_.n_outputs;
    const i64* targets = context_.sample.targets.values.data();
    const auto target = [&](std::size_t i) {
      const u32 row = context_.items[i].row;
      return targets + static_cast<std::size_t>(copied_rows ? copied_rows[row] : row) * n_outputs;
    };
    const i64* first = target(node.begin);
    for (std::size_t i = node.begin + 1; i < node.end; ++i) {
      const i64* other = target(i);
      if (*first != *other || !std::equal(first, first + n_outputs, other)) return false;
    }
    return true;
  }
}

// Leaf values come from the targets themselves in the rows' own order, not from the fixed-point
// sums; as distances from the first row's, so that a leaf of equal targets predicts just that.
template <class Accumulator>
void NodeWriter<Accumulator>::close_leaf([[maybe_unused]] const NodePosition& node,
                                         [[maybe_unused]] TreePart& part) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    if (takes_medians_) return;
    if (context_.entry_rows) context_.entry_rows->sort(node.begin, node.end);
    const u32 n_outputs = accumulator_.n_outputs;
    const double* y = context_.plan.input.target.values.data();
    double* out = part.moments.data() + static_cast<std::size_t>(node.id) * 2 * n_outputs;
    double* value = part.tree.values.data() + static_cast<std::size_t>(node.id) * n_outputs;
    const double* first = y + std::size_t{context_.items[node.begin].row} * n_outputs;
    double weight = 0.0;
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const std::size_t row = context_.items[i].row;
      const double w = context_.plan.input.weight(row);
      weight += w;
      for (u32 o = 0; o < n_outputs; ++o) {
        const double centred = y[row * n_outputs + o] - context_.sample.targets.offsets[o];
        out[2 * o] += w * centred;
        out[2 * o + 1] += w * (is_poisson_ ? x_ln_x(centred) : centred * centred);
        value[o] += w * (y[row * n_outputs + o] - first[o]);
      }
    }
    for (u32 o = 0; o < n_outputs; ++o) value[o] = first[o] + value[o] / weight;
    part.tree.weight[node.id] = weight;
  }
}

}  // namespace committee
