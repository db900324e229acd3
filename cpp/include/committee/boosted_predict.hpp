// From boosted trees to an answer: sums of leaves, baseline, inverse link, in one call.
#pragma once
#include "loss.hpp"
#include "predict.hpp"

namespace committee {

struct BoostedAnswer {
  const Predictor& predictor;
  std::span<const u32> slots;        // score that each tree adds to; empty if leaves hold them all
  std::span<const double> baseline;  // one a score
  const Loss* loss = nullptr;        // whose inverse link is applied; null: scores are the answer
  bool two_classes = false;          // a single mean p becomes the pair 1 - p, p

  std::size_t width() const { return two_classes ? 2 : baseline.size(); }
};

// out: [n_rows][width()], row-major. std::invalid_argument if the parts do not go together.
void answer_rows(const BoostedAnswer& answer, const MatrixView& x, int n_jobs, double* out);

}  // namespace committee
