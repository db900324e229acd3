// Both forms of the sums over lanes, for the test that holds the one to the other.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "committee/packed_counts_simd.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {

namespace {

constexpr std::size_t kBoundaries = 4, kStride = 16;

// What is asked of one node: four words and their total, and as many rows, whose records give a
// byte each.
struct LaneCases {
  const PackedCounts8* bytes;  // [case][boundary]
  const u16* wides;            // [case][boundary][class]
  const float* quads;          // [case][lane]
  const u8* records;           // [case][boundary][kStride]
  std::size_t n;
};

// The answers of a form, one list a function.
struct LaneAnswers {
  std::vector<PackedCounts8> narrowed, unset;
  std::vector<u16> widened, unset_wide;
  std::vector<u32> scalars;
  std::vector<float> sums;
};

template <class T, class Value>
void append(std::vector<T>& to, const Value& value) {
  const T* from = reinterpret_cast<const T*>(&value);
  to.insert(to.end(), from, from + sizeof value / sizeof(T));
}

template <class Form>
LaneAnswers ask_lanes(const LaneCases& cases) {
  LaneAnswers answers;
  for (std::size_t i = 0; i < cases.n; ++i) {
    const PackedCounts8* bytes = cases.bytes + i * kBoundaries;
    PackedCounts16 wides[kBoundaries], total{};
    std::memcpy(wides, cases.wides + i * kBoundaries * kPackedClasses, sizeof wides);
    PackedCounts8 byte_total = 0;
    for (std::size_t k = 0; k < kBoundaries; ++k) {
      total += wides[k];
      byte_total += bytes[k];
      append(answers.widened, Form::widen(bytes[k]));
      answers.narrowed.push_back(Form::narrow(Form::widen(bytes[k])));
      for (const u32 found :
           {Form::weigh(wides[k]), Form::add_squares(wides[k]), Form::heaviest_class(wides[k])}) {
        answers.scalars.push_back(found);
      }
    }
    append(answers.sums, Form::sum_four(bytes, byte_total));
    append(answers.sums, Form::sum_four(wides, total));
    FloatQuad quad, other;
    std::memcpy(&quad, cases.quads + i * 4, sizeof quad);
    std::memcpy(&other, cases.quads + (i + 1) % cases.n * 4, sizeof other);
    append(answers.sums, Form::larger_of(quad, other));
    answers.sums.push_back(Form::largest_of(quad));
    answers.scalars.push_back(Form::find_at_least(quad, other[0]));
    const u8* records = cases.records + i * kBoundaries * kStride;
    for (const u32 n_rows : {3u, 4u}) {
      answers.unset.push_back(
          Form::template add_unset<kStride, PackedCounts8>(records, 5, bytes, n_rows));
      append(answers.unset_wide,
             Form::template add_unset<kStride, PackedCounts16>(records, 5, bytes, n_rows));
    }
  }
  return answers;
}

nb::tuple answer_lanes(const std::string& form, const Vector<u64>& bytes, const Vector<u16>& wides,
                       const Vector<float>& quads, const Vector<u8>& records) {
  const std::size_t n = bytes.shape(0) / kBoundaries;
  if (bytes.shape(0) != n * kBoundaries || wides.shape(0) != n * kBoundaries * kPackedClasses ||
      quads.shape(0) != n * 4 || records.shape(0) != n * kBoundaries * kStride) {
    throw nb::value_error("four words, four vectors, four numbers and four records a case");
  }
  if (form != "plain" && form != "native") throw nb::value_error("form is 'plain' or 'native'");
  const LaneCases cases{bytes.data(), wides.data(), quads.data(), records.data(), n};
  LaneAnswers found =
      form == "plain" ? ask_lanes<PackedCountsScalar>(cases) : ask_lanes<PackedCountsSimd>(cases);
  return nb::make_tuple(
      own_array<u64>(std::move(found.narrowed)), own_array<u64>(std::move(found.unset)),
      own_array<u16>(std::move(found.widened)), own_array<u16>(std::move(found.unset_wide)),
      own_array<u32>(std::move(found.scalars)), own_array<float>(std::move(found.sums)));
}

}  // namespace

}  // namespace committee

void bind_packed_counts(nb::module_& m) {
  m.def("_answer_lanes", &committee::answer_lanes, "form"_a, "bytes"_a, "wides"_a, "quads"_a,
        "records"_a, "Sums over the lanes of words of class weights, by either form; for tests.");
}
