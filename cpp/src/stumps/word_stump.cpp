#include "committee/word_stump.hpp"

#include <algorithm>
#include <cmath>

#include "committee/math.hpp"

namespace committee {

namespace {

constexpr std::size_t kWordBlocks = 128;  // tasks of a search

// Weights of the holders of a word, or of the others, for one label; whatever the unit.
struct Side {
  double positive, negative;
};

double root_product(const Side& side) {
  return std::sqrt(side.positive * side.negative);
}

double difference(const Side& side) {
  return side.positive - side.negative;
}

// Adds in four chains whose shape depends on the length alone.
double sum_terms(const double* terms, std::size_t n) {
  double chains[4] = {0.0, 0.0, 0.0, 0.0};
  std::size_t l = 0;
  for (; l + 4 <= n; l += 4) {
    for (std::size_t c = 0; c < 4; ++c) chains[c] += terms[l + c];
  }
  for (std::size_t c = 0; l < n; ++l, ++c) chains[c] += terms[l];
  return (chains[0] + chains[1]) + (chains[2] + chains[3]);
}

// What the weights of all documents and of those that hold one word say.
class WordSums {
 public:
  WordSums(const WordTable& table, const LabelWeights& weights)
      : table_(table),
        weights_(weights),
        all_positive_(table.n_labels),
        positive_(table.n_labels),
        memory_(table.n_labels),
        terms_(table.n_labels) {
    for (std::size_t l = 0; l < table.n_labels; ++l) {
      all_positive_[l] =
          static_cast<double>(weights.positive_totals()[l]) * weights.positive_scale()[l];
      whole_ += all_positive_[l] +
                static_cast<double>(weights.negative_totals()[l]) * weights.negative_scale()[l];
    }
  }

  double whole() const { return whole_; }

  void read(std::size_t word) {
    for (const u32 label : touched_) positive_[label] = 0;
    touched_.clear();
    weights_.sum_positive(table_, word, positive_.data(), touched_);
    negative_ = weights_.sum_negative(table_, word, memory_.data());
  }
  Side present(std::size_t l) const {
    return {static_cast<double>(positive_[l]) * weights_.positive_scale()[l],
            static_cast<double>(negative_[l]) * weights_.negative_scale()[l]};
  }
  Side absent(std::size_t l) const {
    return {static_cast<double>(weights_.positive_totals()[l] - positive_[l]) *
                weights_.positive_scale()[l],
            absent_negative(l)};
  }

  // Z, or -r for discrete stumps, times the whole: smaller is better. Few labels have a document
  // that holds the word; for all others there is but one root to take.
  double score(WordVote kind) {
    const std::size_t n = table_.n_labels;
    double* const terms = terms_.data();
    const double *all = all_positive_.data(), *scale = weights_.negative_scale();
    if (kind == WordVote::real) {
      for (std::size_t l = 0; l < n; ++l) terms[l] = std::sqrt(all[l] * absent_negative(l));
      for (const u32 l : touched_) terms[l] = root_product(present(l)) + root_product(absent(l));
      return 2.0 * sum_terms(terms, n);
    }
    if (kind == WordVote::abstaining) {
      for (std::size_t l = 0; l < n; ++l) terms[l] = -static_cast<double>(negative_[l]) * scale[l];
      for (const u32 l : touched_) {
        const Side side = present(l);
        terms[l] = 2.0 * root_product(side) - (side.positive + side.negative);
      }
      return whole_ + sum_terms(terms, n);
    }
    for (std::size_t l = 0; l < n; ++l) {
      terms[l] = std::abs(difference(present(l))) + std::abs(difference(absent(l)));
    }
    return -sum_terms(terms, n);
  }

 private:
  double absent_negative(std::size_t l) const {
    return static_cast<double>(weights_.negative_totals()[l] - negative_[l]) *
           weights_.negative_scale()[l];
  }

  const WordTable& table_;
  const LabelWeights& weights_;
  double whole_ = 0.0;
  std::vector<double> all_positive_;
  std::vector<i64> positive_, memory_;
  const i64* negative_ = nullptr;
  std::vector<double> terms_;
  std::vector<u32> touched_;
};

// Blocks of neighbouring words with about as much work each.
std::vector<std::size_t> cut_words(const WordTable& table) {
  std::vector<std::size_t> cuts{0};
  const auto measure = [&](std::size_t word) {
    return table.word_offsets[word] + word * (1 + table.n_labels / 4);
  };
  const u64 share = measure(table.n_words) / kWordBlocks + 1;
  for (std::size_t word = 0; word < table.n_words; ++word) {
    if (measure(word + 1) - measure(cuts.back()) >= share) cuts.push_back(word + 1);
  }
  if (cuts.back() < table.n_words) cuts.push_back(table.n_words);
  return cuts;
}

double halve_log(double ratio) {
  return 0.5 * natural_log(ratio);
}

void vote_smoothly(WordStump& stump, std::size_t at, const Side& side, double smoothing) {
  const double ratio = (side.positive + smoothing) / (side.negative + smoothing);
  stump.votes[at] = halve_log(ratio);
  stump.factors[at] = std::sqrt(ratio);
}

void vote(WordStump& stump, const WordSums& sums, WordVote kind, double smoothing) {
  const std::size_t n = stump.votes.size() / 2;
  if (kind == WordVote::discrete) {
    const double r = std::min(-stump.score, 1.0);
    stump.score = std::sqrt((1.0 - r) * (1.0 + r));
    const double ratio = (1.0 + r + smoothing) / (1.0 - r + smoothing);
    stump.alpha = halve_log(ratio);
    const double factor = std::sqrt(ratio);
    for (std::size_t l = 0; l < n; ++l) {
      const double sides[2] = {difference(sums.absent(l)), difference(sums.present(l))};
      for (std::size_t side = 0; side < 2; ++side) {
        if (sides[side] == 0.0) continue;
        stump.votes[side * n + l] = sides[side] > 0.0 ? stump.alpha : -stump.alpha;
        stump.factors[side * n + l] = sides[side] > 0.0 ? factor : 1.0 / factor;
      }
    }
    return;
  }
  // In the unit of the sums, in which the whole need not be one.
  const double added = smoothing * sums.whole();
  for (std::size_t l = 0; l < n; ++l) {
    vote_smoothly(stump, n + l, sums.present(l), added);
    if (kind == WordVote::real) vote_smoothly(stump, l, sums.absent(l), added);
  }
}

}  // namespace

WordStump find_best_word(const WordTable& table, const LabelWeights& weights, WordVote kind,
                         double smoothing, int n_jobs, InterruptWatch& watch) {
  const std::vector<std::size_t> cuts = cut_words(table);
  const std::size_t n_blocks = cuts.size() - 1;
  std::vector<WordStump> found(n_blocks);
  const double work = static_cast<double>(table.documents.size()) +
                      static_cast<double>(table.n_words) * static_cast<double>(table.n_labels);
  parallel_for(n_blocks, choose_threads(n_jobs, work, kMinAdditionsPerThread), [&](std::size_t b) {
    watch.poll();
    WordSums sums(table, weights);
    WordStump best;
    best.score = std::numeric_limits<double>::infinity();
    for (std::size_t word = cuts[b]; word < cuts[b + 1]; ++word) {
      // A word that no document holds says nothing of those that will.
      if (table.holders(word).empty()) continue;
      sums.read(word);
      const double score = sums.score(kind);
      if (score < best.score) {
        best.score = score;
        best.word = static_cast<u32>(word);
      }
    }
    found[b] = best;
  });
  WordStump best = found.front();
  for (const WordStump& other : found) {
    if (other.score < best.score) best = other;
  }
  best.votes.assign(2 * table.n_labels, 0.0);
  best.factors.assign(2 * table.n_labels, 1.0);
  WordSums sums(table, weights);
  sums.read(best.word);
  best.score = sums.score(kind) / sums.whole();
  vote(best, sums, kind, smoothing);
  return best;
}

}  // namespace committee
