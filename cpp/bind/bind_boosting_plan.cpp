// _core.plan_boosting and _core.import_trees: what an engine on another device shares with this
// one.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "boosting_checks.hpp"
#include "bound_trees.hpp"
#include "committee/boosting_plan.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

using NodeBytes = Vector<u8>;

std::span<const BinnedTreeNode> view_nodes(const NodeBytes& bytes) {
  if (bytes.shape(0) % sizeof(BinnedTreeNode) != 0 ||
      reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(BinnedTreeNode) != 0)
    throw nb::value_error("nodes must be aligned and whole");
  return {reinterpret_cast<const BinnedTreeNode*>(bytes.data()),
          bytes.shape(0) / sizeof(BinnedTreeNode)};
}

void bind_plan_fields(nb::module_& m) {
  nb::class_<BoostingPlan> plan(m, "BoostingPlan", "How the words of a fit are made of gradients.");
  plan.def_ro("gradient_shift", &BoostingPlan::gradient_shift, describe("bits cut off a gradient"))
      .def_ro("hessian_shift", &BoostingPlan::hessian_shift, describe("bits cut off a hessian"))
      .def_ro("stochastic", &BoostingPlan::stochastic, describe("rounded by chance"))
      .def_ro("repeated", &BoostingPlan::repeated, describe("a row of weight w is the row w times"))
      .def_ro("incremental", &BoostingPlan::incremental,
              describe("gradients are kept from round to round"))
      .def_ro("total_weight", &BoostingPlan::total_weight, describe("weight of all rows, in units"))
      .def_ro("weight_unit", &BoostingPlan::weight_unit,
              describe("rows that a unit of weight counts as"));
  bind_vector(plan, "weights", &BoostingPlan::weights, "weights in units; empty: all one");
  bind_vector(plan, "positions", &BoostingPlan::positions,
              "numbers that rounding by chance goes by; empty: the rows");
  bind_vector(plan, "n_bins", &BoostingPlan::n_bins,
              "value bins of each column, or levels of a category");
  bind_vector(plan, "kinds", &BoostingPlan::kinds,
              "of each column: 0 numbers, 1 a category, 2 one of many levels");
}

void bind_row_draws(nb::module_& m) {
  nb::class_<RoundRows> rows(m, "RoundRows", "The rows of a round.");
  rows.def_ro("gradient_shift", &RoundRows::gradient_shift, describe("bits cut off a gradient"))
      .def_ro("hessian_shift", &RoundRows::hessian_shift, describe("bits cut off a hessian"))
      .def_ro("stochastic", &RoundRows::stochastic, describe("rounded by chance"))
      .def_ro("repeated", &RoundRows::repeated, describe("a row of weight w is the row w times"))
      .def_ro("weight_unit", &RoundRows::weight_unit,
              describe("rows that a unit of weight counts as"));
  bind_vector(rows, "sample", &RoundRows::sample, "rows that take part, ascending");
  bind_vector(rows, "held_out", &RoundRows::held_out,
              "rows of positive weight that do not, ascending");
  bind_vector(rows, "weights", &RoundRows::weights,
              "weights of all rows in units; empty: those of the fit");
  nb::class_<RowDraws>(m, "RowDraws", "Draws the rows of rounds as Boosting does.")
      .def(
          "__init__",
          [](RowDraws* self, const std::optional<Vector<double>>& weights, std::size_t n_rows,
             const std::optional<Vector<u32>>& groups) {
            if (weights && weights->shape(0) != n_rows)
              throw nb::value_error("a weight for each row is needed");
            new (self) RowDraws(weights ? view_vector(*weights) : std::span<const double>(), n_rows,
                                read_groups(groups, n_rows));
          },
          "weights"_a.none(), "n_rows"_a, "groups"_a = nb::none())
      .def("draw", &RowDraws::draw, "params"_a, "tree"_a, nb::call_guard<nb::gil_scoped_release>(),
           "A share of the rows, or of their groups, before tree number `tree`.")
      .def(
          "draw_by_gradient",
          [](const RowDraws& self, const Vector<double>& sizes, const BoostingParams& params,
             u64 tree) {
            if (sizes.shape(0) != self.n_rows())
              throw nb::value_error("a size for each row is needed");
            if (!(params.goss_top >= 0.0 && params.goss_top + params.goss_other <= 1.0))
              throw nb::value_error("goss_top and goss_other must be shares of the rows");
            const nb::gil_scoped_release released;
            return self.draw_by_gradient(view_vector(sizes), params, tree);
          },
          "sizes"_a, "params"_a, "tree"_a, "The rows of large gradients, and some of the others.");
}

void bind_leaf_values(nb::module_& m) {
  m.def(
      "fix_row_weights",
      [](const Vector<double>& weights) {
        if (weights.shape(0) == 0) throw nb::value_error("there must be a row at least");
        return own_array<u32>(fix_row_weights(view_vector(weights)));
      },
      "weights"_a, "Row weights in units, as a fit counts them; empty: all one.");
  m.def(
      "renew_leaf_values",
      [](const Loss& loss, u32 score, const Vector<double>& y, const Vector<double>& scores,
         const Vector<u32>& weights, const Vector<u32>& rows, const Vector<u32>& leaves,
         std::size_t n_nodes, int n_jobs) {
        const std::size_t n = leaves.shape(0);
        if (y.shape(0) != n || scores.shape(0) != n ||
            (weights.shape(0) != 0 && weights.shape(0) != n) || score >= loss.n_scores())
          throw nb::value_error("a number for each row is needed");
        for (const u32 row : view_vector(rows))
          if (row >= n) throw nb::value_error("there is no such row");
        const nb::gil_scoped_release released;
        return renew_leaf_values(loss,
                                 {score, view_vector(y), view_vector(scores), view_vector(weights),
                                  view_vector(rows), view_vector(leaves)},
                                 n_nodes, n_jobs);
      },
      "loss"_a, "score"_a, "y"_a, "scores"_a, "weights"_a, "rows"_a, "leaves"_a, "n_nodes"_a,
      "n_jobs"_a,
      "Values of leaves that are no Newton steps, before shrinkage, from the node of each row.");
}

}  // namespace

}  // namespace committee

void bind_boosting_plan(nb::module_& m) {
  using namespace committee;
  bind_plan_fields(m);
  bind_row_draws(m);
  bind_leaf_values(m);
  m.def(
      "plan_boosting",
      [](const BinnedMatrix& data, const std::optional<Vector<double>>& weights, const Loss& loss,
         const BoostingParams& params) {
        if (weights && weights->shape(0) != data.n_rows)
          throw nb::value_error("a weight for each row is needed");
        const nb::gil_scoped_release released;
        return plan_boosting(data, weights ? view_vector(*weights) : std::span<const double>(),
                             loss, params);
      },
      "data"_a, "weights"_a.none(), "loss"_a, "params"_a,
      "How Boosting with these arguments makes words of gradients.");
  m.def("rounding_key", &rounding_key, "tree"_a,
        "What decides the rounding by chance of a tree's words.");
  m.def(
      "import_trees",
      [](const BinnedMatrix& data, const NodeBytes& nodes, const Vector<u64>& offsets,
         double weight_unit, const Vector<u32>& codes, std::size_t n_words) {
        return BoundTrees(import_trees(data, {view_nodes(nodes), view_vector(codes), n_words},
                                       view_vector(offsets), weight_unit));
      },
      "data"_a, "nodes"_a, "offsets"_a, "weight_unit"_a, "codes"_a, "n_words"_a,
      nb::sig("def import_trees(data: BinnedMatrix, nodes: " COMMITTEE_NDARRAY(
          uint8) ", offsets: " COMMITTEE_NDARRAY(uint64) ", weight_unit: float, "
                                                         "codes: " COMMITTEE_NDARRAY(
                                                             uint32) ", n_words: int) -> Trees"),
      "The arena of trees by bins, of 40 bytes a node: gain, value, weight, feature, place, left, "
      "count; and, where there are splits by category, n_words of levels that go left for each.");
  m.def(
      "add_gains",
      [](const NodeBytes& tree, bool level_wise, const std::vector<double>& gains,
         const std::vector<u64>& n_splits) {
        std::vector<double> sums = gains;
        std::vector<u64> counts = n_splits;
        const auto nodes = view_nodes(tree);
        for (const BinnedTreeNode& node : nodes)
          if (node.left >= 0 && (node.feature >= std::min(sums.size(), counts.size()) ||
                                 static_cast<std::size_t>(node.left) + 1 >= nodes.size()))
            throw nb::value_error("a split is out of place");
        add_gains(nodes, level_wise, sums, counts);
        return nb::make_tuple(own_array<double>(std::move(sums)),
                              own_array<u64>(std::move(counts)));
      },
      "tree"_a, "level_wise"_a, "gains"_a, "n_splits"_a,
      nb::sig("def add_gains(tree: " COMMITTEE_NDARRAY(
          uint8) ", level_wise: bool, gains: Sequence[float], n_splits: Sequence[int]) -> "
                 "tuple[" COMMITTEE_NDARRAY(float64) ", " COMMITTEE_NDARRAY(uint64) "]"),
      "Sums of gains and numbers of splits of each feature, with those of a tree.");
}
