// Additive models: boosting in cycles over terms, each a table of values by cell [LouCaruana2012].
// The cells of a feature are its bins, those of a pair a grid of coarser ones [LouCaruana2013].
// Outer bags are independent fits of the same terms, each with rows of its own held out.
#pragma once
#include <memory>

#include "binning.hpp"
#include "loss.hpp"

namespace committee {

class InterruptWatch;

struct AdditiveParams {
  double learning_rate = 0.05;
  u32 max_leaves = 3;        // of the tree on bins that a feature is updated by
  u32 min_samples_leaf = 4;  // rows of a bag, as their weights count them where they are whole
  double reg_lambda = 0.0;
  u32 patience = 50;  // cycles without a smaller loss of the rows held out
  // Cycles between two over all terms, in which only terms take part whose latest step was worth a
  // share of the largest.
  u32 greedy_cycles = 20, greedy_pair_cycles = 40;
  double greedy_share = 0.9;
  // The most cycles at the start, over all terms, whose steps are means over all cuts; they end
  // early if the loss of the rows held out no longer falls.
  u32 smooth_cycles = 0, smooth_pair_cycles = 0;
  double smooth_rate = 0.5;
  double tolerance = 1e-4;  // share of the first loss; smaller decreases are not counted
};

struct AdditiveInput {
  const BinnedMatrix* data = nullptr;
  const Loss* loss = nullptr;        // whose leaf rule is Newton's step
  std::span<const double> target;    // a value or class a row
  std::span<const double> weights;   // in rows; empty: all one
  std::span<const double> held_out;  // [bag][row]: as how many rows the row only measures
  std::size_t n_bags = 1;
};

// Two features, whose coarser cells make the grid of the term.
struct FeaturePair {
  u32 first = 0, second = 0;
};

class AdditiveBag;
struct AdditiveTerm;

class AdditiveBoosting {
 public:
  // Data, loss and the spans must outlive the object.
  AdditiveBoosting(const AdditiveInput& input, const AdditiveParams& params);
  ~AdditiveBoosting();

  // Bins of a number in place of those of the data, finer ones: the bin of each row, n_bins where
  // the value is missing. Before start_features.
  void set_bins(u32 feature, u32 n_bins, std::span<const u16> codes);
  // Begin with terms of single features, whose tables are monotonic where the sign (one a term)
  // says so.
  void start_features(std::span<const u32> features, std::span<const int> signs);
  // The coarser cells of all features: of feature f, bin b is in cells[offsets[f] + b], and a
  // missing value in the last entry. A feature has at most 255 cells.
  void set_cells(std::span<const u64> offsets, std::span<const u8> cells);
  // For each pair the gain of the best two cuts, one a feature, of the gradients that the features
  // alone leave (FAST); a mean over bags.
  std::vector<double> rank_pairs(std::span<const FeaturePair> pairs, int n_jobs,
                                 InterruptWatch& watch) const;
  // Go on with terms of pairs, or begin again with others; the tables of the features stay those of
  // each bag's best cycle.
  void start_pairs(std::span<const FeaturePair> pairs);
  // [bag][term]: how much larger the loss of the rows held out would be without the table that the
  // term has after the latest cycle. Every bag must hold out rows.
  std::vector<double> weigh_terms(int n_jobs, InterruptWatch& watch);

  // At most so many cycles more in each bag that has not stopped; returns how many have not.
  std::size_t run(u32 n_cycles, int n_jobs, InterruptWatch& watch);

  std::size_t n_bags() const;
  u32 n_scores() const;
  std::size_t n_terms() const;
  // Slots of a term's table. A feature of bytes has 256, the last one for missing values; others
  // one a bin or level and then the missing values; a pair its cells, row by row.
  std::size_t n_slots(std::size_t term) const;
  // [score][slot], of the cycle with the least loss.
  const std::vector<double>& table(std::size_t bag, std::size_t term) const;
  const std::vector<double>& baseline(std::size_t bag) const;
  u32 best_cycle(std::size_t bag) const;
  // Loss of the rows held out after each cycle of these terms; without such rows there is none.
  const std::vector<double>& losses(std::size_t bag) const;

 private:
  struct FineBins {
    u32 n_bins = 0;  // 0: those of the data
    AlignedBuffer<u16> codes;
  };
  u32 count_bins(std::size_t feature) const;
  bool has_pairs() const;

  std::vector<AdditiveTerm> features_, terms_;  // terms of features while those at hand are pairs
  AdditiveInput input_;
  AdditiveParams params_;
  std::vector<std::unique_ptr<AdditiveBag>> bags_;
  std::vector<FineBins> fine_;            // by feature
  std::vector<u32> n_cells_;              // by feature, missing included
  std::vector<AlignedBuffer<u8>> cells_;  // by feature and row
};

}  // namespace committee
