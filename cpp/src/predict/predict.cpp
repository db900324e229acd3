#include "committee/predict.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/x86_vectors.hpp"
#include "predict/aggregate.hpp"
#include "predict/quantized_trees.hpp"
#include "predict/row_blocks.hpp"
#include "predict/single_row.hpp"

namespace committee {

namespace {

// Below this many rows there is nothing to interleave: rows go one by one through several trees at
// a time.
constexpr std::size_t kPlainRows = 8;
// Trees that pay for making codes of a row.
constexpr std::size_t kCodedTrees = 8;
// Where the split sequence stops paying against the interleaved walk (measured, see
// benchmarks/prediction_paths.py): mean leaves a tree, rows that pay for deriving it, and trees for
// each column of codes that pay for encoding it.
constexpr std::size_t kSequenceLeaves = 160;
constexpr std::size_t kSequenceRows = 256;
constexpr double kSequenceTreesPerColumn = 0.5;
// With AVX2 and AVX-512 a split takes a half or a fourth of the time: all trees that have a
// sequence are replayed. With AVX-512 codes take a sixth.
constexpr double kWideTreesPerColumn = 0.25;
// Where turning rows into bytes pays: trees for each feature, fewer where trees are so large that
// the caches hold their words and not their nodes, and walks for each node that is turned into a
// word before the first.
#if defined(__x86_64__)
constexpr double kByteTreesPerColumn = 0.25;
#else
constexpr double kByteTreesPerColumn = 1.0;
#endif
constexpr double kLargeTreesPerColumn = 0.25;
constexpr std::size_t kLargeNodes = 16384;
constexpr double kByteWalksPerNode = 0.12;
// Codes and sums of a block share the second-level cache with a tree.
constexpr std::size_t kByteBlockRows = 16384;
// Each block streams all trees into the second-level cache: with 2,112 rows that takes a fifth of
// the time, with 4,224 a tenth.
constexpr std::size_t kLeastByteBlockRows = 4096;
// Rows of a block fill this much of the second-level cache, or this many times the largest tree if
// that is more: a large tree is read into the cache once a block, and many rows must pay for it.
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
constexpr std::size_t kBlockTrees = 8;
// Codes of a block of the split sequence stay in the first-level cache.
constexpr std::size_t kCodeBytes = std::size_t{24} << 10;
constexpr std::size_t kMostBlockRows = 16 * SplitSequence::kRows;
struct Job {
  const MatrixView& x;
  Terms terms;
  std::size_t first_tree, last_tree;
  double divisor;  // of mean; 1 otherwise
  double* out;
  std::size_t out_width;
  InterruptWatch* watch;

  void poll() const {
    if (watch) watch->poll();
  }
  std::size_t n_trees() const { return last_tree - first_tree; }
  double* row(std::size_t r) const { return out + r * out_width; }
  // Divides only for `mean`: the other sums are whole already.
  void finish(std::size_t first_row, std::size_t n_rows) const {
    if (terms.combine != Combine::mean) return;
    double* const end = row(first_row + n_rows);
    for (double* at = row(first_row); at != end; ++at) *at /= divisor;
  }
};

Job check_job(const Trees& trees, const MatrixView& x, const PredictOptions& options, double* out,
              std::size_t out_width) {
  const auto refuse = [](const std::string& sentence) { throw std::invalid_argument(sentence); };
  check_width(trees, x);
  const bool all = options.last_tree == PredictOptions{}.last_tree;
  const std::size_t last = all ? trees.n_trees : options.last_tree;
  if (options.first_tree > last || last > trees.n_trees) {
    refuse("Trees must be taken from a range within 0 to " + std::to_string(trees.n_trees) + ".");
  }
  if (!options.tree_weights.empty() && options.tree_weights.size() != trees.n_trees) {
    refuse("tree_weights must have one entry a tree.");
  }
  if (options.combine == Combine::vote && trees.outputs.empty())
    refuse("Only trees with class weights can vote.");
  if (options.slots.empty()) {
    if (out_width != trees.width)
      refuse("The output must have one column for each value of a leaf.");
  } else {
    if (options.slots.size() != trees.n_trees) refuse("slots must have one entry a tree.");
    if (trees.width != 1 || options.combine != Combine::sum)
      refuse("slots are for sums of trees with one value a leaf.");
    for (const u32 slot : options.slots) {
      if (slot >= out_width) refuse("A slot lies outside the output.");
    }
  }
  Job job{x,
          {&trees, options.combine, options.tree_weights, options.slots},
          options.first_tree,
          last,
          1.0,
          out,
          out_width,
          options.watch};
  if (options.combine == Combine::mean) {
    job.divisor = 0.0;
    for (std::size_t t = job.first_tree; t < last; ++t) job.divisor += job.terms.weight(t);
    if (!(job.divisor > 0.0 && std::isfinite(job.divisor)))
      refuse("The weights of the trees must have a positive sum.");
  }
  return job;
}

template <class X>
void predict_plain(const Job& job) {
  std::array<u32, 64> leaves;
  for (std::size_t r = 0; r < job.x.n_rows; ++r) {
    const RowBlock<X> block(job.x, r, 1);
    double* const out = job.row(r);
    std::fill_n(out, job.out_width, 0.0);
    for (std::size_t t = job.first_tree; t < job.last_tree;) {
      const std::size_t n = std::min(leaves.size(), job.last_tree - t);
      end_row(*job.terms.trees, t, block.row(0), Ending::leaf, std::span(leaves).first(n));
      add_row(job.terms, t, std::span(leaves).first(n), out);
      t += n;
    }
    job.finish(r, 1);
  }
}

// The same on bytes.
template <class X>
void predict_coded(const Job& job, const CodedTrees& coded) {
  std::array<u32, CodedTrees::kMostTrees> leaves;
  CodedTrees::Codes codes;
  for (std::size_t r = 0; r < job.x.n_rows; ++r) {
    const RowBlock<X> block(job.x, r, 1);
    double* const out = job.row(r);
    std::fill_n(out, job.out_width, 0.0);
    coded.encode_row(block.row(0), codes);
    for (std::size_t t = job.first_tree; t < job.last_tree;) {
      const auto ends = std::span(leaves).first(std::min(leaves.size(), job.last_tree - t));
      coded.end_trees(codes, t, ends);
      add_row(job.terms, t, ends, out);
      t += ends.size();
    }
    job.finish(r, 1);
  }
}

template <class X>
void predict_interleaved(const Job& job, std::size_t first_row, std::size_t n_rows) {
  const RowBlock<X> block(job.x, first_row, n_rows);
  std::fill_n(job.row(first_row), n_rows * job.out_width, 0.0);
  const bool missing = job.n_trees() < kTreesToCheckMissing || block.has_missing();
  TreeWalker<X> walker(*job.terms.trees, n_rows, missing);
  std::array<u32, kEnds> leaves;
  for (std::size_t t = job.first_tree; t < job.last_tree; ++t) {
    job.poll();
    const TreeWalk<X> walk = walker.take_tree(t);
    for (std::size_t r = 0; r < n_rows; r += kEnds) {
      const std::span<u32> ends(leaves.data(), std::min(kEnds, n_rows - r));
      walk.end_rows(walk, block.rows(r), Ending::leaf, ends);
      add_leaves(job.terms, t, ends, job.row(first_row + r), job.out_width);
    }
  }
  job.finish(first_row, n_rows);
}

template <class X>
void predict_bytes(const Job& job, const QuantizedTrees& bytes, std::size_t first_row,
                   std::size_t n_rows) {
  AlignedBuffer<u8> codes(n_rows * bytes.stride(), 0);
  if (!bytes.encode(job.x, first_row, n_rows, codes.data()))
    return predict_interleaved<X>(job, first_row, n_rows);
  std::fill_n(job.row(first_row), n_rows * job.out_width, 0.0);
  std::array<u32, kEnds> found;
  for (std::size_t t = job.first_tree; t < job.last_tree; ++t) {
    job.poll();
    const bool pure = bytes.is_pure(t) && job.terms.combine != Combine::sum;
    bytes.read_ahead(t, n_rows, pure);
    if (!pure) read_values(*job.terms.trees, t, n_rows);
    for (std::size_t r = 0; r < n_rows; r += kEnds) {
      const std::span<u32> ends(found.data(), std::min(kEnds, n_rows - r));
      const u8* const rows = codes.data() + r * bytes.stride();
      double* const out = job.row(first_row + r);
      if (pure) {
        bytes.end_rows<true>(t, rows, ends);
        add_classes(job.terms, t, ends, out, job.out_width);
      } else {
        bytes.end_rows<false>(t, rows, ends);
        add_leaves(job.terms, t, ends, out, job.out_width);
      }
    }
  }
  job.finish(first_row, n_rows);
}

// What each leaf adds, in the order of the sequence's ids: the values and weights of one call.
std::vector<double> tabulate_terms(const Job& job, const SplitSequence& sequence) {
  const Trees& trees = *job.terms.trees;
  const std::size_t first_leaf = trees.leaf_offsets[job.first_tree];
  std::vector<double> table((trees.leaf_offsets[job.last_tree] - first_leaf) * trees.width, 0.0);
  Terms terms = job.terms;
  terms.slots = {};
  double* at = table.data();
  for (std::size_t t = job.first_tree; t < job.last_tree; ++t) {
    for (const u8 leaf : sequence.leaf_of_id(t)) {
      add_leaf(terms, t, leaf, at);
      at += trees.width;
    }
  }
  return table;
}

// What a call on the split sequence needs besides the job: the terms of each leaf by its id in the
// sequence, and the trees in the order in which they are added: slot by slot, within a slot in tree
// order.
struct SequenceJob {
  const SplitSequence& sequence;
  std::vector<double> table;
  std::vector<u32> order;
  std::size_t block_rows;

  SequenceJob(const Job& job, const SplitSequence& made)
      : sequence(made), table(tabulate_terms(job, made)), order(job.n_trees()) {
    std::iota(order.begin(), order.end(), static_cast<u32>(job.first_tree));
    std::stable_sort(order.begin(), order.end(),
                     [&](u32 a, u32 b) { return job.terms.slot(a) < job.terms.slot(b); });
    const std::size_t fitting = kCodeBytes / std::max<std::size_t>(made.n_columns(), 1);
    // Groups that are replayed alone wait for themselves.
    const std::size_t unit = SplitSequence::kRows * SplitSequence::count_groups_together();
    block_rows = std::clamp(fitting / unit * unit, unit, kMostBlockRows);
  }
};

// Trees whose terms are added in one pass over the rows, in their order.
constexpr std::size_t kAddTogether = 4;

// sums[i] += terms[0][ids[0][i]], then terms[1][ids[1][i]] and so on; n_rows is a multiple of 8.
template <std::size_t kTrees>
void add_terms(const double* const* terms, const u8* ids, std::size_t stride, std::size_t n_rows,
               double* sums) {
  static_assert(std::endian::native == std::endian::little,
                "ids are taken from words, lowest byte first");
  for (std::size_t i = 0; i < n_rows; i += 8) {
    u64 word[kTrees];
    for (std::size_t k = 0; k < kTrees; ++k) std::memcpy(&word[k], ids + k * stride + i, 8);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < 8; ++r) {
      double sum = sums[i + r];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kTrees; ++k) sum += terms[k][word[k] >> (8 * r) & 0xFF];
      sums[i + r] = sum;
    }
  }
}

// One value a leaf. Rows are summed slot by slot, side by side.
void predict_scalars(const Job& job, const SequenceJob& plan, const std::int8_t* codes,
                     std::size_t first_row, std::size_t n_rows) {
  const Trees& trees = *job.terms.trees;
  const std::size_t n_groups = (n_rows + SplitSequence::kRows - 1) / SplitSequence::kRows;
  const std::size_t padded = n_groups * SplitSequence::kRows;
  alignas(64) std::array<u8, kAddTogether * kMostBlockRows> ids;
  alignas(64) std::array<double, kMostBlockRows> sums;
  for (std::size_t i = 0; i < plan.order.size();) {
    const u32 slot = job.terms.slot(plan.order[i]);
    std::fill_n(sums.data(), padded, 0.0);
    while (i < plan.order.size() && job.terms.slot(plan.order[i]) == slot) {
      const double* terms[kAddTogether];
      std::size_t n = 0;
      for (; n < kAddTogether && i < plan.order.size() && job.terms.slot(plan.order[i]) == slot;
           ++n, ++i) {
        const u32 tree = plan.order[i];
        plan.sequence.replay(tree, codes, plan.block_rows, n_groups, ids.data() + n * padded);
        terms[n] =
            plan.table.data() + (trees.leaf_offsets[tree] - trees.leaf_offsets[job.first_tree]);
      }
      constexpr std::array add = {add_terms<1>, add_terms<2>, add_terms<3>, add_terms<4>};
      add[n - 1](terms, ids.data(), padded, padded, sums.data());
    }
    double* out = job.row(first_row) + slot;
    for (std::size_t r = 0; r < n_rows; ++r) out[r * job.out_width] = sums[r];
  }
}

// Several values a leaf. kWidth: how many where it is known when compiling, else 0.
template <std::size_t kWidth>
void predict_vectors(const Job& job, const SequenceJob& plan, const std::int8_t* codes,
                     std::size_t first_row, std::size_t n_rows) {
  const Trees& trees = *job.terms.trees;
  const std::size_t width = kWidth > 0 ? kWidth : trees.width;
  const std::size_t n_groups = (n_rows + SplitSequence::kRows - 1) / SplitSequence::kRows;
  alignas(64) std::array<u8, kMostBlockRows> ids;
  for (const u32 tree : plan.order) {
    plan.sequence.replay(tree, codes, plan.block_rows, n_groups, ids.data());
    const double* const terms =
        plan.table.data() + (trees.leaf_offsets[tree] - trees.leaf_offsets[job.first_tree]) * width;
    double* out = job.row(first_row);
    for (std::size_t r = 0; r < n_rows; ++r) {
      const double* const term = terms + ids[r] * width;
      for (std::size_t c = 0; c < width; ++c) out[c] += term[c];
      out += width;
    }
  }
}

void predict_sequence(const Job& job, const SequenceJob& plan, std::size_t first_row,
                      std::size_t n_rows) {
  AlignedBuffer<std::int8_t> codes(plan.sequence.n_columns() * plan.block_rows);
  std::fill_n(job.row(first_row), n_rows * job.out_width, 0.0);
  for (std::size_t b = 0; b < n_rows; b += plan.block_rows) {
    job.poll();
    const std::size_t n = std::min(plan.block_rows, n_rows - b);
    plan.sequence.encode(job.x, first_row + b, n, codes.data(), plan.block_rows);
    const u32 width = job.terms.trees->width;
    const auto predict = width == 1   ? predict_scalars
                         : width == 2 ? predict_vectors<2>
                         : width == 3 ? predict_vectors<3>
                                      : predict_vectors<0>;
    predict(job, plan, codes.data(), first_row + b, n);
  }
  job.finish(first_row, n_rows);
}

}  // namespace

Predictor::Predictor(Trees trees) : trees_(std::move(trees)) {
  for (std::size_t t = 0; t < trees_.n_trees; ++t)
    most_leaves_ = std::max(most_leaves_, trees_.n_leaves(t));
}

Predictor::~Predictor() = default;

const SplitSequence* Predictor::sequence() const {
  std::call_once(sequence_made_, [this] { sequence_ = SplitSequence::make(trees_); });
  return sequence_.get();
}

const CodedTrees* Predictor::coded() const {
  std::call_once(coded_made_, [this] { coded_ = CodedTrees::make(trees_); });
  return coded_.get();
}

const QuantizedTrees* Predictor::bytes(int n_threads) const {
  std::call_once(bytes_made_, [&] { bytes_ = QuantizedTrees::make(trees_, n_threads); });
  return bytes_.get();
}

PredictPath Predictor::choose_path(const MatrixView& x, std::size_t n_trees, int n_jobs) const {
  const std::size_t n_rows = x.n_rows;
  if (n_rows < kPlainRows) {
    // Deriving the codes costs as much as some rows: not for the only question that is ever put.
    const bool pays =
        n_trees >= kCodedTrees && few_rows_calls_.fetch_add(1, std::memory_order_relaxed) > 0;
    return pays && coded() ? PredictPath::coded : PredictPath::plain;
  }
  const bool categories = !trees_.category_offsets.empty();
  const double columns = static_cast<double>(trees_.n_features),
               trees = static_cast<double>(n_trees);
  const std::size_t sequence_leaves =
      categories || may_use(Instructions::avx2) ? SplitSequence::kMostLeaves : kSequenceLeaves;
  const double sequence_trees =
      may_use(Instructions::avx512) ? kWideTreesPerColumn : kSequenceTreesPerColumn;
  if (n_rows >= kSequenceRows && most_leaves_ <= SplitSequence::kMostLeaves &&
      trees_.leaf_offsets[trees_.n_trees] <= sequence_leaves * trees_.n_trees &&
      trees >= sequence_trees * columns && sequence()) {
    return PredictPath::sequence;
  }
  if (categories) return PredictPath::interleaved;
  // Of all calls so far: what is derived by one of them is there for those that follow.
  const u64 asked = u64{n_rows} * n_trees;
  const double walks =
                   static_cast<double>(walks_.fetch_add(asked, std::memory_order_relaxed) + asked),
               nodes = static_cast<double>(trees_.node_offsets[trees_.n_trees]);
  const bool large = trees_.node_offsets[trees_.n_trees] >= kLargeNodes * trees_.n_trees;
  if (trees >= (large ? kLargeTreesPerColumn : kByteTreesPerColumn) * columns &&
      walks >= kByteWalksPerNode * nodes && bytes(threads_for(x, n_trees, n_jobs))) {
    return PredictPath::bytes;
  }
  return PredictPath::interleaved;
}

std::size_t Predictor::block_rows(const MatrixView& x) const {
  const std::size_t node_bytes =
      trees_.double_thresholds ? sizeof(Node<double>) : sizeof(Node<float>);
  const std::size_t row_bytes = x.n_cols * (x.is_double ? sizeof(double) : sizeof(float));
  return std::max(kBlockBytes, kBlockTrees * 2 * most_leaves_ * node_bytes) /
         std::max<std::size_t>(row_bytes, 1);
}

void Predictor::predict(const MatrixView& x, const PredictOptions& options, double* out,
                        std::size_t out_width) const {
  const Job job = check_job(trees_, x, options, out, out_width);
  PredictPath path = options.path;
  if (path == PredictPath::automatic) path = choose_path(x, job.n_trees(), options.n_jobs);
  if (path == PredictPath::plain)
    return x.is_double ? predict_plain<double>(job) : predict_plain<float>(job);
  if (path == PredictPath::coded) {
    const CodedTrees* const made = coded();
    if (!made)
      throw std::invalid_argument(
          "These trees have no coded form: categories, or too many leaves or thresholds.");
    return x.is_double ? predict_coded<double>(job, *made) : predict_coded<float>(job, *made);
  }
  const int n_threads = threads_for(x, job.n_trees(), options.n_jobs);
  if (path == PredictPath::bytes) {
    const QuantizedTrees* const made = bytes(n_threads);
    if (!made)
      throw std::invalid_argument(
          "These trees have no form of bytes: categories, or more than 254 thresholds a feature.");
    for_row_blocks(
        x.n_rows, kByteBlockRows, n_threads,
        [&](std::size_t first, std::size_t n) {
          x.is_double ? predict_bytes<double>(job, *made, first, n)
                      : predict_bytes<float>(job, *made, first, n);
        },
        kLeastByteBlockRows);
    return;
  }
  if (path == PredictPath::sequence) {
    const SplitSequence* const made = sequence();
    if (!made)
      throw std::invalid_argument(
          "These trees have no split sequence: more than 254 categories, or more than 256 leaves.");
    const SequenceJob plan(job, *made);
    for_row_blocks(x.n_rows, 8 * plan.block_rows, n_threads, [&](std::size_t first, std::size_t n) {
      predict_sequence(job, plan, first, n);
    });
    return;
  }
  for_row_blocks(x.n_rows, block_rows(x), n_threads, [&](std::size_t first, std::size_t n) {
    x.is_double ? predict_interleaved<double>(job, first, n)
                : predict_interleaved<float>(job, first, n);
  });
}

void predict_trees(const Trees& trees, const MatrixView& x, const PredictOptions& options,
                   double* out, std::size_t out_width) {
  Predictor(trees).predict(x, options, out, out_width);
}

}  // namespace committee
