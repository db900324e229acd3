// _core.testing: what the tests need of the core and nothing else uses.
#include <nanobind/nanobind.h>

#include "poll_probe.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_testing(nb::module_& m) {
  using committee::poll_probe;
  nb::module_ testing = m.def_submodule("testing", "Functions for the tests of the core.");
  testing.def(
      "start_polls", [](committee::u64 interrupt_at) { poll_probe.start(interrupt_at); },
      "interrupt_at"_a = 0,
      "Count the polls for Ctrl-C from 0 on; interrupt_at = n > 0: poll n finds SIGINT pending.");
  testing.def(
      "count_polls", [] { return poll_probe.n_polls(); },
      "Polls since start_polls, on the threads that called the core.");
  testing.def(
      "stop_polls", [] { poll_probe.stop(); },
      "Stop counting; signals are looked for at the usual pace.");
}
