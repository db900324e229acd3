// Additive models: AdditiveParams and AdditiveBoosting.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "boosting_checks.hpp"
#include "committee/additive.hpp"
#include "interrupts.hpp"

namespace committee {

namespace {

// What the boosting refers to lives as long as it does.
struct BoundAdditive {
  std::unique_ptr<Loss> loss;
  std::vector<double> target, weights, held_out;
  std::unique_ptr<AdditiveBoosting> boosting;
};

void make_additive(BoundAdditive* self, const BinnedMatrix& data, const std::string& loss,
                   double parameter, u32 n_scores, const Vector<double>& target,
                   const Vector<double>& weights, const Matrix<double>& held_out,
                   const AdditiveParams& params) {
  BoundAdditive made;
  made.loss = make_checked_loss(loss, parameter, n_scores, {});
  const auto copy = [](const auto& from, auto& to) {
    to.assign(from.data(), from.data() + from.size());
  };
  copy(target, made.target);
  copy(weights, made.weights);
  copy(held_out, made.held_out);
  check_target(*made.loss, made.target, data.n_rows);
  if (!made.loss->has_classes() && n_scores != 1)
    throw nb::value_error("an additive model has one score, or one a class");
  if (held_out.shape(1) != data.n_rows)
    throw nb::value_error("held_out must be of shape (n_bags, n_rows)");
  if (params.max_leaves < 2 || !(params.learning_rate > 0.0) || !(params.reg_lambda >= 0.0) ||
      !(params.smooth_rate > 0.0))
    throw nb::value_error("params are out of range");
  const AdditiveInput input{&data,        made.loss.get(), made.target,
                            made.weights, made.held_out,   held_out.shape(0)};
  {
    const nb::gil_scoped_release released;
    made.boosting = std::make_unique<AdditiveBoosting>(input, params);
  }
  new (self) BoundAdditive(std::move(made));
}

std::vector<FeaturePair> read_pairs(const Matrix<u32>& pairs) {
  if (pairs.shape(1) != 2) throw nb::value_error("pairs must be of shape (n_pairs, 2)");
  std::vector<FeaturePair> read(pairs.shape(0));
  for (std::size_t p = 0; p < read.size(); ++p)
    read[p] = {pairs.data()[2 * p], pairs.data()[2 * p + 1]};
  return read;
}

// (n_bags, n_scores, n_slots).
Array<double> give_tables(const BoundAdditive& self, std::size_t term) {
  const AdditiveBoosting& boosting = *self.boosting;
  if (term >= boosting.n_terms()) throw nb::index_error("there is no such term");
  std::vector<double> values;
  for (std::size_t bag = 0; bag < boosting.n_bags(); ++bag) {
    const std::vector<double>& own = boosting.table(bag, term);
    values.insert(values.end(), own.begin(), own.end());
  }
  return own_array<double>(std::move(values),
                           {boosting.n_bags(), boosting.n_scores(), boosting.n_slots(term)});
}

Array<double> weigh_terms(BoundAdditive& self, int n_jobs) {
  std::vector<double> gains = run_interruptible(
      [&](InterruptWatch& watch) { return self.boosting->weigh_terms(n_jobs, watch); });
  return own_array<double>(std::move(gains), {self.boosting->n_bags(), self.boosting->n_terms()});
}

void bind_additive_steps(nb::class_<BoundAdditive>& c) {
  c.def(
      "set_bins",
      [](BoundAdditive& self, u32 feature, u32 n_bins, const Vector<u16>& codes) {
        const nb::gil_scoped_release released;
        self.boosting->set_bins(feature, n_bins, view_vector(codes));
      },
      nb::arg("feature"), nb::arg("n_bins"), nb::arg("codes"),
      "Finer bins of a number: the bin of each row, n_bins where its value is missing.");
  c.def(
      "start_features",
      [](BoundAdditive& self, const Vector<u32>& features, const Vector<i32>& signs) {
        const nb::gil_scoped_release released;
        self.boosting->start_features(view_vector(features), view_vector(signs));
      },
      nb::arg("features"), nb::arg("signs"),
      "Begin with a term for each feature, ascending or descending where its sign says so.");
  c.def(
      "set_cells",
      [](BoundAdditive& self, const Vector<u64>& offsets, const Vector<u8>& cells) {
        const nb::gil_scoped_release released;
        self.boosting->set_cells(view_vector(offsets), view_vector(cells));
      },
      nb::arg("offsets"), nb::arg("cells"),
      "The cells of all features in pairs: of each bin, and then of missing values.");
  c.def(
      "rank_pairs",
      [](const BoundAdditive& self, const Matrix<u32>& pairs, int n_jobs) {
        const std::vector<FeaturePair> read = read_pairs(pairs);
        std::vector<double> gains = run_interruptible(
            [&](InterruptWatch& watch) { return self.boosting->rank_pairs(read, n_jobs, watch); });
        return own_array<double>(std::move(gains));
      },
      nb::arg("pairs"), nb::arg("n_jobs") = 0,
      "The gain of the best two cuts of each pair after the features alone, a mean over bags.");
  c.def(
      "start_pairs",
      [](BoundAdditive& self, const Matrix<u32>& pairs) {
        const std::vector<FeaturePair> read = read_pairs(pairs);
        const nb::gil_scoped_release released;
        self.boosting->start_pairs(read);
      },
      nb::arg("pairs"), "Go on with a term for each pair.");
  c.def("weigh_terms", &weigh_terms, nb::arg("n_jobs") = 0,
        nb::sig("def weigh_terms(self, n_jobs: int = 0) -> " COMMITTEE_NDARRAY(float64)),
        "Added loss of each bag's held-out rows without each term, (n_bags, n_terms).");
  c.def(
      "run",
      [](BoundAdditive& self, u32 n_cycles, int n_jobs) {
        return run_interruptible(
            [&](InterruptWatch& watch) { return self.boosting->run(n_cycles, n_jobs, watch); });
      },
      nb::arg("n_cycles"), nb::arg("n_jobs") = 0,
      "At most so many cycles more in each bag; returns how many bags have not stopped.");
}

}  // namespace

}  // namespace committee

void bind_additive(nanobind::module_& m) {
  using namespace committee;
  nb::class_<AdditiveParams>(m, "AdditiveParams", "Parameters of additive models.")
      .def(nb::init<>())
      .def_rw("learning_rate", &AdditiveParams::learning_rate)
      .def_rw("max_leaves", &AdditiveParams::max_leaves)
      .def_rw("min_samples_leaf", &AdditiveParams::min_samples_leaf)
      .def_rw("reg_lambda", &AdditiveParams::reg_lambda)
      .def_rw("patience", &AdditiveParams::patience)
      .def_rw("greedy_cycles", &AdditiveParams::greedy_cycles)
      .def_rw("greedy_pair_cycles", &AdditiveParams::greedy_pair_cycles)
      .def_rw("greedy_share", &AdditiveParams::greedy_share)
      .def_rw("smooth_cycles", &AdditiveParams::smooth_cycles)
      .def_rw("smooth_pair_cycles", &AdditiveParams::smooth_pair_cycles)
      .def_rw("smooth_rate", &AdditiveParams::smooth_rate)
      .def_rw("tolerance", &AdditiveParams::tolerance);
  nb::class_<BoundAdditive> c(m, "AdditiveBoosting",
                              "Boosting of tables of features and pairs, in outer bags.");
  c.def("__init__", &make_additive, nb::arg("data"), nb::arg("loss"), nb::arg("parameter"),
        nb::arg("n_scores"), nb::arg("target"), nb::arg("weights"), nb::arg("held_out"),
        nb::arg("params"), nb::keep_alive<1, 2>());
  bind_additive_steps(c);
  c.def("tables", &give_tables, nb::arg("term"),
        nb::sig("def tables(self, term: int) -> " COMMITTEE_NDARRAY(float64)),
        "The values of a term at the best cycle of each bag, (n_bags, n_scores, n_slots).");
  c.def_prop_ro(
      "baselines",
      [](const BoundAdditive& self) {
        std::vector<double> values;
        for (std::size_t bag = 0; bag < self.boosting->n_bags(); ++bag) {
          const std::vector<double>& own = self.boosting->baseline(bag);
          values.insert(values.end(), own.begin(), own.end());
        }
        return own_array<double>(std::move(values),
                                 {self.boosting->n_bags(), self.boosting->n_scores()});
      },
      nb::sig("def baselines(self) -> " COMMITTEE_NDARRAY(float64)), nb::rv_policy::automatic,
      "The scores that each bag starts from, (n_bags, n_scores).");
  c.def_prop_ro(
      "best_cycles",
      [](const BoundAdditive& self) {
        std::vector<u32> cycles;
        for (std::size_t bag = 0; bag < self.boosting->n_bags(); ++bag)
          cycles.push_back(self.boosting->best_cycle(bag));
        return cycles;
      },
      "Cycles of each bag's tables.");
  c.def(
      "losses",
      [](const BoundAdditive& self, std::size_t bag) { return self.boosting->losses(bag); },
      nb::arg("bag"), "Loss of a bag's held-out rows after each cycle.");
}
