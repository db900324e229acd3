// Prediction: five ways through the same trees, chosen by shape, giving the same bytes.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "parallel.hpp"
#include "tree.hpp"

namespace committee {

enum class Combine : u8 {
  sum = 0,   // out[row][slot] += weight_t * leaf value (boosting, regression; slot: see
             // PredictOptions)
  mean = 1,  // class weights are divided by their sum within each output first: a probability; then
             // averaged by weight
  vote = 2,  // out[row][first class with the largest leaf weight in each output] += weight_t
};

// The way through the trees. Tests and benchmarks ask for one; everyone else lets the shape decide.
enum class PredictPath : u8 {
  automatic = 0,
  plain = 1,        // a row at a time, several trees in flight
  interleaved = 2,  // blocks of rows by trees, several rows in flight
  sequence = 3,     // few leaves: splits replayed on bytes, 16 rows an instruction (<= 256 leaves a
                    // tree and 254 categories a feature)
  coded = 4,  // a row at a time on bytes (no categories, <= 2048 leaves a tree and 255 thresholds a
              // feature)
  bytes = 5,  // large trees on few thresholds: as interleaved, with rows and nodes of bytes (no
              // categories, <= 254 thresholds a feature)
};

struct PredictOptions {
  Combine combine = Combine::mean;
  std::span<const double>
      tree_weights;  // one for each tree of the arena; empty: all one. `mean` divides by the sum of
                     // the weights of the trees taken part in, which must be > 0.
  std::span<const u32> slots;  // per tree of the arena: column of `out` that width-1 values go to
                               // (`sum` only); empty: 0
  PredictPath path = PredictPath::automatic;
  std::size_t first_tree = 0, last_tree = static_cast<std::size_t>(-1);
  int n_jobs = 0;
  InterruptWatch* watch = nullptr;  // polled tree by tree, for every block of rows
};

struct SparseView;
class QuantizedTrees;
class CodedTrees;
class SplitSequence;

// Trees made ready for prediction. What the fast paths need is derived once, when it is first
// needed, by whichever thread comes first; it is never saved.
class Predictor {
 public:
  explicit Predictor(Trees trees);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  const Trees& trees() const { return trees_; }
  // As predict_trees and apply_trees below.
  void predict(const MatrixView& x, const PredictOptions& options, double* out,
               std::size_t out_width) const;
  void apply(const MatrixView& x, int n_jobs, u32* leaves, InterruptWatch* watch = nullptr) const;
  // One tree with class weights: labels[row * n_outputs + o] is what the largest share of `mean`
  // says, the first of equals, without the shares being written out.
  void label(const MatrixView& x, int n_jobs, std::int64_t* labels,
             InterruptWatch* watch = nullptr) const;

  // The same as apply for compressed sparse rows: `rows` holds them where it says columns. For
  // trees so deep that a row has far fewer entries than nodes on its way.
  void apply_sparse(const SparseView& rows, int n_jobs, u32* leaves,
                    InterruptWatch* watch = nullptr) const;
  // Mean over all leaves.
  double measure_mean_depth() const;

 private:
  std::size_t block_rows(const MatrixView& x) const;
  PredictPath choose_path(const MatrixView& x, std::size_t n_trees, int n_jobs) const;
  // Null where the arena has no such form.
  const SplitSequence* sequence() const;
  const CodedTrees* coded() const;
  const QuantizedTrees* bytes(int n_threads) const;

  Trees trees_;
  std::size_t most_leaves_ = 0;
  mutable std::atomic<u32> few_rows_calls_ = 0;
  mutable std::atomic<u64> walks_ = 0;  // rows times trees, of calls with more rows
  mutable std::once_flag sequence_made_, coded_made_, bytes_made_;
  mutable std::unique_ptr<const SplitSequence> sequence_;
  mutable std::unique_ptr<const CodedTrees> coded_;
  mutable std::unique_ptr<const QuantizedTrees> bytes_;
};

// out: [n_rows][out_width], row-major, written (not added to). out_width = trees.width, or the
// number of slots. Sums run over the trees in tree order, for every row, whatever the path or the
// threads.
void predict_trees(const Trees& trees, const MatrixView& x, const PredictOptions& options,
                   double* out, std::size_t out_width);

// leaves[row * n_trees + t] = index of the node that row ends in, within tree t.
void apply_trees(const Trees& trees, const MatrixView& x, int n_jobs, u32* leaves,
                 InterruptWatch* watch = nullptr);

// False if any value is infinite (NaN is fine).
bool all_finite_or_missing(const MatrixView& x);

}  // namespace committee
