// One pool of std::thread for the whole process. Waiting threads sleep, after a look around of some
// microseconds at most: a foreign process on one of the cores costs its fair share and no more.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "compiler.hpp"
#include "function_view.hpp"
#include "types.hpp"

namespace committee {

// Cores this process may use: affinity mask and cgroup quota (v1 and v2) taken into account; >= 1.
int count_usable_cores();

// CPUs that the cgroups of this process grant it (quota / period, the smallest on the way up; v1
// and v2); infinity without a quota. `root` stands for "/": tests put a tree of their own there.
double read_cpu_quota(const std::string& root = "");

// The number of threads for `work` units when the user said n_jobs (0 = None = decide): at most the
// usable cores and at most work / min_work_per_thread, at least 1; 1 inside a pool worker.
// n_jobs > 0 is taken literally (capped by 256); n_jobs < 0 means cores + 1 + n_jobs. Threads that
// wait for one another many times over: each of several needs least_work_per_thread, however many
// the user grants.
int choose_threads(int n_jobs, double work, double min_work_per_thread,
                   double least_work_per_thread = 0.0);
// For tests of small tables: so many of the threads that the user grants need no least work.
void grant_threads(int n_threads);

// Nanoseconds of work that pay for waking a thread.
inline constexpr double kThreadCost = 100'000.0;

// True on a thread that is currently running a task of the pool (nested calls then run inline).
bool inside_parallel_region();

// Run task(i) for every i in [0, n_tasks), on at most n_threads threads including the caller.
// The caller takes tasks from the first on, the others from the last on; returns when all are done.
// There are fewer than 2^31 tasks. The first exception is rethrown on the caller and the remaining
// tasks are skipped. n_threads <= 1 or a nested call runs
// inline and starts no thread. Safe after fork (the child starts a pool of its own).
void parallel_for(std::size_t n_tasks, int n_threads, FunctionView<void(std::size_t)> task,
                  CallSite site = CallSite::current());

// What the calls of parallel_for from one place took while they were traced, in nanoseconds.
struct CallCosts {
  u64 n_calls = 0, n_tasks = 0;
  i64 before = 0;    // since the end of the calling thread's call before: the work of one thread
  i64 wall = 0;      // from the beginning of a call to its end
  i64 starting = 0;  // of it, until the other threads have been given the call
  i64 waiting = 0;   // of it, since the caller found no more tasks
  i64 busy = 0;      // in tasks, all threads together
  i64 longest = 0;   // the longest task of each call
};
// By function and line. Calls within tasks are a part of them.
using CallTrace = std::map<std::pair<std::string, int>, CallCosts>;

// For developers: which calls keep the threads waiting. A traced task costs two looks at the clock.
void start_call_trace();
CallTrace end_call_trace();

// How often a watch asks the interpreter: ten times a second.
inline constexpr i64 kAskEveryNs = 100'000'000;

// Ctrl-C: long loops call poll() now and then (cheap: a flag, and on the maker's thread a clock).
// Only the thread that made the watch asks the interpreter; others see the flag. Throws
// Interrupted.
class InterruptWatch {
 public:
  // `ask` returns true if the user asked to stop; called at most once in ask_every_ns; 0 means at
  // every poll of the maker's thread.
  explicit InterruptWatch(std::function<bool()> ask = {}, i64 ask_every_ns = kAskEveryNs);
  void poll();

 private:
  std::function<bool()> ask_;
  std::atomic<bool> stop_{false};
  u64 owner_;
  i64 ask_every_ns_;
  std::atomic<i64> next_ask_ns_{0};
};

// Polls once in about a millisecond of work, so that short steps do not pay for a clock each; every
// thread has its own.
class WorkPolls {
 public:
  explicit WorkPolls(InterruptWatch& watch) : watch_(watch) {}
  // Work in estimated nanoseconds.
  void add(double work) {
    done_ += work;
    if (done_ < kEveryNs) return;
    done_ = 0.0;
    watch_.poll();
  }

 private:
  static constexpr double kEveryNs = 1e6;
  InterruptWatch& watch_;
  double done_ = 0.0;
};

}  // namespace committee
