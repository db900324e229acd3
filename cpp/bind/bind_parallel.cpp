#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>

#include "committee/parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_parallel(nb::module_& m) {
  m.def("count_usable_cores", &committee::count_usable_cores,
        "Cores this process may use: affinity mask and cgroup quota taken into account.");
  m.def("read_cpu_quota", &committee::read_cpu_quota, "root"_a = "",
        "CPUs that the cgroups of this process grant it; infinity without a quota.");
  m.def("choose_threads", &committee::choose_threads, "n_jobs"_a, "work"_a, "min_work_per_thread"_a,
        "least_work_per_thread"_a = 0.0,
        "Threads for so much work; n_jobs = 0 decides by the work, n_jobs < 0 counts from the "
        "cores.");
  m.def("parallel_for", &committee::parallel_for, "n_tasks"_a, "n_threads"_a, "task"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Call task(i) for every i on at most n_threads threads of the pool (each call takes the "
        "GIL).");
  m.def("inside_parallel_region", &committee::inside_parallel_region,
        "True inside a task of the pool.");
}
