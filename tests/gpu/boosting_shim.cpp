// The kernels of boosting, compiled for the CPU, with an entry that a test can call by name.
#include "boosting.cu"

#include "cuda_launch.hpp"

extern "C" int launch_kernel(const char* name, unsigned grid, unsigned block, void** arguments) {
  const std::string wanted = name;
#define COMMITTEE_LAUNCH(kernel) \
  if (wanted == #kernel) return start(kernel, grid, block, arguments), 0;
  COMMITTEE_LAUNCH(find_largest)
  COMMITTEE_LAUNCH(find_gradients)
  COMMITTEE_LAUNCH(start_tree)
  COMMITTEE_LAUNCH(make_words)
  COMMITTEE_LAUNCH(make_records)
  COMMITTEE_LAUNCH(copy_columns)
  COMMITTEE_LAUNCH(partition_rows)
  COMMITTEE_LAUNCH(add_histograms)
  COMMITTEE_LAUNCH(search_splits)
  COMMITTEE_LAUNCH(search_counts)
  COMMITTEE_LAUNCH(choose_nodes)
  COMMITTEE_LAUNCH(write_nodes)
  COMMITTEE_LAUNCH(sum_leaves)
  COMMITTEE_LAUNCH(set_values)
  COMMITTEE_LAUNCH(update_scores)
  COMMITTEE_LAUNCH(add_trees)
  COMMITTEE_LAUNCH(measure_gradients)
  COMMITTEE_LAUNCH(find_largest_residual)
  COMMITTEE_LAUNCH(keep_residuals)
  COMMITTEE_LAUNCH(draw_lists)
  COMMITTEE_LAUNCH(choose_features)
  COMMITTEE_LAUNCH(clear_levels)
  COMMITTEE_LAUNCH(add_levels)
  COMMITTEE_LAUNCH(search_categories)
  COMMITTEE_LAUNCH(describe_sizes)
#undef COMMITTEE_LAUNCH
  return 1;
}
