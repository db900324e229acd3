// The kernels that turn tables to bytes, compiled for the CPU, with an entry that a test can call by name.
#include "binning.cu"

#include "cuda_launch.hpp"

extern "C" int launch_kernel(const char* name, unsigned grid, unsigned block, void** arguments) {
  const std::string wanted = name;
#define COMMITTEE_LAUNCH(kernel) \
  if (wanted == #kernel) return start(kernel, grid, block, arguments), 0;
  COMMITTEE_LAUNCH(bin_float_rows)
  COMMITTEE_LAUNCH(bin_double_rows)
  COMMITTEE_LAUNCH(bin_float_columns)
  COMMITTEE_LAUNCH(bin_double_columns)
  COMMITTEE_LAUNCH(find_other_floats)
  COMMITTEE_LAUNCH(find_other_doubles)
  COMMITTEE_LAUNCH(describe_binning)
#undef COMMITTEE_LAUNCH
  return 1;
}
