#include "tree/fast/level_cursors.hpp"

namespace committee {

LevelCursors::LevelCursors(const std::vector<u32>& levels) : waiting_(levels.size() + 2, 0) {
  u32 node = 0, leaf = 0;
  for (std::size_t d = 0; d < levels.size(); ++d) {
    const u32 below = d + 1 < levels.size() ? levels[d + 1] : 0;
    cursors_.push_back({node, leaf, node + levels[d]});
    node += levels[d];
    leaf += levels[d] - below / 2;
  }
}

std::vector<const double*> list_thresholds(const std::vector<ColumnBins>& bins) {
  static constexpr double kNowhere = 0.0;
  std::vector<const double*> thresholds;
  for (const ColumnBins& column : bins)
    thresholds.push_back(column.thresholds.empty() ? &kNowhere : column.thresholds.data());
  return thresholds;
}

}  // namespace committee
