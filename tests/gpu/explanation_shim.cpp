// The kernels of Shapley values, compiled for the CPU, with an entry that a test can call by name.
#include "explanation.cu"

#include "cuda_launch.hpp"

extern "C" int launch_kernel(const char* name, unsigned grid, unsigned block, void** arguments) {
  const std::string wanted = name;
#define COMMITTEE_LAUNCH(kernel) \
  if (wanted == #kernel) return start(kernel, grid, block, arguments), 0;
  COMMITTEE_LAUNCH(explain_at_1)
  COMMITTEE_LAUNCH(explain_at_2)
  COMMITTEE_LAUNCH(explain_at_3)
  COMMITTEE_LAUNCH(explain_at_4)
  COMMITTEE_LAUNCH(sum_points)
  COMMITTEE_LAUNCH(complete_classes)
  COMMITTEE_LAUNCH(describe_explanation)
#undef COMMITTEE_LAUNCH
  return 1;
}
