#include "committee/criteria/all.hpp"

namespace committee {

void measure_class_impurities(const std::string& criterion, std::span<const double> class_weights,
                              std::span<const u32> outputs, std::span<double> impurities) {
  const bool known = with_criterion<ClassCriteria>(criterion, [&](const auto& measure) {
    const double* c = class_weights.data();
    for (double& out : impurities) {
      double impurity = 0.0;
      for (const u32 n_classes : outputs) {
        double w = 0.0;
        for (u32 k = 0; k < n_classes; ++k) w += c[k];
        impurity += w > 0.0 ? measure.kBase - measure.impurity_term(c, n_classes, w) / w : 0.0;
        c += n_classes;
      }
      impurity /= static_cast<double>(outputs.size());
      // Rounding must not make a pure node impure.
      out = impurity < 1e-15 ? 0.0 : impurity;
    }
  });
  if (!known) throw std::invalid_argument("unknown class criterion '" + criterion + "'");
}

double measure_class_impurity(const std::string& criterion, std::span<const double> class_weights,
                              std::span<const u32> outputs) {
  double impurity = 0.0;
  measure_class_impurities(criterion, class_weights, outputs, {&impurity, 1});
  return impurity;
}

}  // namespace committee
