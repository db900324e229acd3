// Everything of gradient boosting, as one program.
#include "gradients.cuh"
#include "rows.cuh"
#include "search.cuh"
#include "features.cuh"
#include "search_categories.cuh"
#include "choose.cuh"
#include "leaves.cuh"
