// The thread pool under a sanitizer: callers that share it, calls of all sizes, nested ones, tasks
// that fail, growth while others run, and callers who stop. Every task must run once, and what it
// wrote must be seen by its caller.
//
// Usage: pool [seed] [rounds]. Prints how many calls and tasks there were.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "committee/parallel.hpp"

namespace {

using namespace committee;

std::atomic<long> n_calls{0}, n_tasks_run{0};

[[noreturn]] void fail(const char* sentence) {
  std::fprintf(stderr, "%s\n", sentence);
  std::abort();
}

// Plain memory, one entry a task: the sanitizer sees whether the pool orders its writes before the
// caller's reads.
void check_sum(std::size_t n_tasks, int n_threads) {
  std::vector<unsigned> ran(n_tasks, 0);
  parallel_for(n_tasks, n_threads, [&](std::size_t i) { ran[i] += 1; });
  for (const unsigned times : ran) {
    if (times != 1) fail("a task did not run once");
  }
  n_tasks_run += static_cast<long>(n_tasks);
}

void check_nested(std::size_t n_tasks, int n_threads) {
  std::vector<unsigned> ran(n_tasks * 4, 0);
  parallel_for(n_tasks, n_threads, [&](std::size_t i) {
    if (n_tasks > 1 && n_threads > 1 && !inside_parallel_region())
      fail("a task does not know where it runs");
    parallel_for(4, n_threads, [&](std::size_t k) { ran[i * 4 + k] += 1; });
  });
  for (const unsigned times : ran) {
    if (times != 1) fail("a nested task did not run once");
  }
  n_tasks_run += static_cast<long>(n_tasks);
}

void check_failure(std::size_t n_tasks, int n_threads, std::size_t at) {
  std::vector<unsigned> ran(n_tasks, 0);
  try {
    parallel_for(n_tasks, n_threads, [&](std::size_t i) {
      ran[i] += 1;
      if (i == at) throw std::runtime_error("this one");
    });
  } catch (const std::runtime_error&) {
    for (const unsigned times : ran) {
      if (times > 1) fail("a task ran twice");
    }
    return;
  }
  fail("an exception was lost");
}

// The caller's thread is interrupted; the other threads see it at their next poll.
void check_interrupt(std::size_t n_tasks, int n_threads) {
  int asked = 0;
  InterruptWatch watch([&] { return ++asked > 2; }, 0);
  try {
    parallel_for(n_tasks, n_threads, [&](std::size_t) { watch.poll(); });
  } catch (const Interrupted&) {
    return;
  }
  if (asked > 2) fail("an interrupt was lost");
}

void call_often(unsigned seed, int rounds, int most_threads) {
  std::mt19937 draw(seed);
  for (int round = 0; round < rounds; ++round) {
    const std::size_t n_tasks = draw() % (draw() % 8 == 0 ? 600 : 12);
    const int n_threads = 1 + static_cast<int>(draw() % static_cast<unsigned>(most_threads));
    switch (draw() % 8) {
      case 0:
        check_nested(n_tasks, n_threads);
        break;
      case 1:
        if (n_tasks > 0) check_failure(n_tasks, n_threads, draw() % n_tasks);
        break;
      case 2:
        check_interrupt(n_tasks, n_threads);
        break;
      default:
        check_sum(n_tasks, n_threads);
    }
    ++n_calls;
    if (draw() % 64 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // workers fall asleep
  }
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 2000;
  call_often(seed, rounds, 3);
  for (const int n_callers : {2, 8}) {  // the pool grows while the first callers use it
    std::vector<std::thread> callers;
    for (int c = 0; c < n_callers; ++c)
      callers.emplace_back(call_often, seed * 100 + static_cast<unsigned>(c), rounds,
                           n_callers + 2 * c);
    for (std::thread& caller : callers) caller.join();
  }
  std::printf("{\"calls\": %ld, \"tasks\": %ld}\n", n_calls.load(), n_tasks_run.load());
  return 0;
}
