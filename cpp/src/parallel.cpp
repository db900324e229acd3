#include "committee/parallel.hpp"
