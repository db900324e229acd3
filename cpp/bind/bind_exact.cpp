// Sums and quantiles that no grouping of the rows can change: what blocks of rows send, and what
// becomes of the sum of it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "committee/exact_sum.hpp"
#include "committee/quantile_counts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

ExactSum read_exact(const Vector<i64>& limbs) {
  if (limbs.shape(0) != ExactSum::kSize) {
    throw nb::value_error(
        ("an exact sum has " + std::to_string(ExactSum::kSize) + " integers").c_str());
  }
  return ExactSum(limbs.data());
}

Array<i64> give_exact(ExactSum& sum) {
  const ExactSum::Array& limbs = sum.limbs();
  return own_array<i64>(std::vector<i64>(limbs.begin(), limbs.end()));
}

Array<i64> sum_exactly(const Vector<double>& terms, const std::optional<Vector<double>>& factors) {
  ExactSum sum;
  if (factors) {
    if (factors->shape(0) != terms.shape(0))
      throw nb::value_error("factors must have one entry a term");
    sum.add_products(view_vector(terms), view_vector(*factors));
  } else {
    sum.add(view_vector(terms));
  }
  return give_exact(sum);
}

Array<i64> count_block(const std::tuple<int, int, std::vector<u32>, std::vector<u64>>& step,
                       u32 group, const Vector<double>& values,
                       const std::optional<Vector<u32>>& weights) {
  DigitStep asked;
  std::tie(asked.bits, asked.shift, asked.groups, asked.prefixes) = step;
  if (weights && weights->shape(0) != values.shape(0))
    throw nb::value_error("weights must have one entry a value");
  asked.check();
  std::vector<i64> counts(asked.n_counts(), 0);
  count_digits(asked, group, view_vector(values),
               weights ? view_vector(*weights) : std::span<const u32>(), counts.data());
  return own_array<i64>(std::move(counts));
}

}  // namespace

}  // namespace committee

void bind_exact(nb::module_& m) {
  using namespace committee;
  m.def(
      "sum_exactly", &sum_exactly, "terms"_a, "factors"_a.none() = nb::none(),
      nb::sig("def sum_exactly(terms: " COMMITTEE_NDARRAY(float64) ", factors: " COMMITTEE_NDARRAY(
          float64) " | None = None) -> " COMMITTEE_NDARRAY(int64)),
      "The sum of the terms, or of their products with the factors, without rounding, as "
      "integers: arrays of several blocks are added element by element.");
  m.def(
      "round_exact", [](const Vector<i64>& sum) { return read_exact(sum).round(); }, "sum"_a,
      nb::sig("def round_exact(sum: " COMMITTEE_NDARRAY(int64) ") -> float"),
      "The nearest double to an exact sum.");
  m.def(
      "divide_exact",
      [](const Vector<i64>& sum, const Vector<i64>& total) {
        return divide(read_exact(sum), read_exact(total));
      },
      "sum"_a, "total"_a,
      nb::sig("def divide_exact(sum: " COMMITTEE_NDARRAY(int64) ", total: " COMMITTEE_NDARRAY(
          int64) ") -> float"),
      "The nearest double to the quotient of two exact sums.");
  m.def("count_digits", &count_block, "step"_a, "group"_a, "values"_a, "weights"_a.none(),
        nb::sig("def count_digits(step: tuple[int, int, list[int], list[int]], group: int, "
                "values: " COMMITTEE_NDARRAY(float64) ", weights: " COMMITTEE_NDARRAY(
                    uint32) " | None) -> " COMMITTEE_NDARRAY(int64)),
        "The counts of a block for a step of QuantileSearch, of the values of one group.");
  nb::class_<QuantileSearch>(
      m, "QuantileSearch",
      "A quantile of each group of values that lie in several blocks: while not finished, take the "
      "sum of the counts that all blocks give for `step`.")
      .def(
          "__init__",
          [](QuantileSearch* self, const std::vector<double>& levels, int bits) {
            new (self) QuantileSearch(levels, bits);
          },
          "levels"_a, "bits"_a = 16)
      .def_static(
          "at_ranks",
          [](const std::vector<u64>& ranks, int bits) {
            return QuantileSearch::at_ranks(ranks, bits);
          },
          "ranks"_a, "bits"_a = 16,
          "In place of quantiles, the value that has so many at or below it, itself counted.")
      .def_prop_ro("finished", &QuantileSearch::finished)
      .def_prop_ro(
          "step",
          [](const QuantileSearch& self) {
            const DigitStep& step = self.step();
            return std::tuple(step.bits, step.shift, step.groups, step.prefixes);
          },
          "For count_digits: bits and shift of the digit, group and prefix of each slot.")
      .def(
          "take",
          [](QuantileSearch& self, const Vector<i64>& counts) { self.take(view_vector(counts)); },
          "counts"_a, "The counts of all blocks, added.")
      .def_prop_ro("values", &QuantileSearch::values, "The quantiles, one a group.");
}
