// Preloaded: memory that the core asks for fails at a chosen request, and requests are counted
// while it is armed.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<long> n_calls{0}, fails_at{-1};

// Other libraries have their own ways with a lack of memory.
bool is_from_core(void* caller) {
  Dl_info found;
  return dladdr(caller, &found) && found.dli_fname && std::strstr(found.dli_fname, "/_core.");
}

bool fails(void* caller) {
  return fails_at.load() >= 0 && is_from_core(caller) && ++n_calls == fails_at.load();
}

void* find_memory(std::size_t size, std::size_t alignment) {
  if (alignment == 0) return std::malloc(size ? size : 1);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate(std::size_t size, std::size_t alignment, void* caller) {
  void* const found = fails(caller) ? nullptr : find_memory(size, alignment);
  if (!found) throw std::bad_alloc();
  return found;
}

}  // namespace

// The request that fails, counted from this call on; 0: none, but they are counted; -1: disarmed.
extern "C" void arm(long at) {
  n_calls = 0;
  fails_at = at;
}

extern "C" long count() {
  return n_calls.load();
}

void* operator new(std::size_t size) {
  return allocate(size, 0, __builtin_return_address(0));
}
void* operator new[](std::size_t size) {
  return allocate(size, 0, __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t by) {
  return allocate(size, static_cast<std::size_t>(by), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t by) {
  return allocate(size, static_cast<std::size_t>(by), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : find_memory(size, 0);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : find_memory(size, 0);
}
void operator delete(void* given) noexcept {
  std::free(given);
}
void operator delete[](void* given) noexcept {
  std::free(given);
}
void operator delete(void* given, std::size_t) noexcept {
  std::free(given);
}
void operator delete[](void* given, std::size_t) noexcept {
  std::free(given);
}
void operator delete(void* given, std::align_val_t) noexcept {
  std::free(given);
}
void operator delete[](void* given, std::align_val_t) noexcept {
  std::free(given);
}
void operator delete(void* given, std::size_t, std::align_val_t) noexcept {
  std::free(given);
}
void operator delete[](void* given, std::size_t, std::align_val_t) noexcept {
  std::free(given);
}
