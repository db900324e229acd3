// From boosted trees to an prediction: sums of leaves, baseline, inverse link, in one call.
#pragma once
#include "loss.hpp"
#include "predict.hpp"

namespace committee {

struct BoostedPrediction {
  const Predictor& predictor;
  std::span<const u32> slots;        // score that each tree adds to; empty if leaves hold them all
  std::span<const double> baseline;  // one a score
  const Loss* loss = nullptr;  // whose inverse link is applied; null: scores are the prediction
  bool two_classes = false;    // a single mean p becomes the pair 1 - p, p

  std::size_t width() const { return two_classes ? 2 : baseline.size(); }
};

// out: [n_rows][width()], row-major. std::invalid_argument if the parts do not go together.
void predict_rows(const BoostedPrediction& prediction, const MatrixView& x, int n_jobs, double* out,
                  InterruptWatch* watch = nullptr);

}  // namespace committee
