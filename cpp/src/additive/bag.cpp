#include "additive/bag.hpp"

#include <algorithm>
#include <cmath>

#include "base/fixed_weights.hpp"

namespace committee {

namespace {

// Fewer than the 30 bits of boosting: within a cycle gradients follow the steps without being
// measured anew.
constexpr int kPairBits = 27, kWeightBits = 31;
constexpr double kLargestPair = 0x1p30;
constexpr std::size_t kSweepRows = 2048, kMovedRows = 256;
// Smooth cycles end after so many without a smaller loss of the rows held out.
constexpr u32 kSmoothPatience = 3;

// A row of weight w is the row w times: its numbers are rounded before they are multiplied.
template <class Code>
void sum_weighted_rows(const Code* codes, const u32* units, const i32* gradients,
                       const i32* hessians, std::size_t begin, std::size_t end, CellSums* sums) {
  for (std::size_t i = begin; i < end; ++i) {
    sums[codes[i]].gradient += i64{units[i]} * gradients[i];
    sums[codes[i]].hessian += i64{units[i]} * hessians[i];
  }
}

template <class Code>
void sum_rows(const Code* codes, const i32* gradients, const i32* hessians, std::size_t begin,
              std::size_t end, CellSums* even, CellSums* odd) {
  // Two tables: neighbouring rows of one slot would wait for one another.
  std::size_t i = begin;
  for (; i + 2 <= end; i += 2) {
    CellSums &a = even[codes[i]], &b = odd[codes[i + 1]];
    a.gradient += gradients[i];
    a.hessian += hessians[i];
    b.gradient += gradients[i + 1];
    b.hessian += hessians[i + 1];
  }
  for (; i < end; ++i) {
    even[codes[i]].gradient += gradients[i];
    even[codes[i]].hessian += hessians[i];
  }
}

// The steps of some rows are looked up first, so that the arithmetic is done in lanes.
template <class Code, class Step>
void move_rows(const Code* codes, const Step* steps, std::size_t begin, std::size_t end,
               double* scores, i32* gradients, const i32* hessians) {
  double by_score[kMovedRows], by_gradient[kMovedRows];
  for (std::size_t first = begin; first < end; first += kMovedRows) {
    const std::size_t n = std::min(kMovedRows, end - first);
    for (std::size_t i = 0; i < n; ++i) {
      const Step& step = steps[codes[first + i]];
      by_score[i] = step.score;
      by_gradient[i] = step.gradient;
    }
    double* const s = scores + first;
    i32* const g = gradients + first;
    const i32* const h = hessians + first;
    for (std::size_t i = 0; i < n; ++i) s[i] += by_score[i];
    for (std::size_t i = 0; i < n; ++i) {
      double moved = static_cast<double>(g[i]) + static_cast<double>(h[i]) * by_gradient[i];
      moved = moved < -kLargestPair ? -kLargestPair : moved;
      moved = moved > kLargestPair ? kLargestPair : moved;
      g[i] = round_fixed(moved);
    }
  }
}

}  // namespace

AdditiveBag::AdditiveBag(const AdditiveInput& input, const AdditiveParams& params,
                         std::size_t number)
    : input_(input),
      params_(params),
      n_rows_(input.data->n_rows),
      n_scores_(input.loss->n_scores()),
      weights_(n_rows_),
      gradient_powers_(n_scores_),
      hessian_powers_(n_scores_) {
  const double* const out = input.held_out.data() + number * n_rows_;
  for (std::size_t i = 0; i < n_rows_; ++i) {
    const double weight = input.weights.empty() ? 1.0 : input.weights[i];
    weights_[i] = weight - out[i];
    if (!(out[i] > 0.0)) continue;
    measured_.push_back(static_cast<u32>(i));
    measured_weights_.push_back(out[i]);
  }
  if (!std::all_of(weights_.begin(), weights_.end(),
                   [](double w) { return w == 0.0 || w == 1.0; })) {
    const FixedWeights fixed = fix_weights(weights_, {kWeightBits, kWeightBits, kWeightBits});
    units_.resize(n_rows_);
    for (std::size_t i = 0; i < n_rows_; ++i) units_[i] = static_cast<u32>(fixed[i]);
    unit_ = fixed.unit;
    counts_units_ = fixed.integral && fixed.unit == 1.0;
  }
  scores_ = AlignedBuffer<double>(n_rows_ * n_scores_);
  gradients_ = AlignedBuffer<double>(n_rows_ * n_scores_);
  hessians_ = AlignedBuffer<double>(n_rows_ * n_scores_);
  fixed_gradients_ = AlignedBuffer<i32>(n_rows_ * n_scores_);
  fixed_hessians_ = AlignedBuffer<i32>(n_rows_ * n_scores_);
  baseline_ = input.loss->find_baseline({input.target.data(), scores_.data(), n_rows_}, n_rows_,
                                        weights_, 1);
  for (u32 k = 0; k < n_scores_; ++k)
    std::fill_n(scores_.data() + k * n_rows_, n_rows_, baseline_[k]);
  // Of the loss without any term, not of the latest one: where classes can be separated without an
  // error, the loss becomes smaller by a like share in every cycle, for ever.
  if (!measured_.empty()) least_decrease_ = params.tolerance * std::abs(measure());
}

void AdditiveBag::start(std::span<const AdditiveTerm> terms) {
  const bool pairs = !terms.empty() && terms.front().n_grid_rows != 0;
  if (pairs && !pairs_) feature_tables_ = std::move(best_tables_);
  pairs_ = pairs;
  tables_.clear();
  std::size_t most = 0;
  for (const AdditiveTerm& term : terms) {
    tables_.emplace_back(n_scores_ * term.n_slots, 0.0);
    most = std::max(most, term.n_slots);
  }
  best_tables_ = tables_;
  for (std::vector<CellSums>& sums : sums_) sums.assign(n_scores_ * most, {});
  steps_.assign(n_scores_ * most, {});
  count_rows(terms);
  pending_ = nullptr;
  changed_.assign(terms.size(), 0);
  smooth_end_ = pairs_ ? params_.smooth_pair_cycles : params_.smooth_cycles;
  worths_.assign(terms.size(), 0.0);
  losses_.clear();
  n_cycles_ = best_cycle_ = counted_cycle_ = 0;
  stopped_ = terms.empty();
  best_loss_ = counted_loss_ = measured_.empty() ? 0.0 : measure();
}

void AdditiveBag::count_rows(std::span<const AdditiveTerm> terms) {
  counts_.clear();
  for (const AdditiveTerm& term : terms) {
    std::vector<u32>& counts = counts_.emplace_back(term.n_slots, 0);
    std::visit(
        [&](const auto* codes) {
          for (std::size_t i = 0; i < n_rows_; ++i)
            if (weights_[i] > 0.0) counts[codes[i]] += counts_units_ ? units_[i] : 1;
        },
        term.codes);
  }
}

void AdditiveBag::settle(std::span<const AdditiveTerm> features) {
  const std::vector<std::vector<double>>& tables = pairs_ ? feature_tables_ : best_tables_;
  pending_ = nullptr;
  for (u32 k = 0; k < n_scores_; ++k) {
    double* const scores = scores_.data() + k * n_rows_;
    std::fill_n(scores, n_rows_, baseline_[k]);
    for (std::size_t t = 0; t < features.size(); ++t) {
      const double* const table = tables[t].data() + k * features[t].n_slots;
      std::visit(
          [&](const auto* codes) {
            for (std::size_t i = 0; i < n_rows_; ++i) scores[i] += table[codes[i]];
          },
          features[t].codes);
    }
  }
}

void AdditiveBag::find_gradients() {
  const bool constant = input_.loss->shape().constant_hessian;
  const ScoreView view{input_.target.data(), scores_.data(), n_rows_};
  std::vector<double> block(2 * n_scores_ * kLossBlock), largest(2 * n_scores_, 0.0);
  double* const g = block.data();
  double* const h = g + n_scores_ * kLossBlock;
  std::fill_n(h, n_scores_ * kLossBlock, 1.0);
  for (std::size_t begin = 0; begin < n_rows_; begin += kLossBlock) {
    const std::size_t end = std::min(n_rows_, begin + kLossBlock), n = end - begin;
    input_.loss->find_gradients(view, begin, end, g, constant ? nullptr : h);
    for (u32 k = 0; k < n_scores_; ++k) {
      double* const own_g = gradients_.data() + k * n_rows_ + begin;
      double* const own_h = hessians_.data() + k * n_rows_ + begin;
      double most_g = largest[2 * k], most_h = largest[2 * k + 1];
      for (std::size_t i = 0; i < n; ++i) {
        const double w = weights_[begin + i];
        own_g[i] = w > 0.0 ? g[k * kLossBlock + i] : 0.0;
        own_h[i] = w > 0.0 ? h[k * kLossBlock + i] : 0.0;
        most_g = std::max(most_g, std::abs(own_g[i]));
        most_h = std::max(most_h, own_h[i]);
      }
      largest[2 * k] = most_g;
      largest[2 * k + 1] = most_h;
    }
  }
  for (u32 k = 0; k < n_scores_; ++k) {
    gradient_powers_[k] = find_power(largest[2 * k]);
    hessian_powers_[k] = find_power(largest[2 * k + 1]);
    const double g_scale = std::ldexp(1.0, kPairBits - gradient_powers_[k]),
                 h_scale = std::ldexp(1.0, kPairBits - hessian_powers_[k]);
    for (std::size_t i = k * n_rows_; i < (k + 1) * n_rows_; ++i) {
      fixed_gradients_[i] = round_fixed(gradients_[i] * g_scale);
      fixed_hessians_[i] = round_fixed(hessians_[i] * h_scale);
    }
  }
}

CellUnits AdditiveBag::find_units(u32 k) const {
  return {std::ldexp(unit_, gradient_powers_[k] - kPairBits),
          std::ldexp(unit_, hessian_powers_[k] - kPairBits), input_.loss->shape().largest_step};
}

void AdditiveBag::add_sums(const AdditiveTerm& term, std::size_t begin, std::size_t end) {
  std::visit(
      [&](const auto* codes) {
        for (u32 k = 0; k < n_scores_; ++k) {
          const i32* const g = fixed_gradients_.data() + k * n_rows_;
          const i32* const h = fixed_hessians_.data() + k * n_rows_;
          CellSums* const sums = sums_[0].data() + k * term.n_slots;
          if (units_.empty()) {
            // In the many slots of a pair neighbouring rows seldom meet.
            CellSums* const odd = term.n_grid_rows ? sums : sums_[1].data() + k * term.n_slots;
            sum_rows(codes, g, h, begin, end, sums, odd);
          } else {
            sum_weighted_rows(codes, units_.data(), g, h, begin, end, sums);
          }
        }
      },
      term.codes);
}

void AdditiveBag::take_steps(const AdditiveTerm& term, std::size_t begin, std::size_t end) {
  std::visit(
      [&](const auto* codes) {
        for (u32 k = 0; k < n_scores_; ++k)
          move_rows(codes, steps_.data() + k * term.n_slots, begin, end,
                    scores_.data() + k * n_rows_, fixed_gradients_.data() + k * n_rows_,
                    fixed_hessians_.data() + k * n_rows_);
      },
      term.codes);
}

void AdditiveBag::sweep(const AdditiveTerm* next) {
  if (next) {
    std::fill_n(sums_[0].begin(), n_scores_ * next->n_slots, CellSums{});
    if (!next->n_grid_rows) std::fill_n(sums_[1].begin(), n_scores_ * next->n_slots, CellSums{});
  }
  for (std::size_t begin = 0; begin < n_rows_; begin += kSweepRows) {
    const std::size_t end = std::min(n_rows_, begin + kSweepRows);
    if (pending_) take_steps(*pending_, begin, end);
    if (next) add_sums(*next, begin, end);
  }
  pending_ = nullptr;
}

void AdditiveBag::update_term(const AdditiveTerm& term, std::size_t number, CycleKind kind) {
  std::vector<double> steps(term.n_slots);
  double worth = 0.0;
  const std::span<const u32> counts(counts_[number]);
  for (u32 k = 0; k < n_scores_; ++k) {
    CellSums* const even = sums_[0].data() + k * term.n_slots;
    const CellSums* const odd = sums_[1].data() + k * term.n_slots;
    for (std::size_t s = 0; s < term.n_slots && !term.n_grid_rows; ++s) {
      even[s].gradient += odd[s].gradient;
      even[s].hessian += odd[s].hessian;
    }
    const std::span<const CellSums> sums(even, term.n_slots);
    const CellUnits units = find_units(k);
    const CellGrid grid{sums, counts, term.n_grid_rows, term.n_columns};
    const CellLine line{sums, counts, term.n_values, term.missing_slot, term.order, term.sign};
    if (kind == CycleKind::smooth) {
      if (term.n_grid_rows != 0) {
        smooth_grid(grid, units, params_, steps);
      } else {
        smooth_line(line, units, params_, steps);
      }
    } else {
      worth += term.n_grid_rows != 0 ? update_grid(grid, units, params_, steps)
                                     : update_line(line, units, params_, steps);
    }
    // Gradients in units of their own: a step of the score moves them by it times the hessian.
    const double ratio = units.hessian / units.gradient;
    for (std::size_t s = 0; s < term.n_slots; ++s) {
      tables_[number][k * term.n_slots + s] += steps[s];
      steps_[k * term.n_slots + s] = {steps[s], steps[s] * ratio};
    }
  }
  worths_[number] = worth;
  changed_[number] = 1;
  pending_ = &term;
}

AdditiveBag::CycleKind AdditiveBag::choose_kind() const {
  if (n_cycles_ < smooth_end_) return CycleKind::smooth;
  const u32 period = 1 + (pairs_ ? params_.greedy_pair_cycles : params_.greedy_cycles);
  return (n_cycles_ - smooth_end_) % period == 0 ? CycleKind::all : CycleKind::greedy;
}

std::vector<std::size_t> AdditiveBag::choose_terms(CycleKind kind) const {
  const double largest = *std::max_element(worths_.begin(), worths_.end());
  std::vector<std::size_t> chosen;
  for (std::size_t t = 0; t < worths_.size(); ++t) {
    if (kind != CycleKind::greedy || worths_[t] >= params_.greedy_share * largest)
      chosen.push_back(t);
  }
  return chosen;
}

void AdditiveBag::run_cycle(std::span<const AdditiveTerm> terms) {
  const CycleKind kind = choose_kind();
  // Gradients are exact where a cycle over all terms begins; from there they follow the steps, also
  // in the greedy cycles after it.
  if (kind != CycleKind::greedy) {
    if (pending_) sweep(nullptr);
    find_gradients();
  }
  for (const std::size_t t : choose_terms(kind)) {
    sweep(&terms[t]);
    update_term(terms[t], t, kind);
  }
  note_cycle();
}

template <class Adjust>
double AdditiveBag::measure(Adjust adjust) const {
  std::vector<double> y(kLossBlock), scores(n_scores_ * kLossBlock), values(kLossBlock);
  const ScoreView view{y.data(), scores.data(), kLossBlock};
  double sum = 0.0, total = 0.0;
  for (std::size_t begin = 0; begin < measured_.size(); begin += kLossBlock) {
    const std::size_t n = std::min(kLossBlock, measured_.size() - begin);
    for (std::size_t i = 0; i < n; ++i) {
      const u32 row = measured_[begin + i];
      y[i] = input_.target[row];
      for (u32 k = 0; k < n_scores_; ++k) scores[k * kLossBlock + i] = scores_[k * n_rows_ + row];
    }
    adjust(begin, begin + n, scores.data());
    input_.loss->find_values(view, 0, n, values.data());
    for (std::size_t i = 0; i < n; ++i) {
      const double weight = measured_weights_[begin + i];
      sum += weight * values[i];
      total += weight;
    }
  }
  return sum / total;
}

double AdditiveBag::measure() const {
  return measure([this](std::size_t begin, std::size_t end, double* scores) {
    if (!pending_) return;
    std::visit(
        [&](const auto* codes) {
          for (u32 k = 0; k < n_scores_; ++k) {
            const SlotStep* const steps = steps_.data() + k * pending_->n_slots;
            for (std::size_t i = begin; i < end; ++i)
              scores[k * kLossBlock + i - begin] += steps[codes[measured_[i]]].score;
          }
        },
        pending_->codes);
  });
}

std::vector<double> AdditiveBag::weigh_terms(std::span<const AdditiveTerm> terms) {
  if (pending_) sweep(nullptr);
  const double with_all = measure();
  std::vector<double> gains;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const auto take_out = [&](std::size_t begin, std::size_t end, double* scores) {
      std::visit(
          [&](const auto* codes) {
            for (u32 k = 0; k < n_scores_; ++k) {
              const double* const table = tables_[t].data() + k * terms[t].n_slots;
              for (std::size_t i = begin; i < end; ++i)
                scores[k * kLossBlock + i - begin] -= table[codes[measured_[i]]];
            }
          },
          terms[t].codes);
    };
    gains.push_back(measure(take_out) - with_all);
  }
  return gains;
}

void AdditiveBag::keep_tables() {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (changed_[t]) best_tables_[t] = tables_[t];
  }
  std::fill(changed_.begin(), changed_.end(), u8{0});
  best_cycle_ = n_cycles_;
}

void AdditiveBag::note_cycle() {
  ++n_cycles_;
  if (measured_.empty()) {
    keep_tables();
    return;
  }
  const double loss = measure();
  losses_.push_back(loss);
  if (loss < best_loss_) {
    best_loss_ = loss;
    keep_tables();
  }
  if (loss < counted_loss_ - least_decrease_) {
    counted_loss_ = loss;
    counted_cycle_ = n_cycles_;
  }
  if (n_cycles_ < smooth_end_ && n_cycles_ - best_cycle_ >= kSmoothPatience)
    smooth_end_ = n_cycles_;
  stopped_ = n_cycles_ - counted_cycle_ >= params_.patience;
}

bool AdditiveBag::can_pair(const u8* cells, u32 n_cells) const {
  std::vector<u64> counts(n_cells, 0);
  u64 left = 0, right = 0;
  for (std::size_t i = 0; i < n_rows_; ++i) {
    if (!(weights_[i] > 0.0)) continue;
    const u64 times = counts_units_ ? units_[i] : 1;
    counts[cells[i]] += times;
    right += times;
  }
  const u64 least = 2 * u64{params_.min_samples_leaf};
  for (const u64 count : counts) {
    left += count;
    right -= count;
    if (left >= least && right >= least) return true;
  }
  return false;
}

double AdditiveBag::rank_grid(const u8* first, const u8* second, u32 n_first, u32 n_second) const {
  const std::size_t n_slots = std::size_t{n_first} * n_second;
  std::vector<CellSums> sums(n_slots);
  std::vector<u32> counts(n_slots, 0);
  double gain = 0.0;
  for (u32 k = 0; k < n_scores_; ++k) {
    std::fill(sums.begin(), sums.end(), CellSums{});
    const i32* const gradients = fixed_gradients_.data() + k * n_rows_;
    const i32* const hessians = fixed_hessians_.data() + k * n_rows_;
    for (std::size_t i = 0; i < n_rows_; ++i) {
      const std::size_t slot = std::size_t{first[i]} * n_second + second[i];
      const i64 times = units_.empty() ? 1 : units_[i];
      sums[slot].gradient += times * gradients[i];
      sums[slot].hessian += times * hessians[i];
      if (k == 0 && weights_[i] > 0.0) counts[slot] += counts_units_ ? units_[i] : 1;
    }
    gain += find_grid_gain({sums, counts, n_first, n_second}, find_units(k), params_);
  }
  return gain;
}

}  // namespace committee
