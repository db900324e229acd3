// The kernels of prediction, compiled for the CPU, with an entry that a test can call by name.
#include "prediction.cu"

#include "cuda_launch.hpp"

extern "C" int launch_kernel(const char* name, unsigned grid, unsigned block, void** arguments) {
  const std::string wanted = name;
#define COMMITTEE_LAUNCH(kernel) \
  if (wanted == #kernel) return start(kernel, grid, block, arguments), 0;
  COMMITTEE_LAUNCH(sum_trees)
  COMMITTEE_LAUNCH(sum_complete_trees)
  COMMITTEE_LAUNCH(sum_linked_trees)
  COMMITTEE_LAUNCH(describe_prediction)
#undef COMMITTEE_LAUNCH
  return 1;
}
