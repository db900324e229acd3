// The weights that AdaBoost.MH puts on pairs of documents and labels, and their sums for every
// word, kept up to date from round to round instead of being added up anew.
//
// A stump multiplies the weights on either side of its question by one factor for each label and
// sign. Those of the larger side are kept in a scale for each label and sign, so that only
// documents on the smaller side are touched: D(i, l) = scale(sign(i, l), l) V(i, l). The sums are
// of V in fixed point: integers, which adding a difference keeps exact, so that they are the same
// whether added up anew or brought up to date, in any order, by any number of threads.
#pragma once
#include "types.hpp"

namespace committee {

inline constexpr double kMinAdditionsPerThread = 3e5;

// Which documents hold a word and which labels a document has; immutable.
struct WordTable {
  std::size_t n_documents = 0, n_words = 0, n_labels = 0;
  std::vector<u64> word_offsets;      // n_words + 1
  std::vector<u32> documents;         // that hold each word, ascending
  std::vector<u64> document_offsets;  // n_documents + 1
  std::vector<u32> words;             // of each document, ascending
  std::vector<u64> label_offsets;     // n_documents + 1
  std::vector<u32> labels;            // of each document, ascending

  std::span<const u32> holders(std::size_t word) const {
    return {documents.data() + word_offsets[word], word_offsets[word + 1] - word_offsets[word]};
  }
};

// Fills document_offsets and words from the lists of documents.
void list_words(WordTable& table);

// Sums of words and labels are kept up to this many (256 MB); beyond, a round adds up every word
// anew.
inline constexpr std::size_t kMostKeptSums = std::size_t{1} << 25;

class LabelWeights {
 public:
  // D(i, l) in proportion to the weight of document i: none negative, their sum positive.
  LabelWeights(const WordTable& table, std::span<const double> document_weights,
               std::size_t most_sums = kMostKeptSums);

  // Multiplies D(i, l) by 1 / factor where document i has label l and by the factor elsewhere;
  // factors are [side][label], and side 1 are the holders of the word. Returns the sum of all
  // before it is made one again.
  double multiply(const WordTable& table, u32 word, std::span<const double> factors, int n_jobs);

  // Whether they were made for a table of this shape.
  bool belongs_to(const WordTable& table) const;
  // D, [document][label].
  std::vector<double> list_values(const WordTable& table) const;

  // Sums of V: per label, and of the holders of one word; times the scale they are sums of D.
  // Positive are pairs of a document and a label that it has.
  const i64* positive_totals() const { return positive_totals_.data(); }
  const i64* negative_totals() const { return negative_totals_.data(); }
  const double* positive_scale() const { return positive_scale_.data(); }
  const double* negative_scale() const { return negative_scale_.data(); }
  // Adds to sums[label], which hold zeros; tells the labels that it touched first.
  void sum_positive(const WordTable& table, std::size_t word, i64* sums,
                    std::vector<u32>& touched) const;
  // Either the kept sums or, added up there, `memory`.
  const i64* sum_negative(const WordTable& table, std::size_t word, i64* memory) const;

 private:
  void rebase(const WordTable& table, int n_threads);
  double rescale(std::span<const double> factors);
  bool can_rescale(std::span<const double> rest) const;
  double foresee_sum(const WordTable& table, u32 word, std::span<const double> factors) const;
  double multiply_all(const WordTable& table, u32 word, std::span<const double> factors,
                      int n_threads);
  void touch_negative(const WordTable& table, std::span<const u32> changed, const double* ratio,
                      int n_jobs);
  const i64* negative_row(std::size_t document) const {
    return negative_fixed_.data() + document * n_labels_;
  }

  std::size_t n_labels_, n_documents_;
  std::vector<double> negative_;  // V, [document][label]; zero where the document has the label
  std::vector<i64> negative_fixed_;
  std::vector<double> positive_;  // V of the pairs in WordTable::labels
  std::vector<i64> positive_fixed_;
  std::vector<double> positive_scale_, negative_scale_;
  std::vector<i64> positive_totals_, negative_totals_;
  std::vector<bool> has_positive_, has_negative_;  // whether a label has such pairs
  std::vector<i64> word_sums_;                     // negative, [word][label]; empty: not kept
};

}  // namespace committee
