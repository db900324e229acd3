// One outer bag: the scores of all rows, the gradients of those that it learns from, and a table
// for each term.
#pragma once
#include <variant>

#include "additive/cell_search.hpp"
#include "committee/gradient_words.hpp"

namespace committee {

// A term as all bags see it: the slot of each row.
struct AdditiveTerm {
  std::variant<const u8*, const u16*, const u32*> codes;
  std::size_t n_slots = 0;
  u32 n_values = 0, missing_slot = 0;  // of a feature
  u32 n_grid_rows = 0, n_columns = 0;  // of a pair; 0 rows: a feature
  CellOrder order = CellOrder::numeric;
  int sign = 0;
  // Owned where they are made for the term.
  AlignedBuffer<u8> byte_codes;
  AlignedBuffer<u16> pair_codes;
  AlignedBuffer<u32> level_codes;
};

class AdditiveBag {
 public:
  AdditiveBag(const AdditiveInput& input, const AdditiveParams& params, std::size_t number);

  // New terms, with tables of zeros.
  void start(std::span<const AdditiveTerm> terms);
  // Scores by the features' tables of the best cycle, in place of those of the last one.
  void settle(std::span<const AdditiveTerm> features);
  void run_cycle(std::span<const AdditiveTerm> terms);
  bool has_stopped() const { return stopped_; }
  bool holds_out() const { return !measured_.empty(); }
  // By term, how much larger the loss of the rows held out is without its table of the last cycle.
  std::vector<double> weigh_terms(std::span<const AdditiveTerm> terms);
  // Gradients at the scores at hand, for rank_grid.
  void find_gradients();
  // Whether some cut between the cells of a feature leaves each side rows for two leaves. Without,
  // the gain of every pair with the feature is zero.
  bool can_pair(const u8* cells, u32 n_cells) const;
  double rank_grid(const u8* first, const u8* second, u32 n_first, u32 n_second) const;

  const std::vector<double>& baseline() const { return baseline_; }
  const std::vector<double>& losses() const { return losses_; }
  const std::vector<double>& table(std::size_t term) const { return best_tables_[term]; }
  u32 best_cycle() const { return best_cycle_; }

 private:
  // What a row of a slot gets: to its score, and to its gradient as a multiple of its hessian.
  struct SlotStep {
    double score = 0.0, gradient = 0.0;
  };
  void count_rows(std::span<const AdditiveTerm> terms);
  // What the cycle to come is: smooth, over all terms, or over the terms with the most to gain.
  enum class CycleKind : u8 { smooth, all, greedy };
  CycleKind choose_kind() const;
  // Terms that take part in it.
  std::vector<std::size_t> choose_terms(CycleKind kind) const;
  void update_term(const AdditiveTerm& term, std::size_t number, CycleKind kind);
  // One pass over the rows: the steps of the pending term, then the sums of the next one.
  void sweep(const AdditiveTerm* next);
  void add_sums(const AdditiveTerm& term, std::size_t begin, std::size_t end);
  void take_steps(const AdditiveTerm& term, std::size_t begin, std::size_t end);
  double measure() const;
  // The same of scores that `adjust` changes in blocks of rows held out: from the first of them to
  // the one after the last, [score][row of the block].
  template <class Adjust>
  double measure(Adjust adjust) const;
  void keep_tables();
  void note_cycle();
  CellUnits find_units(u32 k) const;

  const AdditiveInput& input_;
  const AdditiveParams& params_;
  std::size_t n_rows_;
  u32 n_scores_;
  std::vector<double> weights_;  // without what is held out
  std::vector<u32> units_;       // the same in whole numbers; empty: all of them are zero or one
  double unit_ = 1.0;            // what one of these is worth
  bool counts_units_ = false;    // whether a row counts as often as it weighs
  std::vector<u32> measured_;    // rows held out
  std::vector<double> measured_weights_;
  std::vector<double> baseline_;
  AlignedBuffer<double> scores_, gradients_, hessians_;  // [score][row]
  AlignedBuffer<i32> fixed_gradients_, fixed_hessians_;  // [score][row]
  std::vector<int> gradient_powers_, hessian_powers_;    // by score
  std::vector<std::vector<u32>> counts_;                 // by term and slot
  std::vector<std::vector<double>> tables_, best_tables_;
  std::vector<std::vector<double>> feature_tables_;  // of the best cycle, while terms are pairs
  std::vector<u8> changed_;                          // by term: whether its tables differ
  std::vector<CellSums> sums_[2];                    // [score][slot], of even and of odd rows
  std::vector<SlotStep> steps_;                      // [score][slot]
  const AdditiveTerm* pending_ = nullptr;            // whose steps the rows have not taken yet
  std::vector<double> worths_;                       // by term, of its latest step
  std::vector<double> losses_;
  double best_loss_ = 0.0, counted_loss_ = 0.0;
  double least_decrease_ = 0.0;  // of the loss, for a cycle to count
  u32 n_cycles_ = 0, best_cycle_ = 0, counted_cycle_ = 0;
  u32 smooth_end_ = 0;                   // the first cycle that is not smooth
  bool pairs_ = false, stopped_ = true;  // there is nothing to do before the first terms
};

}  // namespace committee
