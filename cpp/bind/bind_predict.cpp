#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "arrays.hpp"
#include "bound_trees.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

// Row-trees below which letting go of the GIL costs more than it gives.
constexpr std::size_t kShortWork = 2048;

// An array by the buffer protocol: a fraction of a microsecond, where an nb::ndarray argument and
// result cost several, and predicting one row is to cost no more than that.
class Buffer {
 public:
  Buffer(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) != 0) {
      PyErr_Clear();
      throw nb::value_error("X must be a 2-d array of float32 or float64.");
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&buffer_); }
  const Py_buffer& operator*() const { return buffer_; }
  const Py_buffer* operator->() const { return &buffer_; }

 private:
  Py_buffer buffer_;
};

MatrixView view_buffer(const Py_buffer& buffer) {
  const std::string_view format = buffer.format ? buffer.format : "";
  const bool is_double = format == "d";
  if (buffer.ndim != 2 || (!is_double && format != "f")) {
    throw nb::value_error("X must be a 2-d array of float32 or float64.");
  }
  if (buffer.strides[0] % buffer.itemsize != 0 || buffer.strides[1] % buffer.itemsize != 0 ||
      reinterpret_cast<std::uintptr_t>(buffer.buf) % static_cast<std::size_t>(buffer.itemsize) !=
          0) {
    throw nb::value_error(
        "X must be aligned: its strides must be multiples of the size of a value.");
  }
  MatrixView view;
  view.data = buffer.buf;
  view.n_rows = static_cast<std::size_t>(buffer.shape[0]);
  view.n_cols = static_cast<std::size_t>(buffer.shape[1]);
  view.row_stride = buffer.strides[0] / buffer.itemsize;
  view.col_stride = buffer.strides[1] / buffer.itemsize;
  view.is_double = is_double;
  return view;
}

// numpy.empty, looked up once; leaked on purpose, as it must not go after the interpreter.
nb::handle numpy_empty() {
  static PyObject* const empty =
      nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
  return empty;
}

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
  throw nb::value_error("path must be 'automatic', 'plain', 'interleaved' or 'sequence'.");
}

template <class T>
T read_or(const nb::object& value, T otherwise, const char* sentence) {
  if (value.is_none()) return otherwise;
  T read;
  if (!nb::try_cast<T>(value, read)) throw nb::value_error(sentence);
  return read;
}

template <class Work>
void run_released(std::size_t row_trees, Work&& work) {
  if (row_trees < kShortWork) return work();
  const nb::gil_scoped_release released;
  work();
}

nb::object predict(const BoundTrees& self, nb::handle x, const char* combine,
                   const nb::object& tree_weights, const nb::object& slots,
                   const nb::object& out_width, std::size_t first, const nb::object& last,
                   int n_jobs, const char* path) {
  const Trees& trees = self.trees();
  const Buffer buffer(x, PyBUF_STRIDES | PyBUF_FORMAT);
  const MatrixView view = view_buffer(*buffer);
  PredictOptions options;
  options.combine = read_combine(combine);
  options.path = read_path(path);
  options.first_tree = first;
  options.last_tree = read_or(last, trees.n_trees, "last must be a number of trees or None.");
  options.n_jobs = n_jobs;
  const auto weights = read_or(tree_weights, Vector<double>(),
                               "tree_weights must be a 1-d array of float64 or None.");
  const auto places = read_or(slots, Vector<u32>(), "slots must be a 1-d array of uint32 or None.");
  if (weights.is_valid()) options.tree_weights = view_vector(weights);
  if (places.is_valid()) options.slots = view_vector(places);
  const std::size_t width =
      read_or(out_width, std::size_t{trees.width}, "out_width must be a number or None.");

  nb::object out = numpy_empty()(nb::make_tuple(view.n_rows, width));
  const Buffer target(out, PyBUF_WRITABLE | PyBUF_STRIDES);
  run_released(view.n_rows * trees.n_trees, [&] {
    self.predictor->predict(view, options, static_cast<double*>(target->buf), width);
  });
  return out;
}

nb::object apply(const BoundTrees& self, nb::handle x, int n_jobs) {
  const Buffer buffer(x, PyBUF_STRIDES | PyBUF_FORMAT);
  const MatrixView view = view_buffer(*buffer);
  const std::size_t n_trees = self.trees().n_trees;
  nb::object out = numpy_empty()(nb::make_tuple(view.n_rows, n_trees), "u4");
  const Buffer target(out, PyBUF_WRITABLE | PyBUF_STRIDES);
  run_released(view.n_rows * n_trees,
               [&] { self.predictor->apply(view, n_jobs, static_cast<u32*>(target->buf)); });
  return out;
}

nb::object label(const BoundTrees& self, nb::handle x, int n_jobs) {
  const Buffer buffer(x, PyBUF_STRIDES | PyBUF_FORMAT);
  const MatrixView view = view_buffer(*buffer);
  nb::object out = numpy_empty()(nb::make_tuple(view.n_rows, self.trees().outputs.size()), "i8");
  const Buffer target(out, PyBUF_WRITABLE | PyBUF_STRIDES);
  run_released(view.n_rows, [&] {
    self.predictor->label(view, n_jobs, static_cast<std::int64_t*>(target->buf));
  });
  return out;
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
      "Sum, mean or vote of the trees first .. last - 1 for every row: float64 (n_rows, "
      "out_width).");
  c.def("_predict_path", &predict, "X"_a.none(), "combine"_a = "mean",
        "tree_weights"_a = nb::none(), "slots"_a = nb::none(), "out_width"_a = nb::none(),
        "first"_a = 0, "last"_a = nb::none(), "n_jobs"_a = 0, nb::kw_only(), "path"_a = "automatic",
        "As predict, by a chosen path; for tests and benchmarks.");
  c.def("apply", &apply, "X"_a.none(), "n_jobs"_a = 0,
        "Index of the node that each row ends in: uint32 (n_rows, n_trees).");
  c.def("label", &label, "X"_a.none(), "n_jobs"_a = 0,
        "Class with the largest share in the leaf of each row, of one tree: int64 (n_rows, "
        "n_outputs).");
  m.def(
      "all_finite_or_missing",
      [](nb::handle x) {
        const Buffer buffer(x, PyBUF_STRIDES | PyBUF_FORMAT);
        const MatrixView view = view_buffer(*buffer);
        const nb::gil_scoped_release released;
        return all_finite_or_missing(view);
      },
      "X"_a.none(), "False if any value is infinite; NaN, a missing value, is fine.");
}
