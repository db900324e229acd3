// Vocabulary of the core: limits, aligned memory, strided views.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "scalar.hpp"

namespace committee {

inline constexpr int kMaxValueBins = 255;         // value bins are 0 .. 254
inline constexpr u8 kMissingBin = 255;            // the last code of a byte means "missing"
inline constexpr u32 kMissingCode = 0xFFFFFFFFu;  // the same for wide category codes
inline constexpr int kHistogramBins = 256;        // value bins and the missing bin

// Buffers from this size on lie in files while the calling thread has a spill folder
// (file_memory.hpp).
inline constexpr std::size_t kLargeBuffer = std::size_t{1} << 24;
// Memory of an unlinked file in the spill folder of this thread; null if it has none.
void* map_spilled(std::size_t bytes);
void unmap_spilled(void* data, std::size_t bytes) noexcept;

// Memory that starts on a cache line and asks for huge pages where the system gives them:
// 32-byte records gathered from unaligned memory cost 1.6 ns instead of 0.9 (measured).
// Uninitialised; move-only.
template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    if (size > (std::numeric_limits<std::size_t>::max() >> 1) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = size * sizeof(T);
    if (bytes >= kLargeBuffer) {
      data_ = static_cast<T*>(map_spilled(bytes));
      if (data_) {
        align_ = kMapped;
        return;
      }
    }
    const std::size_t align = bytes >= kHugePage ? kHugePage : kLine;
    data_ = static_cast<T*>(::operator new(bytes, std::align_val_t(align)));
    align_ = align;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align == kHugePage) (void)madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }
  AlignedBuffer(std::size_t size, T fill) : AlignedBuffer(size) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = fill;
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    AlignedBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() {
    if (!data_) return;
    if (align_ == kMapped) {
      unmap_spilled(data_, size_ * sizeof(T));
    } else {
      ::operator delete(data_, std::align_val_t(align_));
    }
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  static constexpr std::size_t kMapped = 0;  // in place of an alignment
  void swap(AlignedBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(align_, other.align_);
  }
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t align_ = kLine;
};

// A table of raw values as it came from the caller: float or double, any strides (in elements).
// A missing value is NaN; a category is its code as a number.
struct MatrixView {
  const void* data = nullptr;
  std::size_t n_rows = 0, n_cols = 0;
  std::ptrdiff_t row_stride = 0, col_stride = 0;
  bool is_double = true;

  double operator()(std::size_t row, std::size_t col) const {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * row_stride +
                              static_cast<std::ptrdiff_t>(col) * col_stride;
    return is_double ? static_cast<const double*>(data)[at]
                     : static_cast<double>(static_cast<const float*>(data)[at]);
  }
};

// Thrown when the user asked to stop (Ctrl-C); the binding turns it into KeyboardInterrupt.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace committee
