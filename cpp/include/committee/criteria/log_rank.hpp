// The log-rank statistic of two groups of censored times [Ishwaran2008]; no histogram form, see
// split/log_rank_finder.hpp. A target is 2 * k + e: k counts the event times of the training set
// that are not after the row's time (255 at most), e is 1 where the event was observed.
#pragma once
#include "../types.hpp"

namespace committee {

struct LogRank {
  static constexpr const char* kName = "log_rank";
  static constexpr u32 kMostTimes = 255;
  // At one event time: d events among y rows at risk. The expected events of a group with l rows at
  // risk are l * hazard; their variance is l * (y - l) * spread (hypergeometric). row: the weight
  // of one row.
  static double hazard(double d, double y) { return d / y; }
  static double spread(double d, double y, double row) {
    return y > row ? d * (y - d) / (y * y * (y - row)) : 0.0;
  }
};

}  // namespace committee
