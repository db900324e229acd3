#include "committee/word_stump.hpp"

#include <algorithm>
#include <cmath>

#include "committee/math.hpp"

namespace committee {

namespace {

constexpr double kUnits = 0x1.0p61;          // of the whole weight
constexpr std::size_t kWordBlocks = 128;     // tasks of a search
constexpr std::size_t kDocumentBlock = 256;  // documents of a task of a reweighting
constexpr double kMinAdditionsPerThread = 3e5;

struct Totals {
  std::vector<i64> positive, negative;  // per label
  i64 whole = 0;
};

// For one word and each label, the weight of the documents that hold the word: of all, and of those
// with the label.
struct Presence {
  explicit Presence(std::size_t n_labels) : all(n_labels), positive(n_labels), terms(n_labels) {}
  std::vector<i64> all, positive;
  std::vector<double> terms;
};

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

void add_labels(const WordTable& table, const LabelWeights& weights, u32 document, i64* positive) {
  const i64* row = weights.fixed(document);
  for (u64 k = table.label_offsets[document]; k < table.label_offsets[document + 1]; ++k) {
    positive[table.labels[k]] += row[table.labels[k]];
  }
}

Totals sum_all(const WordTable& table, const LabelWeights& weights) {
  Totals totals{std::vector<i64>(table.n_labels), std::vector<i64>(table.n_labels), 0};
  for (std::size_t i = 0; i < table.n_documents; ++i) {
    const i64* row = weights.fixed(i);
    for (std::size_t l = 0; l < table.n_labels; ++l) totals.negative[l] += row[l];
    add_labels(table, weights, static_cast<u32>(i), totals.positive.data());
  }
  for (std::size_t l = 0; l < table.n_labels; ++l) {
    totals.whole += totals.negative[l];
    totals.negative[l] -= totals.positive[l];
  }
  return totals;
}

void sum_presence(const WordTable& table, const LabelWeights& weights, std::size_t word,
                  Presence& sums) {
  const std::size_t n = table.n_labels;
  i64* const all = sums.all.data();
  std::fill(sums.all.begin(), sums.all.end(), 0);
  std::fill(sums.positive.begin(), sums.positive.end(), 0);
  const u32* at = table.documents.data() + table.word_offsets[word];
  const u32* const end = table.documents.data() + table.word_offsets[word + 1];
  for (const u32* document = at; document < end; ++document) {
    add_labels(table, weights, *document, sums.positive.data());
  }
  // Four documents at a time, so that a sum is loaded and stored once for four additions.
  for (; end - at >= 4; at += 4) {
    const i64 *a = weights.fixed(at[0]), *b = weights.fixed(at[1]), *c = weights.fixed(at[2]),
              *d = weights.fixed(at[3]);
    for (std::size_t l = 0; l < n; ++l) all[l] += (a[l] + b[l]) + (c[l] + d[l]);
  }
  for (; at < end; ++at) {
    const i64* row = weights.fixed(*at);
    for (std::size_t l = 0; l < n; ++l) all[l] += row[l];
  }
}

double root_product(i64 a, i64 b) {
  return std::sqrt(static_cast<double>(a) * static_cast<double>(b));
}

// Z in units: smaller is better.
double score_word(const Totals& totals, Presence& sums, WordVote kind) {
  const std::size_t n = sums.all.size();
  double* const terms = sums.terms.data();
  const i64 *all = sums.all.data(), *present = sums.positive.data();
  if (kind == WordVote::discrete) {
    i64 r = 0;
    for (std::size_t l = 0; l < n; ++l) {
      const i64 with = 2 * present[l] - all[l];
      const i64 without = totals.positive[l] - totals.negative[l] - with;
      r += std::abs(with) + std::abs(without);
    }
    return -static_cast<double>(r);
  }
  if (kind == WordVote::abstaining) {
    i64 held = 0;
    for (std::size_t l = 0; l < n; ++l) {
      held += all[l];
      terms[l] = 2.0 * root_product(present[l], all[l] - present[l]);
    }
    return static_cast<double>(totals.whole - held) + sum_terms(terms, n);
  }
  for (std::size_t l = 0; l < n; ++l) {
    const i64 absent = all[l] - present[l];
    terms[l] = 2.0 * (root_product(present[l], absent) +
                      root_product(totals.positive[l] - present[l], totals.negative[l] - absent));
  }
  return sum_terms(terms, n);
}

// Blocks of neighbouring words with about as many entries each.
std::vector<std::size_t> cut_words(const WordTable& table) {
  std::vector<std::size_t> cuts{0};
  const u64 share = table.documents.size() / kWordBlocks + 1;
  for (std::size_t word = 0; word < table.n_words; ++word) {
    if (table.word_offsets[word + 1] - table.word_offsets[cuts.back()] >= share) {
      cuts.push_back(word + 1);
    }
  }
  if (cuts.back() < table.n_words) cuts.push_back(table.n_words);
  return cuts;
}

double halve_log(double ratio) {
  return 0.5 * natural_log(ratio);
}

void vote_smoothly(WordStump& stump, std::size_t at, double positive, double negative,
                   double smoothing) {
  const double ratio = (positive + smoothing) / (negative + smoothing);
  stump.votes[at] = halve_log(ratio);
  stump.factors[at] = std::sqrt(ratio);
}

void vote(WordStump& stump, const Totals& totals, const Presence& sums, WordVote kind,
          double smoothing) {
  const std::size_t n = sums.all.size();
  stump.votes.assign(2 * n, 0.0);
  stump.factors.assign(2 * n, 1.0);
  const double whole = static_cast<double>(totals.whole);
  if (kind == WordVote::discrete) {
    const double r = -stump.score;
    stump.score = std::sqrt((1.0 - r) * (1.0 + r));
    const double ratio = (1.0 + r + smoothing) / (1.0 - r + smoothing);
    stump.alpha = halve_log(ratio);
    const double factor = std::sqrt(ratio);
    for (std::size_t l = 0; l < n; ++l) {
      const i64 with = 2 * sums.positive[l] - sums.all[l];
      const i64 sides[2] = {totals.positive[l] - totals.negative[l] - with, with};
      for (std::size_t side = 0; side < 2; ++side) {
        if (sides[side] == 0) continue;
        stump.votes[side * n + l] = sides[side] > 0 ? stump.alpha : -stump.alpha;
        stump.factors[side * n + l] = sides[side] > 0 ? factor : 1.0 / factor;
      }
    }
    return;
  }
  for (std::size_t l = 0; l < n; ++l) {
    const i64 present = sums.positive[l], absent = sums.all[l] - present;
    vote_smoothly(stump, n + l, static_cast<double>(present) / whole,
                  static_cast<double>(absent) / whole, smoothing);
    if (kind == WordVote::real) {
      vote_smoothly(stump, l, static_cast<double>(totals.positive[l] - present) / whole,
                    static_cast<double>(totals.negative[l] - absent) / whole, smoothing);
    }
  }
}

int choose_document_threads(const WordTable& table, int n_jobs) {
  const double work = static_cast<double>(table.n_documents) * static_cast<double>(table.n_labels);
  return choose_threads(n_jobs, work, kMinAdditionsPerThread);
}

template <class Work>
void for_document_blocks(std::size_t n_documents, int n_threads, const Work& work) {
  const std::size_t n_blocks = (n_documents + kDocumentBlock - 1) / kDocumentBlock;
  parallel_for(n_blocks, n_threads, [&](std::size_t block) {
    const std::size_t first = block * kDocumentBlock;
    work(first, std::min(first + kDocumentBlock, n_documents));
  });
}

}  // namespace

LabelWeights::LabelWeights(const WordTable& table, std::span<const double> document_weights)
    : n_labels_(table.n_labels),
      values_(table.n_documents * table.n_labels),
      fixed_(table.n_documents * table.n_labels) {
  const double heaviest = *std::max_element(document_weights.begin(), document_weights.end());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] = document_weights[i / n_labels_] / heaviest;
  }
  normalize(1);
}

double LabelWeights::normalize(int n_threads) {
  const std::size_t n_documents = values_.size() / n_labels_;
  std::vector<double> sums(n_documents);
  for_document_blocks(n_documents, n_threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      sums[i] = sum_terms(values_.data() + i * n_labels_, n_labels_);
    }
  });
  const double whole = sum_terms(sums.data(), n_documents);
  for_document_blocks(n_documents, n_threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t k = first * n_labels_; k < last * n_labels_; ++k) {
      values_[k] /= whole;
      fixed_[k] = static_cast<i64>(values_[k] * kUnits + 0.5);
    }
  });
  return whole;
}

WordStump find_best_word(const WordTable& table, const LabelWeights& weights, WordVote kind,
                         double smoothing, int n_jobs, InterruptWatch& watch) {
  const Totals totals = sum_all(table, weights);
  const std::vector<std::size_t> cuts = cut_words(table);
  const std::size_t n_blocks = cuts.size() - 1;
  std::vector<WordStump> found(n_blocks);
  const double work = static_cast<double>(table.documents.size() + table.n_words) *
                      static_cast<double>(table.n_labels);
  parallel_for(n_blocks, choose_threads(n_jobs, work, kMinAdditionsPerThread), [&](std::size_t b) {
    watch.poll();
    Presence sums(table.n_labels);
    WordStump best;
    best.score = std::numeric_limits<double>::infinity();
    for (std::size_t word = cuts[b]; word < cuts[b + 1]; ++word) {
      // A word that no document holds says nothing of those that will.
      if (table.word_offsets[word] == table.word_offsets[word + 1]) continue;
      sum_presence(table, weights, word, sums);
      const double score = score_word(totals, sums, kind);
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
  Presence sums(table.n_labels);
  sum_presence(table, weights, best.word, sums);
  best.score = score_word(totals, sums, kind) / static_cast<double>(totals.whole);
  vote(best, totals, sums, kind, smoothing);
  return best;
}

double reweight_labels(const WordTable& table, LabelWeights& weights, const WordStump& stump,
                       int n_jobs) {
  const std::size_t n = table.n_labels;
  std::vector<u8> present(table.n_documents, 0);
  for (u64 k = table.word_offsets[stump.word]; k < table.word_offsets[stump.word + 1]; ++k) {
    present[table.documents[k]] = 1;
  }
  const int n_threads = choose_document_threads(table, n_jobs);
  double* const values = weights.values().data();
  for_document_blocks(table.n_documents, n_threads, [&](std::size_t first, std::size_t last) {
    std::vector<double> positive;
    for (std::size_t i = first; i < last; ++i) {
      double* const row = values + i * n;
      const double* const factors = stump.factors.data() + (present[i] ? n : 0);
      const u64 begin = table.label_offsets[i], end = table.label_offsets[i + 1];
      positive.clear();
      for (u64 k = begin; k < end; ++k) {
        positive.push_back(row[table.labels[k]] / factors[table.labels[k]]);
      }
      for (std::size_t l = 0; l < n; ++l) row[l] *= factors[l];
      for (u64 k = begin; k < end; ++k) row[table.labels[k]] = positive[k - begin];
    }
  });
  return weights.normalize(n_threads);
}

}  // namespace committee
