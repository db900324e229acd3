#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <optional>

#include "arrays.hpp"
#include "committee/block_binning.hpp"
#include "committee/sorted_table.hpp"
#include "interrupts.hpp"
#include "sparse_arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace committee;

namespace {

using Weights = std::optional<Vector<double>>;

std::span<const double> view_weights(const Weights& weights, std::size_t n_rows) {
  if (!weights) return {};
  if (weights->shape(0) != n_rows) {
    throw nb::value_error(("weights must have one entry a row: " + std::to_string(n_rows) +
                           " rows, " + std::to_string(weights->shape(0)) + " weights.")
                              .c_str());
  }
  return view_vector(*weights);
}

std::size_t check_column(std::size_t col, std::size_t n_cols) {
  if (col >= n_cols) throw nb::index_error("There is no such column.");
  return col;
}

// nanobind holds objects that are not const; the bindings offer nothing that changes one.
template <class T>
std::shared_ptr<T> share(std::shared_ptr<const T> object) {
  return std::const_pointer_cast<T>(std::move(object));
}

template <class T, class Field>
Array<T> collect_field(const BinMapper& mapper, Field ColumnBins::* field) {
  const std::vector<ColumnBins>& columns = mapper.columns();
  AlignedBuffer<T> out(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) out[c] = static_cast<T>(columns[c].*field);
  return own_array<T>(std::move(out), {columns.size()});
}

// A per-column vector of a mapper as a read-only view that keeps the mapper alive.
template <std::vector<double> ColumnBins::* Field>
ReadOnlyArray<double> view_field(nb::handle_t<BinMapper> self, std::size_t col) {
  const BinMapper& mapper = nb::cast<const BinMapper&>(self);
  const std::vector<double>& values =
      mapper.columns()[check_column(col, mapper.columns().size())].*Field;
  return view_array(values.data(), {values.size()}, self);
}

void bind_pickling(nb::class_<BinMapper>& mapper) {
  mapper
      .def("__getstate__",
           [](const BinMapper& self) {
             const std::vector<u8> bytes = save_bins(self);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__", [](BinMapper& self, const nb::bytes& state) {
        new (&self) BinMapper(load_bins({static_cast<const u8*>(state.data()), state.size()}));
      });
}

void bind_column_bins(nb::class_<BinMapper>& mapper) {
  mapper
      .def_prop_ro(
          "n_bins",
          [](const BinMapper& self) { return collect_field<u32>(self, &ColumnBins::n_bins); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "has_missing",
          [](const BinMapper& self) { return collect_field<bool>(self, &ColumnBins::has_missing); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "is_categorical",
          [](const BinMapper& self) { return collect_field<bool>(self, &ColumnBins::categorical); },
          nb::rv_policy::automatic)
      .def("thresholds", &view_field<&ColumnBins::thresholds>, "col"_a)
      .def("low", &view_field<&ColumnBins::low>, "col"_a)
      .def("high", &view_field<&ColumnBins::high>, "col"_a);
}

void bind_learning(nb::class_<BinMapper>& mapper) {
  mapper
      .def_static(
          "fit",
          [](const AnyArray& x, const Weights& weights, const Vector<u32>& n_levels, int max_bins,
             int n_jobs) {
            const MatrixView view = view_matrix(x);
            const auto w = view_weights(weights, view.n_rows);
            return run_interruptible([&](InterruptWatch& watch) {
              return BinMapper::fit(view, w, view_vector(n_levels), max_bins, n_jobs, watch);
            });
          },
          "X"_a, "weights"_a.none(), "n_levels"_a, "max_bins"_a, "n_jobs"_a,
          "Learn the bins of a dense table; n_levels[c] > 0 says that column c holds codes.")
      .def_static(
          "fit_transform",
          [](const AnyArray& x, const Weights& weights, const Vector<u32>& n_levels, int max_bins,
             int n_jobs) {
            const MatrixView view = view_matrix(x);
            const auto w = view_weights(weights, view.n_rows);
            return share(run_interruptible([&](InterruptWatch& watch) {
              return BinMapper::fit_transform(view, w, view_vector(n_levels), max_bins, n_jobs,
                                              watch);
            }));
          },
          "X"_a, "weights"_a.none(), "n_levels"_a, "max_bins"_a, "n_jobs"_a,
          "Learn the bins of a dense table and put it into them.")
      .def_static(
          "fit_csc",
          [](const AnyArray& data, const AnyArray& indices, const AnyArray& indptr,
             std::pair<std::size_t, std::size_t> shape, const Weights& weights,
             const Vector<u32>& n_levels, int max_bins, int n_jobs) {
            const SparseView view = view_sparse(data, indices, indptr, shape);
            const auto w = view_weights(weights, view.n_rows);
            return run_interruptible([&](InterruptWatch& watch) {
              return BinMapper::fit_sparse(view, w, view_vector(n_levels), max_bins, n_jobs, watch);
            });
          },
          "data"_a, "indices"_a, "indptr"_a, "shape"_a, "weights"_a.none(), "n_levels"_a,
          "max_bins"_a, "n_jobs"_a, "The same for compressed sparse columns.");
}

void bind_mapper(nb::module_& m) {
  nb::class_<BinMapper> mapper(m, "BinMapper", "The bins of every column of a table.");
  bind_pickling(mapper);
  bind_column_bins(mapper);
  bind_learning(mapper);
  mapper
      .def(
          "transform",
          [](const BinMapper& self, const AnyArray& x, int n_jobs) {
            const MatrixView view = view_matrix(x);
            return share(run_interruptible(
                [&](InterruptWatch& watch) { return self.transform(view, n_jobs, watch); }));
          },
          "X"_a, "n_jobs"_a = 0)
      .def(
          "transform_csc",
          [](const BinMapper& self, const AnyArray& data, const AnyArray& indices,
             const AnyArray& indptr, std::pair<std::size_t, std::size_t> shape, int n_jobs,
             std::size_t entries_from) {
            const SparseView view = view_sparse(data, indices, indptr, shape);
            return share(run_interruptible([&](InterruptWatch& watch) {
              return self.transform_sparse(view, n_jobs, watch, entries_from);
            }));
          },
          "data"_a, "indices"_a, "indptr"_a, "shape"_a, "n_jobs"_a = 0,
          "entries_from"_a = BinMapper::kEntriesFrom,
          "Bytes, or for a table of at least entries_from values with few entries lists of them.");
}

void bind_codes(nb::class_<BinnedMatrix>& matrix) {
  matrix.def(
      "codes",
      [](const BinnedMatrix& self, std::size_t col) {
        const AlignedBuffer<u32>& codes = self.wide[check_column(col, self.n_cols)];
        return own_array<u32>(std::vector<u32>(codes.data(), codes.data() + codes.size()));
      },
      "col"_a, "The codes of a category of more than 255 levels; empty for other columns.");
}

void bind_matrix(nb::module_& m) {
  nb::class_<BinnedMatrix> matrix(m, "BinnedMatrix", "A table in bins; immutable.");
  bind_codes(matrix);
  matrix.def_ro("n_rows", &BinnedMatrix::n_rows)
      .def_ro("n_cols", &BinnedMatrix::n_cols)
      .def_prop_ro("nbytes", &BinnedMatrix::bytes)
      .def_prop_ro("mapper", [](const BinnedMatrix& self) { return BinMapper(*self.bins); })
      .def_prop_ro(
          "columns",
          [](nb::handle_t<BinnedMatrix> self) {
            const BinnedMatrix& matrix = nb::cast<const BinnedMatrix&>(self);
            if (matrix.entries) throw nb::value_error("The columns are kept as entries.");
            return view_array(matrix.columns.data(), {matrix.n_cols, matrix.n_rows}, self,
                              {static_cast<i64>(matrix.column_stride), 1});
          },
          nb::rv_policy::automatic)
      .def_prop_ro("has_entries", [](const BinnedMatrix& self) { return self.entries != nullptr; })
      .def(
          "column",
          [](const BinnedMatrix& self, std::size_t col) {
            std::vector<u8> room;
            const u8* bins = self.read_column(check_column(col, self.n_cols), room);
            return own_array<u8>(std::vector<u8>(bins, bins + self.n_rows));
          },
          "col"_a, "The bins of one column.")
      .def(
          "record",
          [](const BinnedMatrix& self, std::size_t row) {
            if (self.entries) throw nb::value_error("The columns are kept as entries.");
            if (row >= self.n_rows) throw nb::index_error("There is no such row.");
            std::vector<u8> bins;
            self.make_records(1);
            for (const RecordGroup& group : self.groups) {
              const u8* record = group.record(row);
              bins.insert(bins.end(), record, record + group.n_cols);
            }
            return own_array<u8>(std::move(bins));
          },
          "row"_a, "The bins of one row, read from the records.")
      .def_prop_ro(
          "record_strides",
          [](const BinnedMatrix& self) {
            std::vector<u32> strides;
            for (const RecordGroup& group : self.groups) {
              strides.push_back(static_cast<u32>(group.stride));
            }
            return own_array<u32>(std::move(strides));
          },
          nb::rv_policy::automatic)
      .def(
          "wide_codes",
          [](nb::handle_t<BinnedMatrix> self, std::size_t col) {
            const BinnedMatrix& matrix = nb::cast<const BinnedMatrix&>(self);
            static const AlignedBuffer<u32> kNone;
            check_column(col, matrix.n_cols);
            const AlignedBuffer<u32>& codes = matrix.entries ? kNone : matrix.wide[col];
            return view_array(codes.data(), {codes.size()}, self);
          },
          "col"_a, "Codes of a category with more than 255 levels; empty for other columns.");
}

void bind_presort(nb::module_& m) {
  nb::class_<Presort>(m, "Presort", "The order of every column's values, for exact splits.")
      .def_ro("n_rows", &Presort::n_rows)
      .def_ro("n_cols", &Presort::n_cols)
      .def_prop_ro(
          "order",
          [](nb::handle_t<Presort> self) {
            const Presort& presort = nb::cast<const Presort&>(self);
            return view_array(presort.order.data(), {presort.n_cols, presort.n_rows}, self);
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "rank",
          [](nb::handle_t<Presort> self) {
            const Presort& presort = nb::cast<const Presort&>(self);
            return view_array(presort.rank.data(), {presort.n_cols, presort.n_rows}, self);
          },
          nb::rv_policy::automatic)
      .def(
          "values",
          [](nb::handle_t<Presort> self, std::size_t col) {
            const Presort& presort = nb::cast<const Presort&>(self);
            const std::vector<double>& values = presort.values[check_column(col, presort.n_cols)];
            return view_array(values.data(), {values.size()}, self);
          },
          "col"_a);
  m.def(
      "presort_columns",
      [](const AnyArray& x, const Vector<u32>& n_levels, int n_jobs) {
        const MatrixView view = view_matrix(x);
        return share(run_interruptible([&](InterruptWatch& watch) {
          return presort_columns(view, view_vector(n_levels), n_jobs, watch);
        }));
      },
      "X"_a, "n_levels"_a, "n_jobs"_a = 0);
  m.def(
      "sort_and_bin",
      [](const AnyArray& x, const Vector<u32>& n_levels, int max_bins, int n_jobs) {
        const MatrixView view = view_matrix(x);
        SortedTable made = run_interruptible([&](InterruptWatch& watch) {
          return sort_and_bin(view, view_vector(n_levels), max_bins, n_jobs, watch);
        });
        return std::make_pair(share(std::move(made.presort)), share(std::move(made.bins)));
      },
      "X"_a, "n_levels"_a, "max_bins"_a, "n_jobs"_a = 0,
      "The order of every column and the table in bins without weights, from one sort.");
}

}  // namespace

void bind_binning(nb::module_& m) {
  bind_mapper(m);
  bind_matrix(m);
  bind_presort(m);
  m.def(
      "select_columns",
      [](const BinnedMatrix& from, const Vector<u32>& columns) {
        const nb::gil_scoped_release release;
        return share(select_columns(from, view_vector(columns)));
      },
      "data"_a, "columns"_a, "Some columns of a binned table, in the order given.");
  m.def(
      "slice_rows",
      [](const BinnedMatrix& data, std::size_t begin, std::size_t end) {
        return share(slice_rows(data, begin, end));
      },
      "data"_a, "begin"_a, "end"_a, "Rows begin .. end - 1 of a binned table.");
}
