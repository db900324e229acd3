// Tables on the device: 32 columns of a row side by side.
#pragma once
#include "device.cuh"

// The records of all rows of a group from its columns, `stride` bytes apart.
extern "C" __global__ void __launch_bounds__(256)
    make_records(committee::u8* records, const committee::u8* columns, committee::gpu::Size n_rows,
                 committee::gpu::Size stride, committee::u32 n_columns) {
  using namespace committee::gpu;
  for (Size row = blockIdx.x * Size{256} + threadIdx.x; row < n_rows; row += gridDim.x * Size{256}) {
    auto* const record = records + row * kLanes;
    for (int lane = 0; lane < kLanes; ++lane)
      record[lane] = lane < static_cast<int>(n_columns) ? columns[lane * stride + row] : 0;
  }
}
