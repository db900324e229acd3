// Ctrl-C while the core works: the watch asks the interpreter, the guard turns the answer into
// Python's exception.
#pragma once
#include <nanobind/nanobind.h>

#include "committee/parallel.hpp"

namespace committee {

// Runs work(watch) without the GIL; KeyboardInterrupt (or whatever a signal handler raised) comes
// out as such.
template <class Work>
auto run_interruptible(Work&& work) {
  InterruptWatch watch([] {
    const nanobind::gil_scoped_acquire held;
    return PyErr_CheckSignals() != 0;
  });
  try {
    const nanobind::gil_scoped_release released;
    return work(watch);
  } catch (const Interrupted&) {
    throw nanobind::python_error();
  }
}

}  // namespace committee
