// The reader of trees under a sanitizer: whatever the arrays of a model file say, they are refused,
// or every kernel that reads trees answers, the same by every path.
//
// The program makes valid trees and changes them itself. Usage: trees [seed] [cases] [first].
// Prints counts as JSON. With COMMITTEE_GUIDED it is guided.cpp, or libFuzzer, that makes the
// inputs.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "changes.hpp"
#include "committee/binning.hpp"
#include "committee/parallel.hpp"
#include "committee/predict.hpp"
#include "committee/shap.hpp"
#include "committee/tree_summary.hpp"
#include "guided.hpp"
#include "tree_input.hpp"

namespace {

using namespace fuzz;

[[noreturn]] void fail(const char* sentence) {
  std::fprintf(stderr, "finding: %s\n", sentence);
  std::abort();
}

// What a kernel may refuse, in a sentence.
template <class Work>
bool attempt(Work&& work) {
  try {
    work();
    return true;
  } catch (const std::invalid_argument& error) {
    if (std::string(error.what()).size() < 10) fail("a refusal says nothing");
    return false;
  }
}

bool same_numbers(std::span<const double> a, std::span<const double> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))) return false;
  }
  return true;
}

// Rows of usual numbers, codes, missing values, thresholds of the trees and the ends of doubles.
std::vector<double> draw_rows(const Trees& trees, std::size_t n_rows, std::mt19937& draw) {
  std::vector<double> x(n_rows * trees.n_features);
  for (double& value : x) {
    switch (draw() % 6) {
      case 0:
        value = std::numeric_limits<double>::quiet_NaN();
        break;
      case 1:
        value = (draw() % 2 ? 1.0 : -1.0) * std::numeric_limits<double>::max();
        break;
      case 2:
        value = static_cast<double>(draw() % 70);
        break;
      case 3: {
        const std::size_t node = draw() % trees.node_offsets.back();
        value =
            trees.double_thresholds
                ? static_cast<const Node<double>*>(trees.nodes)[node].threshold
                : static_cast<double>(static_cast<const Node<float>*>(trees.nodes)[node].threshold);
        break;
      }
      default:
        value = static_cast<double>(draw() % 1000) / 100.0 - 5.0;
    }
  }
  return x;
}

void ask_paths(const Predictor& predictor, const MatrixView& view) {
  const Trees& trees = predictor.trees();
  for (const Combine combine : {Combine::sum, Combine::mean, Combine::vote}) {
    std::vector<double> first;
    for (const PredictPath path :
         {PredictPath::plain, PredictPath::automatic, PredictPath::interleaved,
          PredictPath::sequence, PredictPath::coded, PredictPath::bytes}) {
      PredictOptions options;
      options.combine = combine;
      options.path = path;
      options.n_jobs = 1;
      std::vector<double> out(view.n_rows * trees.width, 7.0);
      if (!attempt([&] { predictor.predict(view, options, out.data(), trees.width); })) continue;
      if (first.empty())
        first = out;
      else if (!same_numbers(first, out))
        fail("two paths give two predictions");
    }
  }
}

void ask_leaves(const Predictor& predictor, const MatrixView& view, std::span<const double> x) {
  const Trees& trees = predictor.trees();
  std::vector<u32> leaves(view.n_rows * trees.n_trees), sparse_leaves(leaves.size());
  predictor.apply(view, 1, leaves.data());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i] >= trees.n_nodes(i % trees.n_trees)) fail("a row ends outside its tree");
  }
  std::vector<i32> indices, indptr{0};
  std::vector<double> data;
  for (std::size_t r = 0; r < view.n_rows; ++r) {
    for (std::size_t c = 0; c < view.n_cols; ++c) {
      if (x[r * view.n_cols + c] == 0.0) continue;
      indices.push_back(static_cast<i32>(c));
      data.push_back(x[r * view.n_cols + c]);
    }
    indptr.push_back(static_cast<i32>(indices.size()));
  }
  SparseView rows;
  rows.data = data.data();
  rows.indices = indices.data();
  rows.indptr = indptr.data();
  rows.n_rows = view.n_rows;
  rows.n_cols = view.n_cols;
  rows.n_entries = data.size();
  predictor.apply_sparse(rows, 1, sparse_leaves.data());
  if (leaves != sparse_leaves) fail("sparse rows end elsewhere");
  std::vector<std::int64_t> labels(view.n_rows * std::max<std::size_t>(1, trees.outputs.size()));
  if (trees.n_trees == 1 && !trees.outputs.empty()) predictor.label(view, 1, labels.data());
  if (!std::isfinite(predictor.measure_mean_depth())) fail("trees have no depth");
}

void ask_shap(const Trees& trees, MatrixView view) {
  view.n_rows = std::min<std::size_t>(view.n_rows, 3);
  InterruptWatch watch({}, kAskEveryNs);
  TreeSum sum{trees, trees.outputs.empty() ? Combine::sum : Combine::mean, {}, {}, trees.width};
  const std::size_t n = view.n_rows * view.n_cols * trees.width;
  std::vector<double> values(n), pairs(n * view.n_cols), base(trees.width);
  attempt([&] { explain_rows(sum, view, 1, watch, values.data(), base.data()); });
  attempt([&] { explain_pairs(sum, view, 1, watch, pairs.data(), base.data()); });
  attempt([&] {
    explain_against(sum, view, Background{view, {}}, 1, watch, values.data(), base.data());
  });
}

void look_inside(const Trees& trees) {
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    const TreeDescription open = describe_tree(trees, t, "gini");
    if (open.left.size() != trees.n_nodes(t)) fail("a description has other nodes");
  }
  if (number_depth_first(trees).size() != trees.node_offsets.back()) fail("a node has no number");
  const std::array<Trees, 2> both = {trees, select_trees(trees, trees.n_trees / 2, trees.n_trees)};
  attempt([&] { validate_trees(both[1]); });
  attempt([&] { validate_trees(concatenate_trees(both)); });
  const std::vector<u32> features = {0, static_cast<u32>(trees.n_features - 1)};
  attempt([&] { validate_trees(renumber_features(trees, features)); });
  const std::vector<double> values(trees.leaf_offsets.back(), 0.5);
  attempt([&] { validate_trees(replace_leaf_values(trees, values, 1, {})); });
}

// Whether the trees were taken.
bool ask_all(const u8* data, std::size_t size) {
  TreeInput input;
  if (!TreeReader(data, size).read(input)) return false;
  if (!attempt([&] { validate_trees(input.trees); })) return false;
  const Trees& trees = input.trees;
  // Not because they could not be read: tables of so many columns take too long.
  if (trees.n_features > 64 || trees.width > 64 || trees.n_trees == 0) return true;
  std::mt19937 draw(static_cast<unsigned>(size));
  const std::size_t n_rows = 1 + draw() % 40;
  const std::vector<double> x = draw_rows(trees, n_rows, draw);
  const MatrixView view{
      x.data(), n_rows, trees.n_features, static_cast<std::ptrdiff_t>(trees.n_features), 1, true};
  const Predictor predictor(trees);
  ask_paths(predictor, view);
  ask_leaves(predictor, view, x);
  if (trees.n_features <= 8 && trees.node_offsets.back() <= 400) ask_shap(trees, view);
  look_inside(trees);
  return true;
}

void grow(GrownTree& tree, u32 node, u32 depth, const ArenaOptions& options, bool categories,
          std::mt19937& draw) {
  if (depth == 0 || below(draw, 5) == 0) return;
  const auto add = [&] {
    std::vector<double> value(tree.width);
    for (double& v : value)
      v = options.outputs.empty() ? below(draw, 99) / 7.0 - 5.0 : 1.0 + below(draw, 300);
    return tree.add_node(1 + below(draw, 50), 1.0 + below(draw, 50), below(draw, 10) / 10.0, value);
  };
  const u32 left = add(), right = add();
  tree.left[node] = left;
  tree.right[node] = right;
  GrownTree::Split& split = tree.splits[node];
  split.feature = below(draw, static_cast<u32>(options.n_features));
  split.missing_left = below(draw, 2) != 0;
  split.threshold = below(draw, 2) ? below(draw, 20) / 4.0 : below(draw, 1000) / 333.0;
  if (categories && below(draw, 4) == 0) {
    split.categorical = true;
    std::vector<u32> words(1 + below(draw, 3));
    for (u32& word : words) word = static_cast<u32>(draw()) | 1;
    split.left_categories = std::make_shared<const std::vector<u32> >(std::move(words));
  }
  grow(tree, left, depth - 1, options, categories, draw);
  grow(tree, right, depth - 1, options, categories, draw);
}

Trees draw_trees(std::mt19937& draw) {
  ArenaOptions options;
  options.n_features = 1 + below(draw, 7);
  options.keep_training_info = below(draw, 3) != 0;
  u32 width = 1 + below(draw, 3);
  if (below(draw, 2)) {
    for (u32 o = 0, n = 1 + below(draw, 2); o < n; ++o)
      options.outputs.push_back(1 + below(draw, 4));
    width = 0;
    for (const u32 n : options.outputs) width += n;
  }
  const bool categories = below(draw, 3) == 0;
  std::vector<GrownTree> grown(1 + below(draw, 4));
  for (GrownTree& tree : grown) {
    tree.width = width;
    tree.add_node(90, 90.0, 0.5, std::vector<double>(width, 1.0));
    grow(tree, 0, below(draw, 8), options, categories, draw);
  }
  return compact_trees(grown, options);
}

}  // namespace

#ifdef COMMITTEE_GUIDED

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ask_all(data, size);
  return 0;
}

std::vector<u8> fuzz::draw_input(std::mt19937& draw) {
  return TreeWriter::write(draw_trees(draw));
}

void fuzz::change_input(std::vector<u8>& bytes, std::mt19937& draw) {
  change_bytes(bytes, kFields, draw);
}

#else

namespace {

unsigned seed = 0;
long number = 0;

void limit_time(long seconds) {
  const itimerval limit{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

void show_case(int) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "case %u:%ld\n", seed, number);
  (void)!write(2, text, static_cast<std::size_t>(length));
  _exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
  const long n_cases = argc > 2 ? std::atol(argv[2]) : 10000,
             first = argc > 3 ? std::atol(argv[3]) : 0;
  for (const int signal_number : {SIGABRT, SIGPROF}) signal(signal_number, show_case);
  long n_taken = 0;
  for (number = first; number < first + n_cases; ++number) {
    std::seed_seq mixed{seed, static_cast<unsigned>(number)};
    std::mt19937 draw(mixed);
    std::vector<u8> bytes = TreeWriter::write(draw_trees(draw));
    const bool whole = below(draw, 8) == 0;
    for (u32 k = whole ? 0 : 1 + below(draw, below(draw, 3) ? 2 : 8); k > 0; --k)
      change_bytes(bytes, kFields, draw);
    limit_time(10);  // of the processor; a case that takes longer hangs
    const bool taken = ask_all(bytes.data(), bytes.size());
    if (whole && !taken) fail("whole trees are refused");
    n_taken += taken;
  }
  limit_time(0);
  std::printf("{\"cases\": %ld, \"answered\": %ld, \"refused\": %ld}\n", n_cases, n_taken,
              n_cases - n_taken);
  return 0;
}

#endif
