#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "arrays.hpp"
#include "bound_trees.hpp"
#include "buffers.hpp"
#include "interrupts.hpp"
#include "sparse_arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

Combine read_combine(std::string_view name) {
  if (name == "mean") return Combine::mean;
  if (name == "sum") return Combine::sum;
  if (name == "vote") return Combine::vote;
  throw nb::value_error("combine must be 'sum', 'mean' or 'vote'.");
}

PredictPath read_path(std::string_view name) {
  if (name == "automatic") return PredictPath::automatic;
  if (name == "plain") return PredictPath::plain;
  if (name == "interleaved") return PredictPath::interleaved;
  if (name == "sequence") return PredictPath::sequence;
  if (name == "coded") return PredictPath::coded;
  if (name == "bytes") return PredictPath::bytes;
  throw nb::value_error(
      "path must be 'automatic', 'plain', 'interleaved', 'sequence', 'coded' or 'bytes'.");
}

template <class T>
T read_or(const nb::object& value, T otherwise, const char* sentence) {
  if (value.is_none()) return otherwise;
  T read;
  if (!nb::try_cast<T>(value, read)) throw nb::value_error(sentence);
  return read;
}

nb::object predict(const BoundTrees& self, nb::handle x, const char* combine,
                   const nb::object& tree_weights, const nb::object& slots,
                   const nb::object& out_width, std::size_t first, const nb::object& last,
                   int n_jobs, const char* path) {
  const Trees& trees = self.trees();
  const TableBuffer table(x);
  const MatrixView view = table.view();
  PredictOptions options;
  options.combine = read_combine(combine);
  options.path = read_path(path);
  options.first_tree = first;
  options.last_tree = read_or(last, trees.n_trees, "last must be a number of trees or None.");
  options.n_jobs = n_jobs;
  const Entries<double> weights(tree_weights,
                                "tree_weights must be a 1-d array of float64 or None.");
  const Entries<u32> places(slots, "slots must be a 1-d array of uint32 or None.");
  options.tree_weights = weights.view();
  options.slots = places.view();
  const std::size_t width =
      read_or(out_width, std::size_t{trees.width}, "out_width must be a number or None.");

  const NewMatrix out(view.n_rows, width);
  run_watched(view.n_rows * trees.n_trees, [&](InterruptWatch* watch) {
    options.watch = watch;
    self.predictor->predict(view, options, out.data(), width);
  });
  return out.array;
}

nb::object apply(const BoundTrees& self, nb::handle x, int n_jobs) {
  const TableBuffer table(x);
  const MatrixView view = table.view();
  const std::size_t n_trees = self.trees().n_trees;
  nb::object out = numpy_empty()(nb::make_tuple(view.n_rows, n_trees), "u4");
  const Buffer target(out, PyBUF_WRITABLE | PyBUF_STRIDES);
  run_watched(view.n_rows * n_trees, [&](InterruptWatch* watch) {
    self.predictor->apply(view, n_jobs, static_cast<u32*>(target->buf), watch);
  });
  return out;
}

nb::object apply_sparse(const BoundTrees& self, const AnyArray& data, const AnyArray& indices,
                        const AnyArray& indptr, std::pair<std::size_t, std::size_t> shape,
                        int n_jobs) {
  // Compressed rows are the compressed columns of the transposed table.
  SparseView view = view_sparse(data, indices, indptr, {shape.second, shape.first});
  std::swap(view.n_rows, view.n_cols);
  const std::size_t n_trees = self.trees().n_trees;
  nb::object out = numpy_empty()(nb::make_tuple(view.n_rows, n_trees), "u4");
  const Buffer target(out, PyBUF_WRITABLE | PyBUF_STRIDES);
  run_watched(view.n_rows * n_trees, [&](InterruptWatch* watch) {
    self.predictor->apply_sparse(view, n_jobs, static_cast<u32*>(target->buf), watch);
  });
  return out;
}

nb::object label(const BoundTrees& self, nb::handle x, int n_jobs) {
  const TableBuffer table(x);
  const MatrixView view = table.view();
  nb::object out = numpy_empty()(nb::make_tuple(view.n_rows, self.trees().outputs.size()), "i8");
  const Buffer target(out, PyBUF_WRITABLE | PyBUF_STRIDES);
  run_watched(view.n_rows, [&](InterruptWatch* watch) {
    self.predictor->label(view, n_jobs, static_cast<std::int64_t*>(target->buf), watch);
  });
  return out;
}

void bind_checks(nb::module_& m) {
  m.def(
      "all_finite_or_missing",
      [](nb::handle x) {
        const TableBuffer table(x);
        const MatrixView view = table.view();
        const nb::gil_scoped_release released;
        return all_finite_or_missing(view);
      },
      "X"_a.none(), nb::sig("def all_finite_or_missing(X: numpy.typing.NDArray) -> bool"),
      "False if any value is infinite; NaN, a missing value, is fine.");
  m.def(
      "is_sound_table",
      [](nb::handle x, std::size_t n_features) {
        const TableBuffer table(x);
        if (table.complaint()) return false;
        const MatrixView view = table.view();
        if (view.n_rows == 0 || view.n_cols != n_features) return false;
        bool finite = false;
        run_released(view.n_rows * n_features, [&] { finite = all_finite_or_missing(view); });
        return finite;
      },
      "X"_a.none(), "n_features"_a,
      nb::sig("def is_sound_table(X: numpy.typing.NDArray, n_features: int) -> bool"),
      "Whether X is a 2-d aligned array of float32 or float64 with this many columns, at least one "
      "row and no infinity: one call, because all of it is asked of every single row.");
}

}  // namespace

}  // namespace committee

void bind_predict(nb::module_& m) {
  using namespace committee;
  auto c = nb::borrow<nb::class_<BoundTrees>>(m.attr("Trees"));
  c.def(
      "predict",
      [](const BoundTrees& self, nb::handle x, const char* combine, const nb::object& tree_weights,
         const nb::object& slots, const nb::object& out_width, std::size_t first,
         const nb::object& last, int n_jobs) {
        return predict(self, x, combine, tree_weights, slots, out_width, first, last, n_jobs,
                       "automatic");
      },
      "X"_a.none(), "combine"_a = "mean", "tree_weights"_a = nb::none(), "slots"_a = nb::none(),
      "out_width"_a = nb::none(), "first"_a = 0, "last"_a = nb::none(), "n_jobs"_a = 0,
      nb::sig(
          "def predict(self, X: numpy.typing.NDArray, combine: str = 'mean', "
          "tree_weights: " COMMITTEE_NDARRAY(float64) " | None = None, slots: " COMMITTEE_NDARRAY(
              uint32) " | None = None, out_width: int | None = None, first: int = 0, last: int | "
                      "None = "
                      "None, n_jobs: int = 0) -> " COMMITTEE_NDARRAY(float64)),
      "Sum, mean or vote of the trees first .. last - 1 for every row: float64 (n_rows, "
      "out_width).");
  c.def("apply", &apply, "X"_a.none(), "n_jobs"_a = 0,
        nb::sig("def apply(self, X: numpy.typing.NDArray, n_jobs: int = 0) -> " COMMITTEE_NDARRAY(
            uint32)),
        "Index of the node that each row ends in: uint32 (n_rows, n_trees).");
  c.def("apply_sparse", &apply_sparse, "data"_a, "indices"_a, "indptr"_a, "shape"_a, "n_jobs"_a = 0,
        nb::sig("def apply_sparse(self, data: numpy.typing.NDArray, indices: "
                "numpy.typing.NDArray, indptr: numpy.typing.NDArray, shape: tuple[int, int], "
                "n_jobs: int = 0) -> " COMMITTEE_NDARRAY(uint32)),
        "As apply, for compressed sparse rows whose other values are zero: the cost goes with the "
        "entries of a row, not with the depth of the trees.");
  c.def(
      "measure_mean_depth",
      [](const BoundTrees& self) { return self.predictor->measure_mean_depth(); },
      nb::sig("def measure_mean_depth(self) -> float"), "Mean depth of the leaves.");
  c.def("label", &label, "X"_a.none(), "n_jobs"_a = 0,
        nb::sig("def label(self, X: numpy.typing.NDArray, n_jobs: int = 0) -> " COMMITTEE_NDARRAY(
            int64)),
        "Class with the largest share in the leaf of each row, of one tree: int64 (n_rows, "
        "n_outputs).");
  m.def_submodule("testing").def("predict_by_path", &predict, "trees"_a, "X"_a.none(),
                                 "combine"_a = "mean", "tree_weights"_a = nb::none(),
                                 "slots"_a = nb::none(), "out_width"_a = nb::none(), "first"_a = 0,
                                 "last"_a = nb::none(), "n_jobs"_a = 0, nb::kw_only(),
                                 "path"_a = "automatic", "As Trees.predict, by a chosen path.");
  bind_checks(m);
}
