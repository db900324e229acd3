// Logarithms and exponentials of arrays of any shape.
#include "arrays.hpp"
#include "committee/elementary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

// Contiguous, of any number of axes; nanobind converts others.
using Numbers = AlignedArray<const double, nb::c_contig, nb::device::cpu>;

template <void (*kFunction)(std::span<const double>, double*)>
Array<double> map_numbers(const Numbers& given) {
  auto* found = new std::vector<double>(given.size());
  nb::capsule owner(found, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  kFunction({given.data(), given.size()}, found->data());
  const std::vector<std::size_t> shape(given.shape_ptr(), given.shape_ptr() + given.ndim());
  return Array<double>(found->data(), shape.size(), shape.data(), owner);
}

}  // namespace

}  // namespace committee

void bind_elementary(nb::module_& m) {
  using namespace committee;
  m.def("find_logs", &map_numbers<find_logs>, "values"_a,
        nb::sig(
            "def find_logs(values: " COMMITTEE_NDARRAY(float64) ") -> " COMMITTEE_NDARRAY(float64)),
        "Natural logarithms, to the same bits on every platform.");
  m.def("find_exponentials", &map_numbers<find_exponentials>, "exponents"_a,
        nb::sig("def find_exponentials(exponents: " COMMITTEE_NDARRAY(
            float64) ") -> " COMMITTEE_NDARRAY(float64)),
        "Powers of e, to the same bits on every platform.");
}
