#include "predict/aggregate.hpp"

#include "predict/read_stream.hpp"

namespace committee {

namespace {

template <class V>
void add_sum(const V* value, u32 width, double weight, double* out) {
  for (u32 c = 0; c < width; ++c) out[c] += weight * static_cast<double>(value[c]);
}

// Probabilities: one division a class, by the sum of the output's class weights in order.
template <class V>
void add_share(const V* value, std::span<const u32> outputs, double weight, double* out) {
  for (const u32 n_classes : outputs) {
    double total = 0.0;
    for (u32 c = 0; c < n_classes; ++c) total += static_cast<double>(value[c]);
    for (u32 c = 0; c < n_classes; ++c) out[c] += weight * (static_cast<double>(value[c]) / total);
    value += n_classes;
    out += n_classes;
  }
}

// A vote goes to the first of the heaviest classes.
template <class V>
void add_vote(const V* value, std::span<const u32> outputs, double weight, double* out) {
  for (const u32 n_classes : outputs) {
    u32 best = 0;
    for (u32 c = 1; c < n_classes; ++c) best = value[c] > value[best] ? c : best;
    out[best] += weight;
    value += n_classes;
    out += n_classes;
  }
}

// Calls use(values) with the arena's values as the type that they are kept in.
template <class Use>
void with_values(const Trees& trees, Use&& use) {
  switch (trees.value_type) {
    case ValueType::count8:
      return use(static_cast<const u8*>(trees.values));
    case ValueType::count16:
      return use(static_cast<const u16*>(trees.values));
    case ValueType::count32:
      return use(static_cast<const u32*>(trees.values));
    default:
      return use(static_cast<const double*>(trees.values));
  }
}

// The choice is made once for all rows of a call: `rows` is called with the function for one row.
template <class V, class Rows>
void choose_term(const Terms& terms, double weight, Rows&& rows) {
  const u32 width = terms.trees->width;
  const std::span<const u32> outputs = terms.trees->outputs;
  if (terms.combine == Combine::vote) {
    rows([=](const V* value, double* out) { add_vote(value, outputs, weight, out); });
  } else if (terms.combine == Combine::sum || outputs.empty()) {
    if (width == 1) {
      rows([=](const V* value, double* out) { *out += weight * static_cast<double>(*value); });
    } else {
      rows([=](const V* value, double* out) { add_sum(value, width, weight, out); });
    }
  } else {
    rows([=](const V* value, double* out) { add_share(value, outputs, weight, out); });
  }
}

}  // namespace

void add_leaf(const Terms& terms, std::size_t tree, u32 leaf, double* out) {
  add_leaves(terms, tree, {&leaf, 1}, out, 0);
}

void add_row(const Terms& terms, std::size_t first, std::span<const u32> leaves, double* out) {
  if (!terms.tree_weights.empty()) {
    for (std::size_t i = 0; i < leaves.size(); ++i) add_leaf(terms, first + i, leaves[i], out);
    return;
  }
  const Trees& trees = *terms.trees;
  with_values(trees, [&]<class V>(const V* values) {
    choose_term<V>(terms, 1.0, [&](auto&& add) {
      for (std::size_t i = 0; i < leaves.size(); ++i)
        add(values + (trees.leaf_offsets[first + i] + leaves[i]) * trees.width,
            out + terms.slot(first + i));
    });
  });
}

void add_leaves(const Terms& terms, std::size_t tree, std::span<const u32> leaves, double* out,
                std::size_t out_width) {
  const Trees& trees = *terms.trees;
  const std::size_t width = trees.width;
  out += terms.slot(tree);
  with_values(trees, [&]<class V>(const V* values) {
    values += trees.leaf_offsets[tree] * width;
    choose_term<V>(terms, terms.weight(tree), [&](auto&& add) {
      for (std::size_t i = 0; i < leaves.size(); ++i)
        add(values + leaves[i] * width, out + i * out_width);
    });
  });
}

void add_leaves_to(const Terms& terms, std::size_t tree, std::span<const u32> leaves,
                   const u32* rows, double* out) {
  const Trees& trees = *terms.trees;
  const std::size_t width = trees.width;
  with_values(trees, [&]<class V>(const V* values) {
    values += trees.leaf_offsets[tree] * width;
    choose_term<V>(terms, terms.weight(tree), [&](auto&& add) {
      for (std::size_t i = 0; i < leaves.size(); ++i)
        add(values + leaves[i] * width, out + std::size_t{rows[i]} * width);
    });
  });
}

void read_values(const Trees& trees, std::size_t tree, std::size_t n_rows) {
  with_values(trees, [&]<class V>(const V* values) {
    const std::size_t first = trees.leaf_offsets[tree] * trees.width;
    read_stream(values + first, trees.n_leaves(tree) * trees.width * sizeof(V), n_rows);
  });
}

void add_classes(const Terms& terms, std::size_t tree, std::span<const u32> classes, double* out,
                 std::size_t out_width) {
  const double weight = terms.weight(tree);
  for (std::size_t i = 0; i < classes.size(); ++i) out[i * out_width + classes[i]] += weight;
}

}  // namespace committee
