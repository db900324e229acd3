"""Models of several targets: the formulas, and the trees, of models of single targets side by side."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from committee.engines import get_engine
from committee.engines.formula import ConstantTerm, JoinedTerms, ModelFormula, TableRow, TakenColumns, present_scores
from committee.engines.tree_model import TreeModel, replace_leaf_values, weigh_leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.data import Schema
    from committee.engines import Trees
    from committee.engines.formula import FormulaSource, FormulaTerm
    from committee.typing import AnyArray, FloatArray

__all__ = [
    "join_formulas",
    "join_tree_models",
    "list_target_columns",
    "present_target_scores",
    "present_targets",
    "select_target_columns",
    "take_spans",
]


def join_formulas(formulas: Sequence[ModelFormula]) -> ModelFormula:
    """The predictions of several models of the same row, as those of one model of several targets.

    Parameters
    ----------
    formulas : sequence of ModelFormula
        One for each target. Decision functions are left out: models of several targets have none.
    """
    first = formulas[0]
    shares = [one.probabilities for one in formulas if one.probabilities is not None]
    return ModelFormula(
        first.row,
        first.schema,
        JoinedTerms(tuple(one.value for one in formulas)),
        tuple(classes for one in formulas for classes in one.classes),
        JoinedTerms(tuple(shares)) if shares else None,
    )


def present_targets(models: Sequence[FormulaSource], row: FormulaTerm | None, n_features: int) -> ModelFormula:
    """What models of single targets compute for one row of a table, by default of one with so many columns."""
    row = TableRow(n_features) if row is None else row
    return join_formulas([model.to_formula(row) for model in models])


def present_target_scores(
    row: FormulaTerm,
    schema: Schema,
    classes: Sequence[AnyArray],
    scores: Sequence[FormulaTerm],
    means: Sequence[FormulaTerm],
) -> ModelFormula:
    """A classifier of several targets, each with a score for each class, or with one, that of the second class.

    Parameters
    ----------
    row, schema
        As in `ModelFormula`.
    classes : sequence of ndarray
        The classes of each target.
    scores : sequence of FormulaTerm
        The scores of each target.
    means : sequence of FormulaTerm
        Probabilities of all its classes; of the second one where there is one score.
    """
    certain = ConstantTerm(np.ones(1))
    each = [
        present_scores(row, schema, own, score, mean if len(own) > 1 else certain)
        for own, score, mean in zip(classes, scores, means, strict=True)
    ]
    return join_formulas(each)


def take_spans(source: FormulaTerm, sizes: Sequence[int]) -> list[FormulaTerm]:
    """Consecutive columns of a term, so many in each part."""
    firsts = np.cumsum([0, *sizes]).tolist()
    return [TakenColumns(source, tuple(range(first, first + size))) for first, size in zip(firsts, sizes, strict=False)]


def join_tree_models(models: Sequence[TreeModel]) -> TreeModel:
    """The raw predictions of several models of trees, side by side, as those of one.

    Trees of targets with one column each keep their leaves. Otherwise leaves have a value for every column, zero for
    those of other targets.

    Parameters
    ----------
    models : sequence of TreeModel
        Over the same columns of the table: sums or means of leaves with a value for each column.
    """
    widths, counts = [model.width for model in models], [model.trees.n_trees for model in models]
    firsts, single = np.cumsum([0, *widths])[:-1].tolist(), max(widths) == 1
    width = 1 if single else sum(widths)
    values = [_spread_leaves(model, 0 if single else k, width) for model, k in zip(models, firsts, strict=True)]
    same = {model.link for model in models} == {"identity"}
    # Arenas are joined with leaves of one width, and without the weights of these, which they would lose.
    bare = [m.trees.with_leaf_values(np.zeros((len(own), 1))) for m, own in zip(models, values, strict=True)]
    weights = [weigh_leaves(model.trees) for model in models]
    known = [own for own in weights if own is not None]
    return TreeModel(
        get_engine()
        .concatenate_trees(bare)
        .with_leaf_values(np.concatenate(values), np.concatenate(known) if len(known) == len(models) else None),
        models[0].schema,
        "sum",
        tree_weights=np.concatenate([_list_factors(model) for model in models]),
        slots=np.repeat(np.arange(len(models), dtype=np.uint32), counts) if single else None,
        n_columns=sum(widths),
        baseline=np.concatenate([np.zeros(m.width) if m.baseline is None else m.baseline for m in models]),
        link="identity" if same else "other",
    )


def _spread_leaves(model: TreeModel, first: int, width: int) -> FloatArray:
    """The values of all leaves, in those of so many columns that begin with a given one."""
    assert model.combine != "vote"
    assert model.slots is None
    assert not len(model.trees.outputs)
    values = np.asarray(model.trees.values, dtype=np.float64)
    spread = np.zeros((len(values), width))
    spread[:, first : first + values.shape[1]] = values
    return spread


def _list_factors(model: TreeModel) -> FloatArray:
    """What each tree is multiplied by in a sum."""
    weights = np.ones(model.trees.n_trees) if model.tree_weights is None else np.asarray(model.tree_weights)
    return weights / weights.sum() if model.combine == "mean" else weights


def list_target_columns(classes: Sequence[AnyArray] | None, width: int, n_targets: int) -> list[range]:
    """The columns of the raw prediction that belong to each target.

    Probabilities have one for each class; sums of boosted trees have one for two classes, that of the second.

    Parameters
    ----------
    classes : sequence of ndarray or None
        The classes of each target; None for values.
    width : int
        Columns of the raw prediction.
    n_targets : int
        Number of targets.

    Examples
    --------
    >>> list_target_columns([np.array([0, 1]), np.array(["a", "b", "c"])], 4, 2)
    [range(0, 1), range(1, 4)]
    """
    sizes = [1] * n_targets if classes is None else [len(own) for own in classes]
    if sum(sizes) != width:
        sizes = [1 if size == 2 else size for size in sizes]
    assert sum(sizes) == width
    ends = np.cumsum([0, *sizes]).tolist()
    return [range(first, end) for first, end in pairwise(ends)]


def select_target_columns(model: TreeModel, columns: range) -> TreeModel:
    """Some consecutive columns of the raw prediction: the trees that add to them, and their values of the leaves."""
    baseline = None if model.baseline is None else model.baseline[columns.start : columns.stop]
    trees, weights, slots = model.trees, model.tree_weights, model.slots
    if slots is None:
        trees = replace_leaf_values(trees, share_leaves(trees)[:, columns.start : columns.stop])
    else:
        own = np.flatnonzero((slots >= columns.start) & (slots < columns.stop))
        trees, weights = _pick_trees(trees, own), None if weights is None else weights[own]
        slots = slots[own] - np.uint32(columns.start)
    return replace(
        model,
        trees=trees,
        tree_weights=weights,
        slots=None if len(columns) == 1 and trees.width == 1 else slots,
        n_columns=len(columns),
        baseline=baseline,
    )


def share_leaves(trees: Trees) -> FloatArray:
    """The values of all leaves; of counts of classes their shares, for each output."""
    values = np.asarray(trees.values, dtype=np.float64)
    if not len(trees.outputs):
        return values
    ends = np.cumsum(np.asarray(trees.outputs, dtype=np.intp))[:-1]
    parts = np.split(values, ends, axis=1)
    return np.concatenate([own / own.sum(axis=1, keepdims=True) for own in parts], axis=1)


def _pick_trees(trees: Trees, own: NDArray[np.intp]) -> Trees:
    """Some trees in an arena of their own, with the weights of their leaves."""
    picked = get_engine().concatenate_trees([trees.select(int(k), int(k) + 1) for k in own])
    weights = weigh_leaves(trees)
    if weights is None:
        return picked
    first = np.asarray(trees.leaf_offsets, dtype=np.intp)
    kept = np.concatenate([weights[first[k] : first[k + 1]] for k in own])
    return picked.with_leaf_values(np.asarray(picked.values, dtype=np.float64), kept)
