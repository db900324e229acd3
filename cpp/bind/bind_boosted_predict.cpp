// Boosted trees to scores, predictions or probabilities, in one call.
#include "bound_trees.hpp"
#include "buffers.hpp"
#include "committee/boosted_predict.hpp"
#include "interrupts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

nb::object predict_boosted(const BoundTrees& self, nb::handle x, const nb::object& slots,
                           const nb::object& baseline, const Loss* loss, bool two_classes,
                           int n_jobs) {
  const TableBuffer table(x);
  const MatrixView view = table.view();
  const Entries<u32> outputs(slots, "slots must be a 1-d array of uint32 or None.");
  const Entries<double> starts(baseline, "baseline must be a 1-d array of float64.");
  const BoostedPrediction prediction{*self.predictor, outputs.view(), starts.view(), loss,
                                     two_classes};
  const NewMatrix out(view.n_rows, prediction.width());
  run_watched(view.n_rows * self.trees().n_trees, [&](InterruptWatch* watch) {
    predict_rows(prediction, view, n_jobs, out.data(), watch);
  });
  return out.array;
}

}  // namespace

}  // namespace committee

void bind_boosted_predict(nb::module_& m) {
  using namespace committee;
  auto c = nb::borrow<nb::class_<BoundTrees>>(m.attr("Trees"));
  c.def("predict_boosted", &predict_boosted, "X"_a.none(), "slots"_a.none(), "baseline"_a,
        "loss"_a.none(), "two_classes"_a = false, "n_jobs"_a = 0,
        nb::sig("def predict_boosted(self, X: numpy.typing.NDArray, slots: " COMMITTEE_NDARRAY(
            uint32) " | None, baseline: " COMMITTEE_NDARRAY(float64) ", loss: Loss | None, "
                                                                     "two_classes: bool = False, "
                                                                     "n_jobs: int = 0) "
                                                                     "-> " COMMITTEE_NDARRAY(
                                                                         float64)),
        "Sums of leaves and baseline, of shape (n_rows, n_scores); with a loss, predictions by "
        "its inverse link; with two_classes the pair 1 - p, p of a single one.");
}
