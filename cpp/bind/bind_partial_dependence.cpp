// How predictions depend on a few features.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "committee/partial_dependence.hpp"
#include "interrupts.hpp"
#include "tree_sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

using Points = AlignedArray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

DependenceQuery read_query(const SumArguments& arguments, const Vector<u32>& features,
                           const Points& points, int n_jobs) {
  if (points.shape(1) != features.shape(0))
    throw nb::value_error("points must have one column for each feature.");
  return {arguments.view(), view_vector(features), {points.data(), points.size()}, n_jobs};
}

}  // namespace

}  // namespace committee

void bind_partial_dependence(nb::module_& m) {
  using namespace committee;
  m.def(
      "average_by_weight",
      [](const BoundTrees& trees, const Vector<u32>& features, const Points& points,
         const std::string& combine, const std::optional<Vector<double>>& tree_weights,
         const std::optional<Vector<u32>>& slots, std::size_t out_width, int n_jobs) {
        const SumArguments arguments{trees, combine, tree_weights, slots, out_width};
        const DependenceQuery query = read_query(arguments, features, points, n_jobs);
        std::vector<double> out(count_entries({query.n_points(), out_width}));
        run_interruptible([&](InterruptWatch& watch) {
          average_by_weight(query, watch, out.data());
          return 0;
        });
        return own_array<double>(std::move(out), {query.n_points(), out_width});
      },
      "trees"_a, "features"_a, "points"_a, "combine"_a, "tree_weights"_a.none(), "slots"_a.none(),
      "out_width"_a, "n_jobs"_a,
      nb::sig("def average_by_weight(trees: Trees, features: numpy.typing.NDArray[numpy.uint32], "
              "points: numpy.typing.NDArray[numpy.float64], combine: str, tree_weights: "
              "numpy.typing.NDArray[numpy.float64] | None, slots: "
              "numpy.typing.NDArray[numpy.uint32] | None, out_width: int, n_jobs: int) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "The sum of the trees at points in the space of some features, averaged over the others by "
      "the training weights (point, column).");
  m.def(
      "average_by_rows",
      [](const BoundTrees& trees, const AnyArray& x, const std::optional<Vector<double>>& weights,
         const Vector<u32>& features, const Points& points, const std::string& combine,
         const std::optional<Vector<double>>& tree_weights, const std::optional<Vector<u32>>& slots,
         std::size_t out_width, bool individual, int n_jobs) -> nb::object {
        const SumArguments arguments{trees, combine, tree_weights, slots, out_width};
        const DependenceQuery query = read_query(arguments, features, points, n_jobs);
        DependenceRows rows{view_matrix(x), {}};
        if (weights) rows.weights = view_vector(*weights);
        const std::size_t n = query.n_points(), n_rows = individual ? rows.x.n_rows : 1;
        AlignedBuffer<double> out(count_entries({n_rows, n, out_width}));
        run_interruptible([&](InterruptWatch& watch) {
          average_by_rows(query, rows, watch, individual ? nullptr : out.data(),
                          individual ? out.data() : nullptr);
          return 0;
        });
        if (individual) return nb::cast(own_array<double>(std::move(out), {n_rows, n, out_width}));
        return nb::cast(own_array<double>(std::move(out), {n, out_width}));
      },
      "trees"_a, "X"_a, "weights"_a.none(), "features"_a, "points"_a, "combine"_a,
      "tree_weights"_a.none(), "slots"_a.none(), "out_width"_a, "individual"_a, "n_jobs"_a,
      nb::sig("def average_by_rows(trees: Trees, X: numpy.typing.NDArray, weights: "
              "numpy.typing.NDArray[numpy.float64] | None, features: "
              "numpy.typing.NDArray[numpy.uint32], points: numpy.typing.NDArray[numpy.float64], "
              "combine: str, tree_weights: numpy.typing.NDArray[numpy.float64] | None, slots: "
              "numpy.typing.NDArray[numpy.uint32] | None, out_width: int, individual: bool, "
              "n_jobs: int) -> numpy.typing.NDArray[numpy.float64]"),
      "The sum of the trees for every row with some features replaced by those of every point: "
      "(row, point, column), or the mean over the rows (point, column).");
}
