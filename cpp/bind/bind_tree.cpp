#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "committee/parallel.hpp"
#include "packed_trees.hpp"
#include "tree_arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

std::size_t count_bytes(const Trees& trees) {
  const std::size_t nodes = trees.node_offsets[trees.n_trees],
                    leaves = trees.leaf_offsets[trees.n_trees];
  const std::size_t node_bytes =
      trees.double_thresholds ? sizeof(Node<double>) : sizeof(Node<float>);
  const std::size_t value_bytes = trees.value_type == ValueType::real64
                                      ? 8
                                      : std::size_t{1} << static_cast<int>(trees.value_type);
  return nodes * node_bytes + leaves * trees.width * value_bytes + trees.node_offsets.size_bytes() +
         trees.leaf_offsets.size_bytes() + trees.outputs.size_bytes() +
         trees.category_offsets.size_bytes() + trees.category_words.size_bytes() +
         trees.leaf_samples.size_bytes() + trees.leaf_weights.size_bytes() +
         trees.node_impurity.size_bytes();
}

BoundTrees strip_trees(const BoundTrees& self) {
  Trees bare = self.trees();
  bare.leaf_samples = {};
  bare.leaf_weights = {};
  bare.node_impurity = {};
  return BoundTrees(concatenate_trees({&bare, 1}));
}

void bind_arrays(nb::class_<BoundTrees>& c) {
  const auto bind = [&](const char* name, const char* signature) {
    c.def_prop_ro(
        name,
        [name](nb::pointer_and_handle<BoundTrees> self) {
          return view_tree_array(self.p->trees(), name, self.h);
        },
        nb::sig(signature));
  };
#define COMMITTEE_BIND(name, dtype) \
  bind(#name, "def " #name "(self, /) -> " COMMITTEE_NDARRAY(dtype));
  COMMITTEE_BIND(nodes, void)
  COMMITTEE_BIND(node_offsets, uint64)
  COMMITTEE_BIND(leaf_offsets, uint64)
  COMMITTEE_BIND(category_offsets, uint32)
  COMMITTEE_BIND(category_words, uint32)
  COMMITTEE_BIND(leaf_samples, uint32)
  COMMITTEE_BIND(leaf_weights, float64)
  COMMITTEE_BIND(node_impurity, float64)
#undef COMMITTEE_BIND
  // Counts of 1, 2 or 4 bytes, or numbers.
  bind("values", "def values(self, /) -> numpy.typing.NDArray");
}

// Trees made of trees.
void bind_edits(nb::class_<BoundTrees>& c) {
  c.def(
      "select",
      [](const BoundTrees& self, std::size_t first, std::size_t last) {
        return BoundTrees(select_trees(self.trees(), first, last));
      },
      "first"_a, "last"_a, "Trees first .. last - 1, as a view.");
  c.def("stripped", &strip_trees, "A copy without what only training knew.");
  c.def(
      "without_impurities",
      [](const BoundTrees& self) {
        Trees trees = self.trees();
        trees.node_impurity = {};
        return BoundTrees(std::move(trees));
      },
      "The same trees without the impurities of nodes, as a view.");
  c.def(
      "renumber_features",
      [](const BoundTrees& self, const Vector<u32>& features) {
        return BoundTrees(renumber_features(self.trees(), view_vector(features)));
      },
      "features"_a,
      nb::sig("def renumber_features(self, features: " COMMITTEE_NDARRAY(uint32) ") -> Trees"),
      "The same trees over these features only: features[i] becomes feature i.");
  c.def(
      "with_leaf_values",
      [](const BoundTrees& self, const Matrix<double>& values,
         const std::optional<Vector<double>>& leaf_weights) {
        if (values.shape(1) > std::numeric_limits<u32>::max())
          throw nb::value_error("There are too many columns of values.");
        return BoundTrees(replace_leaf_values(
            self.trees(), {values.data(), values.size()}, static_cast<u32>(values.shape(1)),
            leaf_weights ? view_vector(*leaf_weights) : std::span<const double>()));
      },
      "values"_a, "leaf_weights"_a = nb::none(),
      nb::sig("def with_leaf_values(self, values: " COMMITTEE_NDARRAY(
          float64) ", leaf_weights: " COMMITTEE_NDARRAY(float64) " | None = None) -> Trees"),
      "The same splits with these leaf values (leaf, column), and weights of the leaves if they "
      "are "
      "known; without numbers of rows and impurities.");
}

void bind_state(nb::class_<BoundTrees>& c) {
  c.def_static(
      "from_arrays", [](const nb::dict& state) { return BoundTrees(import_arrays(state)); },
      "state"_a, nb::sig("def from_arrays(state: dict[str, object]) -> Trees"),
      "Trees from the arrays of __getstate__, checked; read-only arrays are not copied.");
  c.def(
      "__getstate__",
      [](nb::pointer_and_handle<BoundTrees> self) {
        return export_arrays(self.p->trees(), self.h);
      },
      nb::sig("def __getstate__(self) -> dict[str, object]"));
  c.def(
      "__reduce__",
      [](nb::pointer_and_handle<BoundTrees> self) {
        const nb::object make = nb::module_::import_("copyreg").attr("__newobj__");
        return nb::make_tuple(make, nb::make_tuple(self.h.type()),
                              pack_trees(self.p->trees(), self.h));
      },
      nb::sig("def __reduce__(self) -> tuple[object, ...]"));
  // nanobind calls this as a constructor and refuses it on an object that is ready.
  c.def(
      "__setstate__",
      [](BoundTrees& self, const nb::dict& state) {
        new (&self) BoundTrees(import_arrays(unpack_trees(state)));
      },
      nb::sig("def __setstate__(self, state: dict[str, object], /) -> None"));
}

void bind_functions(nb::module_& m) {
  m.def(
      "concatenate_trees",
      [](const std::vector<const BoundTrees*>& parts, int n_jobs) {
        constexpr double kNodesOfThread = 1e6;  // that pay for a thread
        std::vector<Trees> arenas;
        double n_nodes = 0.0;
        for (const BoundTrees* part : parts) {
          if (!part) throw nb::value_error("A part is None.");
          arenas.push_back(part->trees());
          n_nodes += static_cast<double>(arenas.back().node_offsets[arenas.back().n_trees]);
        }
        return BoundTrees(
            concatenate_trees(arenas, choose_threads(n_jobs, n_nodes, kNodesOfThread)));
      },
      "parts"_a, "n_jobs"_a = 1, "The trees of all parts in one arena.");
}

}  // namespace

}  // namespace committee

void bind_tree(nb::module_& m) {
  using namespace committee;
  nb::class_<BoundTrees> c(m, "Trees", "Decision trees in one arena: flat, compact, immutable.");
  c.def_prop_ro("n_trees", [](const BoundTrees& self) { return self.trees().n_trees; });
  c.def_prop_ro("n_features", [](const BoundTrees& self) { return self.trees().n_features; });
  c.def_prop_ro("width", [](const BoundTrees& self) { return self.trees().width; });
  c.def_prop_ro("outputs", [](const BoundTrees& self) {
    return std::vector<u32>(self.trees().outputs.begin(), self.trees().outputs.end());
  });
  c.def_prop_ro("nbytes", [](const BoundTrees& self) { return count_bytes(self.trees()); });
  bind_arrays(c);
  bind_edits(c);
  c.def(
      "describe",
      [](const BoundTrees& self, std::size_t tree, const std::string& criterion) {
        return export_description(describe_tree(self.trees(), tree, criterion), self.trees().width);
      },
      "tree"_a, "criterion"_a,
      nb::sig("def describe(self, tree: int, criterion: str) -> dict[str, typing.Any]"),
      "One tree as arrays with scikit-learn's names, one entry a node.");
  c.def(
      "number_depth_first",
      [](nb::pointer_and_handle<BoundTrees> self) {
        const std::vector<u32>& numbers = self.p->depth_first_numbers();
        return view_array<u32>(numbers.data(), {numbers.size()}, self.h);
      },
      nb::sig("def number_depth_first(self) -> " COMMITTEE_NDARRAY(uint32)),
      "For each node of the arena its number within its tree if nodes were numbered depth-first, "
      "left before right, as in scikit-learn.");
  bind_state(c);
  bind_functions(m);
}
