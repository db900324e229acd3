#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_grower(nb::module_&) {}
