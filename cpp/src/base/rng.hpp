// Randomness keyed by what it is for; the formulas are those of both engines.
#pragma once
#include "committee/random_keys.hpp"
#include "committee/types.hpp"
