// Trees as bytes and back: what a model file says about its trees, before anything is checked.
//
// A header of numbers (u32): flags, number of features, width, then the length of each array in
// entries; after it the arrays, one after the other. Every array becomes memory of exactly its
// length, so that the sanitizer sees the first byte that is read beyond it.
#pragma once
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "committee/tree.hpp"

namespace fuzz {

using namespace committee;

enum Field : std::size_t {
  kFlags,
  kFeatures,
  kWidth,
  kNodeOffsets,
  kLeafOffsets,
  kNodes,
  kValues,
  kOutputs,
  kCategoryOffsets,
  kCategoryWords,
  kLeafSamples,
  kLeafWeights,
  kImpurity,
  kFields
};

inline std::size_t value_size(ValueType type) {
  constexpr std::array<std::size_t, 4> kSizes = {1, 2, 4, 8};
  return kSizes[static_cast<std::size_t>(type)];
}

// Keeps what the trees view.
struct TreeInput {
  std::vector<std::unique_ptr<u8[]>> kept;
  Trees trees;
};

class TreeReader {
 public:
  TreeReader(const u8* data, std::size_t size) : at_(data), left_(size) {
    for (u32& number : header_) number = read_number();
  }

  // False where the binding would refuse the arrays before the trees are validated.
  bool read(TreeInput& input) {
    Trees& trees = input.trees;
    trees.double_thresholds = (header_[kFlags] & 1) != 0;
    trees.value_type = static_cast<ValueType>(header_[kFlags] >> 1 & 3);
    trees.n_features = header_[kFeatures];
    trees.width = header_[kWidth];
    trees.node_offsets = take<u64>(input, kNodeOffsets);
    trees.leaf_offsets = take<u64>(input, kLeafOffsets);
    const std::size_t n_nodes =
        take_bytes(input, header_[kNodes],
                   trees.double_thresholds ? sizeof(Node<double>) : sizeof(Node<float>));
    trees.nodes = input.kept.back().get();
    const std::size_t n_leaves = take_bytes(
        input, header_[kValues], value_size(trees.value_type) * std::size_t{trees.width});
    trees.values = input.kept.back().get();
    trees.outputs = take<u32>(input, kOutputs);
    trees.category_offsets = take<u32>(input, kCategoryOffsets);
    trees.category_words = take<u32>(input, kCategoryWords);
    trees.leaf_samples = take<u32>(input, kLeafSamples);
    trees.leaf_weights = take<double>(input, kLeafWeights);
    trees.node_impurity = take<double>(input, kImpurity);
    if (trees.node_offsets.empty() || trees.leaf_offsets.empty()) return false;
    trees.n_trees = trees.node_offsets.size() - 1;
    return trees.node_offsets.back() == n_nodes && trees.leaf_offsets.back() == n_leaves;
  }

 private:
  u32 read_number() {
    u32 number = 0;
    if (left_ < sizeof number) return 0;
    std::memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
    left_ -= sizeof number;
    return number;
  }
  // As many entries as there are bytes for; returns their number.
  std::size_t take_bytes(TreeInput& input, std::size_t n, std::size_t size) {
    if (size == 0)
      n = 0;
    else if (n > left_ / size)
      n = left_ / size;
    input.kept.emplace_back(new u8[n * size]);
    std::memcpy(input.kept.back().get(), at_, n * size);
    at_ += n * size;
    left_ -= n * size;
    return n;
  }
  template <class T>
  std::span<const T> take(TreeInput& input, Field field) {
    const std::size_t n = take_bytes(input, header_[field], sizeof(T));
    return {reinterpret_cast<const T*>(input.kept.back().get()), n};
  }

  const u8* at_;
  std::size_t left_;
  std::array<u32, kFields> header_{};
};

class TreeWriter {
 public:
  static std::vector<u8> write(const Trees& trees) {
    TreeWriter writer;
    std::array<u32, kFields> header{};
    header[kFlags] = (trees.double_thresholds ? 1u : 0u) | static_cast<u32>(trees.value_type) << 1;
    header[kFeatures] = static_cast<u32>(trees.n_features);
    header[kWidth] = trees.width;
    const std::size_t n_nodes = trees.node_offsets.back(), n_leaves = trees.leaf_offsets.back();
    header[kNodes] = static_cast<u32>(n_nodes);
    header[kValues] = static_cast<u32>(n_leaves);
    header[kNodeOffsets] = size_of(trees.node_offsets);
    header[kLeafOffsets] = size_of(trees.leaf_offsets);
    header[kOutputs] = size_of(trees.outputs);
    header[kCategoryOffsets] = size_of(trees.category_offsets);
    header[kCategoryWords] = size_of(trees.category_words);
    header[kLeafSamples] = size_of(trees.leaf_samples);
    header[kLeafWeights] = size_of(trees.leaf_weights);
    header[kImpurity] = size_of(trees.node_impurity);
    writer.put(header.data(), sizeof header);
    writer.put_span(trees.node_offsets);
    writer.put_span(trees.leaf_offsets);
    writer.put(trees.nodes,
               n_nodes * (trees.double_thresholds ? sizeof(Node<double>) : sizeof(Node<float>)));
    writer.put(trees.values, n_leaves * trees.width * value_size(trees.value_type));
    writer.put_span(trees.outputs);
    writer.put_span(trees.category_offsets);
    writer.put_span(trees.category_words);
    writer.put_span(trees.leaf_samples);
    writer.put_span(trees.leaf_weights);
    writer.put_span(trees.node_impurity);
    return std::move(writer.bytes_);
  }

 private:
  template <class T>
  static u32 size_of(std::span<const T> values) {
    return static_cast<u32>(values.size());
  }
  void put(const void* from, std::size_t size) {
    const u8* const first = static_cast<const u8*>(from);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  template <class T>
  void put_span(std::span<const T> values) {
    put(values.data(), values.size() * sizeof(T));
  }
  std::vector<u8> bytes_;
};

}  // namespace fuzz
