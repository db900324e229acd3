// NumPy arrays at the edge of the core: views on what comes in, owners for what goes out.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "committee/types.hpp"

namespace committee {

namespace nb = nanobind;

// The type of an array in a signature for the stub (nb::sig).
#define COMMITTEE_NDARRAY(dtype) "numpy.typing.NDArray[numpy." #dtype "]"

// Any array on the CPU; dtype and shape are looked at here, so that a misfit gets a sentence
// instead of nanobind's list of overloads. Never converted, never copied.
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

inline bool is_aligned(const void* data, std::size_t itemsize) {
  return reinterpret_cast<std::uintptr_t>(data) % itemsize == 0;
}

// An array of one type as an argument; nanobind converts (copies) other dtypes and layouts. NumPy
// also has arrays whose values lie at any address (fields of packed records, parts of a buffer of
// bytes), which nanobind passes on and no kernel may read: such an array is copied if the core only
// reads it, and refused if the core would write to it.
template <class... Args>
struct AlignedArray : nb::ndarray<Args...> {
  using Base = nb::ndarray<Args...>;
  AlignedArray() = default;
  explicit AlignedArray(Base array) : Base(std::move(array)) {}
};
template <class T>
using Vector = AlignedArray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = AlignedArray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// What goes out. A property that returns one needs nb::rv_policy::automatic: nanobind's default for
// properties would add an owner to an array that has one.
template <class T>
using Array = nb::ndarray<nb::numpy, T>;
template <class T>
using ReadOnlyArray = nb::ndarray<nb::numpy, const T>;

// A 2-d float32 or float64 array with any strides, as the core sees it. The array must outlive the
// view. ValueError otherwise.
inline MatrixView view_matrix(const AnyArray& x, const char* name = "X") {
  if (x.ndim() != 2) {
    throw nb::value_error((std::string(name) + " must be a 2-d array; got " +
                           std::to_string(x.ndim()) + " dimension(s).")
                              .c_str());
  }
  const bool is_double = x.dtype() == nb::dtype<double>();
  if (!is_double && x.dtype() != nb::dtype<float>()) {
    throw nb::value_error((std::string(name) + " must be float32 or float64.").c_str());
  }
  if (!is_aligned(x.data(), x.itemsize()))
    throw nb::value_error((std::string(name) + " must be aligned.").c_str());
  MatrixView view;
  view.data = x.data();
  view.n_rows = x.shape(0);
  view.n_cols = x.shape(1);
  view.row_stride = static_cast<std::ptrdiff_t>(x.stride(0));
  view.col_stride = static_cast<std::ptrdiff_t>(x.stride(1));
  view.is_double = is_double;
  return view;
}

template <class T>
std::span<const T> view_vector(const Vector<T>& v) {
  return {v.data(), v.shape(0)};
}

// A numpy array that owns the moved container (anything with data() and size(): std::vector,
// AlignedBuffer). `shape` empty: one axis of all its elements.
template <class T, class Container>
Array<T> own_array(Container&& values, std::initializer_list<std::size_t> shape = {}) {
  using Kept = std::remove_reference_t<Container>;
  static_assert(!std::is_lvalue_reference_v<Container>, "move the container in");
  auto* kept = new Kept(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Kept*>(p); });
  if (shape.size() == 0) return Array<T>(kept->data(), {kept->size()}, owner);
  return Array<T>(kept->data(), shape, owner);
}

// A read-only numpy view of memory that `owner` (usually the Python object of the C++ owner, see
// nb::find) keeps alive. Strides in elements; none: C order.
template <class T>
ReadOnlyArray<T> view_array(const T* data, std::initializer_list<std::size_t> shape,
                            nb::handle owner, std::initializer_list<std::int64_t> strides = {}) {
  return ReadOnlyArray<T>(data, shape, owner, strides);
}

// What a property means, as a pointer: the length of an array is part of its type, and nanobind
// would compile fields of one type once for each length.
inline const char* describe(const char* meaning) {
  return meaning;
}

// A property that is a copy of a vector.
template <class Class, class T>
void bind_vector(nb::class_<Class>& c, const char* name, std::vector<T> Class::* field,
                 const char* meaning) {
  c.def_prop_ro(
      name, [field](const Class& self) { return own_array<T>(std::vector<T>(self.*field)); },
      nb::rv_policy::automatic, meaning);
}

}  // namespace committee

template <class... Args>
struct nanobind::detail::type_caster<committee::AlignedArray<Args...>> {
  using Plain = ndarray<Args...>;
  using Element = typename Plain::Scalar;
  NB_TYPE_CASTER(committee::AlignedArray<Args...>, make_caster<Plain>::Name)

  // `flags` is a byte in older versions of nanobind.
  bool from_python(handle source, auto flags, cleanup_list* cleanup) noexcept {
    make_caster<Plain> plain;
    if (!plain.from_python(source, flags, cleanup)) return false;
    if (plain.value.is_valid() && !committee::is_aligned(plain.value.data(), sizeof(Element))) {
      if constexpr (!std::is_const_v<Element>) return false;
      const object copy = steal(PyObject_CallMethod(source.ptr(), "copy", nullptr));
      if (!copy.is_valid()) PyErr_Clear();
      if (!copy.is_valid() || !plain.from_python(copy, flags, cleanup)) return false;
      if (!committee::is_aligned(plain.value.data(), sizeof(Element))) return false;
    }
    value = committee::AlignedArray<Args...>(std::move(plain.value));
    return true;
  }
};
