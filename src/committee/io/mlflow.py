"""Models of this library as models of MLflow: a flavour on model files, and the automatic logging of fits.

MLflow is optional: it is imported by the functions here, and nothing else in the library knows it.
"""

from __future__ import annotations

import platform
import sys
import threading
from contextlib import nullcontext
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import committee
from committee.base import CommitteeEstimator
from committee.exceptions import ParameterTypeError, warn_caller
from committee.io.model_file import load, save

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

__all__ = ["FLAVOR", "autolog", "load_model", "log_model", "save_model"]

FLAVOR = "committee"
_FILE = "model.committee"
_LONGEST = 500  # characters of a value that MLflow takes as a parameter
_SCORES = ("oob_score_", "score_estimate_", "best_score_")


def _import_mlflow() -> Any:
    try:
        return import_module("mlflow")
    except ImportError as error:
        raise ImportError("committee.io.mlflow needs the package mlflow; run pip install mlflow.") from error


def save_model(
    model: CommitteeEstimator,
    path: str | os.PathLike[str],
    mlflow_model: Any = None,
    *,
    signature: Any = None,
    metadata: dict[str, Any] | None = None,
    strip: bool = False,
) -> None:
    """Save a fitted model as a folder that MLflow knows: a model file and its description.

    Parameters
    ----------
    model : estimator
        Fitted, of this library.
    path : path
        The folder, which is made.
    mlflow_model : mlflow.models.Model, optional
        The description to be completed; a new one by default.
    signature : mlflow.models.ModelSignature, optional
        Columns and predictions.
    metadata : dict, optional
        Kept in the description.
    strip : bool, default=False
        Whether what predictions do not need is left out, as in `committee.save`.
    """
    if not isinstance(model, CommitteeEstimator):
        raise ParameterTypeError(f"A model of the flavour {FLAVOR!r} is an estimator of committee; got {type(model)}.")
    mlflow = _import_mlflow()
    models, pyfunc = import_module("mlflow.models"), import_module("mlflow.pyfunc")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    described = models.Model() if mlflow_model is None else mlflow_model
    if signature is not None:
        described.signature = signature
    if metadata is not None:
        described.metadata = metadata
    save(model, folder / _FILE, strip=strip)
    described.add_flavor(FLAVOR, data=_FILE, committee_version=committee.__version__, estimator=type(model).__name__)
    pyfunc.add_to_model(described, loader_module=__name__, data=_FILE, python_env="python_env.yaml")
    requirements = [f"mlflow=={mlflow.__version__}", f"committee=={committee.__version__}"]
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n", encoding="utf-8")
    environment = [f"python: {platform.python_version()}", "dependencies:", "- -r requirements.txt"]
    (folder / "python_env.yaml").write_text("\n".join(environment) + "\n", encoding="utf-8")
    described.save(str(folder / models.model.MLMODEL_FILE_NAME))


def log_model(model: CommitteeEstimator, name: str = "model", **options: Any) -> Any:
    """Log a fitted model in the run of MLflow that is active, or in a new one.

    Parameters
    ----------
    model : estimator
        Fitted, of this library.
    name : str, default="model"
        Name of the model in the run.
    **options
        Of `save_model`, and of ``mlflow.models.Model.log``, such as ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    _import_mlflow()
    kind = import_module("mlflow.models").Model
    return kind.log(artifact_path=None, name=name, flavor=sys.modules[__name__], model=model, **options)


def load_logged_model(model_uri: str) -> Any:
    """Load a model that `save_model` or `log_model` has written, as the estimator that it was.

    Parameters
    ----------
    model_uri : str
        A folder, or an address of MLflow such as ``runs:/<run>/model`` or ``models:/<name>/1``.

    Returns
    -------
    estimator
    """
    mlflow = _import_mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    described = import_module("mlflow.models").Model.load(str(folder))
    if FLAVOR not in described.flavors:
        known = ", ".join(sorted(described.flavors))
        raise ParameterTypeError(f"The model at {model_uri!r} has no flavour {FLAVOR!r}; its flavours are {known}.")
    return load(folder / described.flavors[FLAVOR]["data"])


load_model = load_logged_model
"""The name that every flavour of MLflow has for it."""


class _PredictsRows:
    """What ``mlflow.pyfunc`` asks of a model."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_raw_model(self) -> Any:
        """The estimator."""
        return self._model

    def predict(self, rows: Any, params: dict[str, Any] | None = None) -> Any:
        """Predictions of the rows."""
        return self._model.predict(rows)


def _load_pyfunc(path: str) -> _PredictsRows:
    return _PredictsRows(load(path))


# --- automatic logging -------------------------------------------------------------------------------------------

_PATCHED: dict[type[Any], Callable[..., Any] | None] = {}
"""The classes whose fits are logged, with the method of their own that was there before, if any."""
_FITTING = threading.Lock()
"""Held by the fit that is logged; members may be fitted in other threads."""


def autolog(disable: bool = False, *, log_models: bool = True) -> None:
    """Log every fit of an estimator of this library: its parameters, curves and scores, and the model.

    A fit during another one, such as that of a member, is not logged. Without an active run each fit gets its own.

    Parameters
    ----------
    disable : bool, default=False
        Whether fits are logged no longer.
    log_models : bool, default=True
        Whether the fitted models are logged too.
    """
    _import_mlflow()
    for cls, before in _PATCHED.items():
        if before is None:
            del cls.fit
        else:
            cls.fit = before
    _PATCHED.clear()
    if disable:
        return
    exported = [getattr(committee, name) for name in committee.__all__]
    kinds: list[Any] = [one for one in exported if isinstance(one, type) and issubclass(one, CommitteeEstimator)]
    fits = {cls: cls.fit for cls in kinds if hasattr(cls, "fit")}
    for cls, fit in fits.items():
        _PATCHED[cls] = vars(cls).get("fit")
        cls.fit = _log_fits(fit, log_models)


def _log_fits(fit: Callable[..., Any], log_models: bool) -> Callable[..., Any]:
    @wraps(fit)
    def logged(self: Any, *args: Any, **options: Any) -> Any:
        if not _FITTING.acquire(blocking=False):
            return fit(self, *args, **options)
        try:
            mlflow = _import_mlflow()
            with mlflow.start_run() if mlflow.active_run() is None else nullcontext():
                _log_params(mlflow, self)
                found = fit(self, *args, **options)
                _log_results(mlflow, found)
                if log_models:
                    log_model(found)
            return found
        finally:
            _FITTING.release()

    return logged


def _log_params(mlflow: Any, model: Any) -> None:
    params = {name: repr(value)[:_LONGEST] for name, value in model.get_params(deep=False).items()}
    mlflow.set_tag("estimator", type(model).__name__)
    try:
        mlflow.log_params(params)
    except mlflow.exceptions.MlflowException as error:
        # A second fit in one run cannot replace the parameters of the first.
        warn_caller(f"MLflow did not take the parameters of {type(model).__name__}: {error}", UserWarning)


def _log_results(mlflow: Any, model: Any) -> None:
    for name, curve in getattr(getattr(model, "history_", None), "curves", {}).items():
        for step, value in zip(curve.rounds.tolist(), curve.values.tolist(), strict=True):
            mlflow.log_metric(name, value, step=int(step))
    scores = {name.rstrip("_"): getattr(model, name, None) for name in _SCORES}
    mlflow.log_metrics({name: float(score) for name, score in scores.items() if isinstance(score, float)})
