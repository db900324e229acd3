#include "tree_arrays.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>

#include "arrays.hpp"

namespace committee {

namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw nb::value_error(sentence.c_str());
}

nb::object numpy(const char* name) {
  return nb::module_::import_("numpy").attr(name);
}

template <class T>
nb::object view_span(std::span<const T> values, nb::handle owner) {
  return nb::cast(view_array<T>(values.data(), {values.size()}, owner));
}

nb::object view_values(const Trees& trees, nb::handle owner) {
  const std::size_t n = trees.leaf_offsets[trees.n_trees], width = trees.width;
  const auto view = [&]<class T>(const T*) {
    return nb::cast(view_array<T>(static_cast<const T*>(trees.values), {n, width}, owner));
  };
  switch (trees.value_type) {
    case ValueType::count8:
      return view(static_cast<const u8*>(nullptr));
    case ValueType::count16:
      return view(static_cast<const u16*>(nullptr));
    case ValueType::count32:
      return view(static_cast<const u32*>(nullptr));
    default:
      return view(static_cast<const double*>(nullptr));
  }
}

nb::object view_nodes(const Trees& trees, nb::handle owner) {
  const std::size_t node_bytes =
      trees.double_thresholds ? sizeof(Node<double>) : sizeof(Node<float>);
  const std::size_t bytes = trees.node_offsets[trees.n_trees] * node_bytes;
  const auto raw = nb::cast(view_array<u8>(static_cast<const u8*>(trees.nodes), {bytes}, owner));
  return raw.attr("view")(node_dtype(trees.double_thresholds));
}

constexpr std::array kArrayNames = {"nodes",        "node_offsets",     "leaf_offsets",
                                    "values",       "category_offsets", "category_words",
                                    "leaf_samples", "leaf_weights",     "node_impurity"};

}  // namespace

nb::object node_dtype(bool double_thresholds) {
  nb::list fields;
  fields.append(nb::make_tuple("threshold", double_thresholds ? "<f8" : "<f4"));
  fields.append(nb::make_tuple("left", "<u4"));
  fields.append(nb::make_tuple("tag", "<u4"));
  return numpy("dtype")(fields);
}

nb::object get_item(const nb::dict& state, const char* key) {
  if (!state.contains(key)) refuse(std::string("The state of the trees lacks '") + key + "'.");
  return state[key];
}

nb::object view_tree_array(const Trees& trees, const std::string& name, nb::handle owner) {
  if (name == "nodes") return view_nodes(trees, owner);
  if (name == "node_offsets") return view_span(trees.node_offsets, owner);
  if (name == "leaf_offsets") return view_span(trees.leaf_offsets, owner);
  if (name == "values") return view_values(trees, owner);
  if (name == "category_offsets") return view_span(trees.category_offsets, owner);
  if (name == "category_words") return view_span(trees.category_words, owner);
  if (name == "leaf_samples") return view_span(trees.leaf_samples, owner);
  if (name == "leaf_weights") return view_span(trees.leaf_weights, owner);
  return view_span(trees.node_impurity, owner);
}

nb::dict export_arrays(const Trees& trees, nb::handle owner) {
  nb::dict state;
  state["version"] = kFlatVersion;
  state["n_features"] = trees.n_features;
  state["outputs"] = std::vector<u32>(trees.outputs.begin(), trees.outputs.end());
  for (const char* name : kArrayNames) state[name] = view_tree_array(trees, name, owner);
  return state;
}

namespace {

// What an imported arena views: NumPy arrays, and the outputs, which come as a list.
struct ImportedArrays {
  std::vector<nb::object> arrays;
  std::vector<u32> outputs;
};

// The last view may go on any thread, with or without the GIL.
std::shared_ptr<ImportedArrays> make_import() {
  return {new ImportedArrays, [](ImportedArrays* kept) {
            const nb::gil_scoped_acquire gil;
            delete kept;
          }};
}

template <class T>
T get_number(const nb::dict& state, const char* key) {
  // Not try_cast, which ends the process where there is no memory for a list.
  try {
    return nb::cast<T>(get_item(state, key));
  } catch (const nb::cast_error&) {
    refuse(std::string("'") + key + "' in the state of the trees is not as expected.");
  }
}

struct RawArray {
  const void* data = nullptr;
  std::size_t size = 0;  // along the first axis
  nb::object array;
};

// The array under `key`, C-contiguous and aligned, kept alive by `import`. A writable one is
// copied: what was validated must not change afterwards.
RawArray take_array(const nb::dict& state, const char* key, int ndim, ImportedArrays& import) {
  nb::object array = get_item(state, key);
  if (!nb::isinstance(array, numpy("ndarray")) || nb::cast<int>(array.attr("ndim")) != ndim) {
    refuse(std::string("'") + key + "' must be a NumPy array of " + std::to_string(ndim) +
           " dimension(s).");
  }
  const nb::object flags = array.attr("flags");
  const auto flag = [&](const char* name) { return nb::cast<bool>(flags.attr(name)); };
  const auto address = [&] {
    return nb::cast<std::uintptr_t>(array.attr("__array_interface__")["data"][0]);
  };
  // Packed structures count as aligned everywhere, so the address itself is looked at.
  constexpr std::uintptr_t kAlignment = alignof(Node<double>);
  if (flag("writeable") || !flag("c_contiguous") || address() % kAlignment != 0)
    array = array.attr("copy")("C");
  RawArray raw;
  raw.size = nb::len(array);
  raw.data = reinterpret_cast<const void*>(address());
  raw.array = array;
  import.arrays.push_back(std::move(array));
  return raw;
}

bool has_dtype(const RawArray& raw, const nb::object& dtype) {
  return raw.array.attr("dtype").equal(dtype);
}

template <class T>
std::span<const T> take_span(const nb::dict& state, const char* key, const char* dtype,
                             ImportedArrays& import) {
  const RawArray raw = take_array(state, key, 1, import);
  if (!has_dtype(raw, numpy("dtype")(dtype)))
    refuse(std::string("'") + key + "' must have dtype " + dtype + ".");
  return {static_cast<const T*>(raw.data), raw.size};
}

ValueType read_value_type(const RawArray& raw) {
  const std::array<const char*, 4> dtypes = {"<u1", "<u2", "<u4", "<f8"};
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (has_dtype(raw, numpy("dtype")(dtypes[i]))) return static_cast<ValueType>(i);
  }
  refuse("'values' must have dtype uint8, uint16, uint32 or float64.");
}

void check_keys(const nb::dict& state) {
  if (get_number<int>(state, "version") != kFlatVersion)
    refuse("The state of the trees has an unknown version.");
  if (nb::len(state) > kArrayNames.size() + 3)
    refuse("The state of the trees has unknown entries.");
}

}  // namespace

Trees import_arrays(const nb::dict& state) {
  check_keys(state);
  auto import = make_import();
  Trees trees;
  trees.n_features = get_number<std::size_t>(state, "n_features");
  import->outputs = get_number<std::vector<u32>>(state, "outputs");
  trees.outputs = import->outputs;
  trees.node_offsets = take_span<u64>(state, "node_offsets", "<u8", *import);
  trees.leaf_offsets = take_span<u64>(state, "leaf_offsets", "<u8", *import);
  trees.category_offsets = take_span<u32>(state, "category_offsets", "<u4", *import);
  trees.category_words = take_span<u32>(state, "category_words", "<u4", *import);
  trees.leaf_samples = take_span<u32>(state, "leaf_samples", "<u4", *import);
  trees.leaf_weights = take_span<double>(state, "leaf_weights", "<f8", *import);
  trees.node_impurity = take_span<double>(state, "node_impurity", "<f8", *import);

  const RawArray nodes = take_array(state, "nodes", 1, *import);
  trees.double_thresholds = has_dtype(nodes, node_dtype(true));
  if (!trees.double_thresholds && !has_dtype(nodes, node_dtype(false))) {
    refuse("'nodes' must have the fields threshold (float32 or float64), left and tag (uint32).");
  }
  trees.nodes = nodes.data;
  const RawArray values = take_array(state, "values", 2, *import);
  trees.value_type = read_value_type(values);
  trees.values = values.data;
  const auto width = nb::cast<std::size_t>(values.array.attr("shape")[1]);
  if (width > std::numeric_limits<u32>::max()) refuse("'values' has too many columns.");
  trees.width = static_cast<u32>(width);
  if (trees.node_offsets.empty() || trees.leaf_offsets.empty())
    refuse("Offsets must not be empty.");
  trees.n_trees = trees.node_offsets.size() - 1;
  if (trees.node_offsets.back() != nodes.size)
    refuse("'node_offsets' must end with the number of nodes.");
  if (trees.leaf_offsets.back() != values.size)
    refuse("'leaf_offsets' must end with the number of leaves.");
  trees.owner = std::move(import);
  validate_trees(trees);
  return trees;
}

namespace {

// A column of a grown tree, converted to T; it must have n entries.
template <class T>
std::vector<T> get_column(const nb::dict& state, const char* key, const char* dtype,
                          std::size_t n) {
  const nb::object array = numpy("ascontiguousarray")(get_item(state, key), dtype);
  const auto column = nb::cast<AlignedArray<const T, nb::c_contig, nb::device::cpu>>(array);
  if (column.size() != n)
    refuse(std::string("'") + key + "' must have " + std::to_string(n) + " entries.");
  return {column.data(), column.data() + n};
}

void check_links(const GrownTree& tree) {
  std::vector<u8> parents(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if ((tree.left[i] == GrownTree::kNoChild) != (tree.right[i] == GrownTree::kNoChild))
      refuse("A node has one child.");
    if (tree.is_leaf(static_cast<u32>(i))) continue;
    for (const u32 child : {tree.left[i], tree.right[i]}) {
      if (child == 0 || child >= tree.size() || parents[child]++)
        refuse("A child must be a node with one parent.");
    }
  }
  // One parent each and a root without: what remains to rule out is a cycle apart from the root.
  std::vector<u32> open{0};
  std::size_t reached = 0;
  for (; !open.empty(); ++reached) {
    const u32 node = open.back();
    open.pop_back();
    if (tree.is_leaf(node)) continue;
    open.push_back(tree.left[node]);
    open.push_back(tree.right[node]);
  }
  if (reached != tree.size()) refuse("Every node must be reachable from the root.");
}

void import_categories(const nb::dict& state, GrownTree& tree) {
  if (!state.contains("left_categories")) return;
  for (const auto& [key, codes] : nb::cast<nb::dict>(state["left_categories"])) {
    const auto node = nb::cast<std::size_t>(key);
    if (node >= tree.size()) refuse("left_categories names a node that does not exist.");
    std::vector<u32> words;
    for (const u32 code : nb::cast<std::vector<u32>>(codes)) {
      if (words.size() <= code / 32) words.resize(code / 32 + 1, 0);
      words[code / 32] |= 1u << (code % 32);
    }
    tree.splits[node].categorical = true;
    tree.splits[node].left_categories = std::make_shared<const std::vector<u32>>(std::move(words));
  }
}

}  // namespace

GrownTree import_grown(const nb::dict& state) {
  const std::size_t n = nb::len(get_item(state, "children_left"));
  if (n == 0 || n >= GrownTree::kNoChild) refuse("A tree must have at least one node.");
  GrownTree tree;
  const auto left = get_column<i64>(state, "children_left", "i8", n);
  const auto right = get_column<i64>(state, "children_right", "i8", n);
  const auto feature = get_column<i64>(state, "feature", "i8", n);
  const auto threshold = get_column<double>(state, "threshold", "f8", n);
  std::vector<u8> missing_left(n, 0);
  if (state.contains("missing_go_to_left"))
    missing_left = get_column<u8>(state, "missing_go_to_left", "u1", n);
  tree.n_samples = get_column<u32>(state, "n_node_samples", "u4", n);
  tree.weight = get_column<double>(state, "weighted_n_node_samples", "f8", n);
  tree.impurity = get_column<double>(state, "impurity", "f8", n);
  const std::size_t n_values = nb::cast<std::size_t>(numpy("size")(get_item(state, "value")));
  if (n_values == 0 || n_values % n != 0) refuse("'value' must have one row a node.");
  tree.values = get_column<double>(state, "value", "f8", n_values);
  tree.width = static_cast<u32>(n_values / n);
  tree.splits.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto link = [n](i64 child) {
      if (child >= static_cast<i64>(n)) refuse("A child must be a node with one parent.");
      return child < 0 ? GrownTree::kNoChild : static_cast<u32>(child);
    };
    tree.left.push_back(link(left[i]));
    tree.right.push_back(link(right[i]));
    if (left[i] < 0) continue;
    if (feature[i] < 0 || feature[i] > Node<float>::kFeatureMask)
      refuse("A node asks for a feature out of range.");
    tree.splits[i].feature = static_cast<u32>(feature[i]);
    tree.splits[i].threshold = threshold[i];
    tree.splits[i].missing_left = missing_left[i] != 0;
  }
  check_links(tree);
  import_categories(state, tree);
  return tree;
}

namespace {

nb::dict export_categories(const std::vector<std::pair<u32, std::vector<u32>>>& sets) {
  nb::dict out;
  for (const auto& [node, codes] : sets) out[nb::int_(node)] = codes;
  return out;
}

}  // namespace

nb::dict export_description(const TreeDescription& tree, u32 width) {
  const std::size_t n = tree.left.size();
  nb::dict out;
  const auto put = [&]<class T>(const char* key, std::vector<T> values) {
    if (!values.empty()) out[key] = own_array<T>(std::move(values));
  };
  put("children_left", tree.left);
  put("children_right", tree.right);
  put("feature", tree.feature);
  put("threshold", tree.threshold);
  out["missing_go_to_left"] =
      nb::cast(own_array<u8>(std::vector<u8>(tree.missing_left))).attr("view")("?");
  put("n_node_samples", tree.n_samples);
  put("weighted_n_node_samples", tree.weight);
  put("impurity", tree.impurity);
  out["value"] = own_array<double>(std::vector<double>(tree.values), {n, width});
  put("depth", tree.depth);
  out["left_categories"] = export_categories(tree.left_categories);
  return out;
}

nb::dict export_grown(const GrownTree& tree) {
  TreeDescription out;
  for (u32 i = 0; i < tree.size(); ++i) {
    const GrownTree::Split& split = tree.splits[i];
    const bool leaf = tree.is_leaf(i), categorical = !leaf && split.categorical;
    out.left.push_back(leaf ? -1 : static_cast<i32>(tree.left[i]));
    out.right.push_back(leaf ? -1 : static_cast<i32>(tree.right[i]));
    out.feature.push_back(leaf ? -2 : static_cast<i32>(split.feature));
    out.threshold.push_back(leaf          ? -2.0
                            : categorical ? std::numeric_limits<double>::quiet_NaN()
                                          : split.threshold);
    out.missing_left.push_back(!leaf && split.missing_left);
    if (!categorical) continue;
    std::vector<u32> codes;
    for (u32 code = 0; code < split.left_categories->size() * 32; ++code) {
      if ((*split.left_categories)[code / 32] >> (code % 32) & 1) codes.push_back(code);
    }
    out.left_categories.emplace_back(i, std::move(codes));
  }
  out.n_samples = tree.n_samples;
  out.weight = tree.weight;
  out.impurity = tree.impurity;
  out.values = tree.values;
  return export_description(out, tree.width);
}

}  // namespace committee
