// Instructions that not every processor of a platform has. A kernel that gains by them has further
// forms, which are compiled for them and chosen when it is called; all give the same bytes.
#pragma once
#include "committee/types.hpp"

namespace committee {

// Each has those before it. AVX2 is with BMI1 and BMI2, as in every processor that has it; AVX-512
// is F, BW, DQ and VL.
enum class Instructions : u8 { plain, avx2, avx512 };

// Whether the processor and the system have them, and they were not switched off.
bool may_use(Instructions wanted);
// For tests: at most these from here on, of what the processor has.
void limit_instructions(Instructions most);

}  // namespace committee
