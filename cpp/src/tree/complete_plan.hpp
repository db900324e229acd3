// What a plan takes from the sample: units, limits, the route.
#pragma once
#include "split/categorical_order.hpp"
#include "tree/route.hpp"
#include "tree/sample_kind.hpp"
#include "tree/training_sample.hpp"

namespace committee {

template <class Accumulator>
SampleFacts describe_sample(const Sample<Accumulator>& sample, double total) {
  const Accumulator& accumulator = sample.accumulator;
  SampleFacts facts;
  facts.kind = Accumulator::kKind;
  facts.is_wide =
      Accumulator::kKind == AccumulatorKind::classes && sizeof(typename Accumulator::Element) == 8;
  facts.counts_rows = accumulator.counted;
  facts.n_outputs = facts.n_classes = 1;
  if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
    facts.n_outputs = static_cast<u32>(accumulator.outputs.size());
    facts.n_classes = accumulator.n_elements;
  } else if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    facts.n_outputs = accumulator.n_outputs;
  }
  facts.cell_bytes = accumulator.cell() * sizeof(typename Accumulator::Element);
  facts.n_rows = sample.n;
  facts.heaviest = sample.heaviest;
  facts.total = total;
  facts.weight_unit = sample.weight_unit;
  return facts;
}

// Completes the plan by what only the sample tells. total: the weight of its rows, in units of the
// accumulator.
template <class Accumulator>
void complete_plan(GrowthPlan& plan, const Sample<Accumulator>& sample, double total) {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    plan.decrease_unit = measure_decrease_unit(plan.params.criterion, sample.weight_unit,
                                               sample.targets.unit, sample.accumulator.n_outputs);
    plan.value_unit = sample.targets.unit;
    plan.value_offset = sample.targets.offsets[0];
  } else {
    plan.decrease_unit = sample.weight_unit;
  }
  plan.total_weight = total * sample.weight_unit;
  // A leaf that weighs exactly the least is kept, whatever all weights are multiplied by.
  plan.min_weight_leaf = plan.params.min_weight_leaf / sample.weight_unit * kWeightRounding;
  const double row = plan.params.row_weight > 0.0
                         ? plan.params.row_weight / sample.weight_unit * kWeightRounding
                     : sample.counts ? 1.0
                                     : total / static_cast<double>(sample.n);
  plan.rare_weight = kRareRows * row;
  plan.route = choose_route(plan, describe_sample(sample, total));
}

}  // namespace committee
