// Boosting stumps: StumpTrainer.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bound_trees.hpp"
#include "committee/stump.hpp"
#include "target_arrays.hpp"

namespace committee {

namespace {

struct BoundTrainer {
  std::unique_ptr<StumpTrainer> trainer;
  std::size_t n_features;
  u32 n_classes;
};

void make_trainer(BoundTrainer* self, const BinnedMatrix& data, const Presort* presort,
                  const Vector<u32>& labels, u32 n_classes,
                  const std::optional<Vector<double>>& weights, const std::string& criterion,
                  int n_jobs, double row_weight) {
  StumpInput input;
  input.data = &data;
  input.presort = presort;
  input.labels = view_vector(labels);
  input.n_classes = n_classes;
  if (weights) input.weights = view_vector(*weights);
  const nb::gil_scoped_release released;
  auto trainer = std::make_unique<StumpTrainer>(input, StumpOptions{criterion, n_jobs, row_weight});
  new (self) BoundTrainer{std::move(trainer), data.n_cols, n_classes};
}

nb::tuple grow_stump(BoundTrainer& self) {
  GrownStump grown = [&] {
    const nb::gil_scoped_release released;
    return self.trainer->grow();
  }();
  ArenaOptions options;
  options.n_features = self.n_features;
  options.outputs = {self.n_classes};
  const std::size_t n_leaves = grown.leaf_shares.size() / self.n_classes;
  Trees trees = compact_trees({&grown.tree, 1}, options);
  return nb::make_tuple(
      BoundTrees(std::move(trees)), own_array<double>(std::move(grown.importances)),
      own_array<double>(std::move(grown.leaf_shares), {n_leaves, self.n_classes}));
}

}  // namespace

}  // namespace committee

void bind_stump(nanobind::module_& m) {
  using namespace committee;
  nb::class_<BoundTrainer> c(m, "StumpTrainer",
                             "One stump a round, on weights that change from round to round.");
  c.def("__init__", &make_trainer, nb::arg("data"), nb::arg("presort").none(), nb::arg("labels"),
        nb::arg("n_classes"), nb::arg("weights").none(), nb::arg("criterion"), nb::arg("n_jobs"),
        nb::arg("row_weight") = 0.0, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::sig("def __init__(self, data: BinnedMatrix, presort: Presort | None, labels: "
                "numpy.typing.NDArray[numpy.uint32], n_classes: int, weights: "
                "numpy.typing.NDArray[numpy.float64] | None, criterion: str, n_jobs: int, "
                "row_weight: float = 0.0) -> None"));
  c.def("grow", &grow_stump,
        nb::sig("def grow(self) -> tuple[Trees, numpy.typing.NDArray[numpy.float64], "
                "numpy.typing.NDArray[numpy.float64]]"),
        "The best stump on the weights as they are, the decrease of impurity by feature, and the "
        "share of the weight by leaf and class.");
  c.def(
      "multiply",
      [](BoundTrainer& self, const Matrix<double>& factors) {
        const nb::gil_scoped_release released;
        self.trainer->multiply({factors.data(), factors.size()});
      },
      nb::arg("factors"),
      nb::sig("def multiply(self, factors: numpy.typing.NDArray[numpy.float64]) -> None"),
      "Multiply the weight of each row by the factor of its leaf (of the last stump) and class.");
  c.def_prop_ro(
      "weights",
      [](const BoundTrainer& self) { return own_array<double>(self.trainer->weights()); },
      nb::sig("def weights(self) -> numpy.typing.NDArray[numpy.float64]"), nb::rv_policy::automatic,
      "Weight of each row; the sum is 1.");
}
