#include "committee/file_memory.hpp"

#include <cerrno>
#include <cstdlib>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define COMMITTEE_HAS_FILE_MEMORY 1
#endif

namespace committee {
namespace {

thread_local const SpillFolder* current_folder = nullptr;
thread_local std::unique_ptr<const SpillFolder> own_folder;  // what set_spill_folder made

std::atomic<std::size_t> spilled_bytes{0}, most_spilled_bytes{0};

[[maybe_unused]] void count_spilled(std::size_t bytes) {
  const std::size_t now = spilled_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t most = most_spilled_bytes.load(std::memory_order_relaxed);
  while (now > most && !most_spilled_bytes.compare_exchange_weak(most, now)) {
  }
}

#if COMMITTEE_HAS_FILE_MEMORY

class FileHandle {
 public:
  explicit FileHandle(int number) : number_(number) {}
  ~FileHandle() {
    if (number_ >= 0) close(number_);
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void refuse(const std::string& folder, std::size_t bytes, int code) {
  throw SpillError("The folder for temporary files, " + folder + ", cannot take a file of " +
                   std::to_string(bytes >> 20) + " MiB: " + std::strerror(code) +
                   ". Name another folder, with more room, in memory_limit(..., folder=...).");
}

// Reserves the blocks: a write to a page that the disk has no room for would end the process.
int reserve(int file, std::size_t bytes) {
#if defined(__linux__)
  const int code = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (code != EOPNOTSUPP && code != EINVAL) return code;
#endif
  return ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

#endif

}  // namespace

const SpillFolder* current_spill_folder() {
  return current_folder;
}

SpillScope::SpillScope(const SpillFolder* folder) : before_(current_folder) {
  current_folder = folder;
}

SpillScope::~SpillScope() {
  current_folder = before_;
}

void set_spill_folder(const std::string& path) {
#if !COMMITTEE_HAS_FILE_MEMORY
  if (!path.empty()) throw SpillError("Memory in files needs a POSIX system (Linux, macOS).");
#endif
  current_folder = nullptr;
  own_folder.reset(path.empty() ? nullptr : new SpillFolder{path});
  current_folder = own_folder.get();
}

std::size_t count_spilled_bytes() {
  return spilled_bytes.load(std::memory_order_relaxed);
}

std::size_t count_most_spilled_bytes() {
  return most_spilled_bytes.load(std::memory_order_relaxed);
}

void reset_most_spilled_bytes() {
  most_spilled_bytes.store(spilled_bytes.load(std::memory_order_relaxed));
}

#if COMMITTEE_HAS_FILE_MEMORY

void* map_spilled(std::size_t bytes) {
  const SpillFolder* folder = current_folder;
  if (!folder) return nullptr;
  std::string name = folder->path + "/committee-XXXXXX";
  const FileHandle file(mkstemp(name.data()));
  if (file.number() < 0) refuse(folder->path, bytes, errno);
  unlink(name.c_str());
  if (const int code = reserve(file.number(), bytes)) refuse(folder->path, bytes, code);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (data == MAP_FAILED) refuse(folder->path, bytes, errno);
#if defined(MADV_DONTDUMP)
  (void)madvise(data, bytes, MADV_DONTDUMP);  // a core file would be as large as the disk
#endif
  count_spilled(bytes);
  return data;
}

void unmap_spilled(void* data, std::size_t bytes) noexcept {
  (void)munmap(data, bytes);
  spilled_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

#else

void* map_spilled(std::size_t) {
  return nullptr;
}
void unmap_spilled(void*, std::size_t) noexcept {}

#endif

}  // namespace committee
