#include "parallel/call_trace.hpp"

#include <chrono>
#include <mutex>

namespace committee {
namespace {

std::atomic<bool> is_on{false};
std::mutex trace_mutex;
CallTrace& trace() {
  static CallTrace costs;
  return costs;
}
std::atomic<u64> n_begun{0};     // traces
thread_local u64 own_trace = 0;  // that of this thread's last traced call
thread_local i64 last_end = 0;   // of that call; 0: there was none since the trace began

}  // namespace

i64 read_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool calls_are_traced() {
  return is_on.load(std::memory_order_relaxed);
}

void start_call_trace() {
  const std::lock_guard lock(trace_mutex);
  trace().clear();
  n_begun.fetch_add(1);
  is_on.store(true);
}

CallTrace end_call_trace() {
  const std::lock_guard lock(trace_mutex);
  is_on.store(false);
  return std::exchange(trace(), {});
}

TracedCall::TracedCall(CallSite site, std::size_t n_tasks)
    : site_(site), n_tasks_(n_tasks), began_(read_clock_ns()), started_(began_), no_more_tasks_(0) {
  if (std::exchange(own_trace, n_begun.load()) != own_trace) last_end = 0;
}

void TracedCall::add_task(i64 nanoseconds) {
  busy_.fetch_add(nanoseconds, std::memory_order_relaxed);
  i64 longest = longest_.load(std::memory_order_relaxed);
  while (nanoseconds > longest && !longest_.compare_exchange_weak(longest, nanoseconds)) {
  }
}

TracedCall::~TracedCall() {
  const i64 end = read_clock_ns(), before = last_end == 0 ? 0 : began_ - last_end;
  last_end = end;
  const std::lock_guard lock(trace_mutex);
  if (!calls_are_traced()) return;
  CallCosts& costs = trace()[{site_.function, site_.line}];
  ++costs.n_calls;
  costs.n_tasks += n_tasks_;
  costs.before += before;
  costs.wall += end - began_;
  costs.starting += started_ - began_;
  costs.waiting += no_more_tasks_ == 0 ? 0 : end - no_more_tasks_;
  costs.busy += busy_.load();
  costs.longest += longest_.load();
}

}  // namespace committee
