// What one member of a forest sees: its sample, its weights, its features.
#pragma once
#include "committee/forest.hpp"

namespace committee {

// Whether the weights leave some rows out, as a fold does, and are one otherwise.
bool is_fold_of(const GrowInput& input, const ForestPlan& plan);

struct MemberInput {
  // is_fold: as is_fold_of says.
  MemberInput(const GrowInput& all, const GrowParams& all_params, const ForestPlan& plan,
              std::size_t member, bool is_fold);
  MemberInput(const MemberInput&) = delete;
  MemberInput& operator=(const MemberInput&) = delete;

  std::vector<u32> counts;
  std::vector<double> balanced;
  GrowInput input;
  GrowParams params;  // one thread
};

}  // namespace committee
