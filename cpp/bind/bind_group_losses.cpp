// Losses of groups of rows: one class for all of them, and a function that makes each kind.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>

#include "arrays.hpp"
#include "committee/group_loss.hpp"
#include "committee/ordered_levels.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

using GroupScores = AlignedArray<const double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;

const double* check_group_scores(const GroupLoss& loss, const GroupScores& scores) {
  if (scores.shape(0) != loss.n_rows() || scores.shape(1) != loss.n_scores())
    throw nb::value_error("scores must be (n_rows, n_scores) in Fortran order");
  return scores.data();
}

int choose_group_threads(const GroupLoss& loss, int n_jobs) {
  return choose_threads(n_jobs, loss.work(), kThreadCost, kThreadCost);
}

nb::tuple find_group_gradients(GroupLoss& loss, const GroupScores& scores, int n_jobs) {
  const double* given = check_group_scores(loss, scores);
  const std::size_t n = loss.n_rows(), n_values = n * loss.n_scores();
  auto gradients = std::make_unique<double[]>(n_values),
       hessians = std::make_unique<double[]>(n_values);
  {
    const nb::gil_scoped_release released;
    loss.find_gradients(given, choose_group_threads(loss, n_jobs), gradients.get(), hessians.get());
  }
  const auto hand_over = [&](std::unique_ptr<double[]>& values) {
    double* const data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Array<double>(data, {n, loss.n_scores()}, owner, {1, static_cast<std::int64_t>(n)});
  };
  const auto first = hand_over(gradients), second = hand_over(hessians);
  return nb::make_tuple(first, second);
}

std::unique_ptr<GroupLoss> make_bound_rank_loss(const std::string& name, const Vector<u32>& rows,
                                                const Vector<u64>& offsets,
                                                const Vector<double>& labels,
                                                const Vector<double>& gains,
                                                const Vector<double>& weights, double sigmoid,
                                                u32 truncation_level, bool normalize) {
  RankInput input;
  input.n_rows = labels.shape(0);
  const auto copy = [](const auto& from, auto& to) {
    to.assign(from.data(), from.data() + from.shape(0));
  };
  copy(rows, input.rows);
  copy(offsets, input.offsets);
  copy(labels, input.labels);
  copy(gains, input.gains);
  copy(weights, input.weights);
  if (gains.shape(0) != input.n_rows || input.offsets.size() < 2 || input.offsets.front() != 0 ||
      input.offsets.back() != input.rows.size() ||
      std::adjacent_find(input.offsets.begin(), input.offsets.end(), std::greater_equal<>()) !=
          input.offsets.end() ||
      (!input.weights.empty() && input.weights.size() + 1 != input.offsets.size()) ||
      std::any_of(input.rows.begin(), input.rows.end(),
                  [&](u32 row) { return row >= input.n_rows; }))
    throw nb::value_error("queries must have rows, and all rows a label and a gain");
  return make_rank_loss(name, std::move(input), {sigmoid, truncation_level, normalize});
}

std::unique_ptr<GroupLoss> make_bound_distribution_loss(const std::string& name,
                                                        const Vector<double>& target,
                                                        const Vector<double>& weights) {
  if (weights.shape(0) != 0 && weights.shape(0) != target.shape(0))
    throw nb::value_error("weights must be one a row, or empty");
  const auto copy = [](const Vector<double>& from) {
    return std::vector<double>(from.data(), from.data() + from.shape(0));
  };
  return make_distribution_loss(name, copy(target), copy(weights));
}

// Nanoseconds of a row's exponentials, logarithm and sums.
constexpr double kLevelCost = 40.0;

std::unique_ptr<LogisticLevels> make_levels(const Vector<u32>& levels,
                                            const Vector<double>& weights, u32 n_levels,
                                            u32 n_scores) {
  const std::span<const u32> given(levels.data(), levels.shape(0));
  if (n_levels == 0 ||
      std::any_of(given.begin(), given.end(), [&](u32 k) { return k >= n_levels; }))
    throw nb::value_error("levels must be below their number");
  if (weights.shape(0) != 0 && weights.shape(0) != given.size())
    throw nb::value_error("weights must be one a row, or empty");
  if (n_scores != 1 && n_scores != 2) throw nb::value_error("a row has one score or two");
  return std::make_unique<LogisticLevels>(
      given, std::span<const double>(weights.data(), weights.shape(0)), n_levels, n_scores);
}

// use(scores, thresholds, n_threads), without the interpreter.
template <class Use>
void use_thresholds(const LogisticLevels& levels, const Vector<double>& scores,
                    const Vector<double>& thresholds, int n_jobs, Use&& use) {
  if (scores.shape(0) != levels.n_rows() * levels.n_scores() ||
      thresholds.shape(0) + 1 != levels.n_levels())
    throw nb::value_error(
        "scores must be those of all rows, thresholds one less than there are levels");
  const nb::gil_scoped_release released;
  const double work =
      kLevelCost * static_cast<double>(levels.n_scores()) * static_cast<double>(levels.n_rows());
  use(scores.data(), std::span<const double>(thresholds.data(), thresholds.shape(0)),
      choose_threads(n_jobs, work, kThreadCost, kThreadCost));
}

nb::tuple sum_level_terms(const LogisticLevels& levels, const Vector<double>& scores,
                          const Vector<double>& thresholds, int n_jobs) {
  ThresholdTerms terms;
  use_thresholds(levels, scores, thresholds, n_jobs,
                 [&](const auto&... given) { terms = levels.sum_terms(given...); });
  return nb::make_tuple(terms.loss, own_array<double>(std::move(terms.gradient)),
                        own_array<double>(std::move(terms.diagonal)),
                        own_array<double>(std::move(terms.beside)));
}

nb::tuple find_level_gradients(const LogisticLevels& levels, const Vector<double>& scores,
                               const Vector<double>& thresholds, int n_jobs) {
  const std::size_t n = levels.n_rows() * levels.n_scores();
  std::vector<double> gradients(n), hessians(n);
  use_thresholds(levels, scores, thresholds, n_jobs, [&](const auto&... given) {
    levels.find_gradients(given..., gradients.data(), hessians.data());
  });
  return nb::make_tuple(own_array<double>(std::move(gradients)),
                        own_array<double>(std::move(hessians)));
}

void bind_levels(nb::module_& m) {
  nb::class_<LogisticLevels>(
      m, "LogisticLevels",
      "Rows of ordered levels behind a score with logistic noise; a second score may be the\n"
      "logarithm of its spread. Scores are [score][row].")
      .def(
          "__init__",
          [](LogisticLevels* self, const Vector<u32>& levels, const Vector<double>& weights,
             u32 n_levels, u32 n_scores) {
            new (self) LogisticLevels(std::move(*make_levels(levels, weights, n_levels, n_scores)));
          },
          nb::arg("levels"), nb::arg("weights"), nb::arg("n_levels"), nb::arg("n_scores") = 1)
      .def(
          "sum_losses",
          [](const LogisticLevels& levels, const Vector<double>& scores,
             const Vector<double>& thresholds, int n_jobs) {
            double sum = 0.0;
            use_thresholds(levels, scores, thresholds, n_jobs,
                           [&](const auto&... given) { sum = levels.sum_losses(given...); });
            return sum;
          },
          nb::arg("scores"), nb::arg("thresholds"), nb::arg("n_jobs") = 0,
          "Minus the log-likelihood, exact and rounded once.")
      .def("sum_terms", &sum_level_terms, nb::arg("scores"), nb::arg("thresholds"),
           nb::arg("n_jobs") = 0,
           nb::sig("def sum_terms(self, scores: " COMMITTEE_NDARRAY(
               float64) ", thresholds: " COMMITTEE_NDARRAY(float64) ", n_jobs: int = 0) -> "
                                                                    "tuple[float, "
                                                                    "" COMMITTEE_NDARRAY(float64) ", " COMMITTEE_NDARRAY(
                                                                        float64) ","
                                                                                 " " COMMITTEE_NDARRAY(
                                                                                     float64) "]"),
           "Minus the log-likelihood, its gradient by the thresholds, and the diagonal of its\n"
           "hessian and that beside it.")
      .def("find_gradients", &find_level_gradients, nb::arg("scores"), nb::arg("thresholds"),
           nb::arg("n_jobs") = 0,
           nb::sig("def find_gradients(self, scores: " COMMITTEE_NDARRAY(
               float64) ", thresholds: " COMMITTEE_NDARRAY(float64) ", n_jobs: int = 0) -> tuple["
                                                                    "" COMMITTEE_NDARRAY(float64) ", " COMMITTEE_NDARRAY(
                                                                        float64) "]"),
           "Gradients and hessians of the rows by their scores.");
}

}  // namespace

}  // namespace committee

void bind_group_losses(nanobind::module_& m) {
  using namespace committee;
  nb::class_<GroupLoss>(m, "GroupLoss",
                        "A loss whose gradient of a row depends on the scores of other rows.")
      .def_prop_ro("n_rows", &GroupLoss::n_rows)
      .def_prop_ro("n_scores", &GroupLoss::n_scores, "Scores of a row.")
      .def(
          "find_gradients", &find_group_gradients, nb::arg("scores"), nb::arg("n_jobs") = 0,
          nb::sig("def find_gradients(self, scores: " COMMITTEE_NDARRAY(
              float64) ", n_jobs: int = 0) -> tuple[" COMMITTEE_NDARRAY(float64) ","
                                                                                 " " COMMITTEE_NDARRAY(
                                                                                     float64) "]"),
          "Gradients and hessians of all rows, two arrays (n_rows, n_scores) in Fortran order.")
      .def(
          "measure",
          [](const GroupLoss& loss, const GroupScores& scores, int n_jobs) {
            const double* given = check_group_scores(loss, scores);
            const nb::gil_scoped_release released;
            return loss.measure(given, choose_group_threads(loss, n_jobs));
          },
          nb::arg("scores"), nb::arg("n_jobs") = 0, "The loss of all rows.");
  m.def("make_rank_loss", &make_bound_rank_loss, nb::arg("name"), nb::arg("rows"),
        nb::arg("offsets"), nb::arg("labels"), nb::arg("gains"), nb::arg("weights"),
        nb::arg("sigmoid"), nb::arg("truncation_level"), nb::arg("normalize"),
        "The loss 'lambdarank', 'pairwise' or 'listwise' of queries: query q has the rows\n"
        "rows[offsets[q] : offsets[q + 1]]; labels and gains are of all rows, weights of the\n"
        "queries (empty: all one).");
  m.def("make_distribution_loss", &make_bound_distribution_loss, nb::arg("name"), nb::arg("target"),
        nb::arg("weights"),
        "The loss 'normal', 'lognormal' or 'negative_binomial' of rows with two scores, location "
        "and\n"
        "logarithm of the spread; weights are of the rows (empty: all one).");
  bind_levels(m);
}
