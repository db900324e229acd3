// Compressed sparse columns as arrays of the caller.
#pragma once
#include "arrays.hpp"
#include "committee/binning.hpp"

namespace committee {

inline SparseView view_sparse(const AnyArray& data, const AnyArray& indices, const AnyArray& indptr,
                              std::pair<std::size_t, std::size_t> shape) {
  for (const AnyArray* part : {&data, &indices, &indptr}) {
    if (part->ndim() != 1 || (part->shape(0) > 1 && part->stride(0) != 1)) {
      throw nb::value_error("data, indices and indptr must be contiguous 1-d arrays.");
    }
    if (!is_aligned(part->data(), part->itemsize()))
      throw nb::value_error("data, indices and indptr must be aligned.");
  }
  SparseView view;
  view.is_double = data.dtype() == nb::dtype<double>();
  if (!view.is_double && data.dtype() != nb::dtype<float>()) {
    throw nb::value_error("data must be float32 or float64.");
  }
  view.wide_indices = indices.dtype() == nb::dtype<i64>();
  if ((!view.wide_indices && indices.dtype() != nb::dtype<i32>()) ||
      indptr.dtype() != indices.dtype()) {
    throw nb::value_error("indices and indptr must both be int32 or both int64.");
  }
  if (indices.shape(0) != data.shape(0) || indptr.shape(0) != shape.second + 1) {
    throw nb::value_error(
        "indices must be as long as data, and indptr have one entry more than columns.");
  }
  view.data = data.data();
  view.indices = indices.data();
  view.indptr = indptr.data();
  view.n_entries = data.shape(0);
  view.n_rows = shape.first;
  view.n_cols = shape.second;
  return view;
}

}  // namespace committee
