// Trees over blocks of rows: a block that runs commands, and a tree whose commands go to a Python
// object.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "block_messages.hpp"
#include "bound_trees.hpp"
#include "committee/binning.hpp"
#include "committee/block_trees.hpp"
#include "interrupts.hpp"

namespace committee {

namespace {

nb::tuple grow(const nb::object& caller, const BinMapper& mapper, const std::vector<u32>& n_classes,
               std::size_t n_rows, std::size_t n_blocks, const GrowParams& params) {
  const BlockTreeInput input{std::make_shared<const std::vector<ColumnBins>>(mapper.columns()),
                             n_classes, n_rows, n_blocks};
  PythonCaller calls(caller);
  BlockTree tree = run_interruptible(
      [&](InterruptWatch& watch) { return grow_over_blocks(input, params, calls, watch); });
  const u32 width = tree.grown.tree.width;
  const std::size_t n_leaves = tree.leaf_names.size();
  ArenaOptions options;
  options.n_features = input.bins->size();
  options.outputs = n_classes;
  Trees trees = compact_trees({&tree.grown.tree, 1}, options);
  return nb::make_tuple(BoundTrees(std::move(trees)),
                        own_array<double>(std::move(tree.grown.importances)),
                        own_array<u32>(std::move(tree.leaf_names)),
                        own_array<double>(std::move(tree.leaf_values), {n_leaves, width}));
}

void bind_block(nb::module_& m) {
  nb::class_<TreeBlock>(m, "TreeBlock", "The rows of one block while trees are grown over blocks.")
      .def(nb::init<const BinnedMatrix&, int>(), nb::arg("data"), nb::arg("n_jobs") = 1,
           nb::keep_alive<1, 2>())
      .def(
          "set_labels",
          [](TreeBlock& self, const Vector<u32>& labels, u32 n_classes) {
            self.set_labels(view_vector(labels), n_classes);
          },
          nb::arg("labels"), nb::arg("n_classes"),
          nb::sig("def set_labels(self, labels: " COMMITTEE_NDARRAY(
              uint32) ", n_classes: int) -> None"),
          "Classes of the rows, for the trees that come.")
      .def(
          "set_values",
          [](TreeBlock& self, const Vector<double>& values) {
            self.set_values(view_vector(values));
          },
          nb::arg("values"),
          nb::sig("def set_values(self, values: " COMMITTEE_NDARRAY(float64) ") -> None"),
          "Numbers that the trees that come are to predict.")
      .def(
          "set_weights",
          [](TreeBlock& self, const Vector<double>& weights) {
            self.set_weights(view_vector(weights));
          },
          nb::arg("weights"),
          nb::sig("def set_weights(self, weights: " COMMITTEE_NDARRAY(float64) ") -> None"),
          "Weights of the rows in the tree that comes; zero: the row is absent.")
      .def("run", &run_command<TreeBlock>, nb::arg("name"), nb::arg("args"),
           nb::sig("def run(self, name: str, args: tuple) -> tuple"),
           "Run a command of a tree on the rows of the block, and answer it.")
      .def(
          "find_leaves",
          [](const TreeBlock& self, const Vector<u32>& names) {
            return own_array<u32>(self.find_leaves(view_vector(names)));
          },
          nb::arg("names"),
          nb::sig("def find_leaves(self, names: " COMMITTEE_NDARRAY(
              uint32) ") -> " COMMITTEE_NDARRAY(uint32)),
          "For each row the number of its leaf in a list of names.");
}

}  // namespace

}  // namespace committee

void bind_block_trees(nanobind::module_& m) {
  using namespace committee;
  bind_block(m);
  m.def(
      "grows_over_blocks",
      [](const BinMapper& mapper, const GrowParams& params) {
        return grows_over_blocks(mapper.columns(), params);
      },
      nb::arg("mapper"), nb::arg("params"),
      "Whether such a tree can be grown over blocks: not exact or random splits, pruning, criteria "
      "that sort rows, or columns of more than 255 categories.");
  m.def(
      "grow_over_blocks", &grow, nb::arg("caller"), nb::arg("mapper"), nb::arg("n_classes"),
      nb::arg("n_rows"), nb::arg("n_blocks"), nb::arg("params"),
      nb::sig("def grow_over_blocks(caller: object, mapper: BinMapper, n_classes: Sequence[int], "
              "n_rows: int, n_blocks: int, params: GrowParams) -> tuple[Trees, " COMMITTEE_NDARRAY(
                  float64) ", " COMMITTEE_NDARRAY(uint32) ", " COMMITTEE_NDARRAY(float64) "]"),
      "The tree of grow_tree over blocks of rows; its commands go to caller.call(commands, "
      "reduction, changes). Returns it with its importances, and names and values of its leaves.");
}
