// Stumps on the presence of a word, for AdaBoost.MH [SchapireSinger2000]. A fit makes one WordTable
// of its documents and one LabelWeights, then in each round finds the word whose stump has the
// smallest normaliser Z and reweights the pairs of documents and labels by what that stump says.
//
// With D(i, l) the weight of document i and label l, Y(i, l) = +1 if i has label l and -1
// otherwise, and W+(j, l), W-(j, l) the weight of the pairs of either sign on side j (0: word
// absent, 1: present), a stump votes c(j, l) for label l:
//
//   real        c = 1/2 ln((W+ + e) / (W- + e)),  Z = 2 sum_j sum_l sqrt(W+ W-)
//   abstaining  c(0, l) = 0, c(1, l) as above,    Z = W(0) + 2 sum_l sqrt(W+(1, l) W-(1, l))
//   discrete    c = a sign(W+ - W-), a = 1/2 ln((1 + r + e) / (1 - r + e)),
//               r = sum_j sum_l |W+ - W-|,        Z = sqrt(1 - r^2)
//
// The sums are integers times a scale (label_weights.hpp), so that no order of adding changes them;
// e^c is a square root, so that no exponential is ever taken.
#pragma once
#include "label_weights.hpp"
#include "parallel.hpp"

namespace committee {

enum class WordVote { real, abstaining, discrete };

struct WordStump {
  u32 word = 0;
  double score = 0.0;           // Z of the formula, before smoothing
  double alpha = 1.0;           // a of the discrete form
  std::vector<double> votes;    // c, [side][label]
  std::vector<double> factors;  // e^c
};

// The best word that a document holds, the first of equals. `smoothing` is e, in units of the whole
// weight.
WordStump find_best_word(const WordTable& table, const LabelWeights& weights, WordVote kind,
                         double smoothing, int n_jobs, InterruptWatch& watch);

}  // namespace committee
