// A library that is preloaded into Python: it counts the paths through the compiled module, and
// lets requests for too much memory fail as they do without a sanitizer, whose operator new ends
// the process instead.
#include <cstdlib>
#include <new>

#include "coverage.hpp"

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

void* allocate(std::size_t size, std::size_t alignment) {
  void* const memory =
      size > kMostBytes ? nullptr
      : alignment ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                  : std::malloc(size ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

std::size_t read(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size, 0);
}
void* operator new[](std::size_t size) {
  return allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, read(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, read(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return size > kMostBytes ? nullptr : std::malloc(size ? size : 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return size > kMostBytes ? nullptr : std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

extern "C" {

void coverage_start(std::uintptr_t base) {
  coverage::base = base;
  coverage::start_input();
}
std::size_t coverage_count_new(int by_class) {
  return coverage::count_new(by_class != 0);
}
std::size_t coverage_count_pairs() {
  return coverage::count_pairs();
}
void coverage_forget() {
  coverage::seen.fill(0);
}
}
