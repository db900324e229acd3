// What a reader says about itself, so that guided.cpp can try it. LLVMFuzzerTestOneInput alone
// suffices for Clang's libFuzzer: clang++ -fsanitize=fuzzer,address -DCOMMITTEE_GUIDED ...
#pragma once
#include <random>
#include <vector>

#include "committee/types.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

// An input that the reader takes.
std::vector<committee::u8> draw_input(std::mt19937& draw);
// One change that knows how the input is made.
void change_input(std::vector<committee::u8>& bytes, std::mt19937& draw);

}  // namespace fuzz
