// How many cores this process may use: what the affinity mask and the cgroup quotas leave it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "committee/parallel.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace committee {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

struct CgroupMount {
  std::string root;   // the cgroup that is mounted
  std::string point;  // where
  bool v2 = false;
};

// Plain C files: C++ streams crash in a process whose libstdc++ is older than the one compiled
// against.
std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return lines;
  std::string line;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
    } else {
      lines.push_back(std::move(line));
      line.clear();
    }
  }
  std::fclose(file);
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == separator) {
      words.emplace_back();
    } else {
      words.back().push_back(c);
    }
  }
  return words;
}

bool has_word(const std::string& list, const std::string& word) {
  const auto words = split_text(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// proc(5): id parent major:minor root point options [tags] - type source super-options
std::vector<CgroupMount> read_cgroup_mounts(const std::string& root) {
  std::vector<CgroupMount> mounts;
  for (const std::string& line : read_lines(root + "/proc/self/mountinfo")) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = split_text(line.substr(0, dash), ' ');
    const auto after = split_text(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const CgroupMount mount{before[3], before[4], after[0] == "cgroup2"};
    if (mount.v2 || (after[0] == "cgroup" && has_word(after[2], "cpu"))) mounts.push_back(mount);
  }
  return mounts;
}

// This process's cgroup in the hierarchy (cgroups(7): id:controllers:path); empty if it has none.
std::string find_cgroup(const std::string& root, bool v2) {
  for (const std::string& line : read_lines(root + "/proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has_word(controllers, "cpu")) return line.substr(second + 1);
  }
  return {};
}

// The first number in a file; `fallback` where there is none.
double read_number(const std::string& path, double fallback) {
  const auto lines = read_lines(path);
  if (lines.empty()) return fallback;
  char* end = nullptr;
  const double value = std::strtod(lines[0].c_str(), &end);
  return end == lines[0].c_str() ? fallback : value;
}

double read_quota_of(const std::string& folder, bool v2) {
  double quota = -1.0, period = 0.0;
  if (v2) {
    const auto lines = read_lines(folder + "/cpu.max");  // "max 100000" where there is no limit
    if (lines.empty() || std::sscanf(lines[0].c_str(), "%lf %lf", &quota, &period) != 2)
      return kNoQuota;
  } else {
    quota = read_number(folder + "/cpu.cfs_quota_us", -1.0);
    period = read_number(folder + "/cpu.cfs_period_us", 0.0);
  }
  return quota > 0.0 && period > 0.0 ? quota / period : kNoQuota;
}

// The smallest quota from the process's cgroup up to the mounted one.
double read_quota_below(const std::string& root, const CgroupMount& mount) {
  std::string path = find_cgroup(root, mount.v2);
  if (mount.root != "/" && path.compare(0, mount.root.size(), mount.root) == 0) {
    path.erase(0, mount.root.size());
  }
  if (path.find("..") != std::string::npos) path.clear();  // outside the mounted hierarchy
  double smallest = kNoQuota;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    smallest = std::min(smallest, read_quota_of(root + mount.point + path, mount.v2));
    if (path.empty()) return smallest;
    path.erase(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

int count_affine_cores() {
#if defined(__linux__)
  // A mask of a fixed size fails (EINVAL) on machines with more CPUs than it has bits: ask larger.
  for (int n_cpus = 1024; n_cpus <= 1 << 18; n_cpus *= 2) {
    cpu_set_t* mask = CPU_ALLOC(n_cpus);
    if (!mask) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(n_cpus);
    const int count = sched_getaffinity(0, bytes, mask) == 0 ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (count > 0) return count;
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

double read_cpu_quota(const std::string& root) {
  double smallest = kNoQuota;
  for (const CgroupMount& mount : read_cgroup_mounts(root)) {
    smallest = std::min(smallest, read_quota_below(root, mount));
  }
  return smallest;
}

int count_usable_cores() {
  // Reading the quota opens a handful of files (about 0.1 ms); it is looked up at most once a
  // second.
  static std::atomic<i64> read_at{std::numeric_limits<i64>::min()};
  static std::atomic<double> quota{kNoQuota};
  const i64 now = std::chrono::duration_cast<std::chrono::seconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count();
  if (read_at.load(std::memory_order_acquire) != now) {
    quota.store(read_cpu_quota(), std::memory_order_relaxed);
    read_at.store(now, std::memory_order_release);
  }
  const int cores = count_affine_cores();
  const double granted = std::ceil(quota.load(std::memory_order_relaxed));
  return granted < cores ? std::max(1, static_cast<int>(granted)) : cores;
}

}  // namespace committee
