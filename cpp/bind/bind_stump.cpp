// Boosting stumps: StumpTrainer; over blocks of rows, StumpBlock and StumpDriver.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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
                  int n_jobs, double n_counted) {
  StumpInput input;
  input.data = &data;
  input.presort = presort;
  input.labels = view_vector(labels);
  input.n_classes = n_classes;
  if (weights) input.weights = view_vector(*weights);
  const nb::gil_scoped_release released;
  auto trainer = std::make_unique<StumpTrainer>(input, StumpOptions{criterion, n_jobs, n_counted});
  new (self) BoundTrainer{std::move(trainer), data.n_cols, n_classes};
}

// Tree, decrease of impurity by feature, and share of the weight by leaf and class.
nb::tuple give_stump(GrownStump grown, std::size_t n_features, u32 n_classes) {
  ArenaOptions options;
  options.n_features = n_features;
  options.outputs = {n_classes};
  const std::size_t n_leaves = grown.leaf_shares.size() / n_classes;
  Trees trees = compact_trees({&grown.tree, 1}, options);
  return nb::make_tuple(BoundTrees(std::move(trees)),
                        own_array<double>(std::move(grown.importances)),
                        own_array<double>(std::move(grown.leaf_shares), {n_leaves, n_classes}));
}

nb::tuple grow_stump(BoundTrainer& self) {
  GrownStump grown = [&] {
    const nb::gil_scoped_release released;
    return self.trainer->grow();
  }();
  return give_stump(std::move(grown), self.n_features, self.n_classes);
}

using SplitTuple = std::tuple<u32, u32, bool, std::vector<u32>>;

struct BoundDriver {
  std::unique_ptr<StumpDriver> driver;
  std::size_t n_features;
  u32 n_classes;
};

// (2, n_leaves, n_classes): rows, and rows as often as they weigh.
Array<i64> give_leaves(const StumpLeaves& leaves, u32 n_classes) {
  std::vector<i64> values(leaves.rows.begin(), leaves.rows.end());
  values.insert(values.end(), leaves.units.begin(), leaves.units.end());
  return own_array<i64>(std::move(values), {2, leaves.n_leaves, n_classes});
}

using LeafArray = AlignedArray<const i64, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

StumpLeaves read_leaves(const LeafArray& array, u32 n_classes) {
  if (array.shape(0) != 2 || array.shape(2) != n_classes)
    throw nb::value_error("leaves must be of shape (2, n_leaves, n_classes)");
  StumpLeaves leaves;
  leaves.n_leaves = static_cast<u32>(array.shape(1));
  const std::size_t n = array.shape(1) * n_classes;
  leaves.rows.assign(array.data(), array.data() + n);
  leaves.units.assign(array.data() + n, array.data() + 2 * n);
  return leaves;
}

struct BoundBlock {
  std::unique_ptr<StumpBlock> block;
  u32 n_classes;
};

void make_block(BoundBlock* self, const BinnedMatrix& data, const Vector<u32>& labels,
                u32 n_classes, const std::optional<Vector<u64>>& units,
                const std::optional<Vector<double>>& levels, double total, int n_jobs) {
  StumpInput input;
  input.data = &data;
  input.labels = view_vector(labels);
  input.n_classes = n_classes;
  StumpWeights weights;
  weights.total = total;
  if (units) weights.units.assign(units->data(), units->data() + units->size());
  if (levels) weights.levels.assign(levels->data(), levels->data() + levels->size());
  new (self) BoundBlock{std::make_unique<StumpBlock>(input, std::move(weights), n_jobs), n_classes};
}

nb::tuple start_weights(const Vector<double>& weights) {
  StumpWeights start = start_stump_weights(view_vector(weights), weights.size());
  nb::object units = nb::none(), levels = nb::none();
  if (!start.units.empty()) units = nb::cast(own_array<u64>(std::move(start.units)));
  if (!start.levels.empty()) levels = nb::cast(own_array<double>(std::move(start.levels)));
  return nb::make_tuple(units, levels, start.total);
}

void bind_stump_block(nb::module_& m) {
  m.def("start_stump_weights", &start_weights, nb::arg("weights"),
        nb::sig("def start_stump_weights(weights: numpy.typing.NDArray[numpy.float64]) -> "
                "tuple[numpy.typing.NDArray[numpy.uint64] | None, "
                "numpy.typing.NDArray[numpy.float64] | None, float]"),
        "Weights of all rows as StumpBlock takes them: units, levels (None: all one) and total.");
  nb::class_<BoundBlock> c(m, "StumpBlock", "The rows of one block while stumps are boosted.");
  c.def("__init__", &make_block, nb::arg("data"), nb::arg("labels"), nb::arg("n_classes"),
        nb::arg("units").none(), nb::arg("levels").none(), nb::arg("total"), nb::arg("n_jobs"),
        nb::keep_alive<1, 2>(),
        nb::sig("def __init__(self, data: BinnedMatrix, labels: numpy.typing.NDArray[numpy.uint32],"
                " n_classes: int, units: numpy.typing.NDArray[numpy.uint64] | None, levels: "
                "numpy.typing.NDArray[numpy.float64] | None, total: float, n_jobs: int) -> None"));
  c.def_prop_ro(
      "histograms",
      [](const BoundBlock& self) {
        const std::span<const u64> slots = self.block->histograms();
        return own_array<i64>(std::vector<i64>(slots.begin(), slots.end()));
      },
      nb::sig("def histograms(self) -> numpy.typing.NDArray[numpy.int64]"),
      nb::rv_policy::automatic, "Class weights by column and bin; those of blocks are added.");
  c.def(
      "assign",
      [](BoundBlock& self, const SplitTuple& split) {
        const auto& [feature, bin, missing_left, codes] = split;
        return give_leaves(self.block->assign({feature, bin, missing_left, codes}), self.n_classes);
      },
      nb::arg("split"),
      nb::sig("def assign(self, split: tuple[int, int, bool, list[int]]) -> "
              "numpy.typing.NDArray[numpy.int64]"),
      "Split the rows; (2, n_leaves, n_classes): rows, and rows as often as they weigh.");
  c.def(
      "multiply",
      [](BoundBlock& self, const Matrix<double>& factors, std::vector<double> common,
         std::vector<double> scales) {
        const nb::gil_scoped_release released;
        self.block->multiply({factors.data(), factors.size()},
                             {std::move(common), std::move(scales)});
      },
      nb::arg("factors"), nb::arg("common"), nb::arg("scales"),
      nb::sig("def multiply(self, factors: numpy.typing.NDArray[numpy.float64], common: "
              "list[float], scales: list[float]) -> None"),
      "Multiply weights by the factor of leaf and class, as StumpDriver.plan says.");
  c.def_prop_ro(
      "weights", [](const BoundBlock& self) { return own_array<double>(self.block->weights()); },
      nb::sig("def weights(self) -> numpy.typing.NDArray[numpy.float64]"), nb::rv_policy::automatic,
      "Weight of each row, not normalised.");
}

void bind_stump_driver(nb::module_& m) {
  nb::class_<BoundDriver> c(m, "StumpDriver", "Finds stumps in the summed histograms of blocks.");
  c.def(
      "__init__",
      [](BoundDriver* self, const BinMapper& bins, u32 n_classes, const std::string& criterion,
         int n_jobs, double n_counted) {
        new (self)
            BoundDriver{std::make_unique<StumpDriver>(bins.columns(), n_classes,
                                                      StumpOptions{criterion, n_jobs, n_counted}),
                        bins.columns().size(), n_classes};
      },
      nb::arg("bins"), nb::arg("n_classes"), nb::arg("criterion"), nb::arg("n_jobs"),
      nb::arg("n_counted"));
  c.def(
      "find",
      [](BoundDriver& self, const Vector<i64>& histograms) {
        const std::vector<u64> slots(histograms.data(), histograms.data() + histograms.size());
        const nb::gil_scoped_release released;
        const StumpSplit split = self.driver->find(slots);
        return SplitTuple(split.feature, split.bin, split.missing_left, split.left_codes);
      },
      nb::arg("histograms"),
      nb::sig("def find(self, histograms: numpy.typing.NDArray[numpy.int64]) -> tuple[int, int, "
              "bool, list[int]]"),
      "The best split: feature (2^32 - 1: none), bin, side of missing values, codes on the left.");
  c.def(
      "describe",
      [](const BoundDriver& self, const LeafArray& leaves) {
        return give_stump(self.driver->describe(read_leaves(leaves, self.n_classes)),
                          self.n_features, self.n_classes);
      },
      nb::arg("leaves"),
      nb::sig("def describe(self, leaves: numpy.typing.NDArray[numpy.int64]) -> tuple[Trees, "
              "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
      "The stump found last, from the summed leaves; as StumpTrainer.grow returns it.");
  c.def(
      "plan",
      [](BoundDriver& self, const Matrix<double>& factors, const LeafArray& leaves) {
        StumpStep step = self.driver->plan({factors.data(), factors.size()},
                                           read_leaves(leaves, self.n_classes));
        return std::pair(std::move(step.common), std::move(step.scales));
      },
      nb::arg("factors"), nb::arg("leaves"),
      nb::sig("def plan(self, factors: numpy.typing.NDArray[numpy.float64], leaves: "
              "numpy.typing.NDArray[numpy.int64]) -> tuple[list[float], list[float]]"),
      "Common factors and scales of the classes for StumpBlock.multiply; once a round.");
}

}  // namespace

}  // namespace committee

void bind_stump(nanobind::module_& m) {
  using namespace committee;
  nb::class_<BoundTrainer> c(m, "StumpTrainer",
                             "One stump a round, on weights that change from round to round.");
  c.def("__init__", &make_trainer, nb::arg("data"), nb::arg("presort").none(), nb::arg("labels"),
        nb::arg("n_classes"), nb::arg("weights").none(), nb::arg("criterion"), nb::arg("n_jobs"),
        nb::arg("n_counted") = 0.0, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::sig("def __init__(self, data: BinnedMatrix, presort: Presort | None, labels: "
                "numpy.typing.NDArray[numpy.uint32], n_classes: int, weights: "
                "numpy.typing.NDArray[numpy.float64] | None, criterion: str, n_jobs: int, "
                "n_counted: float = 0.0) -> None"));
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
  bind_stump_block(m);
  bind_stump_driver(m);
}
