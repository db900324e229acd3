// _core.testing: functions of the core that only tests and benchmarks call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "committee/binning.hpp"
#include "committee/entropy_screen.hpp"
#include "committee/instructions.hpp"
#include "committee/numeric_split.hpp"
#include "committee/packed_counts_simd.hpp"
#include "committee/parallel.hpp"
#include "poll_probe.hpp"
#include "tree_arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

constexpr std::size_t kBoundaries = 4, kStride = 16;

// Cases of one node each: packed counts at four boundaries, and as many rows with their records.
struct PackedCases {
  const PackedCounts8* bytes;  // [case][boundary]
  const u16* wides;            // [case][boundary][class]
  const float* quads;          // [case][lane]
  const u8* records;           // [case][boundary][kStride]
  std::size_t n;
};

// The results of a form, one list a function.
struct PackedResults {
  std::vector<PackedCounts8> narrowed, unset;
  std::vector<u16> widened, unset_wide;
  std::vector<u32> scalars;
  std::vector<float> sums;
};

template <class T, class Value>
void append(std::vector<T>& to, const Value& value) {
  const T* from = reinterpret_cast<const T*>(&value);
  to.insert(to.end(), from, from + sizeof value / sizeof(T));
}

template <class Form>
PackedResults evaluate_form(const PackedCases& cases) {
  PackedResults results;
  for (std::size_t i = 0; i < cases.n; ++i) {
    const PackedCounts8* bytes = cases.bytes + i * kBoundaries;
    PackedCounts16 wides[kBoundaries], total{};
    std::memcpy(wides, cases.wides + i * kBoundaries * kPackedClasses, sizeof wides);
    PackedCounts8 byte_total = 0;
    for (std::size_t k = 0; k < kBoundaries; ++k) {
      total += wides[k];
      byte_total += bytes[k];
      append(results.widened, Form::widen(bytes[k]));
      results.narrowed.push_back(Form::narrow(Form::widen(bytes[k])));
      for (const u32 found : {Form::weigh(wides[k]), Form::add_squares(wides[k]),
                              Form::heaviest_class(wides[k]), u32{Form::is_nothing(wides[k])}}) {
        results.scalars.push_back(found);
      }
    }
    append(results.sums, Form::sum_four(bytes, byte_total));
    append(results.sums, Form::sum_four(wides, total));
    FloatQuad quad, other;
    std::memcpy(&quad, cases.quads + i * 4, sizeof quad);
    std::memcpy(&other, cases.quads + (i + 1) % cases.n * 4, sizeof other);
    append(results.sums, Form::larger_of(quad, other));
    results.sums.push_back(Form::largest_of(quad));
    results.scalars.push_back(Form::find_at_least(quad, other[0]));
    const u8* records = cases.records + i * kBoundaries * kStride;
    for (const u32 n_rows : {3u, 4u}) {
      results.unset.push_back(
          Form::template add_unset<kStride, PackedCounts8>(records, 5, bytes, n_rows));
      append(results.unset_wide,
             Form::template add_unset<kStride, PackedCounts16>(records, 5, bytes, n_rows));
    }
  }
  return results;
}

nb::tuple evaluate_packed_counts(const std::string& form, const Vector<u64>& bytes,
                                 const Vector<u16>& wides, const Vector<float>& quads,
                                 const Vector<u8>& records) {
  const std::size_t n = bytes.shape(0) / kBoundaries;
  if (bytes.shape(0) != n * kBoundaries || wides.shape(0) != n * kBoundaries * kPackedClasses ||
      quads.shape(0) != n * 4 || records.shape(0) != n * kBoundaries * kStride) {
    throw nb::value_error("four words, four vectors, four numbers and four records a case");
  }
  if (form != "plain" && form != "native") throw nb::value_error("form is 'plain' or 'native'");
  const PackedCases cases{bytes.data(), wides.data(), quads.data(), records.data(), n};
  PackedResults found = form == "plain" ? evaluate_form<PackedCountsScalar>(cases)
                                        : evaluate_form<PackedCountsSimd>(cases);
  return nb::make_tuple(
      own_array<u64>(std::move(found.narrowed)), own_array<u64>(std::move(found.unset)),
      own_array<u16>(std::move(found.widened)), own_array<u16>(std::move(found.unset_wide)),
      own_array<u32>(std::move(found.scalars)), own_array<float>(std::move(found.sums)));
}

BoundTrees build_trees(const std::vector<nb::dict>& grown, std::vector<u32> outputs,
                       std::size_t n_features, bool keep_training_info) {
  std::vector<GrownTree> trees;
  for (const nb::dict& tree : grown) trees.push_back(import_grown(tree));
  Trees made = compact_trees(trees, {n_features, std::move(outputs), keep_training_info});
  validate_trees(made);
  return BoundTrees(std::move(made));
}

void bind_trees_testing(nb::module_& m) {
  m.def("build_trees", &build_trees, "grown"_a, "outputs"_a, "n_features"_a,
        "keep_training_info"_a = true,
        "Trees from dicts of arrays with scikit-learn's names, one entry a node.");
  m.def(
      "prune_grown",
      [](const nb::dict& grown, double ccp_alpha) {
        GrownTree tree = import_grown(grown);
        prune_tree(tree, ccp_alpha);
        return export_grown(tree);
      },
      "grown"_a, "ccp_alpha"_a, "Minimal cost-complexity pruning of a grown tree.");
  m.def(
      "pruning_path_grown",
      [](const nb::dict& grown) {
        PruningPath path = find_pruning_path(import_grown(grown));
        return nb::make_tuple(own_array<double>(std::move(path.alphas)),
                              own_array<double>(std::move(path.impurities)));
      },
      "grown"_a,
      "Effective alphas and total leaf impurities while the weakest links are pruned one by one.");
}

void bind_threads_testing(nb::module_& m) {
  m.def("count_usable_cores", &count_usable_cores,
        "Cores this process may use: affinity mask and cgroup quota taken into account.");
  m.def("read_cpu_quota", &read_cpu_quota, "root"_a = "",
        "CPUs that the cgroups of this process grant it; infinity without a quota.");
  m.def("choose_threads", &choose_threads, "n_jobs"_a, "work"_a, "min_work_per_thread"_a,
        "least_work_per_thread"_a = 0.0,
        "Threads for so much work; n_jobs = 0 decides by the work, n_jobs < 0 counts from the "
        "cores.");
  m.def("grant_threads", &grant_threads, "n_threads"_a,
        "So many of the threads that n_jobs grants need no least work; 1 outside of tests.");
  m.def(
      "parallel_for",
      [](std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task) {
        parallel_for(n_tasks, n_threads, task);
      },
      "n_tasks"_a, "n_threads"_a, "task"_a, nb::call_guard<nb::gil_scoped_release>(),
      "Call task(i) for every i on at most n_threads threads of the pool (each call takes the "
      "GIL).");
  m.def("start_call_trace", &start_call_trace,
        "Time calls of parallel_for from now on; for developers.");
  m.def(
      "end_call_trace",
      [] {
        nb::list places;
        for (const auto& [site, costs] : end_call_trace()) {
          nb::dict place;
          place["function"] = site.first;
          place["line"] = site.second;
          place["calls"] = costs.n_calls;
          place["tasks"] = costs.n_tasks;
          const std::pair<const char*, i64> times[] = {
              {"before", costs.before},   {"wall", costs.wall}, {"starting", costs.starting},
              {"waiting", costs.waiting}, {"busy", costs.busy}, {"longest", costs.longest}};
          for (const auto& [name, nanoseconds] : times)
            place[name] = static_cast<double>(nanoseconds) * 1e-9;
          places.append(place);
        }
        return places;
      },
      "A dict for each place that called parallel_for: function, line, calls, tasks, and seconds.");
  m.def("inside_parallel_region", &inside_parallel_region, "True inside a task of the pool.");
  m.def(
      "start_polls", [](u64 interrupt_at) { poll_probe.start(interrupt_at); }, "interrupt_at"_a = 0,
      "Count the polls for Ctrl-C from 0 on; interrupt_at = n > 0: poll n finds SIGINT pending.");
  m.def(
      "count_polls", [] { return poll_probe.n_polls(); },
      "Polls since start_polls, on the threads that called the core.");
  m.def(
      "stop_polls", [] { poll_probe.stop(); },
      "Stop counting; signals are looked for at the usual pace.");
}

void bind_split_testing(nb::module_& m) {
  m.def(
      "find_numeric_split",
      [](const Vector<i64>& histogram, bool has_missing, std::size_t n_rows,
         std::pair<double, double> units, const BoostingParams& params, int hessian_bits,
         i64 largest_gradient) {
        const std::size_t n_bins = histogram.shape(0) - (has_missing ? 1 : 0);
        if (histogram.shape(0) == 0 || n_bins == 0 || n_bins > kMaxValueBins)
          throw nb::value_error("a histogram of 1 to 255 value bins is needed");
        NumericColumn column{view_vector(histogram), has_missing,  n_rows,          units.first,
                             units.second,           hessian_bits, largest_gradient};
        const NumericSplit split = find_numeric_split(column, params);
        return split.found ? nb::object(nb::make_tuple(split.gain, split.split_bin,
                                                       split.missing_left, split.left))
                           : nb::object(nb::none());
      },
      "histogram"_a, "has_missing"_a, "n_rows"_a, "units"_a, "params"_a, "hessian_bits"_a = 32,
      "largest_gradient"_a = 0,
      nb::sig("def find_numeric_split(histogram: " COMMITTEE_NDARRAY(
          int64) ", has_missing: bool, n_rows: int, units: tuple[float, float], params: "
                 "committee._core.BoostingParams, hessian_bits: int = 32, largest_gradient: int = "
                 "0) -> tuple[float, int, bool, int] | None"),
      "Best split of one column of a boosted tree: gain, bin, whether missing values go left, and "
      "the word left of it.");
}

// Class weights in whole vectors of four.
nb::tuple estimate_entropy(const std::vector<u32>& left, const std::vector<u32>& total) {
  if (left.size() != total.size() || left.size() % EntropyScreen::kLanes != 0 || left.empty())
    throw nb::value_error("classes in whole vectors of four are needed");
  u64 weight = 0;
  for (const u32 w : total) weight += w;
  const u64 sums[] = {(left[0] + left[1]) | u64{left[1]} << 32};
  const u64 both = (total[0] + total[1]) | u64{total[1]} << 32;
  float two[EntropyScreen::kLanes];
  EntropyScreen::estimate_binary(sums, 0, both, 0.0f, 0.0, two);
  const u32 n_classes = static_cast<u32>(left.size());
  const double whole = static_cast<double>(weight);
  return nb::make_tuple(
      EntropyScreen::estimate(left.data(), total.data(), n_classes / EntropyScreen::kLanes),
      EntropyScreen::error(whole, n_classes), two[0], EntropyScreen::error(whole, 2));
}

}  // namespace

}  // namespace committee

void bind_testing(nb::module_& m) {
  using namespace committee;
  nb::module_ testing = m.def_submodule("testing", "Functions for tests and benchmarks.");
  bind_trees_testing(testing);
  bind_threads_testing(testing);
  bind_split_testing(testing);
  testing.def(
      "limit_instructions",
      [](const std::string& most) {
        if (most == "plain") return limit_instructions(Instructions::plain);
        if (most == "avx2") return limit_instructions(Instructions::avx2);
        if (most == "avx512") return limit_instructions(Instructions::avx512);
        throw std::invalid_argument("most must be 'plain', 'avx2' or 'avx512'; got '" + most +
                                    "'.");
      },
      "most"_a, "Kernels with at most these instructions, of those that the processor has.");
  testing.def(
      "find_address",
      [](const Vector<double>& values) { return reinterpret_cast<std::uintptr_t>(values.data()); },
      "values"_a, "Where the core reads the values of an array.");
  testing.def("choose_threshold", &choose_threshold, "a"_a, "b"_a,
              "The threshold between neighbouring values a < b, a float32 number where one fits.");
  testing.def("estimate_entropy", &estimate_entropy, "left"_a, "total"_a,
              nb::sig("def estimate_entropy(left: Sequence[int], total: Sequence[int]) -> "
                      "tuple[float, float, float, float]"),
              "Estimates of the entropy of a split by the class weights of its left side: of "
              "several classes and how far off it may be, and the same of the first two classes.");
  testing.def("evaluate_packed_counts", &evaluate_packed_counts, "form"_a, "bytes"_a, "wides"_a,
              "quads"_a, "records"_a,
              "The functions of packed class counts, in their scalar ('plain') or SIMD ('native') "
              "form.");
}
