// Shapley values of trees.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "interrupts.hpp"
#include "tree_sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

using Weights = std::optional<Vector<double>>;
using Slots = std::optional<Vector<u32>>;

nb::tuple explain(const SumArguments& arguments, const AnyArray& x, bool pairs, int n_jobs) {
  const MatrixView view = view_matrix(x);
  const TreeSum sum = arguments.view();
  const std::size_t width = sum.out_width, d = view.n_cols;
  AlignedBuffer<double> values(count_entries({view.n_rows, d, width, pairs ? d : 1})), base(width);
  run_interruptible([&](InterruptWatch& watch) {
    (pairs ? explain_pairs : explain_rows)(sum, view, n_jobs, watch, values.data(), base.data());
    return 0;
  });
  auto found = pairs ? own_array<double>(std::move(values), {view.n_rows, d, d, width})
                     : own_array<double>(std::move(values), {view.n_rows, d, width});
  return nb::make_tuple(std::move(found), own_array<double>(std::move(base)));
}

// Arrays by name; splits are bytes of 48 each.
nb::dict describe_plan(const ExplanationPlan& plan) {
  nb::dict found;
  const auto own = []<class T>(const std::vector<T>& values) {
    return own_array<T>(std::vector<T>(values));
  };
  const u8* const bytes = reinterpret_cast<const u8*>(plan.splits.data());
  found["splits"] =
      own_array<u8>(std::vector<u8>(bytes, bytes + plan.splits.size() * sizeof(ExplainedSplit)));
  found["features"] = own(plan.features);
  found["columns"] = own(plan.columns);
  found["roots"] = own(plan.roots);
  found["first_columns"] = own(plan.first_columns);
  found["values"] = own(plan.values);
  found["points"] = own(plan.points);
  found["point_weights"] = own(plan.point_weights);
  found["base"] = own(plan.base);
  found["n_levels"] = plan.n_levels;
  return found;
}

void bind_plan(nb::module_& m) {
  m.def(
      "plan_explanation",
      [](const BoundTrees& trees, const std::string& combine, const Weights& tree_weights,
         const Slots& slots, std::size_t out_width, int n_jobs) {
        const SumArguments arguments{trees, combine, tree_weights, slots, out_width};
        const TreeSum sum = arguments.view();
        return describe_plan(run_interruptible(
            [&](InterruptWatch& watch) { return plan_explanation(sum, n_jobs, watch); }));
      },
      "trees"_a, "combine"_a, "tree_weights"_a.none(), "slots"_a.none(), "out_width"_a, "n_jobs"_a,
      nb::sig("def plan_explanation(trees: Trees, combine: str, tree_weights: "
              "numpy.typing.NDArray[numpy.float64] | None, slots: "
              "numpy.typing.NDArray[numpy.uint32] | None, out_width: int, n_jobs: int) -> "
              "dict[str, typing.Any]"),
      "What explain_rows knows of the trees before it sees a row, as arrays by name.");
}

}  // namespace

}  // namespace committee

void bind_shap(nb::module_& m) {
  using namespace committee;
  m.def(
      "explain_rows",
      [](const BoundTrees& trees, const AnyArray& x, const std::string& combine,
         const Weights& tree_weights, const Slots& slots, std::size_t out_width, bool pairs,
         int n_jobs) {
        return explain({trees, combine, tree_weights, slots, out_width}, x, pairs, n_jobs);
      },
      "trees"_a, "X"_a, "combine"_a, "tree_weights"_a.none(), "slots"_a.none(), "out_width"_a,
      "pairs"_a, "n_jobs"_a,
      nb::sig("def explain_rows(trees: Trees, X: numpy.typing.NDArray, combine: str, tree_weights: "
              "numpy.typing.NDArray[numpy.float64] | None, slots: "
              "numpy.typing.NDArray[numpy.uint32] | None, out_width: int, pairs: bool, n_jobs: "
              "int) -> tuple[numpy.typing.NDArray[numpy.float64], "
              "numpy.typing.NDArray[numpy.float64]]"),
      "Path-dependent Shapley values (row, feature, column), or of pairs (row, feature, feature, "
      "column), and the base of each column.");
  bind_plan(m);
  m.def(
      "explain_against",
      [](const BoundTrees& trees, const AnyArray& x, const AnyArray& background,
         const std::optional<Vector<double>>& weights, const std::string& combine,
         const Weights& tree_weights, const Slots& slots, std::size_t out_width, int n_jobs) {
        const SumArguments arguments{trees, combine, tree_weights, slots, out_width};
        const TreeSum sum = arguments.view();
        const MatrixView view = view_matrix(x);
        Background behind{view_matrix(background, "background"), {}};
        if (weights) behind.weights = view_vector(*weights);
        AlignedBuffer<double> values(count_entries({view.n_rows, view.n_cols, out_width})),
            base(out_width);
        run_interruptible([&](InterruptWatch& watch) {
          explain_against(sum, view, behind, n_jobs, watch, values.data(), base.data());
          return 0;
        });
        return nb::make_tuple(
            own_array<double>(std::move(values), {view.n_rows, view.n_cols, out_width}),
            own_array<double>(std::move(base)));
      },
      "trees"_a, "X"_a, "background"_a, "weights"_a.none(), "combine"_a, "tree_weights"_a.none(),
      "slots"_a.none(), "out_width"_a, "n_jobs"_a,
      nb::sig("def explain_against(trees: Trees, X: numpy.typing.NDArray, background: "
              "numpy.typing.NDArray, weights: numpy.typing.NDArray[numpy.float64] | None, combine: "
              "str, tree_weights: numpy.typing.NDArray[numpy.float64] | None, slots: "
              "numpy.typing.NDArray[numpy.uint32] | None, out_width: int, n_jobs: int) -> "
              "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
      "Interventional Shapley values (row, feature, column) against a background, and the base of "
      "each column.");
}
