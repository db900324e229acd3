#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_predict(nb::module_&) {}
