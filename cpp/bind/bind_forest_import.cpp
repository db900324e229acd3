// Forests that another engine grows: their samples, and the way back to an arena.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bound_trees.hpp"
#include "committee/forest_import.hpp"
#include "interrupts.hpp"
#include "target_arrays.hpp"

namespace committee {

namespace {

using ByteVector = Vector<u8>;

void bind_sample(nb::module_& m) {
  nb::class_<ForestSample> c(m, "ForestSample",
                             "Weights and targets of the trees of a forest in fixed point.");
  c.def_ro("n_rows", &ForestSample::n_rows, "rows of the table")
      .def_ro("counted", &ForestSample::counted, "limits need the number of rows of a node")
      .def_ro("weight_bytes", &ForestSample::weight_bytes,
              "bytes of a weight: 1, 4 or 8; 0: all rows weigh one")
      .def_prop_ro(
          "kinds",
          [](const ForestSample& self) {
            std::vector<u32> kinds;
            for (const SampleKind kind : self.kinds) kinds.push_back(static_cast<u32>(kind));
            return own_array<u32>(std::move(kinds));
          },
          nb::rv_policy::automatic,
          "of each tree: 0 two classes, 1 classes, 2 classes of weights of 8 bytes, 3 numbers")
      .def_prop_ro(
          "weights",
          [](nb::pointer_and_handle<ForestSample> self) {
            return view_array<u8>(self.p->weights.data(), {self.p->weights.size()}, self.h);
          },
          nb::rv_policy::automatic, "the weights of each tree's rows, as bytes");
#define COMMITTEE_BIND(name, meaning) bind_vector(c, #name, &ForestSample::name, meaning);
  COMMITTEE_BIND(n_items, "rows of positive weight of each tree")
  COMMITTEE_BIND(weight_unit, "weight of a unit")
  COMMITTEE_BIND(offset, "target that zero stands for")
  COMMITTEE_BIND(target_unit, "of a target, a power of two")
  COMMITTEE_BIND(total_weight, "of all rows")
  COMMITTEE_BIND(min_weight_leaf, "in units")
  COMMITTEE_BIND(decrease_unit, "of a decrease of impurity in units")
#undef COMMITTEE_BIND
}

void bind_sampling_of_forest(nb::module_& m) {
  using namespace nb::literals;
  m.def(
      "sample_forest",
      [](const BinnedMatrix& data, std::optional<Matrix<u32>> labels, std::vector<u32> n_classes,
         std::optional<Matrix<double>> values, const std::optional<Vector<double>>& weights,
         const GrowParams& params, const ForestPlan& plan) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        const GrowInput input = view_input(data, nullptr, target, weights);
        return run_interruptible(
            [&](InterruptWatch& watch) { return sample_forest(input, params, plan, watch); });
      },
      "data"_a, "labels"_a.none(), "n_classes"_a, "values"_a.none(), "weights"_a.none(), "params"_a,
      "plan"_a,
      nb::sig("def sample_forest(data: BinnedMatrix, labels: " COMMITTEE_NDARRAY(
          uint32) " | None, n_classes: Sequence[int], values: " COMMITTEE_NDARRAY(float64) " | "
                                                                                           "None, "
                                                                                           "weights"
                                                                                           ":"
                                                                                           " " COMMITTEE_NDARRAY(
                                                                                               float64) " | None, params: GrowParams, plan: ForestPlan) -> ForestSample"),
      "The samples that grow_forest would grow the planned trees from.");
}

// As the device has grown them; views of the arguments.
ForestNodes view_forest_nodes(u32 kind, const ByteVector& nodes, const ByteVector& totals,
                              u32 n_elements) {
  const std::size_t n_nodes = nodes.shape(0) / sizeof(ForestNode), element = kind == 2 ? 8 : 4;
  if (kind > 3 || nodes.shape(0) % sizeof(ForestNode) != 0 ||
      (kind != 3 && totals.shape(0) != n_nodes * n_elements * element) ||
      reinterpret_cast<std::uintptr_t>(nodes.data()) % alignof(ForestNode) != 0 ||
      reinterpret_cast<std::uintptr_t>(totals.data()) % element != 0)
    throw nb::value_error("nodes and totals must be whole and aligned");
  ForestNodes grown;
  grown.kind = static_cast<SampleKind>(kind);
  grown.nodes = {reinterpret_cast<const ForestNode*>(nodes.data()), n_nodes};
  grown.totals = totals.data();
  grown.n_elements = n_elements;
  return grown;
}

}  // namespace

}  // namespace committee

void bind_forest_import(nanobind::module_& m) {
  using namespace committee;
  using namespace nb::literals;
  bind_sample(m);
  bind_sampling_of_forest(m);
  m.def(
      "assemble_forest",
      [](const BinnedMatrix& data, std::optional<Matrix<u32>> labels, std::vector<u32> n_classes,
         std::optional<Matrix<double>> values, const std::optional<Vector<double>>& weights,
         const GrowParams& params, const ForestPlan& plan, u32 kind, const ByteVector& nodes,
         const Vector<u64>& node_offsets, const ByteVector& totals, u32 n_elements,
         const Vector<u32>& rows, const Vector<u64>& row_offsets, const Vector<double>& weight_unit,
         const Vector<double>& offset) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        const GrowInput input = view_input(data, nullptr, target, weights);
        ForestNodes grown = view_forest_nodes(kind, nodes, totals, n_elements);
        grown.node_offsets = view_vector(node_offsets);
        grown.rows = view_vector(rows);
        grown.row_offsets = view_vector(row_offsets);
        grown.weight_unit = view_vector(weight_unit);
        grown.offset = view_vector(offset);
        AssembledForest done = run_interruptible([&](InterruptWatch& watch) {
          return assemble_forest(input, params, plan, grown, watch);
        });
        const std::size_t n_features = data.n_cols;
        nb::list members;
        for (Trees& member : done.members) members.append(BoundTrees(std::move(member)));
        return nb::make_tuple(
            members, own_array<double>(std::move(done.importances), {plan.n_trees, n_features}));
      },
      "data"_a, "labels"_a.none(), "n_classes"_a, "values"_a.none(), "weights"_a.none(), "params"_a,
      "plan"_a, "kind"_a, "nodes"_a, "node_offsets"_a, "totals"_a, "n_elements"_a, "rows"_a,
      "row_offsets"_a, "weight_unit"_a, "offset"_a,
      nb::sig("def assemble_forest(data: BinnedMatrix, labels: " COMMITTEE_NDARRAY(
          uint32) " | None, n_classes: Sequence[int], values: " COMMITTEE_NDARRAY(float64) " | "
                                                                                           "None, "
                                                                                           "weights"
                                                                                           ":"
                                                                                           " " COMMITTEE_NDARRAY(
                                                                                               float64) " | None, params: GrowParams, plan: ForestPlan, kind: int, "
                                                                                                        "nodes: " COMMITTEE_NDARRAY(uint8) ", node_offsets: " COMMITTEE_NDARRAY(
                                                                                                            uint64) ", "
                                                                                                                    "totals: " COMMITTEE_NDARRAY(uint8) ", n_elements: int, rows: " COMMITTEE_NDARRAY(uint32) ", row_offsets: " COMMITTEE_NDARRAY(uint64) ", weight_unit: " COMMITTEE_NDARRAY(
                                                                                                                        float64) ", offset: " COMMITTEE_NDARRAY(float64) ") -> tuple[list[Trees], " COMMITTEE_NDARRAY(float64) "]"),
      "The trees that grow_forest grows, an arena each, and their importances, from nodes by bins "
      "of 20 bytes: left, feature, bins, rows, begin.");
}
