// Gradient boosting: losses, BoostingParams, and the state of a fit. Scores, gradients and hessians
// are (n_rows, n_scores) in Fortran order: one column a class or output.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.hpp"
#include "boosting_checks.hpp"
#include "bound_trees.hpp"
#include "committee/binning.hpp"
#include "committee/boosting.hpp"
#include "interrupts.hpp"

namespace committee {

namespace {

using Columns = AlignedArray<const double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using WritableColumns = AlignedArray<double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;

const double* check_columns(const Columns& array, std::size_t n_rows, u32 n_scores) {
  if (array.shape(0) != n_rows || array.shape(1) != n_scores) {
    throw nb::value_error(("the array must be of shape (" + std::to_string(n_rows) + ", " +
                           std::to_string(n_scores) + ") in Fortran order")
                              .c_str());
  }
  return array.data();
}

ScoreView check_view(const Loss& loss, const Vector<double>& y, const Columns& scores) {
  const std::size_t n = scores.shape(0);
  check_target(loss, view_vector(y), n);
  return {y.data(), check_columns(scores, n, loss.n_scores()), n};
}

Array<double> own_columns(std::vector<double> values, std::size_t n_rows, u32 n_scores) {
  auto* kept = new std::vector<double>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return Array<double>(kept->data(), {n_rows, n_scores}, owner,
                       {1, static_cast<std::int64_t>(n_rows)});
}

nb::tuple find_gradients(const Loss& loss, const Vector<double>& y, const Columns& scores) {
  const ScoreView view = check_view(loss, y, scores);
  const std::size_t n = view.stride;
  const u32 width = loss.n_scores();
  std::vector<double> g(n * width), h(n * width), block(2 * width * kLossBlock);
  for (std::size_t begin = 0; begin < n; begin += kLossBlock) {
    const std::size_t end = std::min(n, begin + kLossBlock);
    loss.find_gradients(view, begin, end, block.data(), block.data() + width * kLossBlock);
    for (u32 k = 0; k < width; ++k) {
      std::copy_n(block.data() + k * kLossBlock, end - begin, g.data() + k * n + begin);
      std::copy_n(block.data() + (width + k) * kLossBlock, end - begin, h.data() + k * n + begin);
    }
  }
  return nb::make_tuple(own_columns(std::move(g), n, width), own_columns(std::move(h), n, width));
}

void bind_loss_info(nb::module_& m) {
  nb::class_<LossInfo>(m, "LossInfo", "The properties of a loss.")
      .def_ro("name", &LossInfo::name, "for Loss.make")
      .def_prop_ro(
          "link", [](const LossInfo& self) { return name_link(self.shape.link); },
          "scores as a function of predictions: identity, log, logit, half_logit or softmax")
      .def_prop_ro(
          "target_range",
          [](const LossInfo& self) { return name_target_range(self.shape.target_range); },
          "real, non_negative, positive, binary (0 or 1) or classes (0, 1, ..)")
      .def_prop_ro(
          "mean_bounds",
          [](const LossInfo& self) {
            return std::pair(self.shape.mean_bounds.lower, self.shape.mean_bounds.upper);
          },
          "a mean is moved into these before its link is taken")
      .def_prop_ro(
          "takes_newton_steps",
          [](const LossInfo& self) { return self.shape.rule == LeafRule::newton; },
          "leaf values are Newton steps")
      .def_prop_ro(
          "constant_hessian", [](const LossInfo& self) { return self.shape.constant_hessian; },
          "the hessian of every row is one")
      .def_prop_ro(
          "powers",
          [](const LossInfo& self) -> std::optional<std::pair<int, int>> {
            const LossShape& shape = self.shape;
            if (shape.gradient_power == LossShape::kUnbounded ||
                shape.hessian_power == LossShape::kUnbounded)
              return std::nullopt;
            return std::pair(shape.gradient_power, shape.hessian_power);
          },
          "powers of two that bound gradients and hessians; None: there are none")
      .def_prop_ro(
          "largest_step", [](const LossInfo& self) { return self.shape.largest_step; },
          "of a leaf, before shrinkage");
  m.def("describe_losses", &describe_losses, "The properties of all losses.");
  m.def(
      "list_losses",
      [] {
        std::vector<std::string> names;
        for (const LossInfo& loss : describe_losses()) names.push_back(loss.name);
        return names;
      },
      "Names of the losses.");
}

// What the rules of leaves, and the loss itself, learn or look up.
void bind_leaf_rules(nb::class_<Loss>& c) {
  c.def("find_delta", &Loss::delta, nb::arg("score"),
        "Where Huber's loss of a score turns linear.");
  c.def("find_level", &Loss::level, nb::arg("score"), "Quantile that leaves of a score are.");
  c.def(
      "adapt",
      [](Loss& loss, const Vector<double>& y, const Columns& scores, const Vector<u32>& weights) {
        const ScoreView view = check_view(loss, y, scores);
        if (weights.shape(0) != 0 && weights.shape(0) != view.stride)
          throw nb::value_error("a weight for each row is needed");
        const nb::gil_scoped_release released;
        loss.adapt(view, view.stride, view_vector(weights));
      },
      nb::arg("y"), nb::arg("scores"), nb::arg("weights"),
      "What a loss learns before a round: Huber's delta. Whole weights; empty: all one.");
}

void bind_loss(nb::module_& m) {
  nb::class_<Loss> c(m, "Loss", "A loss by its name; see losses/<name>.hpp for its formulas.");
  c.def_static(
      "make", &make_checked_loss, nb::arg("name"), nb::arg("parameter"), nb::arg("n_scores"),
      nb::arg("levels") = std::vector<double>(),
      "`parameter` is the level of 'quantile', the quantile of 'huber', the power of 'tweedie'; "
      "NaN for the default. `levels`: one quantile a score, ascending, of a repeated target.");
  c.def_prop_ro("n_scores", &Loss::n_scores, "Scores of a row.");
  c.def_prop_ro(
      "delta", [](const Loss& loss) { return loss.delta(0); },
      "Where Huber's loss (of the first output) turns linear.");
  bind_leaf_rules(c);
  c.def(
      "find_gradients", &find_gradients, nb::arg("y"), nb::arg("scores"),
      nb::sig(
          "def find_gradients(self, y: " COMMITTEE_NDARRAY(float64) ", scores: " COMMITTEE_NDARRAY(
              float64) ") -> tuple[" COMMITTEE_NDARRAY(float64) ", " COMMITTEE_NDARRAY(float64) "]"),
      "First and second derivative by each score: two arrays (n_rows, n_scores).");
  c.def(
      "find_values",
      [](const Loss& loss, const Vector<double>& y, const Columns& scores) {
        const ScoreView view = check_view(loss, y, scores);
        std::vector<double> values(view.stride);
        loss.find_values(view, 0, view.stride, values.data());
        return own_array<double>(std::move(values));
      },
      nb::arg("y"), nb::arg("scores"), "Loss of each row, summed over outputs.");
  c.def(
      "find_means",
      [](const Loss& loss, const Columns& scores) {
        const std::size_t n = scores.shape(0);
        const double* given = check_columns(scores, n, loss.n_scores());
        std::vector<double> means(given, given + n * loss.n_scores());
        loss.find_means(means.data(), n, n);
        return own_columns(std::move(means), n, loss.n_scores());
      },
      nb::arg("scores"), "Scores to predictions: the inverse link.");
  c.def(
      "find_baseline",
      [](const Loss& loss, const Vector<double>& y, const std::optional<Vector<double>>& weights,
         std::size_t n_rows, int n_jobs) {
        check_target(loss, view_vector(y), n_rows);
        if (weights && weights->shape(0) != n_rows)
          throw nb::value_error("a weight for each row is needed");
        return loss.find_baseline({y.data(), nullptr, n_rows}, n_rows,
                                  weights ? view_vector(*weights) : std::span<const double>(),
                                  n_jobs);
      },
      nb::arg("y"), nb::arg("weights").none(), nb::arg("n_rows"), nb::arg("n_jobs") = 1,
      "Constant scores with the least loss.");
  bind_loss_info(m);
}

void bind_boosting_params(nb::module_& m) {
  nb::class_<BoostingParams> c(m, "BoostingParams", "Parameters of boosting, by name.");
  c.def(nb::init<>());
  std::vector<std::string> fields;
#define COMMITTEE_BIND(type, name, value, meaning)           \
  c.def_rw(#name, &BoostingParams::name, describe(meaning)); \
  fields.emplace_back(#name);
  COMMITTEE_BOOSTING_FIELDS(COMMITTEE_BIND)
#undef COMMITTEE_BIND
  c.def_rw("monotonic", &BoostingParams::monotonic, "per feature -1, 0 or 1; empty: none");
  c.def_rw("interaction_groups", &BoostingParams::interaction_groups,
           "features that may meet on a path; empty: all");
  c.def_prop_ro_static(
      "fields", [fields](nb::handle) { return fields; }, "Names of the scalar fields.");
}

// Before anything that reads the target.
void require_target(const Boosting& self) {
  if (!self.has_target()) throw nb::value_error("the fit has no target: its gradients are given");
}

std::unique_ptr<Boosting> make_boosting(const BinnedMatrix& data,
                                        const std::optional<Vector<double>>& target,
                                        const std::optional<Vector<double>>& weights,
                                        const std::string& loss, double parameter, u32 n_scores,
                                        const BoostingParams& params,
                                        const std::vector<double>& levels) {
  BoostingInput input;
  input.data = &data;
  check_params(params, data.n_rows, data.n_cols);
  auto function = make_checked_loss(loss, parameter, n_scores, levels);
  if (target) {
    check_target(*function, view_vector(*target), data.n_rows);
    input.target = view_vector(*target);
    input.target_owner = std::make_shared<const Vector<double>>(*target);
  }
  if (weights) {
    if (weights->shape(0) != data.n_rows) throw nb::value_error("a weight for each row is needed");
    input.weights.assign(weights->data(), weights->data() + weights->shape(0));
  }
  const nb::gil_scoped_release released;
  return std::make_unique<Boosting>(std::move(input), std::move(function), params);
}

// The rounds of boost() and the losses that a caller between them could measure.
nb::tuple boost_measured(Boosting& self, std::size_t n_rounds, bool out_of_bag) {
  require_target(self);
  std::vector<double> training, before, after;
  run_interruptible([&](InterruptWatch& watch) {
    for (std::size_t round = 0; round < n_rounds; ++round) {
      self.draw_rows();
      if (out_of_bag) before.push_back(self.measure_held_out_loss());
      self.compute_gradients();
      self.grow_trees(watch);
      if (out_of_bag) {
        const auto [all, held_out] = self.measure_losses();
        training.push_back(all);
        after.push_back(held_out);
      } else {
        training.push_back(self.measure_loss());
      }
    }
  });
  return nb::make_tuple(own_array<double>(std::move(training)),
                        own_array<double>(std::move(before)), own_array<double>(std::move(after)));
}

void bind_rounds(nb::class_<Boosting>& c) {
  c.def("skip_trees", &Boosting::skip_trees, nb::arg("n_trees"),
        "Continue the random keys of a fit that has grown so many trees already (warm start).");
  c.def(
      "draw_groups",
      [](Boosting& self, const std::optional<Vector<u32>>& groups) {
        self.draw_groups(read_groups(groups, self.n_rows()));
      },
      nb::arg("groups").none(),
      "Let draw_rows take groups of rows as a whole or leave them out: the number of each row's.");
  c.def("draw_rows", &Boosting::draw_rows, nb::call_guard<nb::gil_scoped_release>(),
        "Draw the rows that grow the trees of this round (subsample < 1).");
  c.def(
      "compute_gradients",
      [](Boosting& self) {
        require_target(self);
        const nb::gil_scoped_release released;
        self.compute_gradients();
      },
      "Gradients and hessians of the loss at the scores.");
  c.def(
      "take_gradients",
      [](Boosting& self, const Columns& gradients, const Columns& hessians) {
        const double* g = check_columns(gradients, self.n_rows(), self.n_scores());
        const double* h = check_columns(hessians, self.n_rows(), self.n_scores());
        const nb::gil_scoped_release released;
        self.take_gradients(g, h);
      },
      nb::arg("gradients"), nb::arg("hessians"),
      "Gradients and hessians (>= 0) of a loss of the caller's, finite.");
  c.def(
      "grow_trees",
      [](Boosting& self) {
        run_interruptible([&](InterruptWatch& watch) { self.grow_trees(watch); });
      },
      "Grow this round's trees from the gradients and add them to the scores.");
  c.def(
      "boost",
      [](Boosting& self, std::size_t n_rounds) {
        require_target(self);
        run_interruptible([&](InterruptWatch& watch) { self.run_rounds(n_rounds, watch); });
      },
      nb::arg("n_rounds") = 1, "draw_rows, compute_gradients, grow_trees, so many times.");
  c.def("boost_measured", &boost_measured, nb::arg("n_rounds"), nb::arg("out_of_bag"),
        nb::sig("def boost_measured(self, n_rounds: int, out_of_bag: bool) -> "
                "tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]"),
        "boost(), with the losses of each round: of the training rows after it and, if out_of_bag, "
        "of the rows that its draw held out before and after it (else two empty arrays).");
}

void bind_scores(nb::class_<Boosting>& c) {
  c.def(
      "find_baseline",
      [](const Boosting& self) {
        require_target(self);
        const nb::gil_scoped_release released;
        return self.find_baseline();
      },
      "Constant scores with the least loss on the training rows.");
  c.def_prop_ro(
      "scores",
      [](nb::pointer_and_handle<Boosting> self) {
        const std::size_t n = self.p->n_rows();
        return view_array(self.p->scores(), {n, self.p->n_scores()}, self.h,
                          {1, static_cast<std::int64_t>(n)});
      },
      nb::rv_policy::automatic, "Scores of the training rows, (n_rows, n_scores); a live view.");
  c.def(
      "set_scores",
      [](Boosting& self, const Columns& scores) {
        self.set_scores(check_columns(scores, self.n_rows(), self.n_scores()));
      },
      nb::arg("scores"), "Start from these scores.");
  c.def(
      "add_constant",
      [](Boosting& self, const std::vector<double>& per_score) {
        if (per_score.size() != self.n_scores()) throw nb::value_error("one number a score");
        self.add_constant(per_score);
      },
      nb::arg("per_score"), "Add a number to all scores of a column.");
  c.def(
      "measure_loss",
      [](const Boosting& self) {
        require_target(self);
        const nb::gil_scoped_release released;
        return self.measure_loss();
      },
      "Weighted mean loss of the training rows.");
  c.def(
      "measure_held_out_loss",
      [](const Boosting& self) {
        require_target(self);
        const nb::gil_scoped_release released;
        return self.measure_held_out_loss();
      },
      "The same of the rows that the last draw_rows held out; NaN if there are none.");
  c.def_prop_ro(
      "held_out_rows",
      [](const Boosting& self) {
        const auto rows = self.held_out_rows();
        return own_array<u32>(std::vector<u32>(rows.begin(), rows.end()));
      },
      nb::rv_policy::automatic, "Rows that the last draw_rows held out.");
}

void bind_trees(nb::class_<Boosting>& c) {
  c.def_prop_ro("n_trees", &Boosting::n_trees, "Trees so far: rounds times n_scores.");
  c.def_prop_ro("n_scores", &Boosting::n_scores, "Scores of a row.");
  c.def_prop_ro("n_threads", &Boosting::n_threads, "Threads at work.");
  c.def_prop_ro("nbytes", &Boosting::bytes, "Memory of the private state.");
  c.def_prop_ro("delta", [](const Boosting& self) { return self.loss().delta(0); });
  c.def_prop_ro("params", &Boosting::params, nb::rv_policy::reference_internal,
                "The parameters; learning_rate, subsample and colsample_* may be changed between "
                "rounds.");
  c.def(
      "finish",
      [](Boosting& self, std::size_t first, const std::optional<std::size_t>& last) {
        return BoundTrees(self.finish(first, last.value_or(self.n_trees())));
      },
      nb::arg("first") = 0, nb::arg("last") = nb::none(),
      "Trees first .. last - 1 in one arena; predict with combine='sum' and slots.");
  c.def_prop_ro(
      "slots", [](const Boosting& self) { return own_array<u32>(self.slots()); },
      nb::rv_policy::automatic, "Score that each tree adds to.");
  c.def_prop_ro(
      "gains", [](const Boosting& self) { return own_array<double>(self.gains()); },
      nb::rv_policy::automatic, "Sum of the gains of each feature.");
  c.def_prop_ro(
      "split_counts", [](const Boosting& self) { return own_array<u64>(self.split_counts()); },
      nb::rv_policy::automatic, "Splits by each feature.");
  c.def(
      "add_trees",
      [](const Boosting& self, const BinnedMatrix& data, std::size_t first, std::size_t last,
         double factor, const WritableColumns& scores) {
        if (last > self.n_trees() || first > last) throw nb::value_error("no such trees");
        if (scores.shape(0) != data.n_rows || scores.shape(1) != self.n_scores())
          throw nb::value_error("scores must be (n_rows, n_scores) in Fortran order");
        if (data.n_cols != self.n_features()) throw nb::value_error("the table has other bins");
        double* out = scores.data();
        const nb::gil_scoped_release released;
        self.add_trees(data, first, last, factor, out);
      },
      nb::arg("data"), nb::arg("first"), nb::arg("last"), nb::arg("factor"),
      nb::arg("scores").noconvert(),
      "Add factor times trees first .. last - 1 to scores of a table in the same bins, in place.");
  c.def(
      "readd_trees",
      [](Boosting& self, std::size_t first, std::size_t last, double factor) {
        if (last > self.n_trees() || first > last) throw nb::value_error("no such trees");
        const nb::gil_scoped_release released;
        self.readd_trees(first, last, factor);
      },
      nb::arg("first"), nb::arg("last"), nb::arg("factor"),
      "The same to the scores of the training rows: -1 takes trees out (DART).");
  c.def("scale_tree", &Boosting::scale_tree, nb::arg("tree"), nb::arg("factor"),
        "Multiply the leaf values of a tree.");
  c.def("truncate", &Boosting::truncate, nb::arg("n_trees"),
        "Keep the first trees only; the scores stay as they are.");
}

}  // namespace

}  // namespace committee

void bind_boosting(nanobind::module_& m) {
  using namespace committee;
  bind_loss(m);
  bind_boosting_params(m);
  nb::class_<Boosting> c(
      m, "Boosting",
      "The state of one fit: records, scores, rows in the order of the leaves, trees.\n\n"
      "Start with add_constant(find_baseline()) or set_scores; then, each round, draw_rows,\n"
      "compute_gradients (or take_gradients) and grow_trees, or boost() for all three; finish()\n"
      "gives the trees. Arrays of scores are (n_rows, n_scores) in Fortran order; the target is\n"
      "(n_rows,), classes as 0.0, 1.0, .., and for several outputs the columns one after another.");
  c.def(nb::new_(&make_boosting), nb::arg("data"), nb::arg("target").none(),
        nb::arg("weights").none(), nb::arg("loss"), nb::arg("parameter"), nb::arg("n_scores"),
        nb::arg("params"), nb::arg("levels") = std::vector<double>(), nb::keep_alive<0, 2>());
  bind_rounds(c);
  bind_scores(c);
  bind_trees(c);
}
