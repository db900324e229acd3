#include "committee/boosted_predict.hpp"

#include <algorithm>
#include <array>

#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr double kLinkCost = 10.0;     // estimated nanoseconds of the link of a score
constexpr std::size_t kMostNear = 16;  // scores of a row that need no allocation

// Scores of n rows, side by side in a row, to means; `block` has room for n * n_scores.
void link_rows(const Loss& loss, double* scores, std::size_t n, double* block) {
  const std::size_t width = loss.n_scores();
  if (n == 1 || width == 1) return loss.find_means(scores, n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < width; ++k) block[k * n + i] = scores[i * width + k];
  }
  loss.find_means(block, n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < width; ++k) scores[i * width + k] = block[k * n + i];
  }
}

// Adds the baseline to the sums of n rows and makes of them what is asked.
void finish_rows(const BoostedPrediction& prediction, double* sums, std::size_t n, double* out) {
  const std::size_t width = prediction.baseline.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < width; ++k) sums[i * width + k] += prediction.baseline[k];
  }
  if (!prediction.loss) return;
  std::vector<double> block(n > 1 && width > 1 ? n * width : 0);
  link_rows(*prediction.loss, sums, n, block.data());
  if (!prediction.two_classes) return;
  for (std::size_t i = 0; i < n; ++i) {
    const double mean = sums[i];
    out[2 * i] = 1.0 - mean;
    out[2 * i + 1] = mean;
  }
}

void check_prediction(const BoostedPrediction& prediction) {
  const std::size_t width = prediction.baseline.size();
  if (prediction.loss && prediction.loss->n_scores() != width)
    throw std::invalid_argument("The baseline must have one entry for each score of the loss.");
  if (prediction.two_classes && (!prediction.loss || width != 1))
    throw std::invalid_argument("A pair of probabilities comes from one score and its loss.");
}

}  // namespace

void predict_rows(const BoostedPrediction& prediction, const MatrixView& x, int n_jobs, double* out,
                  InterruptWatch* watch) {
  check_prediction(prediction);
  PredictOptions options;
  options.combine = Combine::sum;
  options.slots = prediction.slots;
  options.n_jobs = n_jobs;
  options.watch = watch;
  const std::size_t width = prediction.baseline.size();
  // Sums lie where the prediction will, or apart if the prediction is wider.
  std::array<double, kMostNear> near;
  AlignedBuffer<double> far(prediction.two_classes && x.n_rows > near.size() ? x.n_rows : 0);
  double* const sums = !prediction.two_classes ? out : far.empty() ? near.data() : far.data();
  prediction.predictor.predict(x, options, sums, width);
  const auto finish = [&](std::size_t first, std::size_t n) {
    finish_rows(prediction, sums + first * width, n, out + first * prediction.width());
  };
  if (x.n_rows <= kLossBlock) return finish(0, x.n_rows);
  const double work = prediction.loss
                          ? kLinkCost * static_cast<double>(x.n_rows) * static_cast<double>(width)
                          : 0.0;
  parallel_for((x.n_rows + kLossBlock - 1) / kLossBlock, choose_threads(n_jobs, work, kThreadCost),
               [&](std::size_t b) {
                 if (watch) watch->poll();
                 const std::size_t first = b * kLossBlock;
                 finish(first, std::min(kLossBlock, x.n_rows - first));
               });
}

}  // namespace committee
