#include "committee/network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/products.hpp"
#include "base/rng.hpp"
#include "committee/math.hpp"

namespace committee {

namespace {

constexpr float kMeanDecay = 0.9f, kSquareDecay = 0.95f;
constexpr float kLeastRoot = 1e-8f;
// Moments below are zero: numbers that have lost bits at their end take many times as long.
constexpr float kLeastMoment = 1e-30f;

// To whole vectors.
constexpr std::size_t pad(std::size_t width) {
  return (width + 3) / 4 * 4;
}

std::vector<u32> shuffle_rows(std::size_t n_rows, u64 seed, u32 epoch) {
  std::vector<u32> order(n_rows);
  std::iota(order.begin(), order.end(), 0u);
  Rng rng(seed, epoch, 0, Purpose::permutation);
  for (std::size_t i = n_rows; i > 1; --i)
    std::swap(order[i - 1], order[rng.below(static_cast<u32>(i))]);
  return order;
}

// Of scores, in place: probabilities less one at the class, times a factor.
void turn_into_class_gradients(float* scores, std::size_t n, std::size_t label, double factor,
                               std::vector<double>& parts) {
  double largest = scores[0], total = 0.0;
  for (std::size_t j = 1; j < n; ++j) largest = take_larger(largest, scores[j]);
  for (std::size_t j = 0; j < n; ++j) total += parts[j] = exponential(scores[j] - largest);
  for (std::size_t j = 0; j < n; ++j)
    scores[j] = static_cast<float>((parts[j] / total - (j == label ? 1.0 : 0.0)) * factor);
}

struct Moments {
  float *values, *means, *squares;
  const float* gradients;
};

void step_moments(const Moments& all, std::size_t n, float kept, float rate, float square_factor) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = all.gradients[i];
    const float mean = kMeanDecay * all.means[i] + (1.0f - kMeanDecay) * gradient;
    const float square =
        kSquareDecay * all.squares[i] + (1.0f - kSquareDecay) * (gradient * gradient);
    all.means[i] = std::fabs(mean) < kLeastMoment ? 0.0f : mean;
    all.squares[i] = square < kLeastMoment ? 0.0f : square;
    const float root = std::sqrt(all.squares[i] * square_factor) + kLeastRoot;
    all.values[i] = all.values[i] * kept - rate * all.means[i] / root;
  }
}

}  // namespace

Network::Network(std::vector<u32> widths, bool classify, const NetworkParams& params)
    : widths_(std::move(widths)), classify_(classify), params_(params) {
  std::size_t at = 0;
  for (std::size_t k = 0; k + 1 < widths_.size(); ++k) {
    layers_.push_back({widths_[k], pad(widths_[k + 1]), at});
    at += layers_.back().size();
  }
  values_.resize(at);
  gradients_.resize(at);
  means_.resize(at);
  squares_.resize(at);
  activations_.resize(widths_.size());
  draw_weights();
}

// Uniform, with a variance of two over the inputs, of one over them in the last layer [He2015].
void Network::draw_weights() {
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const Layer& layer = layers_[k];
    const bool is_last = k + 1 == layers_.size();
    const double bound = std::sqrt((is_last ? 3.0 : 6.0) / static_cast<double>(layer.inputs));
    Rng rng(params_.seed, k, 0, Purpose::column);
    for (std::size_t i = 0; i < layer.inputs; ++i)
      for (std::size_t j = 0; j < widths_[k + 1]; ++j)
        values_[layer.at + i * layer.outputs + j] =
            static_cast<float>(bound * (2.0 * rng.uniform() - 1.0));
  }
}

void Network::run_epoch(const NetworkRows& rows, u32 epoch, std::span<const float> rates,
                        InterruptWatch& watch) {
  const std::vector<u32> order = shuffle_rows(rows.n_rows, params_.seed, epoch);
  for (std::size_t b = 0; b < rates.size(); ++b) {
    watch.poll();
    const std::size_t from = rows.n_rows * b / rates.size();
    const std::size_t to = rows.n_rows * (b + 1) / rates.size();
    const std::span<const u32> chosen(order.data() + from, to - from);
    if (chosen.empty()) continue;
    gather(rows, chosen);
    run_forward();
    find_output_gradients(rows, chosen);
    run_backward();
    update(rates[b]);
  }
}

void Network::gather(const NetworkRows& rows, std::span<const u32> chosen) {
  n_batch_ = chosen.size();
  std::size_t widest = 0;
  activations_[0].resize(n_batch_ * widths_[0]);
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    activations_[k + 1].resize(n_batch_ * layers_[k].outputs);
    widest = std::max(widest, layers_[k].outputs);
  }
  output_gradients_.resize(n_batch_ * widest);
  input_gradients_.resize(n_batch_ * widest);
  for (std::size_t r = 0; r < n_batch_; ++r)
    std::copy_n(rows.table.data() + std::size_t{chosen[r]} * widths_[0], widths_[0],
                activations_[0].data() + r * widths_[0]);
}

void Network::run_forward() {
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const Layer& layer = layers_[k];
    float* out = activations_[k + 1].data();
    multiply_matrices<float, float>({activations_[k].data(), layer.inputs, 1},
                                    {values_.data() + layer.at, layer.outputs, 1}, n_batch_,
                                    layer.inputs, layer.outputs, out, panel_);
    const bool is_last = k + 1 == layers_.size();
    const float least = is_last ? -std::numeric_limits<float>::infinity() : 0.0f;
    const float* intercepts = values_.data() + layer.at + layer.n_weights();
    for (std::size_t r = 0; r < n_batch_; ++r, out += layer.outputs)
      for (std::size_t j = 0; j < layer.outputs; ++j) {
        const float sum = out[j] + intercepts[j];
        out[j] = sum > least ? sum : least;
      }
    if (!is_last && params_.dropout > 0.0f) drop_units(k);
  }
}

// Some outputs of a layer become zero, the others grow. Four units share a random number.
void Network::drop_units(std::size_t layer) {
  const KeyPrefix key(combine_keys(combine_keys(params_.seed, step_), layer));
  const u64 threshold = static_cast<u64>(params_.dropout * 65536.0f);
  const float scale = 1.0f / (1.0f - params_.dropout);
  std::vector<float>& units = activations_[layer + 1];
  for (std::size_t i = 0; i < units.size(); i += 4) {
    const u64 number = key.with(i);
    for (std::size_t j = 0; j < 4; ++j) {
      const bool is_kept = ((number >> (16 * j)) & 0xFFFF) >= threshold;
      units[i + j] *= is_kept ? scale : 0.0f;
    }
  }
}

void Network::find_output_gradients(const NetworkRows& rows, std::span<const u32> chosen) {
  const std::size_t n_outputs = widths_.back(), step = layers_.back().outputs;
  const std::vector<float>& scores = activations_.back();
  std::copy_n(scores.data(), n_batch_ * step, output_gradients_.data());
  std::vector<double> parts(n_outputs);
  for (std::size_t r = 0; r < n_batch_; ++r) {
    float* row = output_gradients_.data() + r * step;
    const double factor = double{rows.weights[chosen[r]]} / static_cast<double>(n_batch_);
    const float target = rows.target[chosen[r]];
    if (classify_) {
      turn_into_class_gradients(row, n_outputs, static_cast<std::size_t>(target), factor, parts);
    } else {
      row[0] = static_cast<float>((double{row[0]} - double{target}) * factor);
    }
    std::fill(row + n_outputs, row + step, 0.0f);
  }
}

void Network::run_backward() {
  const float scale = params_.dropout > 0.0f ? 1.0f / (1.0f - params_.dropout) : 1.0f;
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const Layer& layer = layers_[k];
    const float* inputs = activations_[k].data();
    multiply_matrices<float, float>({inputs, 1, layer.inputs},
                                    {output_gradients_.data(), layer.outputs, 1}, layer.inputs,
                                    n_batch_, layer.outputs, gradients_.data() + layer.at, panel_);
    float* sums = gradients_.data() + layer.at + layer.n_weights();
    std::fill_n(sums, layer.outputs, 0.0f);
    for (std::size_t r = 0; r < n_batch_; ++r)
      for (std::size_t j = 0; j < layer.outputs; ++j)
        sums[j] += output_gradients_[r * layer.outputs + j];
    if (k == 0) break;
    multiply_matrices<float, float>({output_gradients_.data(), layer.outputs, 1},
                                    {values_.data() + layer.at, 1, layer.outputs}, n_batch_,
                                    layer.outputs, layer.inputs, input_gradients_.data(), panel_);
    // An input is zero where its unit was off or left out.
    for (std::size_t i = 0; i < n_batch_ * layer.inputs; ++i)
      output_gradients_[i] = inputs[i] > 0.0f ? input_gradients_[i] * scale : 0.0f;
  }
}

void Network::update(float rate) {
  ++step_;
  mean_left_ *= kMeanDecay;
  square_left_ *= kSquareDecay;
  const float mean_rate = static_cast<float>(rate / (1.0 - mean_left_));
  const float square_factor = static_cast<float>(1.0 / (1.0 - square_left_));
  for (const Layer& layer : layers_) {
    for (const bool is_weight : {true, false}) {
      const std::size_t at = layer.at + (is_weight ? 0 : layer.n_weights());
      const Moments all{values_.data() + at, means_.data() + at, squares_.data() + at,
                        gradients_.data() + at};
      step_moments(all, is_weight ? layer.n_weights() : layer.outputs,
                   is_weight ? 1.0f - rate * params_.weight_decay : 1.0f, mean_rate, square_factor);
    }
  }
}

std::vector<float> Network::copy_layer(std::size_t layer) const {
  const Layer& one = layers_[layer];
  std::vector<float> copied;
  for (std::size_t i = 0; i <= one.inputs; ++i) {
    const float* from = values_.data() + one.at + i * one.outputs;
    copied.insert(copied.end(), from, from + widths_[layer + 1]);
  }
  return copied;
}

}  // namespace committee
