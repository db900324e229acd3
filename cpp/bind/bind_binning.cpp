#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_binning(nb::module_&) {}
