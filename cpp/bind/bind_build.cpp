// What this binary was made by and for: facts for bug reports.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>

#include "committee/instructions.hpp"
#include "committee/parallel.hpp"

namespace nb = nanobind;

namespace committee {
namespace {

std::string name_compiler() {
#if defined(__clang__)
  return "Clang " + std::string(__clang_version__);
#elif defined(__GNUC__)
  return "GCC " + std::string(__VERSION__);
#else
  return "unknown";
#endif
}

std::string name_standard_library() {
#if defined(_LIBCPP_VERSION)
  return "libc++ " + std::to_string(_LIBCPP_VERSION);
#elif defined(__GLIBCXX__)
  return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
#elif defined(_MSC_VER)
  return "MSVC " + std::to_string(_MSC_VER);
#else
  return "unknown";
#endif
}

// The instructions that the compiler was allowed to use everywhere, and those that kernels use if
// the processor has them.
std::string name_instruction_set() {
#if defined(__aarch64__)
  return "aarch64, NEON";
#elif defined(__AVX512F__)
  return "x86-64, AVX-512";
#elif defined(__AVX2__)
  return "x86-64, AVX2";
#elif defined(__x86_64__)
  if (may_use(Instructions::avx512)) return "x86-64, SSE2, kernels AVX-512";
  return may_use(Instructions::avx2) ? "x86-64, SSE2, kernels AVX2" : "x86-64, SSE2";
#else
  return "portable";
#endif
}

std::map<std::string, std::string> describe_build() {
  return {{"version", COMMITTEE_VERSION},
          {"compiler", name_compiler()},
          {"standard library", name_standard_library()},
          {"instruction set", name_instruction_set()},
#if defined(Py_LIMITED_API)
          {"stable ABI", "yes"},
#else
          {"stable ABI", "no"},
#endif
          {"usable cores", std::to_string(count_usable_cores())}};
}

}  // namespace
}  // namespace committee

void bind_build(nb::module_& m) {
  m.def("describe_build", &committee::describe_build,
        "Compiler, standard library and instruction set of this binary, and the cores it may use.");
}
