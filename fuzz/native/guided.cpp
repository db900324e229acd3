// A fuzzer that is guided by coverage: an input that takes a path none took before is kept, and
// changed further. It does what libFuzzer does, with any compiler that reports blocks.
//
// Usage: NAME SEED CASES SECONDS CORPUS FOUND. Runs the inputs of the file CORPUS, then changes of
// them, until so many cases or seconds (0: no limit) are over. FOUND has the inputs of the corpus
// and those that were found, without those that add nothing; one that ends the program is in
// FOUND.crash. A file has the length of each input (u32) before its bytes. Prints counts as JSON.
#include "guided.hpp"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "changes.hpp"
#include "coverage.hpp"

extern "C" char __executable_start;
extern "C" void __sanitizer_set_death_callback(void (*callback)());

namespace {

using namespace fuzz;
using Input = std::vector<u8>;

constexpr std::size_t kMostBytes = 4096;
constexpr int kFirstInputs = 200;

std::string crash_file;
const Input* running = nullptr;

void write_input(std::FILE* file, const Input& input) {
  const u32 size = static_cast<u32>(input.size());
  std::fwrite(&size, sizeof size, 1, file);
  std::fwrite(input.data(), 1, input.size(), file);
}

void keep_crash() {
  if (running == nullptr) return;
  if (std::FILE* const file = std::fopen(crash_file.c_str(), "wb")) {
    write_input(file, *running);
    std::fclose(file);
  }
  running = nullptr;
}

void end_by_signal(int number) {
  keep_crash();
  _exit(number == SIGPROF ? 4 : 3);
}

std::vector<Input> read_inputs(const char* path) {
  std::vector<Input> inputs;
  std::ifstream file(path, std::ios::binary);
  u32 size;
  while (file.read(reinterpret_cast<char*>(&size), sizeof size)) {
    Input input(size);
    if (!file.read(reinterpret_cast<char*>(input.data()), size)) break;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::size_t run_input(const Input& input, bool by_class) {
  const itimerval limit{{0, 0}, {10, 0}};  // of the processor; an input that takes longer hangs
  setitimer(ITIMER_PROF, &limit, nullptr);
  running = &input;
  coverage::start_input();
  LLVMFuzzerTestOneInput(input.data(), input.size());
  running = nullptr;
  return coverage::count_new(by_class);
}

// A number that was compared, in place of the one it was compared with.
void answer_comparison(Input& input, std::mt19937& draw) {
  const std::size_t n = std::min(coverage::n_compared, coverage::compared.size());
  if (n == 0) return;
  coverage::Comparison one = coverage::compared[draw() % n];
  if (one.size < 2 || one.size > 8) return;
  if (below(draw, 2)) std::swap(one.left, one.right);
  if (below(draw, 4) == 0) one.right += below(draw, 2) ? 1 : -1;
  const auto* const from = reinterpret_cast<const u8*>(&one.left);
  const auto at = std::search(input.begin(), input.end(), from, from + one.size);
  if (at != input.end()) std::memcpy(&*at, &one.right, one.size);
}

void change_length(Input& input, std::mt19937& draw) {
  const std::size_t at = draw() % (input.size() + 1), size = std::size_t{1} << below(draw, 7);
  if (below(draw, 2)) {
    const auto first = input.begin() + static_cast<std::ptrdiff_t>(at);
    input.erase(first, first + static_cast<std::ptrdiff_t>(std::min(size, input.size() - at)));
  } else {
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), size,
                 static_cast<u8>(below(draw, 3) ? 0 : draw()));
  }
}

void splice(Input& input, const Input& other, std::mt19937& draw) {
  if (other.empty()) return;
  const std::size_t from = draw() % other.size(), size = draw() % (other.size() - from) + 1,
                    at = draw() % (input.size() + 1);
  if (input.size() < at + size) input.resize(at + size);
  std::memcpy(&input[at], &other[from], size);
}

Input make_input(const std::vector<Input>& corpus, std::mt19937& draw) {
  if (below(draw, 64) == 0) return draw_input(draw);
  const std::size_t n = corpus.size(), newest = std::max<std::size_t>(1, n / 4);
  Input input = below(draw, 2) ? corpus[draw() % n] : corpus[n - 1 - draw() % newest];
  for (u32 k = 1 + below(draw, 1u << below(draw, 4)); k > 0; --k) {
    switch (below(draw, 8)) {
      case 0:
        change_length(input, draw);
        break;
      case 1:
        splice(input, corpus[draw() % n], draw);
        break;
      case 2:
      case 3:
        answer_comparison(input, draw);
        break;
      default:
        change_input(input, draw);
    }
  }
  if (input.size() > kMostBytes) input.resize(kMostBytes);
  return input;
}

// The shortest inputs that reach all that was reached, by pairs of blocks alone.
std::size_t write_shortest(std::vector<Input> corpus, const char* path) {
  std::stable_sort(corpus.begin(), corpus.end(),
                   [](const Input& a, const Input& b) { return a.size() < b.size(); });
  coverage::seen.fill(0);
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) std::exit(2);
  std::size_t n_kept = 0;
  for (const Input& input : corpus) {
    if (run_input(input, false) == 0) continue;
    write_input(file, input);
    ++n_kept;
  }
  std::fclose(file);
  return n_kept;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s SEED CASES SECONDS CORPUS FOUND\n", argv[0]);
    return 2;
  }
  std::mt19937 draw(static_cast<unsigned>(std::atoi(argv[1])));
  const long most_cases = std::atol(argv[2]);
  const double most_seconds = std::atof(argv[3]);
  crash_file = std::string(argv[5]) + ".crash";
  coverage::base = reinterpret_cast<std::uintptr_t>(&__executable_start);
  for (const int number : {SIGABRT, SIGPROF}) signal(number, end_by_signal);
  __sanitizer_set_death_callback(keep_crash);

  const auto started = std::chrono::steady_clock::now();
  const auto measure_seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  std::vector<Input> given = read_inputs(argv[4]), corpus;
  const std::size_t n_given = given.size();
  for (int k = 0; k < kFirstInputs; ++k) given.push_back(draw_input(draw));
  long n_cases = 0;
  for (const Input& input : given) {
    if (run_input(input, true) > 0) corpus.push_back(input);
    ++n_cases;
  }
  const std::size_t n_first = corpus.size(), n_pairs_first = coverage::count_pairs();
  while ((most_cases == 0 || n_cases < most_cases) &&
         (most_seconds == 0 || n_cases % 64 != 0 || measure_seconds() < most_seconds)) {
    Input input = make_input(corpus, draw);
    if (run_input(input, true) > 0) corpus.push_back(std::move(input));
    ++n_cases;
  }
  const std::size_t n_pairs = coverage::count_pairs();
  const std::size_t n_kept = write_shortest(corpus, argv[5]);
  std::printf(
      "{\"executions\": %ld, \"seconds\": %.0f, \"corpus\": %zu, \"new inputs\": %zu, "
      "\"pairs of blocks\": %zu, \"of the corpus\": %zu, \"kept\": %zu}\n",
      n_cases, measure_seconds(), n_given, corpus.size() - n_first, n_pairs, n_pairs_first, n_kept);
  return 0;
}
