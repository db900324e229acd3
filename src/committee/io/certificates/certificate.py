"""The certificate of a fit: digests of the table, the target and the weights, parameters, seed, versions, model."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator, clone

import committee
from committee.base import CommitteeEstimator, resolve_seed
from committee.data.blocks import OpenedSource
from committee.data.opening import open_table
from committee.data.rows import count_rows
from committee.data.table_digest import digest_table, digest_target, digest_weights, find_counted
from committee.exceptions import DataTypeError, ModelFileError, ParameterError
from committee.io.certificates.model_digest import digest_model, digest_value

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.typing import BoolArray

__all__ = [
    "GivenData",
    "certify",
    "describe_parameters",
    "fit_seeded",
    "make_certificate",
    "open_data",
    "read_versions",
]

_VERSION = 1
#: Above this number of columns a certificate has one digest of all of them.
MOST_COLUMNS = 4096
_COLUMN_DIGITS = 32
#: Arguments of `fit` that change no model.
_UNHEARD = frozenset({"callbacks", "monitor"})


class GivenData:
    """What `fit` gets: the table, target and weights (if they were named, taken from the table), further arguments.

    Parameters
    ----------
    X, y, sample_weight
        As `fit` takes them.
    arguments : mapping
        Further arguments of `fit`.
    """

    def __init__(self, X: Any, y: Any, sample_weight: ArrayLike | str | None, arguments: Mapping[str, object]) -> None:
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.arguments = {name: value for name, value in arguments.items() if value is not None}
        self.n_rows = count_rows(X) if hasattr(X, "shape") or hasattr(X, "__len__") else 0

    def fit(self, model: CommitteeEstimator) -> Any:
        """Fit a model."""
        given = dict(self.arguments)
        if self.sample_weight is not None:
            given["sample_weight"] = self.sample_weight
        needed = inspect.signature(model.fit).parameters.get("y")
        if self.y is None and (needed is None or needed.default is not needed.empty):
            return model.fit(self.X, **given)
        return model.fit(self.X, self.y, **given)

    def describe(self) -> dict[str, Any]:
        """The entries of a certificate."""
        counted = find_counted(self.sample_weight, self.n_rows)
        table = digest_table(self.X, counted)
        names = None if table.names is None or len(table.names) > MOST_COLUMNS else list(table.names)
        columns = [one[:_COLUMN_DIGITS] for one in table.columns] if len(table.columns) <= MOST_COLUMNS else None
        return {
            "table": {
                "rows": table.n_rows,
                "columns": len(table.columns),
                "sha256": table.whole,
                "column_digests": columns,
                "names": names,
            },
            "target": digest_target(self.y, self.n_rows, counted),
            "weights": digest_weights(self.sample_weight, self.n_rows),
            "arguments": {
                name: self._digest_argument(value, counted)
                for name, value in sorted(self.arguments.items())
                if name not in _UNHEARD
            },
        }

    def _digest_argument(self, value: object, counted: BoolArray | None) -> str:
        """Of groups, the rows that count; of anything else all of it."""
        try:
            return str(digest_target(value, self.n_rows, counted))
        except (ModelFileError, DataTypeError, ValueError):
            return digest_value(value)


@contextmanager
def open_data(
    X: Any, y: Any, sample_weight: ArrayLike | str | None, arguments: Mapping[str, object]
) -> Iterator[GivenData]:
    """What `fit` gets; a source of blocks is opened once, and closed at the end.

    Parameters
    ----------
    X, y, sample_weight
        As `fit` takes them.
    arguments : mapping
        Further arguments of `fit`.

    Yields
    ------
    GivenData
    """
    opened, y, sample_weight = open_table(X, y, sample_weight)
    try:
        yield GivenData(opened, y, sample_weight, arguments)
    finally:
        if isinstance(opened, OpenedSource) and opened is not X:
            opened.source.close()


def certify(
    estimator: CommitteeEstimator,
    X: Any,
    y: Any = None,
    sample_weight: ArrayLike | str | None = None,
    **fit_params: object,
) -> Any:
    """Fit a model and give it a certificate: what it was fitted on, so that anyone with the table can check it.

    The model is that of ``fit``, in the attribute ``certificate_`` the certificate, which model files keep.
    `committee.verify` fits the model again and compares.

    Parameters
    ----------
    estimator : estimator
        Of this library. It is not changed: a copy is fitted. Random generators in its parameters are replaced by
        numbers drawn from them. Where a ``random_state`` is None, the seed that was used is in the certificate; it is
        drawn from NumPy's global generator.
    X, y, sample_weight
        As ``fit`` takes them, also a table in blocks, and names of columns. The digests do not depend on the container.
    **fit_params
        Further arguments of ``fit``, such as ``groups``.

    Returns
    -------
    estimator
        Fitted.

    Examples
    --------
    >>> import committee
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = committee.certify(committee.RandomForestClassifier(n_estimators=10), X, y)
    >>> model.certificate_["table"]["rows"], model.certificate_["table"]["columns"]
    (150, 4)
    >>> print(committee.verify(model, X, y))
    identical: the table, the target and a new fit are those of the certificate.
    """
    if not isinstance(estimator, BaseEstimator):
        raise ParameterError(f"An estimator to be certified must be an estimator; got {type(estimator).__name__}.")
    model = _draw_seeds(clone(estimator))
    with open_data(X, y, sample_weight, fit_params) as given:
        seed = resolve_seed(None) % 2**32 if _uses_global_generator(model) else None
        fit_seeded(model, given, seed)
        model.certificate_ = make_certificate(model, given, seed)
    return model


def _draw_seeds(model: CommitteeEstimator) -> Any:
    """Replace generators by numbers: a generator changes during the fit, and what it was before is not in the model."""
    states = _list_random_states(model)
    kinds = (np.random.RandomState, np.random.Generator)
    # scikit-learn's estimators take 32 bits.
    drawn = {name: resolve_seed(state) % 2**32 for name, state in states.items() if isinstance(state, kinds)}
    return model.set_params(**drawn) if drawn else model


def _list_random_states(model: CommitteeEstimator) -> dict[str, Any]:
    params = model.get_params(deep=True)
    return {n: v for n, v in params.items() if n == "random_state" or n.endswith("__random_state")}


def _uses_global_generator(model: CommitteeEstimator) -> bool:
    return any(state is None for state in _list_random_states(model).values())


def fit_seeded(model: CommitteeEstimator, given: GivenData, seed: int | None) -> Any:
    """Fit with NumPy's global generator at a seed; it is afterwards as it was before.

    Parameters
    ----------
    model : estimator
        Is fitted.
    given : GivenData
        What `fit` gets.
    seed : int or None
        None leaves the generator alone.

    Returns
    -------
    estimator
    """
    if seed is None:
        return given.fit(model)
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        return given.fit(model)
    finally:
        np.random.set_state(before)  # noqa: NPY002


def make_certificate(model: CommitteeEstimator, given: GivenData, seed: int | None = None) -> dict[str, Any]:
    """The certificate of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted on what is given.
    given : GivenData
        What `fit` got.
    seed : int or None
        Of NumPy's global generator before the fit, if the fit used it.

    Returns
    -------
    dict
        Numbers, text, lists and mappings, as in JSON.
    """
    return {
        "version": _VERSION,
        **given.describe(),
        "estimator": type(model).__name__,
        "parameters": describe_parameters(model),
        "seed": seed,
        "versions": read_versions(),
        "platform": {"system": platform.system(), "machine": platform.machine()},
        "model": digest_model(model, strip=False),
        "predictor": digest_model(model, strip=True),
    }


def describe_parameters(model: CommitteeEstimator) -> dict[str, Any]:
    """Parameters: plain values as they are, of anything else a digest."""
    plain = (bool, int, float, str, type(None))
    return {
        name: value if type(value) in plain else f"sha256:{digest_value(value)}"
        for name, value in sorted(model.get_params(deep=False).items())
        if name not in ("n_jobs", "verbose")
    }


def read_versions() -> dict[str, str]:
    """The versions of what takes part in a fit."""
    return {
        "committee": committee.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
