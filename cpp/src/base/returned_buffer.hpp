// Room for work that is over before a fit is at its largest. The C library keeps what was freed,
// for the thread that had it and in pieces that nothing else fits into: the peak of a fit would
// carry what sorting its columns took, megabytes a thread, to its end. These buffers are mappings
// of their own, which the system gets back at once. To touch new pages costs about as much as to
// fill them, so that a thread keeps its buffers from one piece of work to the next.
#pragma once
#include "committee/file_memory.hpp"

namespace committee {

// As AlignedBuffer: uninitialised, move-only.
template <class T>
class ReturnedBuffer {
 public:
  ReturnedBuffer() = default;
  explicit ReturnedBuffer(std::size_t size) : size_(size) {
    const std::size_t bytes = size * sizeof(T);
    const bool spills = bytes >= kLargeBuffer && current_spill_folder();
    if (size < kMostMapped / sizeof(T) && bytes >= kLeastMapped && !spills) map(bytes);
    if (data_) return;
    kept_ = AlignedBuffer<T>(size);
    data_ = kept_.data();
  }
  ReturnedBuffer(ReturnedBuffer&& other) noexcept { swap(other); }
  ReturnedBuffer& operator=(ReturnedBuffer&& other) noexcept {
    ReturnedBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  ReturnedBuffer(const ReturnedBuffer&) = delete;
  ReturnedBuffer& operator=(const ReturnedBuffer&) = delete;
  ~ReturnedBuffer() {
#if defined(__linux__)
    if (mapping_) (void)munmap(mapping_, mapped_bytes_);
#endif
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  // Smaller ones are not worth a call of the system.
  static constexpr std::size_t kLeastMapped = std::size_t{1} << 17;
  static constexpr std::size_t kMostMapped = std::numeric_limits<std::size_t>::max() >> 1;
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;

  void map([[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    const std::size_t room = bytes >= kHugePage ? kHugePage : 0;  // never touched
    void* const mapping =
        mmap(nullptr, bytes + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return;
    mapping_ = mapping;
    mapped_bytes_ = bytes + room;
    auto address = reinterpret_cast<std::uintptr_t>(mapping);
    if (room > 0) address = (address + kHugePage - 1) / kHugePage * kHugePage;
    data_ = reinterpret_cast<T*>(address);
#if defined(MADV_HUGEPAGE)
    if (room > 0) (void)madvise(data_, bytes, MADV_HUGEPAGE);
#endif
#endif
  }
  void swap(ReturnedBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(kept_, other.kept_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  AlignedBuffer<T> kept_;
};

}  // namespace committee
