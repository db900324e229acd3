#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "arrays.hpp"
#include "committee/block_binning.hpp"
#include "committee/file_memory.hpp"
#include "interrupts.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace committee;

namespace {

using BlockWeights = std::optional<Vector<double>>;

std::span<const double> view_block_weights(const BlockWeights& weights) {
  if (!weights) return {};
  return view_vector(*weights);
}

nb::bytes make_bytes(const std::vector<u8>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

std::span<const u8> view_bytes(const nb::bytes& bytes) {
  return {static_cast<const u8*>(bytes.data()), bytes.size()};
}

void bind_summary(nb::module_& m) {
  m.def(
      "choose_bin_sample",
      [](std::size_t n_rows, const BlockWeights& weights) {
        BinSample sample = [&] {
          const auto w = view_block_weights(weights);
          const nb::gil_scoped_release release;
          return choose_bin_sample(n_rows, w);
        }();
        std::optional<Array<u64>> own;
        if (!sample.weights.empty()) own = own_array<u64>(std::move(sample.weights));
        return nb::make_tuple(own_array<u64>(std::move(sample.rows)), own, sample.complete);
      },
      "n_rows"_a, "weights"_a.none(),
      nb::sig("def choose_bin_sample(n_rows: int, weights: " COMMITTEE_NDARRAY(
          float64) " | None) -> tuple[" COMMITTEE_NDARRAY(uint64) ", " COMMITTEE_NDARRAY(uint64) " "
                                                                                                 "|"
                                                                                                 " "
                                                                                                 "N"
                                                                                                 "o"
                                                                                                 "n"
                                                                                                 "e"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "b"
                                                                                                 "o"
                                                                                                 "o"
                                                                                                 "l"
                                                                                                 "]"),
      "Rows that bins are learnt from, their weights in fixed point, and whether they are all.");
  nb::class_<TableSummary>(m, "TableSummary",
                           "What bins need to know of every row; summaries of blocks merge.")
      .def(
          "__init__",
          [](TableSummary* self, bool is_double, const Vector<u32>& n_levels, int max_bins) {
            new (self) TableSummary(is_double, view_vector(n_levels), max_bins);
          },
          "is_double"_a, "n_levels"_a, "max_bins"_a)
      .def(
          "add",
          [](TableSummary& self, const AnyArray& block, const BlockWeights& weights, int n_jobs) {
            const MatrixView view = view_matrix(block);
            const auto w = view_block_weights(weights);
            run_interruptible([&](InterruptWatch& watch) { self.add(view, w, n_jobs, watch); });
          },
          "block"_a, "weights"_a.none(), "n_jobs"_a)
      .def("merge", &TableSummary::merge, "other"_a)
      .def_prop_ro("is_all_missing", &TableSummary::is_all_missing)
      .def("__getstate__", [](const TableSummary& self) { return make_bytes(self.save()); })
      .def("__setstate__", [](TableSummary& self, const nb::bytes& state) {
        new (&self) TableSummary(TableSummary::load(view_bytes(state)));
      });
}

void bind_builder(nb::module_& m) {
  m.def(
      "learn_bins",
      [](const AnyArray& sample, const std::optional<Vector<u64>>& weights,
         const Vector<u32>& n_levels, int max_bins, const TableSummary* summary, int n_jobs) {
        const MatrixView view = view_matrix(sample);
        const std::span<const u64> w = weights ? view_vector(*weights) : std::span<const u64>();
        return run_interruptible([&](InterruptWatch& watch) {
          return learn_bins(view, w, view_vector(n_levels), max_bins, summary, n_jobs, watch);
        });
      },
      "sample"_a, "weights"_a.none(), "n_levels"_a, "max_bins"_a, "summary"_a.none(), "n_jobs"_a,
      "The bins from the rows of choose_bin_sample and a summary of all rows.");
  nb::class_<BinnedBuilder>(m, "BinnedBuilder", "A binned table, written block by block.")
      .def(nb::init<const BinMapper&, std::size_t>(), "mapper"_a, "n_rows"_a)
      .def(
          "write",
          [](BinnedBuilder& self, const AnyArray& block, std::size_t first_row, int n_jobs) {
            const MatrixView view = view_matrix(block);
            run_interruptible(
                [&](InterruptWatch& watch) { self.write(view, first_row, n_jobs, watch); });
          },
          "block"_a, "first_row"_a, "n_jobs"_a)
      .def(
          "write_bins",
          [](BinnedBuilder& self, const Matrix<u8>& bytes, std::size_t first_row,
             const Vector<u32>& codes) {
            if (bytes.shape(0) != self.n_cols()) {
              throw nb::value_error("The bytes have another number of columns than the table.");
            }
            const nb::gil_scoped_release release;
            self.write_bins(bytes.data(), bytes.shape(1), bytes.shape(1), first_row,
                            view_vector(codes));
          },
          "bytes"_a, "first_row"_a, "codes"_a,
          "Rows whose bins are known: bytes[col, row], and the codes of wide columns.")
      .def("finish", [](BinnedBuilder& self) {
        return std::const_pointer_cast<BinnedMatrix>(self.finish());
      });
}

}  // namespace

void bind_block_binning(nb::module_& m) {
  bind_summary(m);
  bind_builder(m);
  m.def(
      "save_bins", [](const BinMapper& mapper) { return make_bytes(save_bins(mapper)); },
      "mapper"_a);
  m.def(
      "load_bins", [](const nb::bytes& bytes) { return load_bins(view_bytes(bytes)); }, "bytes"_a);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const SpillError& error) {
      const nb::object kind = nb::module_::import_("committee.exceptions").attr("DataSizeError");
      PyErr_SetString(kind.ptr(), error.what());
    }
  });
  m.def(
      "set_spill_folder",
      [](const std::optional<std::string>& folder) { set_spill_folder(folder.value_or("")); },
      "folder"_a.none(), "The folder for large buffers that this thread makes; None: in memory.");
  m.def(
      "allocate_table",
      [](std::size_t n_rows, std::size_t n_cols, bool is_double) -> nb::object {
        const auto allocate = [&]<class T>(T) {
          auto* values = new AlignedBuffer<T>(n_rows * n_cols);
          const nb::capsule owner(
              values, [](void* p) noexcept { delete static_cast<AlignedBuffer<T>*>(p); });
          return nb::cast(Array<T>(values->data(), {n_rows, n_cols}, owner,
                                   {1, static_cast<std::int64_t>(n_rows)}));
        };
        return is_double ? allocate(double()) : allocate(float());
      },
      "n_rows"_a, "n_cols"_a, "is_double"_a,
      nb::sig("def allocate_table(n_rows: int, n_cols: int, is_double: bool) -> " COMMITTEE_NDARRAY(
          floating)),
      "An array in Fortran order whose values are still to be written; in a file if it is large.");
  m.def("count_spilled_bytes", &count_spilled_bytes,
        "Bytes of buffers that now lie in files, of the whole process.");
  m.def("count_most_spilled_bytes", &count_most_spilled_bytes);
  m.def("reset_most_spilled_bytes", &reset_most_spilled_bytes);
}
