#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "committee/file_memory.hpp"
#include "parallel/call_trace.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#define COMMITTEE_HAS_FORK 1
#endif

namespace committee {
namespace {

constexpr int kMaxThreads = 256;

thread_local bool inside_region = false;
std::atomic<int> n_granted{1};

// Marks this thread as one that runs tasks, so that nested calls run inline.
class RegionGuard {
 public:
  RegionGuard() : before_(inside_region) { inside_region = true; }
  ~RegionGuard() { inside_region = before_; }
  RegionGuard(const RegionGuard&) = delete;
  RegionGuard& operator=(const RegionGuard&) = delete;

 private:
  bool before_;
};

void run_task(FunctionView<void(std::size_t)> task, std::size_t i, TracedCall* traced) {
  if (!traced) return task(i);
  const i64 begin = read_clock_ns();
  task(i);
  traced->add_task(read_clock_ns() - begin);
}

// One call of parallel_for. Lives on its caller's stack: the caller leaves only when no worker may
// take a seat any more and every one that had one has left it (`helpers` is 0).
struct Job {
  Job(std::size_t tasks, FunctionView<void(std::size_t)> f, TracedCall* call)
      : n_tasks(tasks), task(f), traced(call) {}

  // The caller takes tasks from the front, helpers take them from the back: in calls that follow
  // one another a core then finds most of its rows where it left them.
  void run_tasks(bool is_helper) {
    const RegionGuard guard;
    const SpillScope scope(spill_folder);
    while (!stopped.load(std::memory_order_relaxed)) {
      const u64 before = taken.fetch_add(is_helper ? kFromBack : 1, std::memory_order_relaxed);
      const std::size_t front = before % kFromBack, back = before / kFromBack;
      if (front + back >= n_tasks) return;
      try {
        run_task(task, is_helper ? n_tasks - 1 - back : front, traced);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
        stopped.store(true, std::memory_order_relaxed);
      }
    }
  }

  const std::size_t n_tasks;
  const FunctionView<void(std::size_t)> task;
  TracedCall* const traced;                                        // or null
  const SpillFolder* const spill_folder = current_spill_folder();  // of the caller
  static constexpr u64 kFromBack = u64{1} << 32;
  std::atomic<u64> taken{0};  // from the front, and times kFromBack from the back
  std::atomic<bool> stopped{false};
  std::mutex error_mutex;
  std::exception_ptr error;
  std::atomic<int> helpers{0};  // workers that have the job, or had it and have not left it
  int n_wanted = 0;             // more workers that may take it; guarded by the pool's mutex
};

// Signals belong to the interpreter's threads; a worker starts with all of them blocked.
class SignalsBlocked {
 public:
#if COMMITTEE_HAS_FORK
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
#endif
};

// Looks at `done` for a short while; whether it came true. The next call of a loop that alternates
// between short calls and a little work of its own comes sooner than a sleeper wakes up.
template <class Done>
bool watch_briefly(Done&& done) {
  constexpr auto kPatience = std::chrono::microseconds(50);
  constexpr int kLooks = 32;  // between two looks at the clock
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int look = 0; look < kLooks; ++look) {
      if (done()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// What a worker looks at, and nobody else but a caller who has work for it: threads that would all
// look at one place, or take one lock in turn, wait for one another longer than short calls last.
struct alignas(128) Worker {
  std::atomic<Job*> job{nullptr};  // null: it has none, kBusy: it runs one
  std::atomic<bool> asleep{false};
  std::mutex mutex;
  std::condition_variable wake;
};

// Stands for a job that a worker has begun: until then its caller may take it back.
Job* const kBusy = reinterpret_cast<Job*>(std::uintptr_t{1});

class Pool {
 public:
  void run(std::size_t n_tasks, int n_threads, FunctionView<void(std::size_t)> task,
           TracedCall* traced) {
    Job job(n_tasks, task, traced);
    if (n_workers_.load(std::memory_order_acquire) < n_threads - 1) grow_to(n_threads - 1);
    const int n_missing = give(job, n_threads - 1);
    const bool is_offered = n_missing > 0 && offer(job, n_missing);
    if (traced) traced->mark_started();
    job.run_tasks(false);
    if (traced) traced->mark_no_more_tasks();
    if (is_offered) withdraw(job);
    take_back(job);
    await_helpers(job);
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  // Gives the job to workers that have none, those that are awake first; returns how many it still
  // lacks.
  int give(Job& job, int n_wanted) {
    const int n_workers = n_workers_.load(std::memory_order_acquire);
    for (const bool asleep : {false, true}) {
      for (int w = 0; w < n_workers && n_wanted > 0; ++w) {
        Worker& worker = *workers_[static_cast<std::size_t>(w)];
        if (worker.asleep.load(std::memory_order_relaxed) != asleep) continue;
        if (try_give(job, worker)) --n_wanted;
      }
    }
    return n_wanted;
  }

  static bool try_give(Job& job, Worker& worker) {
    Job* none = nullptr;
    if (worker.job.load() != nullptr) return false;
    job.helpers.fetch_add(1);
    if (!worker.job.compare_exchange_strong(none, &job)) {
      job.helpers.fetch_sub(1);
      return false;
    }
    // It says that it will sleep before it looks for the last time.
    if (worker.asleep.load()) {
      {
        const std::lock_guard lock(worker.mutex);
      }
      worker.wake.notify_one();
    }
    return true;
  }

  // From workers that have not woken up yet: nothing is left to do for them, and waiting for them
  // would take longer than most calls.
  void take_back(Job& job) {
    if (job.helpers.load() == 0) return;
    const int n_workers = n_workers_.load(std::memory_order_acquire);
    for (int w = 0; w < n_workers; ++w) {
      Job* own = &job;
      if (workers_[static_cast<std::size_t>(w)]->job.compare_exchange_strong(own, nullptr))
        job.helpers.fetch_sub(1);
    }
  }

  // Workers that have another job, as that of another caller, may take it later. Where there is no
  // memory for the list, those who have the job do all of it: it must not be left while they do.
  bool offer(Job& job, int n_wanted) {
    const std::lock_guard lock(mutex_);
    try {
      jobs_.push_back(&job);
    } catch (const std::bad_alloc&) {
      return false;
    }
    n_offered_.fetch_add(1);
    job.n_wanted = give(job, n_wanted);  // some may have become free before they could see it
    return true;
  }

  void withdraw(Job& job) {
    const std::lock_guard lock(mutex_);
    std::erase(jobs_, &job);
    n_offered_.fetch_sub(1);
  }

  // Called by a worker that has become free.
  void take_offered(Worker& worker) {
    if (n_offered_.load() == 0) return;
    const std::lock_guard lock(mutex_);
    for (Job* job : jobs_) {
      if (job->n_wanted == 0) continue;
      if (try_give(*job, worker)) --job->n_wanted;
      return;
    }
  }

  void await_helpers(const Job& job) {
    const auto is_left = [&] { return job.helpers.load() == 0; };
    if (is_left() || (may_watch_ && watch_briefly(is_left))) return;
    n_waiting_.fetch_add(1);
    {
      std::unique_lock lock(done_mutex_);
      done_.wait(lock, is_left);
    }
    n_waiting_.fetch_sub(1);
  }

  // The last time that a helper touches the job; the caller may be gone after it.
  void leave(Job& job) {
    if (job.helpers.fetch_sub(1) != 1 || n_waiting_.load() == 0) return;
    const std::lock_guard lock(done_mutex_);
    done_.notify_all();
  }

  // A system that grants no more threads leaves the work to those there are: the caller takes part.
  void grow_to(int n_wanted) {
    const std::lock_guard lock(mutex_);
    [[maybe_unused]] const SignalsBlocked blocked;
    int n = n_workers_.load();
    try {
      for (; n < n_wanted; ++n) {
        auto& worker = workers_[static_cast<std::size_t>(n)];
        if (!worker) worker = std::make_unique<Worker>();
        std::thread([this, &worker] { serve(*worker); }).detach();
      }
    } catch (const std::exception&) {  // std::system_error, or std::bad_alloc
    }
    // Who looks for work must not keep a core from who has some.
    may_watch_ = n < count_usable_cores();
    n_workers_.store(n, std::memory_order_release);
  }

  void await_job(Worker& worker) {
    const auto has_job = [&] { return worker.job.load() != nullptr; };
    if (has_job() || (may_watch_ && watch_briefly(has_job))) return;
    std::unique_lock lock(worker.mutex);
    worker.asleep.store(true);
    worker.wake.wait(lock, has_job);
    worker.asleep.store(false);
  }

  void serve(Worker& worker) {
    for (;;) {
      await_job(worker);
      Job* job = worker.job.load();
      if (job == nullptr || !worker.job.compare_exchange_strong(job, kBusy))
        continue;  // taken back
      job->run_tasks(true);
      worker.job.store(nullptr);  // before its caller goes on: the next call finds it free
      leave(*job);
      take_offered(worker);
    }
  }

  std::array<std::unique_ptr<Worker>, kMaxThreads> workers_;
  std::atomic<int> n_workers_{0};
  std::atomic<bool> may_watch_{false};
  std::mutex mutex_;  // of the jobs that are offered, and of growth
  std::vector<Job*> jobs_;
  std::atomic<int> n_offered_{0};
  std::atomic<int> n_waiting_{0};  // callers who sleep until their helpers have left
  std::mutex done_mutex_;
  std::condition_variable done_;
};

// Never destroyed: its detached workers sleep in it until the process ends. After a fork the child
// drops the parent's pool (whose workers do not exist there and whose mutex may be held) unseen.
std::atomic<Pool*> shared_pool{nullptr};

Pool& find_pool() {
  Pool* pool = shared_pool.load(std::memory_order_acquire);
  if (pool) return *pool;
#if COMMITTEE_HAS_FORK
  static std::once_flag registered;
  std::call_once(registered, [] {
    pthread_atfork(nullptr, nullptr, [] { shared_pool.store(nullptr, std::memory_order_release); });
  });
#endif
  auto made = std::make_unique<Pool>();
  if (shared_pool.compare_exchange_strong(pool, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *pool;
}

}  // namespace

int choose_threads(int n_jobs, double work, double min_work_per_thread,
                   double least_work_per_thread) {
  if (inside_region || n_jobs == 1) return 1;
  int most = kMaxThreads;
  if (work < least_work_per_thread * kMaxThreads)
    most = std::max(n_granted.load(std::memory_order_relaxed),
                    static_cast<int>(work / least_work_per_thread));
  if (n_jobs > 0) return std::min(n_jobs, most);
  if (n_jobs < 0) return std::clamp(count_usable_cores() + 1 + n_jobs, 1, most);
  const double useful = work / min_work_per_thread;
  if (!(useful >= 2.0)) return 1;  // before asking the system for its cores, which costs more
  const int cores = std::min(count_usable_cores(), most);
  return useful < cores ? static_cast<int>(useful) : cores;
}

void grant_threads(int n_threads) {
  n_granted.store(std::max(1, n_threads), std::memory_order_relaxed);
}

bool inside_parallel_region() {
  return inside_region;
}

void parallel_for(std::size_t n_tasks, int n_threads, FunctionView<void(std::size_t)> task,
                  CallSite site) {
  if (n_tasks < static_cast<std::size_t>(kMaxThreads)) {
    n_threads = std::min(n_threads, static_cast<int>(n_tasks));
  }
  n_threads = std::min(n_threads, kMaxThreads);
  std::optional<TracedCall> call;
  if (calls_are_traced() && !inside_region) call.emplace(site, n_tasks);
  TracedCall* const traced = call ? &*call : nullptr;
  if (n_threads <= 1 || inside_region) {
    for (std::size_t i = 0; i < n_tasks; ++i) run_task(task, i, traced);
    return;
  }
  find_pool().run(n_tasks, n_threads, task, traced);
}

namespace {

// The address of a thread's own byte tells threads that live at the same time apart.
u64 current_thread_key() {
  thread_local char here;
  return static_cast<u64>(reinterpret_cast<std::uintptr_t>(&here));
}

}  // namespace

InterruptWatch::InterruptWatch(std::function<bool()> ask, i64 ask_every_ns)
    : ask_(std::move(ask)), owner_(current_thread_key()), ask_every_ns_(ask_every_ns) {
  if (ask_) next_ask_ns_.store(read_clock_ns() + ask_every_ns_, std::memory_order_relaxed);
}

void InterruptWatch::poll() {
  if (stop_.load(std::memory_order_relaxed)) throw Interrupted();
  if (!ask_ || current_thread_key() != owner_) return;
  const i64 now = read_clock_ns();
  if (now < next_ask_ns_.load(std::memory_order_relaxed)) return;
  next_ask_ns_.store(now + ask_every_ns_, std::memory_order_relaxed);
  if (!ask_()) return;
  stop_.store(true, std::memory_order_relaxed);
  throw Interrupted();
}

}  // namespace committee
