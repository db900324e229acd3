// The kernels of boosted stumps, compiled for the CPU, with an entry that a test can call by name.
#include "stumps.cu"

#include "cuda_launch.hpp"

extern "C" int launch_kernel(const char* name, unsigned grid, unsigned block, void** arguments) {
  const std::string wanted = name;
#define COMMITTEE_LAUNCH(kernel) \
  if (wanted == #kernel) return start(kernel, grid, block, arguments), 0;
  COMMITTEE_LAUNCH(make_records)
  COMMITTEE_LAUNCH(scale_levels)
  COMMITTEE_LAUNCH(multiply_levels)
  COMMITTEE_LAUNCH(count_leaves)
  COMMITTEE_LAUNCH(add_deltas)
  COMMITTEE_LAUNCH(describe_stumps)
#undef COMMITTEE_LAUNCH
  return 1;
}
