// The routes of tree growth: their list, which of them a fit would take, and how many nodes took
// them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "committee/forest.hpp"
#include "committee/route.hpp"
#include "interrupts.hpp"
#include "target_arrays.hpp"

namespace committee {

namespace {

nb::list list_route_infos() {
  nb::list routes;
  for (const RouteInfo& info : list_routes())
    routes.append(nb::make_tuple(info.name, info.what, info.when));
  return routes;
}

nb::list describe_refusals(const GrowthRoute& route) {
  nb::list described;
  for (std::size_t r = 0; r < kRoutes; ++r) {
    const char* reason = route.refusals[r];
    described.append(
        nb::make_tuple(list_routes()[r].name, reason == nullptr, reason ? reason : ""));
  }
  return described;
}

nb::dict name_counts(const RouteCounts& counts) {
  nb::dict named;
  for (std::size_t r = 0; r < kRoutes; ++r) named[list_routes()[r].name] = counts[r];
  return named;
}

#define COMMITTEE_GROW_ARGS                                                                    \
  "data: BinnedMatrix, presort: Presort | None, labels: numpy.typing.NDArray[numpy.uint32] | " \
  "None, n_classes: Sequence[int], values: numpy.typing.NDArray[numpy.float64] | None, "       \
  "weights: numpy.typing.NDArray[numpy.float64] | None, params: GrowParams, "

void bind_description(nb::module_& m) {
  m.def("list_routes", &list_route_infos,
        nb::sig("def list_routes() -> list[tuple[str, str, str]]"),
        "The fast paths of tree growth: name, what it does, when it is taken. The number of an "
        "entry is its bit in GrowParams.routes.");
  m.def(
      "describe_route",
      [](const BinnedMatrix& data, const Presort* presort, std::optional<Matrix<u32>> labels,
         std::vector<u32> n_classes, std::optional<Matrix<double>> values,
         const std::optional<Vector<double>>& weights, const GrowParams& params, bool in_forest) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        return describe_refusals(
            describe_route(view_input(data, presort, target, weights), params, in_forest));
      },
      nb::arg("data"), nb::arg("presort").none(), nb::arg("labels").none(), nb::arg("n_classes"),
      nb::arg("values").none(), nb::arg("weights").none(), nb::arg("params"),
      nb::arg("in_forest") = false,
      nb::sig("def describe_route(" COMMITTEE_GROW_ARGS
              "in_forest: bool = False) -> list[tuple[str, bool, str]]"),
      "Which routes grow_tree would take for the same arguments, or grow_forest for a tree that "
      "sees every row once: name, whether it is allowed, and if not the reason.");
}

void bind_counts(nb::module_& testing) {
  testing.def(
      "count_nodes_by_route",
      [](const BinnedMatrix& data, const Presort* presort, std::optional<Matrix<u32>> labels,
         std::vector<u32> n_classes, std::optional<Matrix<double>> values,
         const std::optional<Vector<double>>& weights, const GrowParams& params,
         const ForestPlan* plan) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        const GrowInput input = view_input(data, presort, target, weights);
        return name_counts(run_interruptible([&](InterruptWatch& watch) {
          return plan ? grow_forest(input, params, *plan, watch).nodes_by_route
                      : grow_tree(input, params, watch).nodes_by_route;
        }));
      },
      nb::arg("data"), nb::arg("presort").none(), nb::arg("labels").none(), nb::arg("n_classes"),
      nb::arg("values").none(), nb::arg("weights").none(), nb::arg("params"),
      nb::arg("plan").none() = nb::none(),
      "Grow a tree, or with a plan a forest; the number of nodes that each route grew or searched. "
      "A node may count in several.");
}

}  // namespace

}  // namespace committee

void bind_route(nanobind::module_& m) {
  committee::bind_description(m);
  nanobind::module_ testing = m.def_submodule("testing", "Functions for the tests of the core.");
  committee::bind_counts(testing);
}
