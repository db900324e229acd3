// Predictions under permutation of a feature.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "committee/permutation.hpp"
#include "interrupts.hpp"
#include "tree_sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

// The study and all that it looks at.
struct BoundStudy {
  BoundTrees trees;
  AnyArray x;
  std::optional<Vector<double>> tree_weights;
  std::optional<Vector<u32>> slots;
  std::size_t out_width;
  std::optional<PermutationStudy> study;
};

using Orders = AlignedArray<const u32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

}  // namespace

}  // namespace committee

void bind_permutation(nb::module_& m) {
  using namespace committee;
  nb::class_<BoundStudy> c(
      m, "PermutationStudy",
      "Predictions of rows in which one feature has the values of other rows.");
  c.def(
      "__init__",
      [](BoundStudy* self, const BoundTrees& trees, const AnyArray& x, const std::string& combine,
         const std::optional<Vector<double>>& tree_weights, const std::optional<Vector<u32>>& slots,
         std::size_t out_width, int n_jobs) {
        new (self) BoundStudy{trees, x, tree_weights, slots, out_width, {}};
        try {
          const SumArguments arguments{self->trees, combine, tree_weights, slots, out_width};
          const MatrixView view = view_matrix(x);
          run_interruptible([&](InterruptWatch& watch) {
            self->study.emplace(arguments.view(), view, n_jobs, watch);
            return 0;
          });
        } catch (...) {
          self->~BoundStudy();
          throw;
        }
      },
      "trees"_a, "X"_a, "combine"_a, "tree_weights"_a.none(), "slots"_a.none(), "out_width"_a,
      "n_jobs"_a,
      nb::sig("def __init__(self, trees: Trees, X: numpy.typing.NDArray, combine: str, "
              "tree_weights: numpy.typing.NDArray[numpy.float64] | None, slots: "
              "numpy.typing.NDArray[numpy.uint32] | None, out_width: int, n_jobs: int) -> None"));
  c.def(
      "predict",
      [](const BoundStudy& self, u32 feature, const Orders& orders) {
        const std::size_t n_repeats = orders.shape(0), n_rows = self.x.shape(0);
        if (orders.shape(1) != n_rows)
          throw nb::value_error("orders must have one column for each row.");
        AlignedBuffer<double> out(count_entries({n_repeats, n_rows, self.out_width}));
        run_interruptible([&](InterruptWatch& watch) {
          self.study->predict(feature, {orders.data(), orders.size()}, out.data(), watch);
          return 0;
        });
        return own_array<double>(std::move(out), {n_repeats, n_rows, self.out_width});
      },
      "feature"_a, "orders"_a,
      nb::sig("def predict(self, feature: int, orders: numpy.typing.NDArray[numpy.uint32]) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "The sum of the trees (repeat, row, column) for rows with the feature of other rows.");
}
