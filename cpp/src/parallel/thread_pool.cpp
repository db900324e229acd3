#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "committee/file_memory.hpp"
#include "committee/parallel.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#define COMMITTEE_HAS_FORK 1
#endif

namespace committee {
namespace {

constexpr int kMaxThreads = 256;

thread_local bool inside_region = false;

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

// One call of parallel_for. Lives on its caller's stack: the caller leaves only after it has taken
// the job off the pool's list and every helper that had joined has left (`helpers` is 0).
struct Job {
  Job(std::size_t tasks, const std::function<void(std::size_t)>& f, int seats)
      : n_tasks(tasks), task(f), free_seats(seats) {}

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
        task(is_helper ? n_tasks - 1 - back : front);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
        stopped.store(true, std::memory_order_relaxed);
      }
    }
  }

  const std::size_t n_tasks;
  const std::function<void(std::size_t)>& task;
  const SpillFolder* const spill_folder = current_spill_folder();  // of the caller
  static constexpr u64 kFromBack = u64{1} << 32;
  std::atomic<u64> taken{0};  // from the front, and times kFromBack from the back
  std::atomic<bool> stopped{false};
  std::mutex error_mutex;
  std::exception_ptr error;
  // Guarded by the pool's mutex.
  int free_seats;
  std::atomic<int> helpers{0};  // written under the mutex, looked at without
  std::condition_variable all_left;
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
  constexpr auto kPatience = std::chrono::microseconds(30);
  constexpr int kLooks = 64;  // between two looks at the clock
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int look = 0; look < kLooks; ++look)
      if (done()) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

class Pool {
 public:
  void run(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task) {
    Job job(n_tasks, task, n_threads - 1);
    std::list<Job*>::iterator place;
    int n_calls;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      grow_to(n_threads - 1);
      place = jobs_.insert(jobs_.end(), &job);
      // Who watches looks at the list once more, with the lock, before it sleeps; those whom other
      // jobs have seats for are not counted upon.
      const int n_ready = std::max(0, n_watching_ - n_seats_.load(std::memory_order_relaxed));
      n_calls = std::clamp(n_threads - 1 - n_ready, 0, n_asleep_);
    }
    // Not before the mutex is free: who watches would take it at once.
    n_seats_.fetch_add(n_threads - 1, std::memory_order_relaxed);
    for (int i = 0; i < n_calls; ++i) work_.notify_one();
    job.run_tasks(false);
    {
      std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
      acquire(lock);
      jobs_.erase(place);
      n_seats_.fetch_sub(job.free_seats, std::memory_order_relaxed);
      const auto is_empty = [&] { return job.helpers.load(std::memory_order_relaxed) == 0; };
      if (!is_empty() && may_watch_) {
        lock.unlock();
        watch_briefly(is_empty);
        acquire(lock);  // the last helper lets go of it only when it is done with the job
      }
      job.all_left.wait(lock, is_empty);
    }
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  // The mutex is never held for long; sleeping until it is free would take longer.
  void acquire(std::unique_lock<std::mutex>& lock) {
    constexpr int kTries = 200;
    for (int i = 0; i < kTries && may_watch_; ++i)
      if (lock.try_lock()) return;
    lock.lock();
  }

  // A system that grants no more threads leaves the work to those there are: the caller takes part.
  void grow_to(int n_workers) {
    if (n_workers_ >= n_workers) return;
    [[maybe_unused]] const SignalsBlocked blocked;
    try {
      for (; n_workers_ < n_workers; ++n_workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
    // Who looks for work must not keep a core from who has some.
    may_watch_ = n_workers_ < count_usable_cores();
  }

  Job* find_open_job() {
    for (Job* job : jobs_) {
      if (job->free_seats > 0) return job;
    }
    return nullptr;
  }

  // Called with the lock held.
  Job* await_job(std::unique_lock<std::mutex>& lock) {
    Job* job = find_open_job();
    if (!job && may_watch_) {
      ++n_watching_;
      lock.unlock();
      watch_briefly([&] { return n_seats_.load(std::memory_order_relaxed) > 0; });
      acquire(lock);
      --n_watching_;
    }
    ++n_asleep_;
    work_.wait(lock, [&] { return (job = find_open_job()) != nullptr; });
    --n_asleep_;
    return job;
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = await_job(lock);
      --job->free_seats;
      n_seats_.fetch_sub(1, std::memory_order_relaxed);
      job->helpers.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      job->run_tasks(true);
      acquire(lock);
      if (job->helpers.fetch_sub(1, std::memory_order_relaxed) == 1) job->all_left.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::list<Job*> jobs_;
  std::atomic<int> n_seats_{0};  // free seats of all jobs; a hint, for it is late by a moment
  int n_asleep_ = 0, n_watching_ = 0;
  int n_workers_ = 0;
  std::atomic<bool> may_watch_{false};
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
    most = std::max(2, static_cast<int>(work / least_work_per_thread));
  if (n_jobs > 0) return std::min(n_jobs, most);
  if (n_jobs < 0) return std::clamp(count_usable_cores() + 1 + n_jobs, 1, most);
  const double useful = work / min_work_per_thread;
  if (!(useful >= 2.0)) return 1;  // before asking the system for its cores, which costs more
  const int cores = std::min(count_usable_cores(), most);
  return useful < cores ? static_cast<int>(useful) : cores;
}

bool inside_parallel_region() {
  return inside_region;
}

void parallel_for(std::size_t n_tasks, int n_threads,
                  const std::function<void(std::size_t)>& task) {
  if (n_tasks < static_cast<std::size_t>(kMaxThreads)) {
    n_threads = std::min(n_threads, static_cast<int>(n_tasks));
  }
  n_threads = std::min(n_threads, kMaxThreads);
  if (n_threads <= 1 || inside_region) {
    for (std::size_t i = 0; i < n_tasks; ++i) task(i);
    return;
  }
  find_pool().run(n_tasks, n_threads, task);
}

namespace {

// The address of a thread's own byte tells threads that live at the same time apart.
u64 current_thread_key() {
  thread_local char here;
  return static_cast<u64>(reinterpret_cast<std::uintptr_t>(&here));
}

i64 read_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
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
