// Networks: NetworkParams and Network.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "committee/network.hpp"
#include "interrupts.hpp"

namespace committee {

namespace {

void make_network(Network* self, const std::vector<u32>& widths, bool classify,
                  const NetworkParams& params) {
  if (widths.size() < 2 || std::ranges::count(widths, 0u) > 0)
    throw nb::value_error("widths are those of the inputs, of hidden layers and of the outputs");
  for (std::size_t k = 1; k + 1 < widths.size(); ++k)
    if (widths[k] % 4 != 0) throw nb::value_error("hidden layers have multiples of four units");
  if (!classify && widths.back() != 1) throw nb::value_error("values are one output");
  if (!(params.dropout >= 0.0f && params.dropout < 1.0f) || !(params.weight_decay >= 0.0f))
    throw nb::value_error("params are out of range");
  new (self) Network(widths, classify, params);
}

void run_network_epoch(Network& self, const Matrix<float>& table, const Vector<float>& target,
                       const Vector<float>& weights, u32 epoch, const Vector<float>& rates) {
  const std::size_t n = table.shape(0);
  if (table.shape(1) != self.width(0)) throw nb::value_error("the table has other inputs");
  if (target.shape(0) != n || weights.shape(0) != n || n >= (std::size_t{1} << 31))
    throw nb::value_error("all arrays must have one entry a row");
  if (rates.shape(0) > n) throw nb::value_error("every batch must have a row");
  const NetworkRows rows{
      n, {table.data(), table.size()}, view_vector(target), view_vector(weights)};
  const float n_outputs = static_cast<float>(self.width(self.n_layers()));
  if (self.classifies() && std::ranges::any_of(rows.target, [=](float y) {
        return !(y >= 0.0f && y < n_outputs) || y != std::floor(y);
      }))
    throw nb::value_error("targets are indices of classes");
  run_interruptible(
      [&](InterruptWatch& watch) { self.run_epoch(rows, epoch, view_vector(rates), watch); });
}

}  // namespace

}  // namespace committee

void bind_network(nanobind::module_& m) {
  using namespace committee;
  nb::class_<NetworkParams>(m, "NetworkParams", "Parameters of the training of a network.")
      .def(nb::init<>())
      .def_rw("seed", &NetworkParams::seed)
      .def_rw("dropout", &NetworkParams::dropout)
      .def_rw("weight_decay", &NetworkParams::weight_decay);
  nb::class_<Network>(m, "Network", "A network of rectified linear units, and its training.")
      .def("__init__", &make_network, nb::arg("widths"), nb::arg("classify"), nb::arg("params"))
      .def("run_epoch", &run_network_epoch, nb::arg("table"), nb::arg("target"), nb::arg("weights"),
           nb::arg("epoch"), nb::arg("rates"),
           "A step for each learning rate, with as many rows each, in random order.")
      .def(
          "copy_layer",
          [](const Network& self, std::size_t layer) {
            if (layer >= self.n_layers()) throw nb::index_error("there is no such layer");
            return own_array<float>(self.copy_layer(layer),
                                    {std::size_t{self.width(layer)} + 1, self.width(layer + 1)});
          },
          nb::arg("layer"),
          nb::sig("def copy_layer(self, layer: int) -> " COMMITTEE_NDARRAY(float32)),
          "Weights of a layer, (inputs, outputs), and below them its intercepts.");
}
