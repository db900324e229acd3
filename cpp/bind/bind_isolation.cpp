// Isolation forests: samples, growth, the average path length.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bound_trees.hpp"
#include "committee/isolation.hpp"
#include "interrupts.hpp"
#include "sparse_arrays.hpp"

namespace committee {

namespace {

#define COMMITTEE_ISOLATION_SIGNATURE                                              \
  "n_levels: numpy.typing.NDArray[numpy.uint32], plan: IsolationPlan, seed: int, " \
  "n_jobs: int, progress: collections.abc.Callable[[int], object] | None = None) -> Trees"

BoundTrees grow(const ColumnReader& x, const Vector<u32>& n_levels, const IsolationPlan& plan,
                u64 seed, int n_jobs, const nb::object& progress) {
  std::atomic<std::size_t> done{0};
  return BoundTrees(run_interruptible(
      [&](InterruptWatch& watch) {
        return grow_isolation_forest(x, view_vector(n_levels), plan, seed, n_jobs, watch, &done);
      },
      [&] {
        if (!progress.is_none()) progress(done.load(std::memory_order_relaxed));
      }));
}

}  // namespace

}  // namespace committee

void bind_isolation(nanobind::module_& m) {
  using namespace committee;
  nb::class_<IsolationPlan>(m, "IsolationPlan",
                            "Which trees of an isolation forest to grow, and from which samples.")
      .def(nb::init<>())
      .def_rw("sampling", &IsolationPlan::sampling)
      .def_rw("first_tree", &IsolationPlan::first_tree)
      .def_rw("n_trees", &IsolationPlan::n_trees)
      .def_rw("max_depth", &IsolationPlan::max_depth, "root has depth 0");
  m.def(
      "grow_isolation_forest",
      [](const AnyArray& x, const Vector<u32>& n_levels, const IsolationPlan& plan, u64 seed,
         int n_jobs, const nb::object& progress) {
        return grow(*make_reader(view_matrix(x)), n_levels, plan, seed, n_jobs, progress);
      },
      nb::arg("x"), nb::arg("n_levels"), nb::arg("plan"), nb::arg("seed"), nb::arg("n_jobs"),
      nb::arg("progress") = nb::none(),
      nb::sig("def grow_isolation_forest(x: numpy.typing.NDArray[numpy.float32] | "
              "numpy.typing.NDArray[numpy.float64], " COMMITTEE_ISOLATION_SIGNATURE),
      "Grow the planned trees; a leaf's value is its depth plus the average path length of its "
      "rows.");
  m.def(
      "grow_isolation_forest_csc",
      [](const AnyArray& data, const AnyArray& indices, const AnyArray& indptr,
         std::pair<std::size_t, std::size_t> shape, const Vector<u32>& n_levels,
         const IsolationPlan& plan, u64 seed, int n_jobs, const nb::object& progress) {
        return grow(*make_reader(view_sparse(data, indices, indptr, shape)), n_levels, plan, seed,
                    n_jobs, progress);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("shape"), nb::arg("n_levels"),
      nb::arg("plan"), nb::arg("seed"), nb::arg("n_jobs"), nb::arg("progress") = nb::none(),
      nb::sig("def grow_isolation_forest_csc(data: numpy.typing.NDArray[numpy.float32] | "
              "numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | "
              "numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | "
              "numpy.typing.NDArray[numpy.int64], shape: tuple[int, "
              "int], " COMMITTEE_ISOLATION_SIGNATURE),
      "The same for compressed sparse columns.");
  m.def(
      "draw_isolation_rows",
      [](const RowSampling& sampling, u64 seed, u64 tree, std::size_t n_rows) {
        return own_array<u32>(draw_isolation_rows(sampling, seed, tree, n_rows));
      },
      nb::arg("sampling"), nb::arg("seed"), nb::arg("tree"), nb::arg("n_rows"),
      "Rows of a tree's sample, ascending, as often as they occur.");
  m.def("average_path_length", &average_path_length, nb::arg("n_rows"),
        "Mean path length of an unsuccessful search in a binary search tree of n rows.");
}
