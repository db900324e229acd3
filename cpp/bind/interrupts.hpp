// Ctrl-C while the core works: the watch asks the interpreter, the guard turns the answer into
// Python's exception.
#pragma once
#include <nanobind/nanobind.h>

#include "buffers.hpp"
#include "committee/parallel.hpp"
#include "poll_probe.hpp"

namespace committee {

// Runs work(watch) without the GIL; KeyboardInterrupt (or whatever a signal handler raised) comes
// out as such.
// `tell` is called now and then, with the GIL, to report progress; what it raises stops the work
// too.
template <class Work, class Tell = void (*)()>
auto run_interruptible(Work&& work, Tell&& tell = [] {}) {
  InterruptWatch watch(
      [&tell] {
        const nanobind::gil_scoped_acquire held;
        poll_probe.count_poll();
        try {
          tell();
        } catch (nanobind::python_error& error) {
          error.restore();
          return true;
        }
        return PyErr_CheckSignals() != 0;
      },
      poll_probe.is_on() ? 0 : kAskEveryNs);
  try {
    const nanobind::gil_scoped_release released;
    return work(watch);
  } catch (const Interrupted&) {
    throw nanobind::python_error();
  }
}

// Row-trees from which a call may take long enough for a user to stop it.
inline constexpr std::size_t kLongWork = std::size_t{1} << 20;

// work(watch), or work(nullptr) where the amount is too small for anybody to wait.
template <class Work>
void run_watched(std::size_t amount, Work&& work) {
  if (amount < kLongWork) return run_released(amount, [&] { work(nullptr); });
  run_interruptible([&](InterruptWatch& watch) { work(&watch); });
}

}  // namespace committee
