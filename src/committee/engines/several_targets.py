"""Models of several targets: the formulas, and the trees, of models of single targets side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines import get_engine
from committee.engines.formula import ConstantTerm, JoinedTerms, ModelFormula, TableRow, TakenColumns, present_scores
from committee.engines.tree_model import TreeModel, weigh_leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.data import Schema
    from committee.engines.formula import FormulaSource, FormulaTerm
    from committee.typing import AnyArray, FloatArray

__all__ = ["join_formulas", "join_tree_models", "present_target_scores", "present_targets", "take_spans"]


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
