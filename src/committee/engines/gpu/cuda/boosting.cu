// Everything of gradient boosting, as one program.
#include "gradients.cuh"
#include "rows.cuh"
#include "search.cuh"
#include "features.cuh"
#include "search_categories.cuh"
#include "choose.cuh"
#include "leaves.cuh"

// Sizes of what the host allocates and reads, so that it can check its own view of them.
extern "C" __global__ void describe_sizes(Size* sizes) {
  if (threadIdx.x != 0) return;
  sizes[0] = sizeof(Fit), sizes[1] = sizeof(TreeNode), sizes[2] = sizeof(Candidate), sizes[3] = sizeof(Split);
  sizes[4] = sizeof(TreeState), sizes[5] = sizeof(FinalNode), sizes[6] = sizeof(Item);
  sizes[7] = sizeof(TreeOrder);
}
