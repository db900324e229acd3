// Boosting over blocks of rows: a block that runs commands, and a Boosting whose commands go to a
// Python object.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "block_messages.hpp"
#include "boosting_checks.hpp"
#include "committee/binning.hpp"
#include "committee/block_boosting.hpp"

namespace committee {

namespace {

std::unique_ptr<Boosting> make_block_boosting(
    const nb::object& caller, const BinMapper& mapper, const std::vector<std::size_t>& offsets,
    const std::optional<Vector<double>>& target, const std::optional<Vector<double>>& weights,
    const std::string& loss, double parameter, u32 n_scores, const BoostingParams& params,
    const std::vector<double>& levels, std::size_t leaves_per_step, std::size_t trees_per_step) {
  if (offsets.size() < 2 || !std::is_sorted(offsets.begin(), offsets.end()) || offsets[0] != 0)
    throw nb::value_error("offsets must ascend from 0 to the number of rows");
  const std::size_t n_rows = offsets.back();
  check_params(params, n_rows, mapper.columns().size());
  auto function = make_checked_loss(loss, parameter, n_scores, levels);
  BoostingInput input;
  if (target) {
    check_target(*function, view_vector(*target), n_rows);
    input.target = view_vector(*target);
    input.target_owner = std::make_shared<const Vector<double>>(*target);
  }
  if (weights) {
    if (weights->shape(0) != n_rows) throw nb::value_error("a weight for each row is needed");
    input.weights.assign(weights->data(), weights->data() + n_rows);
  }
  const BlockedRows blocks{std::make_shared<const std::vector<ColumnBins>>(mapper.columns()),
                           offsets,
                           std::make_shared<PythonCaller>(caller),
                           leaves_per_step,
                           trees_per_step,
                           loss,
                           parameter,
                           levels,
                           nullptr};
  return std::make_unique<Boosting>(std::move(input), std::move(function), params, blocks);
}

}  // namespace

}  // namespace committee

void bind_block_boosting(nanobind::module_& m) {
  using namespace committee;
  m.def(
      "pack_words",
      [](const Vector<i64>& words) {
        return own_array<u8>(pack_words({words.data(), words.shape(0)}));
      },
      nb::arg("words"),
      "Whole numbers in as few bytes as they need, 256 at a time; none where all are zero.");
  m.def(
      "add_packed_words",
      [](const Vector<u8>& packed,
         const AlignedArray<i64, nb::ndim<1>, nb::c_contig, nb::device::cpu>& sums) {
        add_packed_words({packed.data(), packed.shape(0)}, {sums.data(), sums.shape(0)});
      },
      nb::arg("packed"), nb::arg("sums"), "Add the numbers that were packed to as many sums.");
  nb::class_<BoostingBlock>(m, "BoostingBlock", "The rows of one block of a boosted fit.")
      .def(
          "__init__",
          [](BoostingBlock* self, const BinnedMatrix& data, int n_jobs) {
            // The table is kept alive by the object.
            new (self) BoostingBlock({&data, [](const BinnedMatrix*) {}}, n_jobs);
          },
          nb::arg("data"), nb::arg("n_jobs") = 1, nb::keep_alive<1, 2>())
      .def("run", &run_command<BoostingBlock>, nb::arg("name"), nb::arg("args"),
           nb::sig("def run(self, name: str, args: tuple) -> tuple"),
           "Run a command of a fit on the rows of the block, and answer it.");
  nb::class_<BlockRounds>(m, "BlockRounds", "Rounds of a fit beside its blocks, all in one place.")
      .def(nb::init<>())
      .def(
          "run",
          [](BlockRounds& self, std::vector<BoostingBlock*> blocks, const nb::tuple& request) {
            const BlockValues given = read_values(request);
            BlockValues answer;
            {
              const nb::gil_scoped_release released;
              answer = self.run(std::move(blocks), given);
            }
            return write_values(answer);
          },
          nb::arg("blocks"), nb::arg("request"),
          nb::sig("def run(self, blocks: Sequence[BoostingBlock], request: tuple) -> tuple"),
          "Run the rounds that the driver has asked for with 'run_rounds'; their trees.");
  m.def("make_block_boosting", &make_block_boosting, nb::arg("caller"), nb::arg("mapper"),
        nb::arg("offsets"), nb::arg("target").none(), nb::arg("weights").none(), nb::arg("loss"),
        nb::arg("parameter"), nb::arg("n_scores"), nb::arg("params"), nb::arg("levels"),
        nb::arg("leaves_per_step"), nb::arg("trees_per_step") = 0,
        "A Boosting over blocks of rows, with the same trees: its commands to the blocks go to "
        "caller.call(commands, reduction, changes) and caller.keep(commands, state); with the "
        "reduction 'together' if caller.lie_together().");
}
