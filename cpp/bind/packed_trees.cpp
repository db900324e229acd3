#include "packed_trees.hpp"

#include <algorithm>
#include <type_traits>

#include "arrays.hpp"
#include "tree_arrays.hpp"

namespace committee {

namespace {

using namespace nb::literals;

constexpr int kPackedVersion = 2;
// A packed tag: flags below, the feature above them, so that few features make small numbers.
constexpr u32 kLeafBit = 1, kCategoricalBit = 2, kMissingLeftBit = 4, kFlagBits = 3;
static_assert(Node<float>::kFeatureMask <= 0xFFFFFFFFu >> kFlagBits);

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T>
BitsOf<T> bits_of(const T& value) {
  BitsOf<T> bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

[[noreturn]] void refuse(const char* sentence) {
  throw nb::value_error(sentence);
}

// Only reading: what goes out of here is viewed, not copied, by whoever takes it in.
nb::object freeze(nb::object array) {
  array.attr("setflags")("write"_a = false);
  return array;
}

template <class To>
nb::object narrow_to(std::span<const u32> values) {
  return freeze(nb::cast(own_array<To>(std::vector<To>(values.begin(), values.end()))));
}

nb::object narrow(std::span<const u32> values) {
  u32 all = 0;
  for (const u32 value : values) all |= value;
  if (all <= 0xFF) return narrow_to<u8>(values);
  return all <= 0xFFFF ? narrow_to<u16>(values) : narrow_to<u32>(values);
}

std::vector<u32> widen(const nb::dict& state, const char* key) {
  const nb::object array = get_item(state, key);
  std::vector<u32> wide;
  const auto append = [&]<class From>(const Vector<From>& narrow) {
    const std::span<const From> values = view_vector(narrow);
    wide.assign(values.begin(), values.end());
  };
  Vector<u8> bytes;
  Vector<u16> halves;
  Vector<u32> words;
  if (nb::try_cast(array, bytes, false)) {
    append(bytes);
  } else if (nb::try_cast(array, halves, false)) {
    append(halves);
  } else if (nb::try_cast(array, words, false)) {
    append(words);
  } else {
    refuse((std::string("'") + key + "' must be a 1-d array of uint8, uint16 or uint32.").c_str());
  }
  return wide;
}

// Tags and thresholds of an arena; false where the links do not follow from the order.
template <class T>
bool pack_nodes(const Trees& trees, std::vector<u32>& tags, std::vector<BitsOf<T>>& thresholds) {
  using N = Node<T>;
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    const N* const nodes = static_cast<const N*>(trees.nodes) + trees.node_offsets[t];
    u32 next = 1, leaf = 0;
    for (std::size_t k = 0; k < trees.n_nodes(t); ++k) {
      const N& node = nodes[k];
      if (node.is_leaf()) {
        if (node.left != leaf++ || bits_of(node.threshold) != 0) return false;
        tags.push_back(kLeafBit);
        continue;
      }
      if (node.left != next) return false;
      next += 2;
      tags.push_back(node.feature() << kFlagBits | (node.is_categorical() ? kCategoricalBit : 0) |
                     (node.missing_left() ? kMissingLeftBit : 0));
      thresholds.push_back(bits_of(node.threshold));
    }
  }
  return true;
}

template <class T>
std::vector<u8> unpack_nodes(std::span<const u64> offsets, std::span<const u32> tags,
                             std::span<const T> thresholds) {
  using N = Node<T>;
  std::vector<u8> bytes(tags.size() * sizeof(N));
  u8* to = bytes.data();
  std::size_t inner = 0;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    if (offsets[t] > offsets[t + 1] || offsets[t + 1] > tags.size())
      refuse("'node_offsets' must rise and end with the number of nodes.");
    u32 next = 1, leaf = 0;
    for (std::size_t k = offsets[t]; k < offsets[t + 1]; ++k, to += sizeof(N)) {
      N node{T{0}, 0, N::kLeaf};
      if (tags[k] & kLeafBit) {
        node.left = leaf++;
      } else {
        if (inner == thresholds.size()) refuse("'thresholds' must have one entry an inner node.");
        node.left = next;
        next += 2;
        node.tag = (tags[k] >> kFlagBits & N::kFeatureMask) |
                   (tags[k] & kCategoricalBit ? N::kCategorical : 0) |
                   (tags[k] & kMissingLeftBit ? N::kMissingLeft : 0);
        std::memcpy(&node.threshold, &thresholds[inner++], sizeof(T));
      }
      std::memcpy(to, &node, sizeof node);
    }
  }
  if (inner != thresholds.size()) refuse("'thresholds' must have one entry an inner node.");
  return bytes;
}

// The leaves of full trees are pure: their impurities are left out where all of them are 0 (and
// there are inner nodes to tell this from no impurities at all).
void pack_impurity(const Trees& trees, std::span<const u32> tags, nb::dict& state) {
  std::vector<double> inner, leaves;
  for (std::size_t k = 0; k < trees.node_impurity.size(); ++k)
    (tags[k] & kLeafBit ? leaves : inner).push_back(trees.node_impurity[k]);
  const auto is_zero = [](double impurity) { return bits_of(impurity) == 0; };
  if (!inner.empty() && std::all_of(leaves.begin(), leaves.end(), is_zero)) leaves.clear();
  state["inner_impurity"] = freeze(nb::cast(own_array<double>(std::move(inner))));
  state["leaf_impurity"] = freeze(nb::cast(own_array<double>(std::move(leaves))));
}

template <class T>
std::span<const T> view_item(const nb::dict& state, const char* key, Vector<T>& kept) {
  if (!nb::try_cast(get_item(state, key), kept, false))
    refuse((std::string("'") + key + "' is not an array of the expected type.").c_str());
  return view_vector(kept);
}

std::vector<double> unpack_impurity(const nb::dict& state, std::span<const u32> tags) {
  Vector<double> kept_inner, kept_leaves;
  const auto inner = view_item(state, "inner_impurity", kept_inner);
  const auto leaves = view_item(state, "leaf_impurity", kept_leaves);
  if (inner.empty() && leaves.empty()) return {};
  const auto n_leaves = static_cast<std::size_t>(
      std::count_if(tags.begin(), tags.end(), [](u32 tag) { return tag & kLeafBit; }));
  if (inner.size() != tags.size() - n_leaves || (!leaves.empty() && leaves.size() != n_leaves))
    refuse("Impurities must have one entry a node.");
  std::vector<double> all;
  all.reserve(tags.size());
  std::size_t i = 0, l = 0;
  for (const u32 tag : tags) {
    if (tag & kLeafBit) {
      all.push_back(leaves.empty() ? 0.0 : leaves[l++]);
    } else {
      all.push_back(inner[i++]);
    }
  }
  return all;
}

template <class T>
bool pack_as(const Trees& trees, std::vector<u32>& tags, nb::dict& state) {
  std::vector<BitsOf<T>> thresholds;
  tags.reserve(trees.node_offsets[trees.n_trees]);
  thresholds.reserve(trees.node_offsets[trees.n_trees] / 2);
  if (!pack_nodes<T>(trees, tags, thresholds)) return false;
  state["thresholds"] = freeze(nb::cast(own_array<BitsOf<T>>(std::move(thresholds)))
                                   .attr("view")(sizeof(T) == 8 ? "<f8" : "<f4"));
  return true;
}

template <class T>
nb::object unpack_as(const nb::dict& state, std::span<const u32> tags,
                     const Vector<T>& thresholds) {
  Vector<u64> offsets;
  std::vector<u8> nodes =
      unpack_nodes<T>(view_item(state, "node_offsets", offsets), tags, view_vector(thresholds));
  return freeze(nb::cast(own_array<u8>(std::move(nodes))).attr("view")(node_dtype(sizeof(T) == 8)));
}

nb::object unpack_thresholds(const nb::dict& state, std::span<const u32> tags) {
  const nb::object thresholds = get_item(state, "thresholds");
  Vector<float> floats;
  if (nb::try_cast(thresholds, floats, false)) return unpack_as<float>(state, tags, floats);
  Vector<double> doubles;
  if (nb::try_cast(thresholds, doubles, false)) return unpack_as<double>(state, tags, doubles);
  refuse("'thresholds' must be a 1-d array of float32 or float64.");
}

}  // namespace

nb::dict pack_trees(const Trees& trees, nb::handle owner) {
  nb::dict state = export_arrays(trees, owner);
  std::vector<u32> tags;
  const auto pack = trees.double_thresholds ? pack_as<double> : pack_as<float>;
  if (!pack(trees, tags, state)) return state;
  pack_impurity(trees, tags, state);
  nb::del(state["nodes"]);
  nb::del(state["node_impurity"]);
  state["version"] = kPackedVersion;
  state["tags"] = narrow(tags);
  state["leaf_samples"] = narrow(trees.leaf_samples);
  return state;
}

nb::dict unpack_trees(const nb::dict& state) {
  int version = 0;
  if (!nb::try_cast(get_item(state, "version"), version) || version != kPackedVersion) return state;
  nb::dict flat;
  flat.update(state);
  const std::vector<u32> tags = widen(state, "tags");
  flat["nodes"] = unpack_thresholds(state, tags);
  flat["node_impurity"] = freeze(nb::cast(own_array<double>(unpack_impurity(state, tags))));
  flat["leaf_samples"] = freeze(nb::cast(own_array<u32>(widen(state, "leaf_samples"))));
  for (const char* name : {"tags", "thresholds", "inner_impurity", "leaf_impurity"})
    nb::del(flat[name]);
  flat["version"] = kFlatVersion;
  return flat;
}

}  // namespace committee
