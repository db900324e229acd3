// The losses. A new one is a header like squared.hpp, an include and an entry here; it is then
// known by its name, tested by finite differences and offered to boosting.
#pragma once
#include <tuple>

#include "absolute.hpp"
#include "exponential.hpp"
#include "gamma.hpp"
#include "huber.hpp"
#include "logistic.hpp"
#include "poisson.hpp"
#include "quantile.hpp"
#include "softmax.hpp"
#include "squared.hpp"
#include "tweedie.hpp"

namespace committee {

// One score a row. Softmax, which has one a class, is apart.
using ScalarLosses = std::tuple<SquaredLoss, AbsoluteLoss, HuberLoss, QuantileLoss, PoissonLoss,
                                GammaLoss, TweedieLoss, LogisticLoss, ExponentialLoss>;

}  // namespace committee
