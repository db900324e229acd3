// What tests of Ctrl-C count and inject: see bind_testing.cpp.
#pragma once
#include <Python.h>

#include <atomic>

#include "committee/types.hpp"

namespace committee {

// While the probe is on, a new watch asks the interpreter at every poll of its own thread, not ten
// times a second, and the probe counts these polls. Off (always, outside tests) it costs one load
// for each call of the core and nothing for a poll.
class PollProbe {
 public:
  // Counts from 0 again. interrupt_at = n > 0: the n-th poll finds SIGINT pending.
  void start(u64 interrupt_at) {
    n_polls_.store(0);
    interrupt_at_.store(interrupt_at);
    on_.store(true);
  }
  void stop() { on_.store(false); }
  bool is_on() const { return on_.load(std::memory_order_relaxed); }
  u64 n_polls() const { return n_polls_.load(); }

  // Called with the GIL, before the interpreter is asked for pending signals.
  void count_poll() {
    if (is_on() && n_polls_.fetch_add(1) + 1 == interrupt_at_.load()) PyErr_SetInterrupt();
  }

 private:
  std::atomic<bool> on_{false};
  std::atomic<u64> n_polls_{0}, interrupt_at_{0};
};

inline PollProbe poll_probe;

}  // namespace committee
