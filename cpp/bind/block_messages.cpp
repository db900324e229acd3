#include "block_messages.hpp"

#include <nanobind/stl/string.h>

namespace committee {

namespace {

template <class T>
bool read_array(const nb::handle& given, BlockValue& value) {
  Vector<T> array;
  if (!nb::try_cast<Vector<T>>(given, array, false)) return false;
  value = std::vector<T>(array.data(), array.data() + array.shape(0));
  return true;
}

BlockValue read_value(const nb::handle& given) {
  BlockValue value;
  if (PyLong_Check(given.ptr())) return nb::cast<i64>(given);
  if (PyFloat_Check(given.ptr())) return nb::cast<double>(given);
  if (read_array<i64>(given, value) || read_array<double>(given, value) ||
      read_array<u32>(given, value) || read_array<u8>(given, value))
    return value;
  throw nb::type_error(
      "a value of a command must be an int, a float or a contiguous array of int64, float64, "
      "uint32 or uint8");
}

}  // namespace

BlockValues read_values(const nb::handle& given) {
  BlockValues values;
  for (const nb::handle value : given) values.push_back(read_value(value));
  return values;
}

namespace {

nb::object write_value(BlockValue value) {
  return std::visit(
      []<class T>(T& own) -> nb::object {
        if constexpr (requires { own.data(); }) {
          return nb::cast(own_array<typename T::value_type>(std::move(own)));
        } else {
          return nb::cast(own);
        }
      },
      value);
}

}  // namespace

nb::object write_values(const BlockValues& values) {
  nb::list list;
  for (const BlockValue& value : values) list.append(write_value(value));
  return nb::tuple(list);
}

namespace {

nb::object write_commands(std::span<const BlockCommand> commands) {
  nb::list list;
  for (const BlockCommand& command : commands) {
    nb::object by_block = nb::none();
    if (!command.by_block.empty()) {
      nb::list parts;
      for (const BlockValues& values : command.by_block) parts.append(write_values(values));
      by_block = parts;
    }
    list.append(nb::make_tuple(command.name, write_values(command.args), by_block));
  }
  return list;
}

}  // namespace

BlockValues PythonCaller::call(std::span<const BlockCommand> commands, BlockReduction how,
                               bool changes) {
  constexpr const char* kNames[] = {"sum", "max", "list", "together"};
  const nb::gil_scoped_acquire held;
  return read_values(target_.attr("call")(write_commands(commands),
                                          kNames[static_cast<std::size_t>(how)], changes));
}

bool PythonCaller::lie_together() {
  const nb::gil_scoped_acquire held;
  return nb::cast<bool>(target_.attr("lie_together")());
}

void PythonCaller::keep(std::vector<BlockCommand> kept, std::vector<BlockCommand> state) {
  const nb::gil_scoped_acquire held;
  target_.attr("keep")(write_commands(kept), write_commands(state));
}

}  // namespace committee
