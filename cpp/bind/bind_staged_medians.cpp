// Weighted medians after each round of boosting.
#include "arrays.hpp"
#include "committee/staged_medians.hpp"
#include "interrupts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

Array<double> stage_medians(const Matrix<double>& values, const Vector<double>& weights,
                            double share, int n_jobs) {
  const std::size_t n_rows = values.shape(0), n_members = values.shape(1);
  if (weights.shape(0) != n_members) throw nb::value_error("weights must have one entry a member");
  std::vector<double> medians(n_rows * n_members);
  const MemberValues members{values.data(), n_rows, view_vector(weights)};
  run_watched(medians.size(), [&](InterruptWatch* watch) {
    find_staged_medians(members, share, n_jobs, watch, medians.data());
  });
  return own_array<double>(std::move(medians), {n_members, n_rows});
}

}  // namespace

}  // namespace committee

void bind_staged_medians(nb::module_& m) {
  using namespace committee;
  m.def("find_staged_medians", &stage_medians, "values"_a, "weights"_a, "share"_a, "n_jobs"_a = 0,
        nb::sig("def find_staged_medians(values: " COMMITTEE_NDARRAY(
            float64) ", weights: " COMMITTEE_NDARRAY(float64) ", share: float, "
                                                              "n_jobs: int = 0) "
                                                              "-> " COMMITTEE_NDARRAY(float64)),
        "Of the first members, for each number of them, the first value in ascending order with "
        "which the weights reach a share of their sum: (n_members, n_rows) from values of shape "
        "(n_rows, n_members).");
}
