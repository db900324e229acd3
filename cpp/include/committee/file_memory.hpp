// Memory in files. While a thread has a spill folder, its large buffers lie in unlinked temporary
// files there: the system writes pages out where it would otherwise have to refuse memory.
#pragma once
#include <atomic>

#include "types.hpp"

namespace committee {

// A disk that cannot take a buffer; the sentence says which folder and how many bytes.
struct SpillError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct SpillFolder {
  std::string path;
};

// The spill folder of this thread, or null. Tasks of a parallel_for have that of their caller.
const SpillFolder* current_spill_folder();

// Gives the thread a spill folder (null: none) until the end of the scope.
class SpillScope {
 public:
  explicit SpillScope(const SpillFolder* folder);
  ~SpillScope();
  SpillScope(const SpillScope&) = delete;
  SpillScope& operator=(const SpillScope&) = delete;

 private:
  const SpillFolder* before_;
};

// The spill folder of this thread from now on; empty: none. SpillError if the system has no memory
// in files.
void set_spill_folder(const std::string& path);

// Bytes of all buffers that now lie in files, and the most there ever were; of the whole process.
std::size_t count_spilled_bytes();
std::size_t count_most_spilled_bytes();
void reset_most_spilled_bytes();

}  // namespace committee
