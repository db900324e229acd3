"""Arenas of trees as constant arrays in C, and the functions that walk them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.io.c_code.literals import wrap_items, write_array, write_items

if TYPE_CHECKING:
    from committee.engines import Trees
    from committee.engines.formula import TreeTerm
    from committee.typing import AnyArray

__all__ = ["write_arena", "write_tree_sum"]

_LEAF, _CATEGORICAL = np.uint32(1 << 31), np.uint32(1 << 30)

_WALK = """\
static uint32_t find_leaf_{k}(const double *x, uint32_t tree) {{
  const struct node_{k} *const root = nodes_{k} + first_nodes_{k}[tree];
  const struct node_{k} *at = root;
  while (!(at->tag & 0x80000000u)) {{
    const double v = x[at->tag & 0xfffffffu];
    uint32_t right;
    if (v != v)
      right = !(at->tag & 0x20000000u);
{categories}    else
      right = !(v <= at->threshold);
    at = root + at->left + right;
  }}
  return first_leaves_{k}[tree] + at->left;
}}
"""
_CATEGORIES = """\
    else if (at->tag & 0x40000000u)
      right = !holds_code(words_{k} + first_words_{k}[(uint32_t)at->threshold],
                          first_words_{k}[(uint32_t)at->threshold + 1] - first_words_{k}[(uint32_t)at->threshold], v);
"""


def write_arena(k: int, trees: Trees) -> tuple[str, set[str]]:
    """The arrays of an arena and the function ``find_leaf_k``; and the functions that this calls."""
    nodes = trees.nodes
    kind, thresholds = _read_thresholds(nodes)
    values: AnyArray = np.asarray(trees.values)
    rows = zip(write_items(thresholds), nodes["left"].tolist(), nodes["tag"].tolist(), strict=True)
    items = (f"{{{threshold},{left},{tag}u}}" for threshold, left, tag in rows)
    with_sets = bool((nodes["tag"] & _CATEGORICAL & ~(nodes["tag"] & _LEAF)).any()) and len(trees.category_words) > 0
    parts = [
        f"struct node_{k} {{\n  {kind} threshold;\n  uint32_t left, tag;\n}};\n",
        f"static const struct node_{k} nodes_{k}[{len(nodes)}] = {{\n{wrap_items(items)}\n}};\n",
        write_array(f"first_nodes_{k}", _narrow(trees.node_offsets)),
        write_array(f"first_leaves_{k}", _narrow(trees.leaf_offsets)),
        write_array(f"values_{k}", values),
    ]
    if with_sets:
        parts.append(write_array(f"first_words_{k}", np.asarray(trees.category_offsets)))
        parts.append(write_array(f"words_{k}", np.asarray(trees.category_words)))
    parts.append(_WALK.format(k=k, categories=_CATEGORIES.format(k=k) if with_sets else ""))
    return "\n".join(parts), {"holds"} if with_sets else set()


def _read_thresholds(nodes: AnyArray) -> tuple[str, AnyArray]:
    """Thresholds as numbers; a node that splits by categories has the number of its set in place of one."""
    tags, thresholds = nodes["tag"], nodes["threshold"].copy()
    by_set = (tags & _CATEGORICAL != 0) & (tags & _LEAF == 0)
    words = np.ascontiguousarray(nodes["threshold"]).view("<u4").reshape(len(nodes), -1)[:, 0]
    numbers = np.where(by_set, words.astype(np.float64), thresholds.astype(np.float64))
    numbers[tags & _LEAF != 0] = 0.0
    if thresholds.dtype == np.float32 and (not by_set.any() or words[by_set].max() < 1 << 24):
        return "float", numbers.astype(np.float32)
    return "double", numbers


def _narrow(offsets: AnyArray) -> AnyArray:
    # An arena of 2^32 nodes would be a file of 100 GB.
    return np.asarray(offsets).astype(np.uint32)


def write_tree_sum(name: str, k: int, term: TreeTerm) -> str:
    """The function ``name(x, out)``: the trees of arena ``k``, combined in their order."""
    trees, weights = term.trees, term.tree_weights
    n_values, outputs = int(trees.width), list(trees.outputs)
    parts = []
    if weights is not None:
        parts.append(write_array(f"weights_{name}", np.asarray(weights, dtype=np.float64)))
    if term.slots is not None:
        parts.append(write_array(f"slots_{name}", np.asarray(term.slots, dtype=np.uint32)))
    weight = "" if weights is None else f"weights_{name}[tree]"
    target = "out" if term.slots is None else f"(out + slots_{name}[tree])"
    if term.combine == "vote":
        body = _write_votes(outputs, weight or "1.0")
    elif term.combine == "sum" or not outputs:
        times = f"{weight} * " if weight else ""
        body = [f"for (c = 0; c < {n_values}; ++c) {target}[c] += {times}(double)value[c];"]
    else:
        body = _write_shares(outputs, f"{weight} * " if weight else "")
    uses_total = any("total" in line for line in body)
    declared = "  uint32_t tree;\n  size_t c;\n" + ("  double total;\n" if uses_total else "")
    if term.combine == "vote":
        declared += "  size_t best;\n"
    value_type = {"u1": "uint8_t", "u2": "uint16_t", "u4": "uint32_t", "f8": "double"}[trees.values.dtype.str[1:]]
    lines = "\n".join(f"    {line}" for line in body)
    divide = "" if term.combine != "mean" else f"  for (c = 0; c < {term.width}; ++c) out[c] /= {term.divisor!r};\n"
    parts.append(
        f"static void {name}(const double *x, double *out) {{\n{declared}"
        f"  for (c = 0; c < {term.width}; ++c) out[c] = 0.0;\n"
        f"  for (tree = 0; tree < {trees.n_trees}; ++tree) {{\n"
        f"    const {value_type} *const value = values_{k} + (size_t)find_leaf_{k}(x, tree) * {n_values};\n"
        f"{lines}\n  }}\n{divide}}}\n"
    )
    return "\n".join(parts)


def _write_votes(outputs: list[int], weight: str) -> list[str]:
    lines, first = [], 0
    for size in outputs:
        lines.append(f"best = {first};")
        lines.append(f"for (c = {first + 1}; c < {first + size}; ++c) best = value[c] > value[best] ? c : best;")
        lines.append(f"out[best] += {weight};")
        first += size
    return lines


def _write_shares(outputs: list[int], times: str) -> list[str]:
    lines, first = [], 0
    for size in outputs:
        lines.append("total = 0.0;")
        lines.append(f"for (c = {first}; c < {first + size}; ++c) total += (double)value[c];")
        lines.append(f"for (c = {first}; c < {first + size}; ++c) out[c] += {times}((double)value[c] / total);")
        first += size
    return lines
