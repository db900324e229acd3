// Instructions that not every processor of a platform has. A kernel that gains by them has a second
// form, which is compiled for them and chosen when it is called; both give the same bytes.
#pragma once

namespace committee {

// Whether the processor and the system have AVX-512 (F, BW, DQ and VL), and the plain forms are
// not asked for.
bool may_use_avx512();
// For tests: the plain forms from here on, or again what the processor has.
void use_plain_kernels(bool plain);

}  // namespace committee
