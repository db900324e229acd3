// Logarithms, exponentials and gamma functions of arrays of any shape; products of rows; selection
// of members.
#include "arrays.hpp"
#include "committee/elementary.hpp"
#include "committee/greedy_selection.hpp"
#include "committee/row_products.hpp"
#include "interrupts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

// Contiguous, of any number of axes; nanobind converts others.
using Numbers = AlignedArray<const double, nb::c_contig, nb::device::cpu>;

template <void (*kFunction)(std::span<const double>, double*)>
Array<double> map_numbers(const Numbers& given) {
  auto* found = new std::vector<double>(given.size());
  nb::capsule owner(found, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  kFunction({given.data(), given.size()}, found->data());
  const std::vector<std::size_t> shape(given.shape_ptr(), given.shape_ptr() + given.ndim());
  return Array<double>(found->data(), shape.size(), shape.data(), owner);
}

template <class Stored>
Array<double> bind_products(const Matrix<double>& rows, const Matrix<Stored>& others) {
  const std::size_t n_columns = rows.shape(1);
  if (others.shape(1) != n_columns)
    throw nb::value_error("rows and others must have equally many columns");
  std::vector<double> products(rows.shape(0) * others.shape(0), 0.0);
  if (n_columns > 0)
    run_watched(rows.size() * others.shape(0), [&](InterruptWatch* watch) {
      multiply_rows<Stored>({rows.data(), rows.size()}, {others.data(), others.size()}, n_columns,
                            products.data(), watch);
    });
  return own_array<double>(std::move(products), {rows.shape(0), others.shape(0)});
}

Array<i64> bind_selection(const Matrix<double>& likelihoods, std::size_t n_rounds,
                          double least_gain) {
  const std::size_t n_members = likelihoods.shape(0);
  if (likelihoods.size() == 0) throw nb::value_error("there must be a member and a row");
  std::vector<i64> counts = select_by_likelihood({likelihoods.data(), likelihoods.size()},
                                                 n_members, n_rounds, least_gain);
  return own_array<i64>(std::move(counts), {n_members});
}

}  // namespace

}  // namespace committee

void bind_elementary(nb::module_& m) {
  using namespace committee;
  m.def("find_logs", &map_numbers<find_logs>, "values"_a,
        nb::sig(
            "def find_logs(values: " COMMITTEE_NDARRAY(float64) ") -> " COMMITTEE_NDARRAY(float64)),
        "Natural logarithms, to the same bits on every platform.");
  m.def("find_exponentials", &map_numbers<find_exponentials>, "exponents"_a,
        nb::sig("def find_exponentials(exponents: " COMMITTEE_NDARRAY(
            float64) ") -> " COMMITTEE_NDARRAY(float64)),
        "Powers of e, to the same bits on every platform.");
  m.def("find_log_gammas", &map_numbers<find_log_gammas>, "values"_a,
        nb::sig("def find_log_gammas(values: " COMMITTEE_NDARRAY(float64) ") -> " COMMITTEE_NDARRAY(
            float64)),
        "Logarithms of the gamma function, to the same bits on every platform.");
  // In this order: other arrays are converted to doubles.
  m.def("multiply_rows", &bind_products<float>, "rows"_a, "others"_a.noconvert(),
        nb::sig("def multiply_rows(rows: " COMMITTEE_NDARRAY(
            float64) ", others: " COMMITTEE_NDARRAY(float32) ") -> " COMMITTEE_NDARRAY(float64)));
  m.def("multiply_rows", &bind_products<double>, "rows"_a, "others"_a,
        nb::sig("def multiply_rows(rows: " COMMITTEE_NDARRAY(
            float64) ", others: " COMMITTEE_NDARRAY(float64) ") -> " COMMITTEE_NDARRAY(float64)),
        "Product of each row with each of the others, to the same bits on every platform.");
  m.def("select_by_likelihood", &bind_selection, "likelihoods"_a, "n_rounds"_a, "least_gain"_a,
        nb::sig("def select_by_likelihood(likelihoods: " COMMITTEE_NDARRAY(
            float64) ", n_rounds: int, least_gain: float) -> " COMMITTEE_NDARRAY(int64)),
        "How often each member is in the best mean of probabilities on the greedy path.");
}
