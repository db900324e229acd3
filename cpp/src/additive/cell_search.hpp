// The update of one term from sums of gradients by cell: a tree of few leaves on the bins of a
// feature, or four rectangles of a grid; or, smooth, the mean over all cuts.
#pragma once
#include "committee/additive.hpp"

namespace committee {

// Sums of a cell in fixed point.
struct CellSums {
  i64 gradient = 0, hessian = 0;
};

struct CellUnits {
  double gradient = 1.0, hessian = 1.0;  // what one of the fixed numbers is worth
  double largest_step = 0.0;
};

enum class CellOrder : u8 { numeric, categorical };

struct CellLine {
  std::span<const CellSums> sums;  // by slot
  std::span<const u32> counts;     // rows of the bag by slot
  u32 n_values = 0;                // slots of values; they are the first
  u32 missing_slot = 0;
  CellOrder order = CellOrder::numeric;
  int sign = 0;
};

struct CellGrid {
  std::span<const CellSums> sums;
  std::span<const u32> counts;
  u32 n_rows = 0, n_columns = 0;
};

// The step of each slot, after shrinkage; slots that no leaf has are zero. Returns what the leaves
// are worth together: the sum of squared gradients over hessians.
double update_line(const CellLine& line, const CellUnits& units, const AdditiveParams& params,
                   std::span<double> steps);
double update_grid(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params,
                   std::span<double> steps);
// The mean of the steps of every cut through the line, or of every pair of cuts through the grid:
// what steps at cuts drawn by chance are on average, without their noise.
void smooth_line(const CellLine& line, const CellUnits& units, const AdditiveParams& params,
                 std::span<double> steps);
void smooth_grid(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params,
                 std::span<double> steps);
// The gain of the best pair of cuts through the whole grid.
double find_grid_gain(const CellGrid& grid, const CellUnits& units, const AdditiveParams& params);

}  // namespace committee
