// Costs of calls of parallel_for, for developers who look for the threads' waiting.
#pragma once
#include "committee/parallel.hpp"

namespace committee {

bool calls_are_traced();
i64 read_clock_ns();

// One call; its costs are added to those of its place when it ends.
class TracedCall {
 public:
  TracedCall(CallSite site, std::size_t n_tasks);
  ~TracedCall();
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  void mark_started() { started_ = read_clock_ns(); }
  void mark_no_more_tasks() { no_more_tasks_ = read_clock_ns(); }
  // By any thread.
  void add_task(i64 nanoseconds);

 private:
  CallSite site_;
  std::size_t n_tasks_;
  i64 began_, started_, no_more_tasks_;
  std::atomic<i64> busy_{0}, longest_{0};
};

}  // namespace committee
