// AdaBoost.MH on words: the table of documents, the weights of their labels, the search for a word.
#include <nanobind/stl/string.h>

#include <algorithm>

#include "arrays.hpp"
#include "committee/word_stump.hpp"
#include "interrupts.hpp"

namespace committee {

namespace {

// Offsets that rise from 0 to the number of entries, and entries below `limit`.
void check_lists(std::span<const u64> offsets, std::span<const u32> entries, std::size_t limit) {
  const bool rising = !offsets.empty() && offsets.front() == 0 &&
                      std::is_sorted(offsets.begin(), offsets.end()) &&
                      offsets.back() == entries.size();
  if (!rising) throw nb::value_error("offsets must rise from 0 to the number of entries.");
  if (std::any_of(entries.begin(), entries.end(), [limit](u32 e) { return e >= limit; })) {
    throw nb::value_error("an entry is out of range.");
  }
}

WordTable make_table(const Vector<u64>& word_offsets, const Vector<u32>& documents,
                     const Vector<u64>& label_offsets, const Vector<u32>& labels,
                     std::size_t n_labels) {
  WordTable table;
  if (word_offsets.shape(0) < 2 || label_offsets.shape(0) < 2 || n_labels == 0) {
    throw nb::value_error("there must be a word, a document and a label at least.");
  }
  table.n_words = word_offsets.shape(0) - 1;
  table.n_documents = label_offsets.shape(0) - 1;
  table.n_labels = n_labels;
  check_lists(view_vector(word_offsets), view_vector(documents), table.n_documents);
  check_lists(view_vector(label_offsets), view_vector(labels), n_labels);
  const auto copy = [](auto& to, const auto& from) { to.assign(from.begin(), from.end()); };
  copy(table.word_offsets, view_vector(word_offsets));
  copy(table.documents, view_vector(documents));
  copy(table.label_offsets, view_vector(label_offsets));
  copy(table.labels, view_vector(labels));
  list_words(table);
  return table;
}

WordVote name_vote(const std::string& kind) {
  if (kind == "real") return WordVote::real;
  if (kind == "abstaining") return WordVote::abstaining;
  if (kind == "discrete") return WordVote::discrete;
  throw nb::value_error("kind must be 'real', 'abstaining' or 'discrete'.");
}

void check_weights(const WordTable& table, const LabelWeights& weights) {
  if (!weights.belongs_to(table)) {
    throw nb::value_error("the weights belong to another table.");
  }
}

Array<double> copy_sides(const std::vector<double>& sides) {
  return own_array<double>(std::vector<double>(sides), {2, sides.size() / 2});
}

WordStump make_stump(u32 word, const Vector<double>& votes, const Vector<double>& factors,
                     double alpha) {
  WordStump stump;
  stump.word = word;
  stump.alpha = alpha;
  stump.votes.assign(votes.data(), votes.data() + votes.shape(0));
  stump.factors.assign(factors.data(), factors.data() + factors.shape(0));
  return stump;
}

void bind_word_votes(nb::module_& m) {
  nb::class_<WordStump>(m, "WordStump", "A question for a word, and its votes for the labels.")
      .def(nb::new_(&make_stump), nb::arg("word"), nb::arg("votes"), nb::arg("factors"),
           nb::arg("alpha") = 1.0)
      .def_ro("word", &WordStump::word)
      .def_ro("score", &WordStump::score)
      .def_ro("alpha", &WordStump::alpha)
      .def_prop_ro(
          "votes", [](const WordStump& self) { return copy_sides(self.votes); },
          nb::rv_policy::automatic, "Votes (side, label): word absent, word present.")
      .def_prop_ro(
          "factors", [](const WordStump& self) { return copy_sides(self.factors); },
          nb::rv_policy::automatic, "Exponentials of the votes.");
}

}  // namespace

}  // namespace committee

void bind_word_stump(nanobind::module_& m) {
  using namespace committee;
  bind_word_votes(m);
  nb::class_<LabelWeights>(m, "LabelWeights", "The weight of each pair of document and label.")
      .def(
          "__init__",
          [](LabelWeights* self, const WordTable& table, const Vector<double>& weights,
             std::size_t most_sums) {
            if (weights.shape(0) != table.n_documents) {
              throw nb::value_error("there must be one weight for each document.");
            }
            new (self) LabelWeights(table, view_vector(weights), most_sums);
          },
          nb::arg("table"), nb::arg("document_weights"), nb::arg("most_sums") = kMostKeptSums,
          "Weights in proportion to those of the documents; at most so many sums are kept.")
      .def(
          "list_values",
          [](const LabelWeights& self, const WordTable& table) {
            check_weights(table, self);
            return own_array<double>(self.list_values(table), {table.n_documents, table.n_labels});
          },
          nb::arg("table"), "All of them (document, label); they sum to one.");
  nb::class_<WordTable>(m, "WordTable", "Which documents hold a word, and their labels; immutable.")
      .def(
          "__init__",
          [](WordTable* self, const Vector<u64>& word_offsets, const Vector<u32>& documents,
             const Vector<u64>& label_offsets, const Vector<u32>& labels, std::size_t n_labels) {
            new (self)
                WordTable(make_table(word_offsets, documents, label_offsets, labels, n_labels));
          },
          nb::arg("word_offsets"), nb::arg("documents"), nb::arg("label_offsets"),
          nb::arg("labels"), nb::arg("n_labels"))
      .def(
          "find_best_word",
          [](const WordTable& self, const LabelWeights& weights, const std::string& kind,
             double smoothing, int n_jobs) {
            check_weights(self, weights);
            const WordVote vote = name_vote(kind);
            return run_interruptible([&](InterruptWatch& watch) {
              return find_best_word(self, weights, vote, smoothing, n_jobs, watch);
            });
          },
          nb::arg("weights"), nb::arg("kind"), nb::arg("smoothing"), nb::arg("n_jobs") = 0,
          "The stump with the smallest normaliser, on the first of equally good words.")
      .def(
          "reweight",
          [](const WordTable& self, LabelWeights& weights, const WordStump& stump, int n_jobs) {
            check_weights(self, weights);
            if (stump.word >= self.n_words || stump.factors.size() != 2 * self.n_labels) {
              throw nb::value_error("the stump belongs to another table.");
            }
            const nb::gil_scoped_release released;
            return weights.multiply(self, stump.word, stump.factors, n_jobs);
          },
          nb::arg("weights"), nb::arg("stump"), nb::arg("n_jobs") = 0,
          "Multiply by exp(-Y votes) and normalise; returns the normaliser Z.");
}
