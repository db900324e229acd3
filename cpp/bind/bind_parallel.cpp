#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_parallel(nb::module_&) {}
