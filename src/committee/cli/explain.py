"""The work behind ``committee explain``: what a model rests on, and why each row is predicted as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.markup import escape

from committee.cli.errors import DATA, CommandError
from committee.cli.explanations import Explainer
from committee.cli.metrics import Metric, choose_metrics
from committee.cli.model_rows import ModelRows
from committee.cli.predict import name_answers
from committee.cli.show import make_table, tell_rest

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Account", "Question", "explain_model", "explain_rows", "show_account"]

# Rows of a model that is not made of trees of ours that are explained for the summary: each takes some hundred
# predictions.
_MOST_SAMPLED = 100
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Question:
    """How to look at a model.

    Parameters
    ----------
    n_rows : int
        Rows that the summary is made from, drawn at random.
    repeats : int
        Shuffles of each feature.
    metric : str or None
        What is lost by shuffling; the usual one of the task if None.
    seed : int
        Of all that is drawn.
    jobs : int or None
        Threads.
    """

    n_rows: int
    repeats: int
    metric: str | None
    seed: int
    jobs: int | None


@dataclass(frozen=True)
class Account:
    """What the features of a model are worth.

    Parameters
    ----------
    estimator : str
        Name of the class.
    table : str
        Name of the table.
    n_rows : int
        Rows that were looked at.
    metric : str or None
        What permutation takes away from; None without a target.
    score : float or None
        The model's on these rows as they are.
    exact : bool
        Whether Shapley values are exact rather than sampled.
    n_explained : int
        Rows that Shapley values were found for.
    features : list of dict
        ``name``; ``loss`` of score when the feature is shuffled, its ``loss_error`` and ``p_value``, None without a
        target; ``shap``, the mean size of its Shapley values. The most important first.
    """

    estimator: str
    table: str
    n_rows: int
    metric: str | None
    score: float | None
    exact: bool
    n_explained: int
    features: list[dict[str, Any]]

    def write_json(self) -> str:
        """The same as one JSON document."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def explain_model(rows: ModelRows, target: str | None, question: Question) -> Account:
    """What a model rests on, judged by some rows of a table.

    Parameters
    ----------
    rows : ModelRows
        The model beside the table, whose first other column is the target if there is one.
    target : str or None
        Its name.
    question : Question
        How to look.

    Returns
    -------
    Account
        Importances of the features.
    """
    sample = _draw_rows(rows, question)
    model, table = rows.model, rows.take_rows(sample)
    features: list[dict[str, Any]] = [
        {"name": name, "loss": None, "loss_error": None, "p_value": None, "shap": 0.0} for name in rows.names
    ]
    metric, score = None, None
    if target is not None:
        metric = choose_metrics(question.metric, _name_task(model))[0]
        score = _shuffle(model, table, _read_truth(model, sample, target), metric, question, features)
    explainer = Explainer(model, table, question.seed)
    n_explained = sample.num_rows if explainer.is_exact else min(sample.num_rows, _MOST_SAMPLED)
    some = rows.take_rows(sample.slice(0, n_explained))
    sizes = np.abs(explainer.explain(some, model.predict(some)).values).mean(axis=0)
    for entry, size in zip(features, sizes, strict=True):
        entry["shap"] = float(size)
    features.sort(key=lambda entry: -(entry["shap"] if entry["loss"] is None else entry["loss"]))
    return Account(
        estimator=type(model).__name__,
        table=rows.stream.name,
        n_rows=sample.num_rows,
        metric=None if metric is None else metric.name,
        score=score,
        exact=explainer.is_exact,
        n_explained=n_explained,
        features=features,
    )


def _shuffle(
    model: Any, table: Any, truth: Any, metric: Metric, question: Question, features: list[dict[str, Any]]
) -> float:
    """Fill in what is lost by shuffling each feature, in the usual direction; the score as it is."""
    from committee.inspection import permutation_importance

    found = permutation_importance(
        model,
        table,
        truth,
        scoring=None if question.metric is None else metric.scorer,
        n_repeats=question.repeats,
        random_state=question.seed,
        n_jobs=question.jobs,
    )
    assert found.baseline is not None
    assert found.p_values is not None
    errors = found.importances.std(axis=1, ddof=1) / np.sqrt(question.repeats) if question.repeats > 1 else None
    for k, entry in enumerate(features):
        entry["loss"] = float(found.importances_mean[k])
        entry["loss_error"] = None if errors is None else float(errors[k])
        entry["p_value"] = float(found.p_values[k])
    return metric.sign * found.baseline


def _name_task(model: Any) -> Any:
    return "classification" if hasattr(model, "classes_") else "regression"


def _read_truth(model: Any, sample: pa.Table, target: str) -> Any:
    column = sample.column(target)
    if column.null_count:
        raise CommandError(
            f"The target '{target}' is missing in some rows.", "Leave these rows out, or --target.", DATA
        )
    classes = getattr(model, "classes_", None)
    try:
        if classes is None:
            return column.cast(pa.float64()).to_numpy()
        if classes.dtype.kind in "OU":
            return np.array(column.cast(pa.string()).to_pylist(), dtype=classes.dtype)
        return np.asarray(column.cast(pa.float64()).to_numpy()).astype(classes.dtype)
    except (pa.ArrowException, ValueError) as error:
        raise CommandError(
            f"The target '{target}' is not what the model was fitted on: {column.type}.", "Choose another --target."
        ) from error


def _draw_rows(rows: ModelRows, question: Question) -> pa.Table:
    """Some rows of the table, each with the same chance, without holding more than a piece beside them."""
    rng = np.random.default_rng(question.seed)
    drawn, keys = None, np.empty(0)
    for chunk, _ in rows.read():
        drawn = chunk if drawn is None else pa.concat_tables([drawn, chunk])
        keys = np.concatenate([keys, rng.random(chunk.num_rows)])
        if len(keys) > question.n_rows:
            kept = np.sort(np.argpartition(keys, question.n_rows)[: question.n_rows])
            drawn, keys = drawn.take(kept), keys[kept]
    if drawn is None or not drawn.num_rows:
        raise CommandError(f"'{rows.stream.name}' has columns but no rows.", "There is nothing to explain.")
    return drawn.take(np.argsort(keys, kind="stable")).combine_chunks()


def explain_rows(rows: ModelRows) -> Iterator[pa.Table]:
    """Why every row of a table is predicted as it is.

    Parameters
    ----------
    rows : ModelRows
        The model beside the table; its other columns are copied.

    Yields
    ------
    pyarrow.Table
        Columns that are copied, the prediction, the base value, what each feature adds.
    """
    explainer = None
    for chunk, table in rows.read():
        explainer = explainer or Explainer(rows.model, table)
        predicted = rows.model.predict(table)
        kept = {name: chunk.column(name) for name in rows.beside}
        yield pa.table(kept | name_answers(predicted) | explainer.explain(table, predicted).name_all())


def show_account(console: Console, account: Account) -> None:
    """Print what the features of a model are worth.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    account : Account
        What.
    """
    console.print(
        f"[bold]{escape(account.estimator)}[/] on {account.n_rows:,} rows of {escape(account.table)}", soft_wrap=True
    )
    shuffled = account.metric is not None
    if shuffled:
        console.print(f"{account.metric} of these rows as they are: {account.score:.4f}")
    table = make_table("feature", *((">loss when shuffled", ">p-value") if shuffled else ()), ">mean |SHAP|")
    for entry in account.features[:_MOST_SHOWN]:
        cells = []
        if shuffled:
            error = entry["loss_error"]
            cells = [f"{entry['loss']:+.4f}" + ("" if error is None else f" ± {error:.4f}"), f"{entry['p_value']:.3f}"]
        table.add_row(escape(entry["name"]), *cells, f"{entry['shap']:.4g}")
    console.print()
    console.print(table)
    tell_rest(console, len(account.features), _MOST_SHOWN)
    if not account.exact:
        console.print(
            f"\nThe model is not made of trees alone: its Shapley values are sampled, for {account.n_explained} rows."
        )
    if not shuffled:
        console.print("\nAdd --target to see what the score loses when a feature is shuffled.")
