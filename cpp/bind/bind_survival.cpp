// Censored times: pairs for concordance.
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "arrays.hpp"
#include "committee/concordance.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

std::tuple<double, double, double, double> sum_comparable_pairs(const Vector<u8>& event,
                                                                const Vector<double>& time,
                                                                const Vector<double>& score,
                                                                const Vector<double>& event_part,
                                                                const Vector<double>& later_part) {
  const std::size_t n = time.shape(0);
  if (event.shape(0) != n || score.shape(0) != n || event_part.shape(0) != n ||
      later_part.shape(0) != n)
    throw nb::value_error("all arrays must have one entry a row");
  const ScoredTimes rows{view_vector(event), view_vector(time), view_vector(score),
                         view_vector(event_part), view_vector(later_part)};
  const auto is_nan = [](double value) { return value != value; };
  if (std::ranges::any_of(rows.time, is_nan) || std::ranges::any_of(rows.score, is_nan))
    throw nb::value_error("times and scores must not be NaN");
  const nb::gil_scoped_release released;
  const PairSums sums = sum_pairs(rows);
  return {sums.concordant, sums.discordant, sums.tied_score, sums.tied_time};
}

}  // namespace

}  // namespace committee

constexpr const char* kPairsSignature =
    "def sum_comparable_pairs(event: " COMMITTEE_NDARRAY(uint8) ", time: " COMMITTEE_NDARRAY(
        float64) ", score: " COMMITTEE_NDARRAY(float64) ", event_part: " COMMITTEE_NDARRAY(
        float64) ", later_part: " COMMITTEE_NDARRAY(
        float64) ") -> tuple[float, float, float, float]";

void bind_survival(nb::module_& m) {
  using namespace committee;
  m.def("sum_comparable_pairs", &sum_comparable_pairs, "event"_a, "time"_a, "score"_a,
        "event_part"_a, "later_part"_a, nb::sig(kPairsSignature),
        "Sums over comparable pairs of event_part of the earlier row times later_part of the "
        "other: "
        "concordant, discordant, of equal score; and pairs of events at the same time.");
}
