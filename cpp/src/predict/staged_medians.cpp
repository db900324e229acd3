#include "committee/staged_medians.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace committee {

namespace {

constexpr std::size_t kBlockRows = 64;
// Estimated nanoseconds for a member in a row: its share of the sort, an update and a search.
constexpr double kMemberCost = 40.0;

// The stages of one row after another, with buffers that they share.
class RowStages {
 public:
  RowStages(std::span<const double> weights, std::span<const double> goals)
      : weights_(weights),
        goals_(goals),
        order_(weights.size()),
        place_(weights.size()),
        sums_(weights.size() + 1),
        is_present_(weights.size() + 1) {}

  // The medians of a row to out[0], out[stride], ...
  void run(const double* values, double* out, std::size_t stride) {
    sort_members(values);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(is_present_.begin(), is_present_.end(), u8{0});
    std::size_t least = weights_.size();
    for (std::size_t t = 0; t < weights_.size(); ++t) {
      least = std::min<std::size_t>(least, place_[t]);
      add_weight(place_[t], weights_[t]);
      // Without any weight the least value is the first to reach half of it.
      const std::size_t found = goals_[t] > 0.0 ? find_place(goals_[t]) : least;
      out[t * stride] = order_[found - 1].value;
    }
  }

 private:
  struct Member {
    double value;
    u32 number;
  };

  static bool comes_before(const Member& a, const Member& b) {
    if (a.value < b.value) return true;
    if (b.value < a.value) return false;
    const bool a_is_nan = std::isnan(a.value), b_is_nan = std::isnan(b.value);
    return a_is_nan == b_is_nan ? a.number < b.number : b_is_nan;
  }

  // Members in ascending order, and the place of each of them, counted from 1.
  void sort_members(const double* values) {
    for (u32 t = 0; t < order_.size(); ++t) order_[t] = {values[t], t};
    std::sort(order_.begin(), order_.end(), comes_before);
    for (u32 k = 0; k < order_.size(); ++k) place_[order_[k].number] = k + 1;
  }

  // Sums in a Fenwick tree: entry k is the weight of the (k & -k) places up to k. Weights are only
  // ever added, so that no sum loses digits to larger weights that were taken away again.
  void add_weight(std::size_t place, double weight) {
    is_present_[place] = 1;
    for (std::size_t k = place; k < sums_.size(); k += k & (~k + 1)) sums_[k] += weight;
  }

  // The first place up to which the weights reach a goal above zero.
  std::size_t find_place(double goal) const {
    std::size_t before = 0;
    double reached = 0.0;
    for (std::size_t step = std::bit_floor(weights_.size()); step > 0; step /= 2) {
      const std::size_t next = before + step;
      if (next >= sums_.size() || reached + sums_[next] >= goal) continue;
      before = next;
      reached += sums_[next];
    }
    // Sums of other places, rounded otherwise, may end one place beside a member.
    std::size_t place = std::min(before + 1, weights_.size());
    while (!is_present_[place] && place > 1) --place;
    while (!is_present_[place]) ++place;
    return place;
  }

  std::span<const double> weights_, goals_;
  std::vector<Member> order_;
  std::vector<u32> place_;
  std::vector<double> sums_;
  std::vector<u8> is_present_;
};

}  // namespace

void find_staged_medians(const MemberValues& members, double share, int n_jobs,
                         InterruptWatch* watch, double* out) {
  const std::size_t n_members = members.weights.size();
  std::vector<double> goals(n_members);
  std::partial_sum(members.weights.begin(), members.weights.end(), goals.begin());
  for (double& goal : goals) goal *= share;
  const std::size_t n_blocks = (members.n_rows + kBlockRows - 1) / kBlockRows;
  const double work = kMemberCost * static_cast<double>(members.n_rows * n_members);
  parallel_for(n_blocks, choose_threads(n_jobs, work, kThreadCost), [&](std::size_t block) {
    if (watch != nullptr) watch->poll();
    RowStages stages(members.weights, goals);
    const std::size_t end = std::min(members.n_rows, (block + 1) * kBlockRows);
    for (std::size_t row = block * kBlockRows; row < end; ++row)
      stages.run(members.values + row * n_members, out + row, members.n_rows);
  });
}

}  // namespace committee
