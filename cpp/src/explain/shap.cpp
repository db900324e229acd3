// Path-dependent Shapley values in O(splits * points) a row.
//
// With z_j the share of the training weight, and o_j in {0, 1} the row's own answers, multiplied
// over the splits on feature j along the path to a leaf of value v, the Shapley value of i in that
// leaf's game is
//
//   v * integral over t in [0, 1] of (o_i - z_i) * prod_{j != i} (t o_j + (1 - t) z_j),
//
// since the weight of a set of size s among n others is the integral of t^s (1 - t)^(n - s)
// [Owen1972]. The integrand is a polynomial whose degree is below the number of distinct features
// on the path, so that half as many Gauss points give it exactly, for all leaves at once, and the
// number of players of a leaf need not be known. At a point t the products factorise along the path
// as the sums do in Linear TreeSHAP [Yu2022]: with
//
//   P   product of the factors from the root down to a split,
//   B   sum over the leaves below of v * factors from there down (of the left, right child: L, R),
//   a   factor of the left side, 1 - a that of the right one,
//
// B = B_R + a (B_L - B_R), and the split adds (answer - share) * P * (B_L - B_R) to its feature. A
// feature that was asked before on the path, with z and o so far, has f = t o + (1 - t) z in P
// already: a is a ratio of factors, and the gain is scaled by o z / f^2, so that the sum over the
// path telescopes. All factors lie in [0, 1]: nothing cancels.
#include "committee/shap.hpp"

#include <algorithm>
#include <array>

#include "explain/shap_plan.hpp"

namespace committee {

namespace {

constexpr std::size_t kRows = 32;   // of a block: its buffers stay in the first-level cache
constexpr std::size_t kLanes = 8;   // rows whose sums stay in registers
constexpr double kPointCost = 2.0;  // nanoseconds of a split at a point for one row, estimated
constexpr u32 kNoFeature = 0xFFFFFFFFu;

using Lane = std::array<double, kRows>;

// How a split takes part. A fixed feature is no player: it is known, or unknown, for sure.
enum class Role : u8 { first, again, fixed };

// What a split does at one point: a = open ? still + moved * answer : share.
struct Factor {
  double still = 0.0, moved = 0.0, share = 0.5, gain = 1.0;

  Factor() = default;
  Factor(const PlannedSplit& split, Role role, double t) : share(split.share) {
    still = (1.0 - t) * split.share_above * split.share;
    moved = t;
    if (role != Role::again) return;
    const double before = (1.0 - t) * split.share_above + t;
    still /= before;
    moved /= before;
    gain = split.share_above / (before * before);
  }
  template <Role kRole>
  double blend(double answer, double open) const {
    if constexpr (kRole == Role::fixed) return answer;
    const double known = still + moved * answer;
    if constexpr (kRole == Role::first) return known;
    return open != 0.0 ? known : share;
  }
};

// What all trees and rows of one call share.
struct Explanation {
  const TreeSum& sum;
  const MatrixView& x;
  std::vector<u32> features;  // that any tree uses; a slot is a place here
  std::vector<u32> columns;   // of a leaf, that are looked at
  std::vector<ShapPlan> plans;
  std::vector<GaussPoints> points;  // by their number
  std::size_t n_levels = 0, n_points = 0;
  double work = 0.0;  // estimated nanoseconds a row

  Explanation(const TreeSum& asked, const MatrixView& rows, int n_jobs, InterruptWatch& watch)
      : sum(asked),
        x(rows),
        features(list_used_features(asked.trees)),
        columns(choose_columns(asked)) {
    std::vector<u32> slot_of_feature(sum.trees.n_features, kNoFeature);
    for (u32 slot = 0; slot < features.size(); ++slot) slot_of_feature[features[slot]] = slot;
    std::vector<std::unique_ptr<ShapPlan>> made(sum.trees.n_trees);
    const double nodes = static_cast<double>(sum.trees.node_offsets[sum.trees.n_trees]);
    parallel_for(made.size(), choose_threads(n_jobs, 50.0 * nodes, kThreadCost),
                 [&](std::size_t t) {
                   watch.poll();
                   made[t] = std::make_unique<ShapPlan>(sum, t, slot_of_feature, columns);
                 });
    for (auto& plan : made) {
      n_levels = std::max(n_levels, plan->n_levels);
      n_points = std::max(n_points, plan->n_points);
      work += estimate_work(*plan);
      plans.push_back(std::move(*plan));
    }
    for (std::size_t n = 0; n <= n_points; ++n) points.push_back(find_gauss_points(n));
  }

  // Nanoseconds of one row through one tree.
  double estimate_work(const ShapPlan& plan) const {
    return kPointCost * static_cast<double>(plan.splits.size() * plan.n_points * columns.size());
  }
  // Columns of the sum that a tree's columns go to: those of its leaves, or its slot.
  std::size_t column(const ShapPlan& plan, std::size_t c) const {
    return plan.first_column + columns[c];
  }
  void add_base(double* base) const {
    std::fill_n(base, sum.out_width, 0.0);
    for (const ShapPlan& plan : plans) {
      for (std::size_t c = 0; c < columns.size(); ++c) base[column(plan, c)] += plan.expected[c];
    }
    double whole = 1.0;
    if (sum.combine == Combine::vote) {
      whole = sum.tree_weights.empty() ? static_cast<double>(sum.trees.n_trees) : 0.0;
      for (const double weight : sum.tree_weights) whole += weight;
    }
    complete_columns(sum, whole, base);
  }
};

// One block of rows through the trees; the buffers are indexed by level.
class Walk {
 public:
  Walk(const Explanation& explained, InterruptWatch& watch)
      : explained_(explained),
        polls_(watch),
        x_(explained.features.size()),
        answers_(explained.n_levels),
        open_(explained.n_levels),
        factors_(explained.n_levels * explained.n_points),
        products_((explained.n_levels + 1) * explained.n_points),
        below_((explained.n_levels + 1) * 2 * explained.n_points * explained.columns.size()) {
    unasked_.fill(1.0);
  }

  void take_rows(std::size_t first, std::size_t n) {
    for (std::size_t slot = 0; slot < x_.size(); ++slot) {
      for (std::size_t r = 0; r < kRows; ++r)
        x_[slot][r] = explained_.x(first + std::min(r, n - 1), explained_.features[slot]);
    }
  }
  // Adds scale * the values of one tree to out, [column of the sum][slot]. With a fixed feature it
  // is no player, and all rows know it (`known`) or none does. Compiled once, not for each caller.
  COMMITTEE_NOINLINE void add_tree(const ShapPlan& plan, double scale, Lane* out,
                                   u32 fixed = kNoFeature, bool known = false) {
    polls_.add(static_cast<double>(kRows) * explained_.estimate_work(plan));
    plan_ = &plan;
    points_ = &explained_.points[plan.n_points];
    out_ = out;
    fixed_ = fixed;
    known_ = known;
    for (std::size_t q = 0; q < plan.n_points; ++q) product(0)[q].fill(scale * points_->weight[q]);
    for (const ShapPlan::Step& step : plan.steps) {
      const PlannedSplit& split = plan.splits[step.split];
      const Role role = split.slot == fixed                  ? Role::fixed
                        : split.above == PlannedSplit::kNone ? Role::first
                                                             : Role::again;
      switch (step.move) {
        case ShapPlan::Move::look:
          look(split, role);
          break;
        case ShapPlan::Move::leave:
          leave(split, role);
          break;
        default:
          go(split, role, step.move == ShapPlan::Move::go_right);
      }
    }
  }

 private:
  Factor* factors(std::size_t level) { return factors_.data() + level * explained_.n_points; }
  Lane* product(std::size_t level) { return products_.data() + level * explained_.n_points; }
  // Sums below a split, by its level and its side of the parent: [column][point].
  Lane* below(std::size_t level, bool right) {
    return below_.data() +
           (2 * level + (right ? 1 : 0)) * explained_.n_points * explained_.columns.size();
  }
  const Lane& open(const PlannedSplit& split) const {
    return split.above == PlannedSplit::kNone ? unasked_ : open_[split.above];
  }

  // answers: 1 where the row goes left.
  void look(const PlannedSplit& split, Role role) {
    for (std::size_t q = 0; q < plan_->n_points; ++q)
      factors(split.level)[q] = Factor(split, role, points_->at[q]);
    const WeightedNode& node = plan_->tree[split.node];
    const Lane& x = x_[split.slot];
    Lane& answer = answers_[split.level];
    if (split.slot == fixed_ && !known_) {
      answer.fill(split.share);
    } else if (node.categorical) {
      for (std::size_t r = 0; r < kRows; ++r)
        answer[r] = plan_->tree.goes_left(node, x[r]) ? 1.0 : 0.0;
    } else if (node.missing_left) {
      for (std::size_t r = 0; r < kRows; ++r) answer[r] = x[r] > node.threshold ? 0.0 : 1.0;
    } else {
      for (std::size_t r = 0; r < kRows; ++r) answer[r] = x[r] <= node.threshold ? 1.0 : 0.0;
    }
  }

  template <Role kRole>
  void go_as(const PlannedSplit& split, bool right) {
    const Lane& answer = answers_[split.level];
    const Lane& before = open(split);
    const Lane* const from = product(split.level);
    for (std::size_t q = 0; q < plan_->n_points; ++q) {
      const Factor factor = factors(split.level)[q];
      double* COMMITTEE_RESTRICT const to = product(split.level + 1)[q].data();
      for (std::size_t r = 0; r < kRows; ++r) {
        const double a = factor.blend<kRole>(answer[r], before[r]);
        to[r] = from[q][r] * (right ? 1.0 - a : a);
      }
    }
    Lane& after = open_[split.level];
    for (std::size_t r = 0; r < kRows; ++r)
      after[r] = before[r] * (right ? 1.0 - answer[r] : answer[r]);
  }
  void go(const PlannedSplit& split, Role role, bool right) {
    if (role == Role::first) return go_as<Role::first>(split, right);
    if (role == Role::again) return go_as<Role::again>(split, right);
    go_as<Role::fixed>(split, right);
  }

  // kLeft, kRight: the side is a leaf.
  template <Role kRole, bool kLeft, bool kRight>
  void leave_as(const PlannedSplit& split, std::size_t c) {
    const std::size_t n_points = plan_->n_points, stride = c * explained_.n_points;
    const auto leaf = [&](int side) {
      return plan_->values[split.leaf[side] * plan_->n_columns + c];
    };
    const double left_leaf = kLeft ? leaf(0) : 0.0, right_leaf = kRight ? leaf(1) : 0.0;
    const Lane* const lefts = below(split.level + 1, false) + stride;
    const Lane* const rights = below(split.level + 1, true) + stride;
    const Lane* const products = product(split.level);
    const Factor* const known = factors(split.level);
    Lane* const belows = below(split.level, split.is_right) + stride;
    const Lane& answer = answers_[split.level];
    const Lane& before = open(split);
    Lane& out = out_[explained_.column(*plan_, c) * x_.size() + split.slot];
    for (std::size_t first = 0; first < kRows; first += kLanes) {
      double gains[kLanes] = {}, own[kLanes], still_open[kLanes];
      std::copy_n(answer.data() + first, kLanes, own);
      std::copy_n(before.data() + first, kLanes, still_open);
      for (std::size_t q = 0; q < n_points; ++q) {
        const Factor factor = known[q];
        const double* const left = lefts[q].data() + first;
        const double* const right = rights[q].data() + first;
        const double* const above = products[q].data() + first;
        // Nothing else is written here, and these lie apart from all that is read.
        double* COMMITTEE_RESTRICT const to = belows[q].data() + first;
        for (std::size_t i = 0; i < kLanes; ++i) {
          const double on_right = kRight ? right_leaf : right[i];
          const double apart = (kLeft ? left_leaf : left[i]) - on_right;
          if constexpr (kRole == Role::first) gains[i] += above[i] * apart;
          if constexpr (kRole == Role::again) gains[i] += factor.gain * above[i] * apart;
          to[i] = on_right + factor.blend<kRole>(own[i], still_open[i]) * apart;
        }
      }
      if constexpr (kRole == Role::fixed) continue;
      for (std::size_t i = 0; i < kLanes; ++i)
        out[first + i] += still_open[i] * (own[i] - split.share) * gains[i];
    }
  }
  template <Role kRole>
  void leave_by(const PlannedSplit& split) {
    const bool left = split.leaf[0] != PlannedSplit::kNone;
    const bool right = split.leaf[1] != PlannedSplit::kNone;
    for (std::size_t c = 0; c < plan_->n_columns; ++c) {
      if (left && right) {
        leave_as<kRole, true, true>(split, c);
      } else if (left) {
        leave_as<kRole, true, false>(split, c);
      } else if (right) {
        leave_as<kRole, false, true>(split, c);
      } else {
        leave_as<kRole, false, false>(split, c);
      }
    }
  }
  void leave(const PlannedSplit& split, Role role) {
    if (role == Role::first) return leave_by<Role::first>(split);
    if (role == Role::again) return leave_by<Role::again>(split);
    leave_by<Role::fixed>(split);
  }

  const Explanation& explained_;
  WorkPolls polls_;
  std::vector<Lane> x_;        // [slot]
  std::vector<Lane> answers_;  // [level]
  std::vector<Lane>
      open_;  // [level]: 1 while the row has gone the path's way at the feature's splits
  Lane unasked_;
  std::vector<Factor> factors_;  // [level][point]
  std::vector<Lane> products_, below_;
  const ShapPlan* plan_ = nullptr;
  const GaussPoints* points_ = nullptr;
  Lane* out_ = nullptr;
  u32 fixed_ = kNoFeature;
  bool known_ = false;
};

// Calls explain(walk, first row, rows) for every block of rows, on several threads.
template <class Explain>
void for_row_blocks(const Explanation& explained, double work, int n_jobs, InterruptWatch& watch,
                    Explain&& explain) {
  const std::size_t n_rows = explained.x.n_rows, n_blocks = (n_rows + kRows - 1) / kRows;
  const int n_threads = choose_threads(n_jobs, work * static_cast<double>(n_rows), kThreadCost);
  // A task is several blocks, because a walk needs memory.
  const std::size_t per_task =
      std::max<std::size_t>(n_blocks / (16 * static_cast<std::size_t>(n_threads)), 1);
  parallel_for((n_blocks + per_task - 1) / per_task, n_threads, [&](std::size_t task) {
    Walk walk(explained, watch);
    const std::size_t end = std::min((task + 1) * per_task, n_blocks);
    for (std::size_t block = task * per_task; block < end; ++block) {
      watch.poll();
      const std::size_t first = block * kRows, n = std::min(kRows, n_rows - first);
      walk.take_rows(first, n);
      explain(walk, first, n);
    }
  });
}

}  // namespace

void explain_rows(const TreeSum& sum, const MatrixView& x, int n_jobs, InterruptWatch& watch,
                  double* values, double* base) {
  check_sum(sum, x.n_cols);
  const Explanation explained(sum, x, n_jobs, watch);
  explained.add_base(base);
  const std::size_t n_slots = explained.features.size(), width = sum.out_width;
  std::fill_n(values, x.n_rows * x.n_cols * width, 0.0);
  for_row_blocks(
      explained, explained.work, n_jobs, watch, [&](Walk& walk, std::size_t first, std::size_t n) {
        std::vector<Lane> found(width * n_slots, Lane{});
        for (const ShapPlan& plan : explained.plans) walk.add_tree(plan, 1.0, found.data());
        for (std::size_t r = 0; r < n; ++r) {
          for (std::size_t slot = 0; slot < n_slots; ++slot) {
            double* const at = values + ((first + r) * x.n_cols + explained.features[slot]) * width;
            for (std::size_t c = 0; c < width; ++c) at[c] = found[c * n_slots + slot][r];
            complete_columns(sum, 0.0, at);
          }
        }
      });
}

namespace {

// Appends one tree to the plan.
void add_splits(const ShapPlan& tree, u32 first_leaf, ExplanationPlan& plan) {
  const auto first = static_cast<u32>(plan.splits.size());
  std::vector<u32> number(tree.tree.nodes().size(), 0);
  for (u32 k = 0; k < tree.splits.size(); ++k) number[tree.splits[k].node] = first + k;
  const auto refer = [&](u32 node) {
    const WeightedNode& to = tree.tree[node];
    return to.is_leaf() ? ExplainedSplit::kLeaf | (first_leaf + to.leaf) : number[node];
  };
  plan.roots.push_back(refer(0));
  for (const PlannedSplit& split : tree.splits) {
    const WeightedNode& node = tree.tree[split.node];
    ExplainedSplit made{node.threshold, split.share, split.share_above, {}, split.slot};
    for (u32 side = 0; side < 2; ++side) made.child[side] = refer(node.left + side);
    if (split.above != PlannedSplit::kNone) {
      made.above = split.above;
      made.flags |= ExplainedSplit::kAgain;
    }
    if (node.missing_left) made.flags |= ExplainedSplit::kMissingLeft;
    if (node.categorical) made.flags |= ExplainedSplit::kCategory | node.n_words << 8;
    made.first_word = node.first_word;
    plan.splits.push_back(made);
  }
}

}  // namespace

ExplanationPlan plan_explanation(const TreeSum& sum, int n_jobs, InterruptWatch& watch) {
  check_sum(sum, sum.trees.n_features);
  const MatrixView nothing{};
  const Explanation explained(sum, nothing, n_jobs, watch);
  ExplanationPlan plan;
  plan.features = explained.features;
  plan.columns = explained.columns;
  plan.n_levels = explained.n_levels;
  plan.base.resize(sum.out_width);
  explained.add_base(plan.base.data());
  const GaussPoints& points = explained.points.back();
  plan.points = points.at;
  plan.point_weights = points.weight;
  for (const ShapPlan& tree : explained.plans) {
    const auto first_leaf = static_cast<u32>(plan.values.size() / explained.columns.size());
    add_splits(tree, first_leaf, plan);
    plan.values.insert(plan.values.end(), tree.values.begin(), tree.values.end());
    plan.first_columns.push_back(static_cast<u32>(tree.first_column));
  }
  return plan;
}

void explain_pairs(const TreeSum& sum, const MatrixView& x, int n_jobs, InterruptWatch& watch,
                   double* values, double* base) {
  check_sum(sum, x.n_cols);
  const Explanation explained(sum, x, n_jobs, watch);
  explained.add_base(base);
  const std::size_t n_slots = explained.features.size(), width = sum.out_width;
  std::fill_n(values, x.n_rows * x.n_cols * x.n_cols * width, 0.0);
  const double work = 2.0 * explained.work * static_cast<double>(n_slots);
  for_row_blocks(explained, work, n_jobs, watch, [&](Walk& walk, std::size_t first, std::size_t n) {
    const std::size_t plane = width * n_slots;
    // Half of what each feature gains when the one before it in the index becomes known; the
    // last plane holds the Shapley values.
    std::vector<Lane> found((n_slots + 1) * plane, Lane{});
    for (const ShapPlan& plan : explained.plans) {
      walk.add_tree(plan, 1.0, found.data() + n_slots * plane);
      for (const u32 slot : plan.slots) {
        walk.add_tree(plan, 0.5, found.data() + slot * plane, slot, true);
        walk.add_tree(plan, -0.5, found.data() + slot * plane, slot, false);
      }
    }
    for (std::size_t r = 0; r < n; ++r) {
      double* const row = values + (first + r) * x.n_cols * x.n_cols * width;
      const auto place = [&](std::size_t i, std::size_t j) {
        return row + (explained.features[i] * x.n_cols + explained.features[j]) * width;
      };
      for (std::size_t i = 0; i < n_slots; ++i) {
        for (std::size_t c = 0; c < width; ++c) {
          double rest = found[n_slots * plane + c * n_slots + i][r];
          for (std::size_t j = 0; j < n_slots; ++j) {
            if (i == j) continue;
            const double pair = 0.5 * (found[i * plane + c * n_slots + j][r] +
                                       found[j * plane + c * n_slots + i][r]);
            place(i, j)[c] = pair;
            rest -= pair;
          }
          place(i, i)[c] = rest;
        }
        for (std::size_t j = 0; j < n_slots; ++j) complete_columns(sum, 0.0, place(i, j));
      }
    }
  });
}

}  // namespace committee
