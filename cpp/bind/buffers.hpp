// Arrays by the buffer protocol: a fraction of a microsecond, where an nb::ndarray argument and
// result cost several, and predicting one row is to cost no more than that.
#pragma once
#include <nanobind/nanobind.h>

#include <string_view>

#include "arrays.hpp"

namespace committee {

// Row-trees, or values, below which letting go of the GIL costs more than it gives.
inline constexpr std::size_t kShortWork = 2048;

// What an object offers; nothing if it has no such buffer.
class Buffer {
 public:
  Buffer(nb::handle object, int flags) {
    buffer_.obj = nullptr;
    if (object.is_none() || PyObject_GetBuffer(object.ptr(), &buffer_, flags) == 0) return;
    PyErr_Clear();
    buffer_.obj = nullptr;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (buffer_.obj) PyBuffer_Release(&buffer_);
  }
  explicit operator bool() const { return buffer_.obj != nullptr; }
  const Py_buffer& operator*() const { return buffer_; }
  const Py_buffer* operator->() const { return &buffer_; }
  bool holds(std::string_view format) const { return buffer_.format && buffer_.format == format; }

 private:
  Py_buffer buffer_;
};

// A table of numbers, as prediction takes it.
class TableBuffer {
 public:
  explicit TableBuffer(nb::handle x) : buffer_(x, PyBUF_STRIDES | PyBUF_FORMAT) {}

  // What is wrong with it; null if nothing is.
  const char* complaint() const {
    if (!buffer_ || buffer_->ndim != 2 || !(buffer_.holds("d") || buffer_.holds("f")))
      return "X must be a 2-d array of float32 or float64.";
    if (buffer_->strides[0] % buffer_->itemsize != 0 ||
        buffer_->strides[1] % buffer_->itemsize != 0 ||
        reinterpret_cast<std::uintptr_t>(buffer_->buf) %
                static_cast<std::size_t>(buffer_->itemsize) !=
            0) {
      return "X must be aligned: its strides must be multiples of the size of a value.";
    }
    return nullptr;
  }
  // ValueError if something is wrong with it.
  MatrixView view() const {
    if (const char* const sentence = complaint()) throw nb::value_error(sentence);
    MatrixView view;
    view.data = buffer_->buf;
    view.n_rows = static_cast<std::size_t>(buffer_->shape[0]);
    view.n_cols = static_cast<std::size_t>(buffer_->shape[1]);
    view.row_stride = buffer_->strides[0] / buffer_->itemsize;
    view.col_stride = buffer_->strides[1] / buffer_->itemsize;
    view.is_double = buffer_.holds("d");
    return view;
  }

 private:
  Buffer buffer_;
};

// A vector of numbers of one type, or None for an empty one; nanobind converts other arrays.
template <class T>
class Entries {
 public:
  Entries(const nb::object& values, const char* sentence)
      : buffer_(values, PyBUF_ND | PyBUF_FORMAT) {
    if (values.is_none()) return;
    if (buffer_ && buffer_->ndim == 1 && buffer_.holds(std::is_same_v<T, double> ? "d" : "I") &&
        reinterpret_cast<std::uintptr_t>(buffer_->buf) % sizeof(T) == 0) {
      view_ = {static_cast<const T*>(buffer_->buf), static_cast<std::size_t>(buffer_->shape[0])};
      return;
    }
    if (!nb::try_cast<Vector<T>>(values, converted_)) throw nb::value_error(sentence);
    view_ = view_vector(converted_);
  }
  std::span<const T> view() const { return view_; }

 private:
  static_assert(std::is_same_v<T, double> || (std::is_same_v<T, u32> && sizeof(unsigned) == 4));
  Buffer buffer_;
  Vector<T> converted_;
  std::span<const T> view_;
};

// numpy.empty, looked up once; leaked on purpose, as it must not go after the interpreter.
inline nb::handle numpy_empty() {
  static PyObject* const empty =
      nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
  return empty;
}

// A new C-ordered array of float64 and the memory of its values.
struct NewMatrix {
  NewMatrix(std::size_t n_rows, std::size_t n_cols)
      : array(numpy_empty()(nb::make_tuple(n_rows, n_cols))),
        buffer(array, PyBUF_WRITABLE | PyBUF_STRIDES) {}
  double* data() const { return static_cast<double*>(buffer->buf); }
  nb::object array;
  Buffer buffer;
};

template <class Work>
void run_released(std::size_t amount, Work&& work) {
  if (amount < kShortWork) return work();
  const nb::gil_scoped_release released;
  work();
}

}  // namespace committee
