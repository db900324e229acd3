// The extension module; the functions of each topic are bound in bind_<topic>.cpp.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_binning(nb::module_& m);
void bind_block_binning(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_predict(nb::module_& m);
void bind_elementary(nb::module_& m);
void bind_staged_medians(nb::module_& m);
void bind_grower(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_forest_import(nb::module_& m);
void bind_isolation(nb::module_& m);
void bind_route(nb::module_& m);
void bind_shap(nb::module_& m);
void bind_word_stump(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_block_boosting(nb::module_& m);
void bind_block_trees(nb::module_& m);
void bind_boosted_predict(nb::module_& m);
void bind_boosting_plan(nb::module_& m);
void bind_group_losses(nb::module_& m);
void bind_additive(nb::module_& m);
void bind_network(nb::module_& m);
void bind_partial_dependence(nb::module_& m);
void bind_stump(nb::module_& m);
void bind_permutation(nb::module_& m);
void bind_exact(nb::module_& m);
void bind_survival(nb::module_& m);
void bind_build(nb::module_& m);
void bind_testing(nb::module_& m);

NB_MODULE(_core, m) {
  m.doc() = "The CPU engine of committee.";
  bind_binning(m);
  bind_block_binning(m);
  bind_tree(m);
  bind_predict(m);
  bind_elementary(m);
  bind_staged_medians(m);
  bind_grower(m);
  bind_forest(m);
  bind_forest_import(m);
  bind_isolation(m);
  bind_route(m);
  bind_shap(m);
  bind_word_stump(m);
  bind_boosting(m);
  bind_block_boosting(m);
  bind_block_trees(m);
  bind_boosted_predict(m);
  bind_boosting_plan(m);
  bind_group_losses(m);
  bind_additive(m);
  bind_network(m);
  bind_partial_dependence(m);
  bind_stump(m);
  bind_permutation(m);
  bind_exact(m);
  bind_survival(m);
  bind_build(m);
  bind_testing(m);
}
