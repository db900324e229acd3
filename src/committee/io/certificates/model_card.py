"""Model cards: the facts about a model as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.base import CommitteeEstimator
from committee.constraints import show_value
from committee.data.inputs import describe_kind
from committee.exceptions import ParameterTypeError
from committee.io.certificates.certificate import describe_parameters, read_versions

if TYPE_CHECKING:
    from committee.base import CommitteeEstimator

__all__ = ["describe_columns", "model_card"]

_CARD_VERSION = 1


def model_card(
    model: CommitteeEstimator,
    *,
    scores: Mapping[str, tuple[float, float | None]] | None = None,
    licence: str | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """The facts about a fitted model: class, parameters, columns, score estimate, versions and certificate.

    Parameters
    ----------
    model : estimator
        Fitted. With a certificate (`committee.certify`) the card has the digests of the data too.
    scores : mapping of str to tuple of float, optional
        By metric the score on unseen rows and its standard error, None if unknown. By default the estimate of the
        automatic committee, or the out-of-bag score.
    licence : str, optional
        Of the data.
    title : str, optional
        What the model is for.

    Returns
    -------
    dict
        Numbers, text, lists and mappings, as in JSON.

    Examples
    --------
    >>> import committee
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = committee.certify(committee.RandomForestClassifier(oob_score=True, random_state=0), X, y)
    >>> card = committee.model_card(model, licence="CC BY 4.0")
    >>> card["estimator"], card["data"]["rows"], card["data"]["licence"], list(card["scores"])
    ('RandomForestClassifier', 150, 'CC BY 4.0', ['out-of-bag score'])
    """
    if not isinstance(model, CommitteeEstimator):
        raise ParameterTypeError(f"model_card describes an estimator of this library; got {show_value(model)}.")
    certificate = vars(model).get("certificate_")
    table = certificate["table"] if certificate else {}
    found = _find_scores(model) if scores is None else scores
    return {
        "model_card": _CARD_VERSION,
        "title": title,
        "estimator": type(model).__name__,
        "task": "classification" if hasattr(model, "classes_") else _find_task(model),
        "classes": [str(label) for label in _list_classes(model)],
        "parameters": certificate["parameters"] if certificate else describe_parameters(model),
        "scores": {name: {"estimate": value, "standard_error": error} for name, (value, error) in found.items()},
        "columns": [{"name": name, "type": kind} for name, kind in describe_columns(model).items()],
        "data": {
            "rows": table.get("rows"),
            "columns": table.get("columns", getattr(model, "n_features_in_", None)),
            "sha256": table.get("sha256"),
            "licence": licence,
        },
        "versions": certificate["versions"] if certificate else read_versions(),
        "platform": certificate["platform"] if certificate else None,
        "seed": getattr(model, "random_state", None) if not certificate else _find_seed(model, certificate),
        "certificate": certificate,
    }


def _find_seed(model: CommitteeEstimator, certificate: Mapping[str, Any]) -> int | None:
    own = getattr(model, "random_state", None)
    found: int | None = certificate["seed"] if own is None else int(own)
    return found


def _find_scores(model: CommitteeEstimator) -> dict[str, tuple[float, float | None]]:
    held = vars(model)
    if "score_estimate_" in held:
        scores, errors = np.atleast_1d(held["score_estimate_"]), np.atleast_1d(held["score_error_"])
        names = [f" of target {k}" for k in range(len(scores))] if len(scores) > 1 else [""]
        pairs = zip(names, scores.tolist(), errors.tolist(), strict=True)
        return {f"out-of-fold score{name}": (score, error) for name, score, error in pairs}
    if isinstance(held.get("oob_score_"), float):
        return {"out-of-bag score": (held["oob_score_"], None)}
    return {}


def _find_task(model: CommitteeEstimator) -> str:
    return {"regressor": "regression", "outlier_detector": "outlier detection"}.get(
        str(getattr(model, "_estimator_type", "") or model.__sklearn_tags__().estimator_type), "other"
    )


def _list_classes(model: CommitteeEstimator) -> list[Any]:
    classes = getattr(model, "classes_", ())
    if isinstance(classes, list):
        return [label for part in classes for label in part]
    return list(classes)


def describe_columns(model: CommitteeEstimator) -> dict[str, str]:
    """Names and kinds of the columns of a model; columns without names are called by their numbers.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    dict of str to str
    """
    schema = getattr(model, "_schema", None)
    if schema is None:
        names = getattr(model, "feature_names_in_", range(getattr(model, "n_features_in_", 0)))
        return {str(name): "unknown" for name in names}
    names = schema.name_inputs("{}")
    if schema.inputs is None:
        levels = schema.categories
        kinds = ["number" if known is None else f"category of {len(known)} levels" for known in levels]
        return dict(zip(names, kinds, strict=True))
    kinds = []
    for column, (kind, parts) in enumerate(zip(schema.inputs.kinds, schema.inputs.parts, strict=True)):
        levels = schema.categories[schema.list_features(column)[0]]
        plain = "number" if levels is None else f"category of {len(levels)} levels"
        kinds.append(plain if kind == "number" else describe_kind(kind, len(parts)))
    return dict(zip(names, kinds, strict=True))
