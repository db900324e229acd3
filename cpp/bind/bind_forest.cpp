// Growing forests: what a member sees, grow_forest, out-of-bag votes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bound_trees.hpp"
#include "committee/forest.hpp"
#include "committee/oob_importance.hpp"
#include "interrupts.hpp"
#include "target_arrays.hpp"

namespace committee {

namespace {

template <class T>
using Rows = AlignedArray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = AlignedArray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void bind_sampling(nb::module_& m) {
  nb::class_<RowSampling> c(m, "RowSampling",
                            "Which rows and features a member of an ensemble sees.");
  c.def(nb::init<>());
#define COMMITTEE_BIND(type, name, value, meaning) \
  c.def_rw(#name, &RowSampling::name, describe(meaning));
  COMMITTEE_SAMPLING_FIELDS(COMMITTEE_BIND)
#undef COMMITTEE_BIND
  c.def_rw("strata", &RowSampling::strata, "per row: number of its stratum or group",
           nb::for_setter(nb::sig("def strata(self, value: Sequence[int] | " COMMITTEE_NDARRAY(
               uint32) ", /) -> None")));
  c.def_rw("stratum_draws", &RowSampling::stratum_draws, "rows drawn from each stratum");
  c.def_rw("weights", &RowSampling::weights, "chance of a row is proportional to it; empty: equal",
           nb::for_setter(nb::sig("def weights(self, value: Sequence[float] | " COMMITTEE_NDARRAY(
               float64) ", /) -> None")));
  nb::class_<ForestPlan>(m, "ForestPlan", "Which trees of a forest to grow, and from what samples.")
      .def(nb::init<>())
      .def_rw("sampling", &ForestPlan::sampling)
      .def_rw("first_tree", &ForestPlan::first_tree)
      .def_rw("n_trees", &ForestPlan::n_trees)
      .def_rw("balance_classes", &ForestPlan::balance_classes)
      .def_rw("first_row", &ForestPlan::first_row)
      .def_rw("n_table_rows", &ForestPlan::n_table_rows);
  m.def(
      "draw_rows",
      [](const RowSampling& sampling, u64 seed, u64 member, std::size_t n_rows) {
        std::vector<u32> counts(n_rows);
        draw_rows(sampling, seed, member, counts);
        return own_array<u32>(std::move(counts));
      },
      nb::arg("sampling"), nb::arg("seed"), nb::arg("member"), nb::arg("n_rows"),
      "How often each row is in the member's sample.");
  m.def(
      "draw_block_rows",
      [](const RowSampling& sampling, u64 seed, u64 member, std::size_t n_rows, std::size_t first,
         std::size_t last) {
        if (last < first) throw nb::value_error("the last row must not come before the first");
        std::vector<u32> counts(last - first);
        draw_block_rows(sampling, seed, member, n_rows, first, counts);
        return own_array<u32>(std::move(counts));
      },
      nb::arg("sampling"), nb::arg("seed"), nb::arg("member"), nb::arg("n_rows"), nb::arg("first"),
      nb::arg("last"), "The same for rows first .. last - 1 of n_rows.");
  m.def("draw_member_features", &draw_member_features, nb::arg("sampling"), nb::arg("seed"),
        nb::arg("member"), nb::arg("n_features"), "Features of the member, ascending.");
  m.def("find_tree_seed", &find_tree_seed, nb::arg("seed"), nb::arg("tree"),
        "The seed under which tree 0 has the random numbers that this tree has under `seed`.");
}

void bind_importance(nb::module_& m) {
  m.def(
      "permute_features",
      [](const BoundTrees& trees, const AnyArray& x, std::optional<Matrix<u32>> labels,
         std::vector<u32> n_classes, std::optional<Matrix<double>> values,
         const std::optional<Vector<double>>& weights, const ForestPlan& plan, u64 seed,
         u32 n_repeats, int n_jobs, const std::optional<Vector<u32>>& columns) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        const BinnedMatrix none;
        const GrowInput input = view_input(none, nullptr, target, weights);
        const MatrixView view = view_matrix(x);
        const std::size_t n_targets = input.target.labels.size() + input.target.values.size();
        if (n_targets != view.n_rows * input.target.n_outputs ||
            (!input.weights.empty() && input.weights.size() != view.n_rows)) {
          throw nb::value_error("x, the target and the weights must have as many rows");
        }
        const std::span<const u32> outputs = trees.trees().outputs;
        if (!std::equal(outputs.begin(), outputs.end(), input.target.n_classes.begin(),
                        input.target.n_classes.end()) ||
            (outputs.empty() && input.target.n_outputs != trees.trees().width)) {
          throw nb::value_error("the target must be what the trees predict");
        }
        const std::span<const u32> owners =
            columns ? std::span<const u32>(columns->data(), columns->size())
                    : std::span<const u32>();
        if (columns && (owners.size() != view.n_cols ||
                        std::any_of(owners.begin(), owners.end(),
                                    [&](u32 column) { return column >= view.n_cols; }))) {
          throw nb::value_error("every feature must have a column");
        }
        const OobQuestion question{trees.trees(), view,      input.target, input.weights, plan,
                                   seed,          n_repeats, n_jobs,       owners};
        const std::size_t width = std::max(n_repeats, 1u);
        return own_array<double>(run_interruptible([&](InterruptWatch& watch) {
                                   return n_repeats > 0 ? permute_out_of_bag(question, watch)
                                                        : debias_impurity(question, watch);
                                 }),
                                 {view.n_cols, width});
      },
      nb::arg("trees"), nb::arg("x"), nb::arg("labels").none(), nb::arg("n_classes"),
      nb::arg("values").none(), nb::arg("weights").none(), nb::arg("plan"), nb::arg("seed"),
      nb::arg("n_repeats"), nb::arg("n_jobs"), nb::arg("columns") = nb::none(),
      "Importance of each feature by out-of-bag rows (feature, repeat): growth of the loss under "
      "permutation, or, with n_repeats = 0, the debiased decrease of impurity. With the column "
      "that "
      "each feature comes from, permutations are of columns: (column, repeat).");
}

}  // namespace

}  // namespace committee

void bind_forest(nanobind::module_& m) {
  using namespace committee;
  bind_sampling(m);
  bind_importance(m);
  m.def(
      "grow_forest",
      [](const BinnedMatrix& data, const Presort* presort, std::optional<Matrix<u32>> labels,
         std::vector<u32> n_classes, std::optional<Matrix<double>> values,
         const std::optional<Vector<double>>& weights, const GrowParams& params,
         const ForestPlan& plan, const nb::object& progress) {
        const TargetArrays target{std::move(labels), std::move(n_classes), std::move(values)};
        const GrowInput input = view_input(data, presort, target, weights);
        std::atomic<std::size_t> done{0};
        ForestResult grown = run_interruptible(
            [&](InterruptWatch& watch) { return grow_forest(input, params, plan, watch, &done); },
            [&] {
              if (!progress.is_none()) progress(done.load(std::memory_order_relaxed));
            });
        const std::size_t n_features = data.n_cols;
        return nb::make_tuple(
            BoundTrees(std::move(grown.trees)),
            own_array<double>(std::move(grown.importances), {plan.n_trees, n_features}));
      },
      nb::arg("data"), nb::arg("presort").none(), nb::arg("labels").none(), nb::arg("n_classes"),
      nb::arg("values").none(), nb::arg("weights").none(), nb::arg("params"), nb::arg("plan"),
      nb::arg("progress") = nb::none(),
      nb::sig("def grow_forest(data: BinnedMatrix, presort: Presort | None, labels: "
              "numpy.typing.NDArray[numpy.uint32] | None, n_classes: Sequence[int], values: "
              "numpy.typing.NDArray[numpy.float64] | None, weights: "
              "numpy.typing.NDArray[numpy.float64] | None, params: "
              "GrowParams, plan: ForestPlan, progress: collections.abc.Callable[[int], object] | "
              "None = None) -> "
              "tuple[Trees, "
              "numpy.typing.NDArray[numpy.float64]]"),
      "Grow the planned trees, one a thread; returns them with their importances (tree, feature). "
      "`progress` is called "
      "about ten times a second with the number of finished trees.");
  m.def(
      "add_out_of_bag",
      [](const BoundTrees& trees, const AnyArray& x, const ForestPlan& plan, u64 seed, int n_jobs,
         const Table<double>& sums, const Rows<u32>& n_votes) {
        const MatrixView view = view_matrix(x);
        if (sums.shape(0) != view.n_rows || sums.shape(1) != trees.trees().width ||
            n_votes.shape(0) != view.n_rows) {
          throw nb::value_error("sums must be (n_rows, width) and n_votes (n_rows,)");
        }
        double* sum = sums.data();
        u32* votes = n_votes.data();
        const nb::gil_scoped_release released;
        add_out_of_bag(trees.trees(), view, plan, seed, n_jobs, sum, votes);
      },
      nb::arg("trees"), nb::arg("x"), nb::arg("plan"), nb::arg("seed"), nb::arg("n_jobs"),
      nb::arg("sums").noconvert(), nb::arg("n_votes").noconvert(),
      "Add the votes of trees plan.first_tree .. to rows that their samples do not hold, in place "
      "and in tree order.");
}
