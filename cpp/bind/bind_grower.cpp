// Growing trees: GrowParams, grow_tree, find_pruning_path.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bound_trees.hpp"
#include "interrupts.hpp"
#include "target_arrays.hpp"

namespace committee {

namespace {

GrowResult grow(const GrowInput& input, const GrowParams& params) {
  return run_interruptible([&](InterruptWatch& watch) { return grow_tree(input, params, watch); });
}

void bind_params(nb::module_& m) {
  nb::class_<GrowParams> c(m, "GrowParams", "The parameters of a tree, by name.");
  c.def(nb::init<>());
  std::vector<std::string> fields;
#define COMMITTEE_BIND(type, name, value, meaning)       \
  c.def_rw(#name, &GrowParams::name, describe(meaning)); \
  fields.emplace_back(#name);
  COMMITTEE_GROW_FIELDS(COMMITTEE_BIND)
#undef COMMITTEE_BIND
  c.def_rw("member_features", &GrowParams::member_features,
           "the only features to look at; empty: all");
  c.def_rw("monotonic", &GrowParams::monotonic, "per feature -1, 0 or 1; empty: none");
  c.def_rw("interaction_groups", &GrowParams::interaction_groups,
           "features that may meet on a path; empty: all");
  c.def_prop_ro_static(
      "fields", [fields](nb::handle) { return fields; }, "Names of the scalar fields.");
}

}  // namespace

}  // namespace committee

void bind_grower(nanobind::module_& m) {
  using namespace committee;
  bind_params(m);
  m.def(
      "grow_tree",
      [](const BinnedMatrix& data, const Presort* presort, std::optional<Matrix<u32>> labels,
         std::vector<u32> n_classes, std::optional<Matrix<double>> values,
         const std::optional<Vector<double>>& weights, const GrowParams& params) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        const GrowInput input = view_input(data, presort, target, weights);
        GrowResult grown = grow(input, params);
        ArenaOptions options;
        options.n_features = data.n_cols;
        options.outputs = target.n_classes;
        Trees trees = compact_trees({&grown.tree, 1}, options);
        return nb::make_tuple(BoundTrees(std::move(trees)),
                              own_array<double>(std::move(grown.importances)));
      },
      nb::arg("data"), nb::arg("presort").none(), nb::arg("labels").none(), nb::arg("n_classes"),
      nb::arg("values").none(), nb::arg("weights").none(), nb::arg("params"),
      nb::sig("def grow_tree(data: BinnedMatrix, presort: Presort | None, labels: "
              "numpy.typing.NDArray[numpy.uint32] | "
              "None, n_classes: Sequence[int], values: numpy.typing.NDArray[numpy.float64] | None, "
              "weights: "
              "numpy.typing.NDArray[numpy.float64] | None, params: GrowParams) -> tuple[Trees, "
              "numpy.typing.NDArray[numpy.float64]]"),
      "Grow one tree; returns it with the sums of weighted impurity decreases per feature.");
  m.def(
      "find_pruning_path",
      [](const BinnedMatrix& data, const Presort* presort, std::optional<Matrix<u32>> labels,
         std::vector<u32> n_classes, std::optional<Matrix<double>> values,
         const std::optional<Vector<double>>& weights, const GrowParams& params) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        const GrowInput input = view_input(data, presort, target, weights);
        GrowParams unpruned = params;
        unpruned.ccp_alpha = 0.0;
        PruningPath path = find_pruning_path(grow(input, unpruned).tree);
        return nb::make_tuple(own_array<double>(std::move(path.alphas)),
                              own_array<double>(std::move(path.impurities)));
      },
      nb::arg("data"), nb::arg("presort").none(), nb::arg("labels").none(), nb::arg("n_classes"),
      nb::arg("values").none(), nb::arg("weights").none(), nb::arg("params"),
      nb::sig("def find_pruning_path(data: BinnedMatrix, presort: Presort | None, labels: "
              "numpy.typing.NDArray[numpy.uint32] | None, n_classes: Sequence[int], values: "
              "numpy.typing.NDArray[numpy.float64] | None, weights: "
              "numpy.typing.NDArray[numpy.float64] | None, "
              "params: GrowParams) -> tuple[numpy.typing.NDArray[numpy.float64], "
              "numpy.typing.NDArray[numpy.float64]]"),
      "Effective alphas and total leaf impurities along minimal cost-complexity pruning.");
}
