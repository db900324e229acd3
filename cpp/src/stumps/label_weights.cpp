#include "committee/label_weights.hpp"

#include <algorithm>
#include <stdexcept>

#include "committee/parallel.hpp"

namespace committee {

namespace {

// V is in units of 2^-50 of the whole weight. Scales stay within 2^±10 or little beyond, so that a
// sum of V fits into 62 bits and a unit is hardly ever worth more than 2^-40 of the whole.
constexpr double kUnits = 0x1.0p50;
constexpr double kLargestScale = 0x1.0p10;
constexpr std::size_t kBlock = 256;      // documents or words of a task
constexpr std::size_t kSliceLabels = 8;  // labels of a cache line

bool strays(double scale) {
  return scale > kLargestScale || scale < 1.0 / kLargestScale;
}

i64 fix(double value) {
  return static_cast<i64>(value * kUnits + 0.5);
}

template <class Work>
void for_blocks(std::size_t n, int n_threads, const Work& work) {
  parallel_for((n + kBlock - 1) / kBlock, n_threads,
               [&](std::size_t block) { work(block * kBlock, std::min((block + 1) * kBlock, n)); });
}

// The documents that are not in a list, which is ascending.
std::vector<u32> list_others(std::span<const u32> documents, std::size_t n_documents) {
  std::vector<u32> others;
  others.reserve(n_documents - documents.size());
  std::size_t at = 0;
  for (u32 i = 0; i < n_documents; ++i) {
    if (at < documents.size() && documents[at] == i) {
      ++at;
    } else {
      others.push_back(i);
    }
  }
  return others;
}

}  // namespace

void list_words(WordTable& table) {
  table.document_offsets.assign(table.n_documents + 1, 0);
  for (const u32 document : table.documents) ++table.document_offsets[document + 1];
  for (std::size_t i = 0; i < table.n_documents; ++i) {
    table.document_offsets[i + 1] += table.document_offsets[i];
  }
  table.words.resize(table.documents.size());
  std::vector<u64> next(table.document_offsets.begin(), table.document_offsets.end() - 1);
  for (std::size_t word = 0; word < table.n_words; ++word) {
    for (const u32 document : table.holders(word)) {
      table.words[next[document]++] = static_cast<u32>(word);
    }
  }
}

LabelWeights::LabelWeights(const WordTable& table, std::span<const double> document_weights,
                           std::size_t most_sums)
    : n_labels_(table.n_labels),
      n_documents_(table.n_documents),
      negative_(table.n_documents * table.n_labels),
      negative_fixed_(table.n_documents * table.n_labels),
      positive_(table.labels.size()),
      positive_fixed_(table.labels.size()),
      positive_scale_(table.n_labels, 1.0),
      negative_scale_(table.n_labels, 1.0),
      positive_totals_(table.n_labels),
      negative_totals_(table.n_labels),
      has_positive_(table.n_labels),
      has_negative_(table.n_labels),
      word_sums_(table.n_words <= most_sums / table.n_labels ? table.n_words * table.n_labels : 0) {
  const double heaviest = *std::max_element(document_weights.begin(), document_weights.end());
  double whole = 0.0;
  for (const double weight : document_weights) whole += weight / heaviest;
  std::vector<std::size_t> n_positive(n_labels_);
  for (std::size_t i = 0; i < n_documents_; ++i) {
    const double value = document_weights[i] / heaviest / whole / static_cast<double>(n_labels_);
    std::fill_n(negative_.begin() + static_cast<std::ptrdiff_t>(i * n_labels_), n_labels_, value);
    for (u64 k = table.label_offsets[i]; k < table.label_offsets[i + 1]; ++k) {
      negative_[i * n_labels_ + table.labels[k]] = 0.0;
      positive_[k] = value;
      ++n_positive[table.labels[k]];
    }
  }
  for (std::size_t l = 0; l < n_labels_; ++l) {
    has_positive_[l] = n_positive[l] > 0;
    has_negative_[l] = n_positive[l] < n_documents_;
  }
  rebase(table, 1);
}

bool LabelWeights::belongs_to(const WordTable& table) const {
  return n_labels_ == table.n_labels && n_documents_ == table.n_documents &&
         positive_.size() == table.labels.size() &&
         (word_sums_.empty() || word_sums_.size() == table.n_words * n_labels_);
}

std::vector<double> LabelWeights::list_values(const WordTable& table) const {
  std::vector<double> values(negative_.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = negative_[k] * negative_scale_[k % n_labels_];
  }
  for (std::size_t i = 0; i < n_documents_; ++i) {
    for (u64 k = table.label_offsets[i]; k < table.label_offsets[i + 1]; ++k) {
      const u32 label = table.labels[k];
      values[i * n_labels_ + label] = positive_[k] * positive_scale_[label];
    }
  }
  return values;
}

void LabelWeights::sum_positive(const WordTable& table, std::size_t word, i64* sums,
                                std::vector<u32>& touched) const {
  for (const u32 document : table.holders(word)) {
    for (u64 k = table.label_offsets[document]; k < table.label_offsets[document + 1]; ++k) {
      const u32 label = table.labels[k];
      if (sums[label] == 0) touched.push_back(label);
      sums[label] += positive_fixed_[k];
    }
  }
}

const i64* LabelWeights::sum_negative(const WordTable& table, std::size_t word, i64* memory) const {
  if (!word_sums_.empty()) return word_sums_.data() + word * n_labels_;
  std::fill_n(memory, n_labels_, 0);
  const std::span<const u32> holders = table.holders(word);
  const u32 *at = holders.data(), *end = at + holders.size();
  // Four documents at a time, so that a sum is loaded and stored once for four additions.
  for (; end - at >= 4; at += 4) {
    const i64 *a = negative_row(at[0]), *b = negative_row(at[1]), *c = negative_row(at[2]),
              *d = negative_row(at[3]);
    for (std::size_t l = 0; l < n_labels_; ++l) memory[l] += (a[l] + b[l]) + (c[l] + d[l]);
  }
  for (; at < end; ++at) {
    const i64* row = negative_row(*at);
    for (std::size_t l = 0; l < n_labels_; ++l) memory[l] += row[l];
  }
  return memory;
}

// The scales go into V and become one; everything is added up anew.
void LabelWeights::rebase(const WordTable& table, int n_threads) {
  for_blocks(n_documents_, n_threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t l = 0; l < n_labels_; ++l) {
        double& value = negative_[i * n_labels_ + l];
        value *= negative_scale_[l];
        negative_fixed_[i * n_labels_ + l] = fix(value);
      }
    }
  });
  std::fill(positive_totals_.begin(), positive_totals_.end(), 0);
  std::fill(negative_totals_.begin(), negative_totals_.end(), 0);
  for (std::size_t k = 0; k < positive_.size(); ++k) {
    positive_[k] *= positive_scale_[table.labels[k]];
    positive_fixed_[k] = fix(positive_[k]);
    positive_totals_[table.labels[k]] += positive_fixed_[k];
  }
  for (std::size_t i = 0; i < n_documents_; ++i) {
    const i64* row = negative_row(i);
    for (std::size_t l = 0; l < n_labels_; ++l) negative_totals_[l] += row[l];
  }
  std::fill(positive_scale_.begin(), positive_scale_.end(), 1.0);
  std::fill(negative_scale_.begin(), negative_scale_.end(), 1.0);
  if (word_sums_.empty()) return;
  std::vector<i64> kept;
  kept.swap(word_sums_);  // empty while sum_negative adds up
  for_blocks(table.n_words, n_threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t word = first; word < last; ++word) {
      sum_negative(table, word, kept.data() + word * n_labels_);
    }
  });
  word_sums_.swap(kept);
}

// Multiplies V of the changed documents and brings the sums up to date; threads share the labels.
void LabelWeights::touch_negative(const WordTable& table, std::span<const u32> changed,
                                  const double* ratio, int n_jobs) {
  double work = 0.0;
  for (const u32 i : changed) {
    work += static_cast<double>(table.document_offsets[i + 1] - table.document_offsets[i] + 4);
  }
  const int n_threads =
      choose_threads(n_jobs, work * static_cast<double>(n_labels_), kMinAdditionsPerThread);
  const std::size_t n_lines = (n_labels_ + kSliceLabels - 1) / kSliceLabels;
  const std::size_t n_slices = std::min(n_lines, static_cast<std::size_t>(n_threads));
  parallel_for(n_slices, n_threads, [&](std::size_t slice) {
    const std::size_t first = slice * n_lines / n_slices * kSliceLabels;
    const std::size_t last = std::min((slice + 1) * n_lines / n_slices * kSliceLabels, n_labels_);
    const std::size_t width = last - first;
    std::vector<i64> growth(width);
    for (const u32 i : changed) {
      double* const values = negative_.data() + i * n_labels_ + first;
      i64* const fixed = negative_fixed_.data() + i * n_labels_ + first;
      for (std::size_t l = 0; l < width; ++l) {
        values[l] *= ratio[first + l];
        const i64 now = fix(values[l]);
        growth[l] = now - fixed[l];
        fixed[l] = now;
        negative_totals_[first + l] += growth[l];
      }
      if (word_sums_.empty()) continue;
      for (u64 k = table.document_offsets[i]; k < table.document_offsets[i + 1]; ++k) {
        i64* const sums = word_sums_.data() + table.words[k] * n_labels_ + first;
        for (std::size_t l = 0; l < width; ++l) sums[l] += growth[l];
      }
    }
  });
}

// Puts the factors of the larger side into the scales, makes the sum one and returns what it was.
double LabelWeights::rescale(std::span<const double> factors) {
  double whole = 0.0;
  for (std::size_t l = 0; l < n_labels_; ++l) {
    positive_scale_[l] /= factors[l];
    negative_scale_[l] *= factors[l];
    whole += static_cast<double>(positive_totals_[l]) * positive_scale_[l] +
             static_cast<double>(negative_totals_[l]) * negative_scale_[l];
  }
  whole /= kUnits;
  for (std::size_t l = 0; l < n_labels_; ++l) {
    // A scale that nothing depends on must not run away.
    positive_scale_[l] = has_positive_[l] ? positive_scale_[l] / whole : 1.0;
    negative_scale_[l] = has_negative_[l] ? negative_scale_[l] / whole : 1.0;
  }
  return whole;
}

// The sum of all weights as it would be, from the sums of the word alone.
double LabelWeights::foresee_sum(const WordTable& table, u32 word,
                                 std::span<const double> factors) const {
  std::vector<i64> positive(n_labels_), memory(n_labels_);
  std::vector<u32> touched;
  sum_positive(table, word, positive.data(), touched);
  const i64* const negative = sum_negative(table, word, memory.data());
  double whole = 0.0;
  for (std::size_t l = 0; l < n_labels_; ++l) {
    const double absent = factors[l], present = factors[n_labels_ + l];
    whole += positive_scale_[l] * (static_cast<double>(positive[l]) / present +
                                   static_cast<double>(positive_totals_[l] - positive[l]) / absent);
    whole += negative_scale_[l] * (static_cast<double>(negative[l]) * present +
                                   static_cast<double>(negative_totals_[l] - negative[l]) * absent);
  }
  return whole / kUnits;
}

// Whether V stays small enough for its fixed point if the scales take up the factors of one side.
bool LabelWeights::can_rescale(std::span<const double> rest) const {
  for (std::size_t l = 0; l < n_labels_; ++l) {
    if ((has_positive_[l] && strays(positive_scale_[l] / rest[l])) ||
        (has_negative_[l] && strays(negative_scale_[l] * rest[l]))) {
      return false;
    }
  }
  return true;
}

// The slow way, for factors of any size: everything is multiplied and added up anew.
double LabelWeights::multiply_all(const WordTable& table, u32 word, std::span<const double> factors,
                                  int n_threads) {
  std::vector<u8> holds(n_documents_, 0);
  for (const u32 i : table.holders(word)) holds[i] = 1;
  double whole = 0.0;
  for (std::size_t i = 0; i < n_documents_; ++i) {
    const double* const own = factors.data() + (holds[i] ? n_labels_ : 0);
    double sum = 0.0;
    for (std::size_t l = 0; l < n_labels_; ++l) {
      double& value = negative_[i * n_labels_ + l];
      value *= negative_scale_[l] * own[l];
      sum += value;
    }
    for (u64 k = table.label_offsets[i]; k < table.label_offsets[i + 1]; ++k) {
      positive_[k] *= positive_scale_[table.labels[k]] / own[table.labels[k]];
      sum += positive_[k];
    }
    whole += sum;
  }
  std::fill(positive_scale_.begin(), positive_scale_.end(), 1.0 / whole);
  std::fill(negative_scale_.begin(), negative_scale_.end(), 1.0 / whole);
  rebase(table, n_threads);
  return whole;
}

double LabelWeights::multiply(const WordTable& table, u32 word, std::span<const double> factors,
                              int n_jobs) {
  // Sums of weights, and one over them, stay finite.
  if (!std::all_of(factors.begin(), factors.end(),
                   [](double f) { return f > 1e-250 && f < 1e250; }))
    throw std::invalid_argument("factors must be between 1e-250 and 1e250");
  const std::span<const u32> holders = table.holders(word);
  const bool many = 2 * holders.size() > n_documents_;
  const std::span<const double> sides[2] = {factors.first(n_labels_), factors.last(n_labels_)};
  const std::span<const double> rest = sides[many ? 1 : 0], touched = sides[many ? 0 : 1];
  // Stumps that boosting found never let the sum grow; any others may.
  if (!can_rescale(rest) || foresee_sum(table, word, factors) > 1.5) {
    const double work = static_cast<double>(table.documents.size() + n_documents_);
    const int n_threads =
        choose_threads(n_jobs, work * static_cast<double>(n_labels_), kMinAdditionsPerThread);
    return multiply_all(table, word, factors, n_threads);
  }
  const std::vector<u32> changed =
      many ? list_others(holders, n_documents_) : std::vector<u32>(holders.begin(), holders.end());
  std::vector<double> ratio(n_labels_);
  for (std::size_t l = 0; l < n_labels_; ++l) ratio[l] = touched[l] / rest[l];
  touch_negative(table, changed, ratio.data(), n_jobs);
  for (const u32 i : changed) {
    for (u64 k = table.label_offsets[i]; k < table.label_offsets[i + 1]; ++k) {
      const u32 label = table.labels[k];
      positive_[k] /= ratio[label];
      const i64 now = fix(positive_[k]);
      positive_totals_[label] += now - positive_fixed_[k];
      positive_fixed_[k] = now;
    }
  }
  return rescale(rest);
}

}  // namespace committee
