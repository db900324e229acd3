"""The work behind ``committee explain``: feature importances, and SHAP values of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pyarrow as pa
from rich.markup import escape

from committee.cli.errors import DATA, USAGE, CommandError
from committee.cli.explanations import Explainer, TargetExplainer
from committee.cli.metrics import ScoringMetric, choose_metrics
from committee.cli.model_rows import ModelRows, name_model
from committee.cli.predict import make_prediction_columns
from committee.cli.several_targets import choose_targets
from committee.cli.show import make_text_table, show_omitted
from committee.inspection.one_target import OneTarget

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from committee.cli.stream import TableStream
    from committee.cli.tasks import TaskKind

__all__ = [
    "ExplainOptions",
    "ModelExplanation",
    "explain_model",
    "explain_rows",
    "explain_targets",
    "show_explanation",
    "show_explanations",
    "write_explanations",
]

# Rows to explain if SHAP values are sampled, which takes some hundred predictions per row.
_MOST_SAMPLED = 100
_MOST_SHOWN = 20


class FeatureEntry(TypedDict):
    """Importances of one feature, as they are written to JSON."""

    name: str
    loss: float | None
    loss_error: float | None
    p_value: float | None
    shap: float


@dataclass(frozen=True)
class ExplainOptions:
    """The options of an explanation.

    Parameters
    ----------
    n_rows : int
        Number of rows, sampled at random.
    repeats : int
        Permutations of each feature.
    metric : str or None
        The metric of the permutation importance; None for the default of the task.
    seed : int
        Seed of the sampling.
    jobs : int or None
        Number of threads.
    """

    n_rows: int
    repeats: int
    metric: str | None
    seed: int
    jobs: int | None


@dataclass(frozen=True)
class ModelExplanation:
    """Feature importances of a model.

    Parameters
    ----------
    estimator : str
        Name of the class.
    table : str
        Name of the table.
    n_rows : int
        Number of rows used.
    metric : str or None
        The metric of the permutation importance; None without a target.
    score : float or None
        Score of the model on these rows.
    exact : bool
        Whether SHAP values are exact rather than sampled.
    n_explained : int
        Number of rows with SHAP values.
    features : list of dict
        ``name``; ``loss`` of score when the feature is permuted, its ``loss_error`` and ``p_value``, None without a
        target; ``shap``, the mean absolute SHAP value. The most important first.
    """

    estimator: str
    table: str
    n_rows: int
    metric: str | None
    score: float | None
    exact: bool
    n_explained: int
    features: list[FeatureEntry]

    def write_json(self) -> str:
        """The explanation as one JSON document."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def write_explanations(found: Mapping[str, ModelExplanation]) -> str:
    """The explanations of several targets as one JSON document.

    Parameters
    ----------
    found : mapping of str to ModelExplanation
        By target.

    Returns
    -------
    str
    """
    targets = [{"target": name, **asdict(one)} for name, one in found.items()]
    return json.dumps({"targets": targets}, indent=2, ensure_ascii=False)


def explain_targets(
    model: Any, seeing: Callable[[], TableStream], names: Sequence[str], named: str | None, options: ExplainOptions
) -> dict[str, ModelExplanation]:
    """Compute feature importances for each target of a model of several.

    Parameters
    ----------
    model : estimator
        Fitted.
    seeing : callable
        Opens the table.
    names : sequence of str
        Names of all targets of the model.
    named : str or None
        Value of ``--target``: targets whose permutation importance is measured. None: Shapley values of all.
    options : ExplainOptions
        The options.

    Returns
    -------
    dict of str to ModelExplanation
        By target.
    """
    found = {}
    for k in choose_targets(named, names):
        column = None if named is None else names[k]
        rows = ModelRows(OneTarget(model, k), seeing(), [] if column is None else [column])
        found[names[k]] = explain_model(rows, column, options)
    return found


def explain_model(rows: ModelRows, target: str | None, options: ExplainOptions) -> ModelExplanation:
    """Compute feature importances on a sample of rows.

    Parameters
    ----------
    rows : ModelRows
        The model and the table, with the target as an extra column if there is one.
    target : str or None
        Name of the target.
    options : ExplainOptions
        The options.

    Returns
    -------
    ModelExplanation
        Importances of the features.
    """
    sample = _sample_rows(rows, options)
    model, table = rows.model, rows.take_rows(sample)
    features = [FeatureEntry(name=name, loss=None, loss_error=None, p_value=None, shap=0.0) for name in rows.names]
    metric, score = None, None
    if target is not None and _needs_more_columns(model):
        raise CommandError(
            f"The permutation importance of {name_model(model)} needs more than one target column.",
            "committee report measures it; leave out --target for SHAP values.",
            USAGE,
        )
    if target is not None:
        metric = choose_metrics(options.metric, _name_task(model))[0]
        score = _permute_features(model, table, _read_target_values(model, sample, target), metric, options, features)
    explainer = Explainer(model, table, options.seed)
    n_explained = sample.num_rows if explainer.is_exact else min(sample.num_rows, _MOST_SAMPLED)
    some = rows.take_rows(sample.slice(0, n_explained))
    sizes = np.abs(explainer.explain(some, model.predict(some)).values).mean(axis=0)
    for entry, size in zip(features, sizes, strict=True):
        entry["shap"] = float(size)
    features.sort(key=lambda entry: -(entry["shap"] if entry["loss"] is None else entry["loss"]))
    return ModelExplanation(
        estimator=name_model(model),
        table=rows.stream.name,
        n_rows=sample.num_rows,
        metric=None if metric is None else metric.name,
        score=score,
        exact=explainer.is_exact,
        n_explained=n_explained,
        features=features,
    )


def _permute_features(
    model: Any, X: Any, y: Any, metric: ScoringMetric, options: ExplainOptions, features: list[FeatureEntry]
) -> float:
    """Fill in the permutation importances; returns the score of the model in the metric's own direction."""
    from committee.inspection import permutation_importance

    found = permutation_importance(
        model,
        X,
        y,
        scoring=None if options.metric is None else metric.scorer,
        n_repeats=options.repeats,
        random_state=options.seed,
        n_jobs=options.jobs,
    )
    assert found.baseline is not None
    assert found.p_values is not None
    errors = found.importances.std(axis=1, ddof=1) / np.sqrt(options.repeats) if options.repeats > 1 else None
    for k, entry in enumerate(features):
        entry["loss"] = float(found.importances_mean[k])
        entry["loss_error"] = None if errors is None else float(errors[k])
        entry["p_value"] = float(found.p_values[k])
    return metric.sign * found.baseline


def _needs_more_columns(model: Any) -> bool:
    """Whether the target of a model has queries or events beside it."""
    return hasattr(model, "predict_survival_function") or hasattr(model, "n_queries_")


def _name_task(model: Any) -> TaskKind:
    return "classification" if hasattr(model, "classes_") else "regression"


def _read_target_values(model: Any, sample: pa.Table, target: str) -> NDArray[Any]:
    column = sample.column(target)
    if column.null_count:
        raise CommandError(
            f"The target '{target}' is missing in some rows.", "Leave these rows out, or --target.", DATA
        )
    classes = getattr(model, "classes_", None)
    try:
        if classes is None:
            return np.asarray(column.cast(pa.float64()).to_numpy())
        if classes.dtype.kind in "OU":
            return np.array(column.cast(pa.string()).to_pylist(), dtype=classes.dtype)
        return np.asarray(column.cast(pa.float64()).to_numpy()).astype(classes.dtype)
    except (pa.ArrowException, ValueError) as error:
        raise CommandError(
            f"The target '{target}' is not what the model was fitted on: {column.type}.", "Choose another --target."
        ) from error


def _sample_rows(rows: ModelRows, options: ExplainOptions) -> pa.Table:
    """A uniform sample of the rows; no more than one chunk is held in memory beside it."""
    rng = np.random.default_rng(options.seed)
    drawn, keys = None, np.empty(0)
    for chunk, _ in rows.read():
        drawn = chunk if drawn is None else pa.concat_tables([drawn, chunk])
        keys = np.concatenate([keys, rng.random(chunk.num_rows)])
        if len(keys) > options.n_rows:
            kept = np.sort(np.argpartition(keys, options.n_rows)[: options.n_rows])
            drawn, keys = drawn.take(kept), keys[kept]
    if drawn is None or not drawn.num_rows:
        raise CommandError(f"'{rows.stream.name}' has columns but no rows.", "There is nothing to explain.")
    return drawn.take(np.argsort(keys, kind="stable")).combine_chunks()


def explain_rows(rows: ModelRows, targets: Sequence[str] = ()) -> Iterator[pa.Table]:
    """Compute the SHAP values of every row of a table.

    Parameters
    ----------
    rows : ModelRows
        The model and the table; extra columns are copied.
    targets : sequence of str
        Names of the targets of a model of several.

    Yields
    ------
    pyarrow.Table
        Copied columns, the prediction, the base value, and the SHAP value of each feature; of several targets those of
        each, with the name of the target at the end.
    """
    explainer = None
    for chunk, table in rows.read():
        explainer = explainer or TargetExplainer(rows.model, table, targets)
        predicted = rows.model.predict(table)
        kept = {name: chunk.column(name) for name in rows.extra}
        effects = explainer.make_columns(table, predicted)
        yield pa.table(kept | make_prediction_columns(predicted, targets) | effects)


def show_explanations(console: Console, found: Mapping[str, ModelExplanation]) -> None:
    """Print the feature importances of a model, for each of several targets.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    found : mapping of str to ModelExplanation
        By target; by an empty name for a model of one.
    """
    for number, (name, one) in enumerate(found.items()):
        if number:
            console.print()
        if name:
            console.print(f"target [bold]{escape(name)}[/]", soft_wrap=True)
        show_explanation(console, one)


def show_explanation(console: Console, explanation: ModelExplanation) -> None:
    """Print the feature importances of a model.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    explanation : ModelExplanation
        The importances.
    """
    console.print(
        f"[bold]{escape(explanation.estimator)}[/] on {explanation.n_rows:,} rows of {escape(explanation.table)}",
        soft_wrap=True,
    )
    permuted = explanation.metric is not None
    if permuted:
        console.print(f"{explanation.metric} on these rows: {explanation.score:.4f}")
    table = make_text_table("feature", *((">loss when shuffled", ">p-value") if permuted else ()), ">mean |SHAP|")
    for entry in explanation.features[:_MOST_SHOWN]:
        cells = []
        if permuted:
            error = entry["loss_error"]
            cells = [f"{entry['loss']:+.4f}" + ("" if error is None else f" ± {error:.4f}"), f"{entry['p_value']:.3f}"]
        table.add_row(escape(entry["name"]), *cells, f"{entry['shap']:.4g}")
    console.print()
    console.print(table)
    show_omitted(console, len(explanation.features), _MOST_SHOWN)
    if not explanation.exact:
        console.print(
            f"\nShapley values are sampled, for {explanation.n_explained} rows: the model does not consist of trees of "
            "this library only."
        )
    if not permuted:
        console.print("\nAdd --target for the permutation importance.")
