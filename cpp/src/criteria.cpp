#include "committee/criteria/all.hpp"

namespace committee {

double measure_class_impurity(const std::string& criterion, std::span<const double> class_weights,
                              std::span<const u32> outputs) {
  double impurity = 0.0;
  const bool known = with_criterion<ClassCriteria>(criterion, [&](const auto& measure) {
    std::size_t first = 0;
    for (const u32 n_classes : outputs) {
      const double* c = class_weights.data() + first;
      double w = 0.0;
      for (u32 k = 0; k < n_classes; ++k) w += c[k];
      impurity += w > 0.0 ? measure.kBase - measure.worth(c, n_classes, w) / w : 0.0;
      first += n_classes;
    }
    impurity /= static_cast<double>(outputs.size());
  });
  if (!known) throw std::invalid_argument("unknown class criterion '" + criterion + "'");
  // Rounding must not make a pure node impure.
  return impurity < 1e-15 ? 0.0 : impurity;
}

}  // namespace committee
