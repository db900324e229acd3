// Launches of kernels that are compiled for the CPU, by their names.
#pragma once
#include <string>
#include <tuple>

namespace {

template <class... Arguments, std::size_t... kIndex>
void call(void (*kernel)(Arguments...), void** arguments, std::index_sequence<kIndex...>) {
  kernel(*static_cast<std::remove_reference_t<Arguments>*>(arguments[kIndex])...);
}

template <class... Arguments>
void start(void (*kernel)(Arguments...), unsigned grid, unsigned block, void** arguments) {
  cuda_shim::launch({grid}, {block}, [=] { call(kernel, arguments, std::index_sequence_for<Arguments...>{}); });
}

}  // namespace
