// Training of feed-forward networks of rectified linear units, by mini-batches and AdamW
// [LoshchilovHutter2019]. Every sum has a fixed order, so that the weights have the same bits on
// every machine.
#pragma once
#include "parallel.hpp"
#include "types.hpp"

namespace committee {

struct NetworkParams {
  u64 seed = 0;
  float dropout = 0.0f;       // share of hidden units that a row goes without, in [0, 1)
  float weight_decay = 0.0f;  // of weights, not of intercepts; times the learning rate
};

// The rows of a fit, all spans in their order.
struct NetworkRows {
  std::size_t n_rows = 0;
  std::span<const float> table;    // (n_rows, n_inputs)
  std::span<const float> target;   // values, or indices of classes
  std::span<const float> weights;  // positive, about one
};

class Network {
 public:
  // widths: inputs, hidden units of each layer (multiples of four), outputs. With `classify` the
  // outputs are scores of classes and the loss is the log-loss of their softmax; otherwise there
  // is one output and the loss is the squared error.
  Network(std::vector<u32> widths, bool classify, const NetworkParams& params);

  // Steps for all rows in random order, which depends on seed and epoch: a step for each
  // learning rate, with as many rows each. Throws Interrupted.
  void run_epoch(const NetworkRows& rows, u32 epoch, std::span<const float> rates,
                 InterruptWatch& watch);

  std::size_t n_layers() const { return layers_.size(); }
  bool classifies() const { return classify_; }
  u32 width(std::size_t k) const { return widths_[k]; }
  // The weights of a layer, (inputs, outputs), followed by its intercepts.
  std::vector<float> copy_layer(std::size_t layer) const;

 private:
  // Outputs are padded to whole vectors.
  struct Layer {
    std::size_t inputs, outputs, at;  // at: of the weights; the intercepts follow
    std::size_t n_weights() const { return inputs * outputs; }
    std::size_t size() const { return (inputs + 1) * outputs; }
  };
  void draw_weights();
  void gather(const NetworkRows& rows, std::span<const u32> chosen);
  void run_forward();
  void drop_units(std::size_t layer);
  void find_output_gradients(const NetworkRows& rows, std::span<const u32> chosen);
  void run_backward();
  void update(float rate);

  std::vector<u32> widths_;
  bool classify_;
  NetworkParams params_;
  std::vector<Layer> layers_;
  std::vector<float> values_, gradients_, means_, squares_;  // of all layers
  std::size_t n_batch_ = 0;                                  // rows of this step
  u64 step_ = 0;
  double mean_left_ = 1.0, square_left_ = 1.0;  // what the moments still lack of a whole
  // Of the rows of a step: what goes into each layer and comes out of the last one; gradients of
  // the outputs of a layer, and of its inputs.
  std::vector<std::vector<float>> activations_;
  std::vector<float> output_gradients_, input_gradients_, panel_;
};

}  // namespace committee
