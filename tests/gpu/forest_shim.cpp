// The kernels of forests, compiled for the CPU, with an entry that a test can call by name.
#include "forest.cu"

#include "cuda_launch.hpp"

extern "C" int launch_kernel(const char* name, unsigned grid, unsigned block, void** arguments) {
  const std::string wanted = name;
#define COMMITTEE_LAUNCH(kernel) \
  if (wanted == #kernel) return start(kernel, grid, block, arguments), 0;
  COMMITTEE_LAUNCH(make_forest_records)
  COMMITTEE_LAUNCH(make_forest_columns)
  COMMITTEE_LAUNCH(make_sample)
  COMMITTEE_LAUNCH(open_roots)
  COMMITTEE_LAUNCH(grow_few)
  COMMITTEE_LAUNCH(grow_some)
  COMMITTEE_LAUNCH(grow_many)
  COMMITTEE_LAUNCH(end_level)
  COMMITTEE_LAUNCH(pack_forest)
  COMMITTEE_LAUNCH(describe_forest)
#undef COMMITTEE_LAUNCH
  return 1;
}
