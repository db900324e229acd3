"""Arenas of trees as constant arrays in C, and the functions that walk them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines.node_tags import CATEGORICAL, LEAF, MISSING_LEFT
from committee.io.c_code.literals import wrap_items, write_array, write_items

if TYPE_CHECKING:
    from committee.engines import Trees
    from committee.engines.formula import TreeTerm
    from committee.typing import AnyArray

__all__ = ["write_arena", "write_tree_sum"]


#: Trees that a row walks at once: their steps do not wait for one another, and no branch has to be guessed.
_LANES = 8
#: Columns a tree up to which it pays to look whether a row has missing values before it walks the trees.
_MOST_LOOKED_AT = 8

_STEP = """\
/* The child of a node; a leaf is its own child. */
static inline uint32_t step_{k}(const double *x, uint32_t at) {{
  const struct node_{k} *const node = nodes_{k} + at;
  const double v = x[node->tag & 0xfffffffu];
  uint32_t right = !(v <= node->threshold);
{special}  return node->left + (right & ~(node->tag >> 31));
}}
"""
_CATEGORIES = """\
  if (node->tag & 0x40000000u) {{
    const uint32_t *const first = first_words_{k} + (uint32_t)node->threshold;
    right = !holds_code(words_{k} + first[0], first[1] - first[0], v);
  }}
"""
_MISSING = "  right &= ~((uint32_t)(v != v) & node->tag >> 29);\n"
_KNOWN_STEP = """\
/* The same for a row without missing values: every number is at most the threshold of a leaf. */
static inline uint32_t step_known_{k}(const double *x, uint32_t at) {{
  const struct node_{k} *const node = nodes_{k} + at;
  return node->left + !(x[node->tag & 0xfffffffu] <= node->threshold);
}}
"""
_WALK = """\
/* The leaves of a tree and of those that follow. */
static void find{known}_leaves_{k}(const double *x, uint32_t tree, uint32_t *leaves) {{
{together}  for (; tree < {n_trees}; ++tree) {{
    uint32_t at = roots_{k}[tree];
    while (!(nodes_{k}[at].tag >> 31)) at = step{known}_{k}(x, at);
    *leaves++ = leaf_numbers_{k}[at];
  }}
}}
"""


def _write_walk(k: int, n_trees: int, known: str) -> str:
    """The function that finds the leaves of up to `_LANES` trees."""
    lanes = range(_LANES)
    together = [
        f"  if (tree + {_LANES} <= {n_trees}) {{",
        "    uint32_t " + ", ".join(f"a{i} = roots_{k}[tree + {i}]" for i in lanes) + ";",
        f"    while (!(({' & '.join(f'nodes_{k}[a{i}].tag' for i in lanes)}) >> 31)) {{",
        *(f"      a{i} = step{known}_{k}(x, a{i});" for i in lanes),
        "    }",
        *(f"    leaves[{i}] = leaf_numbers_{k}[a{i}];" for i in lanes),
        "    return;",
        "  }",
    ]
    return _WALK.format(
        k=k, known=known, n_trees=n_trees, together="\n".join(together) + "\n" if n_trees >= _LANES else ""
    )


def write_arena(k: int, trees: Trees, n_columns: int) -> tuple[str, set[str]]:
    """The arrays of an arena and the functions that find leaves; and the functions that these call."""
    kind, items, leaf_numbers = _list_nodes(k, trees)
    parts = [
        f"struct node_{k} {{\n  {kind} threshold;\n  uint32_t left, tag;\n}};\n",
        f"#define LEAF_{k}(at) {{INFINITY,at,0x80000000u}}",
        f"static const struct node_{k} nodes_{k}[{len(items)}] = {{\n{wrap_items(items)}\n}};\n",
        write_array(f"leaf_numbers_{k}", _narrow(leaf_numbers)),
        write_array(f"roots_{k}", _narrow(np.asarray(trees.node_offsets)[:-1])),
        write_array(f"values_{k}", np.asarray(trees.values)),
    ]
    special, with_sets = "", _has_sets(trees)
    if with_sets:
        parts.append(write_array(f"first_words_{k}", np.asarray(trees.category_offsets)))
        parts.append(write_array(f"words_{k}", np.asarray(trees.category_words)))
        special += _CATEGORIES.format(k=k)
    if (trees.nodes["tag"] & MISSING_LEFT).any():
        special += _MISSING
    parts += [_STEP.format(k=k, special=special), _write_walk(k, trees.n_trees, "")]
    if _looks_for_missing(trees, n_columns):
        parts += [_KNOWN_STEP.format(k=k), _write_walk(k, trees.n_trees, "_known")]
    return "\n".join(parts), {"holds"} if with_sets else set()


def _has_sets(trees: Trees) -> bool:
    tags = np.asarray(trees.nodes["tag"])
    return bool(((tags & CATEGORICAL != 0) & (tags & LEAF == 0)).any()) and len(trees.category_words) > 0


def _looks_for_missing(trees: Trees, n_columns: int) -> bool:
    return not _has_sets(trees) and n_columns <= _MOST_LOOKED_AT * trees.n_trees


def _list_nodes(k: int, trees: Trees) -> tuple[str, list[str], AnyArray]:
    """The type of thresholds, the nodes in C, and the number of each leaf among all leaves, zero for other nodes.

    A node that splits by categories has the number of its set in place of a threshold. Children are named by their
    place in the arena.
    """
    tags, lefts = np.asarray(trees.nodes["tag"]), np.asarray(trees.nodes["left"]).astype(np.int64)
    first_nodes, first_leaves = (np.asarray(own).astype(np.int64) for own in (trees.node_offsets, trees.leaf_offsets))
    tree_of = np.repeat(np.arange(trees.n_trees), np.diff(first_nodes))
    is_leaf = tags & LEAF != 0
    kind, thresholds = _read_thresholds(trees.nodes)
    rows = zip(write_items(thresholds), (lefts + first_nodes[tree_of]).tolist(), tags.tolist(), strict=True)
    items = [f"{{{threshold},{left},{tag}u}}" for threshold, left, tag in rows]
    for at in np.flatnonzero(is_leaf).tolist():
        items[at] = f"LEAF_{k}({at})"
    return kind, items, np.where(is_leaf, lefts + first_leaves[tree_of], 0)


def _read_thresholds(nodes: AnyArray) -> tuple[str, AnyArray]:
    """Thresholds as numbers; a node that splits by categories has the number of its set in place of one."""
    tags, thresholds = nodes["tag"], nodes["threshold"].copy()
    by_set = (tags & CATEGORICAL != 0) & (tags & LEAF == 0)
    words = np.ascontiguousarray(nodes["threshold"]).view("<u4").reshape(len(nodes), -1)[:, 0]
    numbers = np.where(by_set, words.astype(np.float64), thresholds.astype(np.float64))
    numbers[tags & LEAF != 0] = 0.0
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
    value_type = {"u1": "uint8_t", "u2": "uint16_t", "u4": "uint32_t", "f8": "double"}[trees.values.dtype.str[1:]]
    declared = [f"uint32_t tree, leaves[{_LANES}];", "size_t c;"]
    declared += ["double total;"] if any("total" in line for line in body) else []
    declared += ["size_t best;"] if term.combine == "vote" else []
    look, find = [], f"find_leaves_{k}(x, tree, leaves);"
    n_columns = term.inputs[0].width
    if _looks_for_missing(trees, n_columns):
        declared.append("int missing = 0;")
        look = [f"for (c = 0; c < {n_columns}; ++c) missing |= x[c] != x[c];"]
        find = f"(missing ? find_leaves_{k} : find_known_leaves_{k})(x, tree, leaves);"
    lines = [
        *declared,
        *look,
        f"for (c = 0; c < {term.width}; ++c) out[c] = 0.0;",
        f"for (tree = 0; tree < {trees.n_trees}; ++tree) {{",
        f"  const {value_type} *value;",
        f"  if (tree % {_LANES} == 0) {find}",
        f"  value = values_{k} + (size_t)leaves[tree % {_LANES}] * {n_values};",
        *(f"  {line}" for line in body),
        "}",
    ]
    if term.combine == "mean":
        lines.append(f"for (c = 0; c < {term.width}; ++c) out[c] /= {term.divisor!r};")
    parts.append(
        f"static void {name}(const double *x, double *out) {{\n" + "".join(f"  {one}\n" for one in lines) + "}\n"
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
